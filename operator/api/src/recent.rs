//! Answers that are believed for a moment.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;

/// An answer is believed this long. So long a right outlives its removal.
pub(crate) const LIFE: Duration = Duration::from_secs(10);
/// Answers that are kept. When it is full those that are still believed go, too: they are asked for again.
const MOST: usize = 4096;

/// Answers by question.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    kept: Mutex<HashMap<K, (Timestamp, V)>>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
        }
    }
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// The answer to a question that was asked a moment ago.
    pub(crate) fn get(&self, question: &K, now: Timestamp) -> Option<V> {
        self.get_within(question, now, LIFE)
    }

    /// The same, for who believes it for another time, [`LIFE`] at most.
    pub(crate) fn get_within(&self, question: &K, now: Timestamp, life: Duration) -> Option<V> {
        let kept = self.lock();
        let (asked, answer) = kept.get(question)?;
        is_fresh(*asked, now, life).then(|| answer.clone())
    }

    /// Keeps the answer to a question that was asked at an instant: before the answer came, not after it.
    pub(crate) fn keep(&self, question: K, answer: V, asked: Timestamp) {
        let mut kept = self.lock();
        if kept.len() >= MOST {
            kept.retain(|_, (other, _)| is_fresh(*other, asked, LIFE));
        }
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(question, (asked, answer));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, (Timestamp, V)>> {
        self.kept
            .lock()
            .expect("nothing panics while it holds this lock")
    }
}

/// False also for what comes from a time that is still to come: a clock was set back.
fn is_fresh(asked: Timestamp, now: Timestamp, life: Duration) -> bool {
    let age = now.duration_since(asked);
    !age.is_negative() && age.unsigned_abs() < life
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    #[test]
    fn an_answer_is_believed_for_ten_seconds() {
        let recent = Recent::default();
        recent.keep("q", true, at(0));
        for (now, wanted) in [(0, Some(true)), (9, Some(true)), (10, None), (-1, None)] {
            assert_eq!(recent.get(&"q", at(now)), wanted, "{now}");
        }
        assert_eq!(recent.get(&"other", at(0)), None);
    }

    #[test]
    fn however_much_is_asked_little_is_kept() {
        let recent = Recent::default();
        for question in 0..MOST {
            recent.keep(question, (), at(0));
        }
        recent.keep(MOST, (), at(20));
        assert_eq!(recent.lock().len(), 1, "what is too old goes first");
        for question in 0..MOST * 2 {
            recent.keep(question, (), at(21));
            assert!(recent.lock().len() <= MOST);
        }
    }
}
