//! Requests that wait for something to happen to their task.
//!
//! One task of the program follows the store and wakes those whom a change concerns, so that the work per
//! change does not grow with the number of runners that wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::TaskId;
use store::{Change, Changes};
use tokio::sync::Notify;

/// Who waits for changes of which task. Bounded by the requests that are held: an entry goes with its last.
#[derive(Debug, Default)]
pub(crate) struct Held {
    waiting: Mutex<HashMap<TaskId, Entry>>,
}

#[derive(Debug, Default)]
struct Entry {
    waiters: usize,
    wake: Arc<Notify>,
}

impl Held {
    /// Waits for changes of a task from now on. Take it before reading what may change.
    pub(crate) fn watch(self: &Arc<Self>, task: TaskId) -> Watch {
        let mut waiting = self.lock();
        let entry = waiting.entry(task).or_default();
        entry.waiters += 1;
        Watch {
            wake: Arc::clone(&entry.wake),
            held: Arc::clone(self),
            task,
        }
    }

    /// Follows the store until it is closed.
    pub(crate) async fn follow(self: Arc<Self>, mut changes: Changes) {
        while let Some(change) = changes.next().await {
            match change {
                Change::Task(task) => self.wake(task),
                Change::Deliveries => {}
                Change::Resync => self.wake_all(),
            }
        }
    }

    fn wake(&self, task: TaskId) {
        if let Some(entry) = self.lock().get(&task) {
            entry.wake.notify_waiters();
        }
    }

    fn wake_all(&self) {
        for entry in self.lock().values() {
            entry.wake.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, Entry>> {
        self.waiting
            .lock()
            .expect("nothing panics while it holds this lock")
    }
}

/// One request's wait.
#[derive(Debug)]
pub(crate) struct Watch {
    wake: Arc<Notify>,
    held: Arc<Held>,
    task: TaskId,
}

impl Watch {
    /// Ready at the next change. A change between this call and the wait for it is not missed, for the
    /// counter of the notifications is read now.
    pub(crate) fn next(&self) -> tokio::sync::futures::Notified<'_> {
        self.wake.notified()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut waiting = self.held.lock();
        if let Some(entry) = waiting.get_mut(&self.task) {
            entry.waiters -= 1;
            if entry.waiters == 0 {
                waiting.remove(&self.task);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_those_concerned_are_woken_and_nobody_is_kept() {
        let held = Arc::new(Held::default());
        let (one, two) = (
            TaskId(uuid::Uuid::from_u128(1)),
            TaskId(uuid::Uuid::from_u128(2)),
        );
        let (first, second) = (held.watch(one), held.watch(two));
        let (woken, asleep) = (first.next(), second.next());
        // Between the question and the wait.
        held.wake(one);
        woken.await;
        let now = std::time::Duration::ZERO;
        assert!(tokio::time::timeout(now, asleep).await.is_err());
        let asleep = second.next();
        held.wake_all();
        asleep.await;
        drop((first, second));
        assert!(held.lock().is_empty());
    }
}
