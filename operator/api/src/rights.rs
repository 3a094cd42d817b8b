//! What people may do: Kubernetes' own RBAC, asked for each person, and believed for ten seconds.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::error::Failure;
use crate::people::{Action, Authority, Person, within};
use crate::recent::Recent;

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
        let question = (person.digest(), action);
        if let Some(answer) = self.known.get(&question, now) {
            return Ok(answer);
        }
        let answer = within(self.limit, self.authority.may(person, &question.1)).await?;
        self.known.keep(question, answer, now);
        Ok(answer)
    }
}
