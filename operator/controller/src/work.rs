//! The queue of keys that want a pass.
//!
//! A key that is asked for many times before its pass begins gets one pass; a key asked for while its pass
//! runs gets one more afterwards, never two at once. Keys may be asked for later (the nearest deadline of a
//! plan), failed ones come back after a pause that grows until a pass of theirs succeeds.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Keys known at the same time. What does not fit is dropped and makes [`Queue::take_overflow`] true, which
/// asks for a look at everything once there is room: late, never lost.
pub const MAX_KEYS: usize = 200_000;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(60);

/// What a pass says about its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing more to do until something changes.
    Settled,
    /// Look again after this long, at the latest.
    LookAgain(Duration),
    /// It failed: come back after the key's pause, which grows.
    Failed,
}

/// A queue of keys; cheap to share behind an `Arc`.
#[derive(Debug)]
pub struct Queue<K> {
    inner: Mutex<Inner<K>>,
    wake: Notify,
    capacity: usize,
}

#[derive(Debug)]
struct Inner<K> {
    ready: VecDeque<K>,
    waiting: HashSet<K>,
    running: HashSet<K>,
    /// Asked for again while running.
    again: HashSet<K>,
    later: BTreeMap<(Instant, u64), K>,
    later_of: HashMap<K, (Instant, u64)>,
    failures: HashMap<K, u32>,
    next_number: u64,
    overflow: bool,
}

impl<K: Clone + Eq + Hash> Default for Queue<K> {
    fn default() -> Self {
        Self::with_capacity(MAX_KEYS)
    }
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// A queue for at most `capacity` keys.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let inner = Inner {
            ready: VecDeque::new(),
            waiting: HashSet::new(),
            running: HashSet::new(),
            again: HashSet::new(),
            later: BTreeMap::new(),
            later_of: HashMap::new(),
            failures: HashMap::new(),
            next_number: 0,
            overflow: false,
        };
        Self {
            inner: Mutex::new(inner),
            wake: Notify::new(),
            capacity,
        }
    }

    /// Asks for a pass of `key` as soon as possible.
    pub fn add(&self, key: K) {
        let mut inner = self.lock();
        if inner.running.contains(&key) {
            inner.again.insert(key);
            return;
        }
        inner.forget_later(&key);
        if inner.waiting.contains(&key) {
            return;
        }
        if inner.size() >= self.capacity {
            inner.overflow = true;
            return;
        }
        inner.waiting.insert(key.clone());
        inner.ready.push_back(key);
        drop(inner);
        self.wake.notify_one();
    }

    /// Asks for a pass of `key` after `delay`; an earlier wish stands.
    pub fn add_after(&self, key: K, delay: Duration) {
        let mut inner = self.lock();
        if inner.put_later(key, Instant::now() + delay, self.capacity) {
            drop(inner);
            self.wake.notify_one();
        }
    }

    /// The next key, which counts as running until [`Queue::done`]. Cancel safe.
    pub async fn next(&self) -> K {
        loop {
            let woken = self.wake.notified();
            let next_deadline = {
                let mut inner = self.lock();
                inner.promote(Instant::now());
                if let Some(key) = inner.ready.pop_front() {
                    inner.waiting.remove(&key);
                    inner.running.insert(key.clone());
                    if !inner.ready.is_empty() {
                        // One notice may stand for several keys: pass it on to the next worker.
                        self.wake.notify_one();
                    }
                    return key;
                }
                inner.later.first_key_value().map(|((at, _), _)| *at)
            };
            match next_deadline {
                None => woken.await,
                Some(at) => tokio::select! {
                    () = woken => {}
                    () = tokio::time::sleep_until(at) => {}
                },
            }
        }
    }

    /// Ends the pass of `key`.
    pub fn done(&self, key: &K, done: Done) {
        let mut inner = self.lock();
        inner.running.remove(key);
        let again = inner.again.remove(key);
        let pause = match done {
            Done::Settled => {
                inner.failures.remove(key);
                None
            }
            Done::LookAgain(delay) => {
                inner.failures.remove(key);
                Some(delay)
            }
            Done::Failed => {
                let failures = inner.failures.entry(key.clone()).or_insert(0);
                *failures += 1;
                Some(pause(*failures))
            }
        };
        // A failing key does not become faster by being asked for: what fails is often the cause of events.
        if again && !matches!(done, Done::Failed) {
            inner.waiting.insert(key.clone());
            inner.ready.push_back(key.clone());
        } else if let Some(delay) = pause {
            let delay = if again {
                delay.min(FIRST_PAUSE.max(delay / 4))
            } else {
                delay
            };
            inner.put_later(key.clone(), Instant::now() + delay, usize::MAX);
        }
        drop(inner);
        self.wake.notify_one();
    }

    /// True once after keys were dropped for lack of room: look at everything again.
    pub fn take_overflow(&self) -> bool {
        let mut inner = self.lock();
        let has_room = inner.size() < self.capacity / 2;
        has_room && std::mem::take(&mut inner.overflow)
    }

    /// Keys that are ready or running now; 0 means that everything known has been looked at.
    pub fn busy(&self) -> usize {
        let inner = self.lock();
        inner.ready.len() + inner.running.len()
    }

    /// Keys of any kind.
    pub fn len(&self) -> usize {
        self.lock().size()
    }

    /// True when no key is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Inner<K>> {
        self.inner
            .lock()
            .expect("no code panics while it holds this lock")
    }
}

impl<K: Clone + Eq + Hash> Inner<K> {
    fn size(&self) -> usize {
        self.ready.len() + self.running.len() + self.later.len()
    }

    fn forget_later(&mut self, key: &K) {
        if let Some(place) = self.later_of.remove(key) {
            self.later.remove(&place);
        }
    }

    /// True when the key now stands at `at`.
    fn put_later(&mut self, key: K, at: Instant, capacity: usize) -> bool {
        if self.waiting.contains(&key) {
            return false;
        }
        match self.later_of.get(&key) {
            Some((earlier, _)) if *earlier <= at => return false,
            Some(_) => self.forget_later(&key),
            None if self.size() >= capacity => {
                self.overflow = true;
                return false;
            }
            None => {}
        }
        self.next_number += 1;
        let place = (at, self.next_number);
        self.later.insert(place, key.clone());
        self.later_of.insert(key, place);
        true
    }

    fn promote(&mut self, now: Instant) {
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let key = entry.remove();
            self.later_of.remove(&key);
            if self.running.contains(&key) {
                self.again.insert(key);
            } else if self.waiting.insert(key.clone()) {
                self.ready.push_back(key);
            }
        }
    }
}

fn pause(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    FIRST_PAUSE.saturating_mul(1 << doublings).min(LAST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_next(queue: &Queue<&'static str>) -> Option<&'static str> {
        use futures::FutureExt as _;
        queue.next().now_or_never()
    }

    #[tokio::test(start_paused = true)]
    async fn many_wishes_are_one_pass() {
        let queue = Queue::default();
        queue.add("a");
        queue.add("a");
        queue.add("b");
        assert_eq!(queue.next().await, "a");
        assert_eq!(queue.next().await, "b");
        assert_eq!(try_next(&queue), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_key_waits_for_its_own_end() {
        let queue = Queue::default();
        queue.add("a");
        let key = queue.next().await;
        queue.add("a");
        assert_eq!(try_next(&queue), None);
        queue.done(&key, Done::Settled);
        assert_eq!(try_next(&queue), Some("a"));
        queue.done(&key, Done::Settled);
        assert_eq!(try_next(&queue), None);
        assert!(queue.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_look_counts() {
        let queue = Queue::default();
        let start = Instant::now();
        queue.add_after("a", Duration::from_secs(9));
        queue.add_after("a", Duration::from_secs(3));
        queue.add_after("a", Duration::from_secs(6));
        assert_eq!(queue.next().await, "a");
        assert_eq!(start.elapsed(), Duration::from_secs(3));
        queue.done(&"a", Done::Settled);
        assert!(queue.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_and_a_success_clears_them() {
        let queue = Queue::default();
        queue.add("a");
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let start = Instant::now();
            let key = queue.next().await;
            pauses.push(start.elapsed().as_millis());
            queue.done(&key, Done::Failed);
        }
        assert_eq!(pauses[..5], [0, 500, 1000, 2000, 4000]);
        assert_eq!(pauses[11], LAST_PAUSE.as_millis());
        let key = queue.next().await;
        queue.done(&key, Done::Settled);
        queue.add("a");
        let key = queue.next().await;
        queue.done(&key, Done::Failed);
        let start = Instant::now();
        queue.next().await;
        assert_eq!(start.elapsed(), FIRST_PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_fit_asks_for_a_look_at_everything() {
        let queue = Queue::with_capacity(2);
        queue.add("a");
        queue.add("b");
        queue.add("c");
        assert!(!queue.take_overflow(), "no room yet");
        for _ in 0..2 {
            let key = queue.next().await;
            queue.done(&key, Done::Settled);
        }
        assert!(queue.take_overflow());
        assert!(!queue.take_overflow());
    }

    #[tokio::test(start_paused = true)]
    async fn every_worker_is_woken() {
        let queue = std::sync::Arc::new(Queue::default());
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let queue = std::sync::Arc::clone(&queue);
                tokio::spawn(async move { queue.next().await })
            })
            .collect();
        tokio::task::yield_now().await;
        for key in ["a", "b", "c"] {
            queue.add(key);
        }
        let mut got = Vec::new();
        for worker in workers {
            got.push(worker.await.unwrap());
        }
        got.sort_unstable();
        assert_eq!(got, ["a", "b", "c"]);
    }
}
