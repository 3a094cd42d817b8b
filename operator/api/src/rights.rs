//! What people may do: Kubernetes' own RBAC, asked for each person, and believed for ten seconds.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::error::Failure;
use crate::people::{Action, Authority, Person, within};
use crate::recent::{LIFE, Recent};

/// Rights, as they were a moment ago.
pub(crate) struct Rights {
    authority: Arc<dyn Authority>,
    /// How long one is asked for.
    limit: Duration,
    known: Recent<([u8; 32], Action), bool>,
}

impl Rights {
    pub(crate) fn new(authority: Arc<dyn Authority>, limit: Duration) -> Self {
        Self {
            authority,
            limit,
            known: Recent::default(),
        }
    }

    /// Whether somebody may do something.
    pub(crate) async fn may(
        &self,
        person: &Person,
        action: Action,
        now: Timestamp,
    ) -> Result<bool, Failure> {
        self.ask((person.digest(), action), person, now, LIFE).await
    }

    /// The same, from who is asked again and again: an answer is believed for that long only.
    pub(crate) async fn may_still(
        &self,
        person: &Person,
        action: Action,
        now: Timestamp,
        life: Duration,
    ) -> Result<bool, Failure> {
        self.ask((person.digest(), action), person, now, life).await
    }

    async fn ask(
        &self,
        question: ([u8; 32], Action),
        person: &Person,
        now: Timestamp,
        life: Duration,
    ) -> Result<bool, Failure> {
        if let Some(answer) = self.known.get_within(&question, now, life) {
            return Ok(answer);
        }
        let answer = within(self.limit, self.authority.may(person, &question.1)).await?;
        self.known.keep(question, answer, now);
        Ok(answer)
    }
}
