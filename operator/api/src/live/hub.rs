//! Who looks on, and what of it changes for whom.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::{IssueId, TaskId};
use store::{Live, LiveChange, Store};
use tokio::sync::Notify;

/// Marks of one reader. When there are more it looks at everything that it follows.
const MARKS: usize = 512;

/// What a reader may follow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Task(TaskId),
    Issue(IssueId),
    /// By the UID of the namespace.
    Workspace(String),
}

/// What a reader is to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// A task's timeline has grown.
    Events(TaskId),
    /// More of a task's timeline, and then how it stands.
    Rest(TaskId),
    /// A task stands elsewhere; with the issue on which it was woken.
    Run(TaskId, Option<IssueId>),
    /// Something of an issue was written.
    Issue(IssueId),
}

/// What has come together for a reader.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) each: BTreeSet<Mark>,
    /// Something was missed: everything is to be looked at.
    pub(crate) missed: bool,
}

/// The readers. Bounded by the live connections and what each may follow.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    followed: Mutex<HashMap<Key, Vec<Arc<Inbox>>>>,
}

/// Where marks for one reader are put.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    marks: Mutex<Marks>,
    some: Notify,
}

impl Inbox {
    /// Waits until there is something, and takes it. Dropped while it waits, nothing is lost.
    pub(crate) async fn take(&self) -> Marks {
        loop {
            let more = self.some.notified();
            let marks = std::mem::take(&mut *lock(&self.marks));
            if marks != Marks::default() {
                return marks;
            }
            more.await;
        }
    }

    /// Puts a mark in.
    pub(crate) fn put(&self, mark: Mark) {
        let mut marks = lock(&self.marks);
        if !marks.missed {
            marks.each.insert(mark);
            if marks.each.len() > MARKS {
                marks.each.clear();
                marks.missed = true;
            }
        }
        self.some.notify_one();
    }

    fn miss(&self) {
        let mut marks = lock(&self.marks);
        marks.each.clear();
        marks.missed = true;
        self.some.notify_one();
    }
}

impl Hub {
    /// Tells an inbox of changes from now on.
    pub(crate) fn follow(&self, key: Key, inbox: &Arc<Inbox>) {
        lock(&self.followed)
            .entry(key)
            .or_default()
            .push(Arc::clone(inbox));
    }

    /// Tells it no more.
    pub(crate) fn leave(&self, key: &Key, inbox: &Arc<Inbox>) {
        let mut followed = lock(&self.followed);
        if let Some(readers) = followed.get_mut(key) {
            if let Some(at) = readers.iter().position(|other| Arc::ptr_eq(other, inbox)) {
                readers.swap_remove(at);
            }
            if readers.is_empty() {
                followed.remove(key);
            }
        }
    }

    /// Follows the store until it is closed.
    pub(crate) async fn run(self: Arc<Self>, store: Store, mut live: Live) {
        while let Some(change) = live.next().await {
            // Where something belongs is only asked for when somebody could want to know.
            if !lock(&self.followed).is_empty()
                && let Err(error) = self.tell(&store, change).await
            {
                tracing::warn!(%error, "what happened could not be looked up: all who look on look at everything");
                self.miss();
            }
        }
    }

    async fn tell(&self, store: &Store, change: LiveChange) -> Result<(), store::Error> {
        match change {
            LiveChange::Events(task) => self.mark(&[Key::Task(task)], Mark::Events(task)),
            LiveChange::Task(task) => {
                let mut keys = vec![Key::Task(task)];
                let mut issue = None;
                if let Some(place) = store.place_of_task(task).await? {
                    issue = place.issue;
                    keys.extend(place.issue.map(Key::Issue));
                    keys.push(Key::Workspace(place.namespace_uid));
                }
                self.mark(&keys, Mark::Run(task, issue));
            }
            LiveChange::Issue(issue) => {
                let mut keys = vec![Key::Issue(issue)];
                if let Some((namespace_uid, _)) = store.issue_by_id(issue).await? {
                    keys.push(Key::Workspace(namespace_uid));
                }
                self.mark(&keys, Mark::Issue(issue));
            }
            LiveChange::Resync => self.miss(),
        }
        Ok(())
    }

    fn mark(&self, keys: &[Key], mark: Mark) {
        let followed = lock(&self.followed);
        for inbox in keys.iter().filter_map(|key| followed.get(key)).flatten() {
            inbox.put(mark);
        }
    }

    fn miss(&self) {
        for inbox in lock(&self.followed).values().flatten() {
            inbox.miss();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .expect("nothing panics while it holds this lock")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn task(number: u128) -> TaskId {
        TaskId(Uuid::from_u128(number))
    }

    #[tokio::test]
    async fn a_mark_is_for_who_follows_and_only_once() {
        let hub = Hub::default();
        let (one, two) = (Arc::new(Inbox::default()), Arc::new(Inbox::default()));
        hub.follow(Key::Task(task(1)), &one);
        hub.follow(Key::Task(task(2)), &two);
        for _ in 0..3 {
            hub.mark(&[Key::Task(task(1))], Mark::Events(task(1)));
        }
        assert_eq!(one.take().await.each, [Mark::Events(task(1))].into());
        let now = std::time::Duration::ZERO;
        for inbox in [&one, &two] {
            assert!(tokio::time::timeout(now, inbox.take()).await.is_err());
        }
        hub.leave(&Key::Task(task(1)), &one);
        hub.leave(&Key::Task(task(2)), &two);
        assert!(lock(&hub.followed).is_empty());
    }

    #[tokio::test]
    async fn who_is_too_slow_is_told_to_look_at_everything() {
        let inbox = Inbox::default();
        for number in 0..=MARKS as u128 {
            inbox.put(Mark::Events(task(number)));
        }
        inbox.put(Mark::Events(task(1)));
        let marks = inbox.take().await;
        assert_eq!((marks.each.len(), marks.missed), (0, true));
    }
}
