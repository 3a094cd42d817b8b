//! What one connection follows, and under which words.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::limits;
use protocol::{IssueId, TaskId};

use super::hub::{Hub, Inbox, Key, Mark};
use crate::error::Failure;

/// What is followed under one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Followed {
    Workspace,
    Issue(IssueId),
    Task {
        task: TaskId,
        /// The last position that was told.
        told: u64,
    },
}

/// All that one connection follows. Dropped, it follows nothing.
pub(super) struct Subscriptions {
    hub: Arc<Hub>,
    namespace_uid: String,
    pub(super) inbox: Arc<Inbox>,
    by_word: BTreeMap<String, Followed>,
}

impl Subscriptions {
    pub(super) fn new(hub: Arc<Hub>, namespace_uid: String) -> Self {
        Self {
            hub,
            namespace_uid,
            inbox: Arc::default(),
            by_word: BTreeMap::new(),
        }
    }

    /// Follows something from now on, instead of what the word stood for.
    pub(super) fn add(&mut self, word: &str, followed: Followed) -> Result<(), Failure> {
        if word.is_empty() || word.len() > limits::LIVE_WORD_BYTES {
            return Err(Failure::invalid(format!(
                "id: a word of 1 to {} bytes",
                limits::LIVE_WORD_BYTES
            )));
        }
        self.remove(word);
        let alike = self.by_word.values();
        let alike = alike
            .filter(|other| std::mem::discriminant(*other) == std::mem::discriminant(&followed));
        if alike.count() >= limits::LIVE_SUBSCRIPTIONS {
            return Err(Failure::too_many_requests(limits::LIVE_SUBSCRIPTIONS));
        }
        self.hub.follow(self.key(&followed), &self.inbox);
        self.by_word.insert(word.to_owned(), followed);
        Ok(())
    }

    /// Does not follow it any more.
    pub(super) fn remove(&mut self, word: &str) {
        if let Some(followed) = self.by_word.remove(word) {
            self.hub.leave(&self.key(&followed), &self.inbox);
        }
    }

    /// Whether the word stands for something.
    pub(super) fn has(&self, word: &str) -> bool {
        self.by_word.contains_key(word)
    }

    /// The words, and what they stand for.
    pub(super) fn all(&self) -> Vec<(String, Followed)> {
        let all = self.by_word.iter();
        all.map(|(word, followed)| (word.clone(), followed.clone()))
            .collect()
    }

    /// The words under which a mark is told.
    pub(super) fn of(&self, mark: Mark) -> Vec<(String, Followed)> {
        let all = self.by_word.iter();
        all.filter(|(_, followed)| concerns(followed, mark))
            .map(|(word, followed)| (word.clone(), followed.clone()))
            .collect()
    }

    /// Notes how far a task was told.
    pub(super) fn told(&mut self, word: &str, position: u64) {
        if let Some(Followed::Task { told, .. }) = self.by_word.get_mut(word) {
            *told = position;
        }
    }

    fn key(&self, followed: &Followed) -> Key {
        match followed {
            Followed::Workspace => Key::Workspace(self.namespace_uid.clone()),
            Followed::Issue(issue) => Key::Issue(*issue),
            Followed::Task { task, .. } => Key::Task(*task),
        }
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        for followed in self.by_word.values() {
            self.hub.leave(&self.key(followed), &self.inbox);
        }
    }
}

fn concerns(followed: &Followed, mark: Mark) -> bool {
    match (followed, mark) {
        (
            Followed::Task { task, .. },
            Mark::Events(other) | Mark::Rest(other) | Mark::Run(other, _),
        ) => *task == other,
        (Followed::Issue(issue), Mark::Issue(other) | Mark::Run(_, Some(other))) => *issue == other,
        (Followed::Workspace, Mark::Issue(_) | Mark::Run(..)) => true,
        (Followed::Workspace, Mark::Events(_) | Mark::Rest(_))
        | (Followed::Issue(_), Mark::Events(_) | Mark::Rest(_) | Mark::Run(_, None))
        | (Followed::Task { .. }, Mark::Issue(_)) => false,
    }
}
