//! What somebody asks of the store, with all that is needed to ask it again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use protocol::board::{CommentEdit, Issue, NewComment, Posted};
use protocol::{AttemptId, CommentId, FailureClass, InstallationKey, Outcome, TaskId};
use store::{Acting, Error, Fault, Faults, Opened, Store};

use crate::bed::{at, failed, told};
use crate::board::AGENTS;
use crate::talk::room;

/// One call, with all it needs, so that it can be made again by who got no answer.
#[derive(Clone, Debug)]
pub(super) enum Call {
    /// With the second before which nobody is woken.
    Post(Box<Acting>, String, Option<CommentId>, Option<i64>),
    Edit(Box<Acting>, CommentId, String),
    Delete(Box<Acting>, CommentId),
    Claim,
    Open(AttemptId),
    Verdict(AttemptId, bool),
    Release(AttemptId),
    Stop(TaskId),
    Fire(TaskId),
}

pub(super) enum Answer {
    Posted(Box<Posted>),
    Claimed(Option<AttemptId>),
    Opened(Opened),
    Done,
}

/// Makes the next write go wrong; 0 for none.
pub(super) fn faulty(armed: &Arc<AtomicU8>) -> Faults {
    let armed = Arc::clone(armed);
    Faults::new(move |_| match armed.swap(0, Ordering::AcqRel) {
        1 => Some(Fault::ErrorBefore),
        2 => Some(Fault::ErrorAfter),
        3 => Some(Fault::CrashAfter),
        _ => None,
    })
}

pub(super) async fn make(
    store: Store,
    key: InstallationKey,
    issue: Issue,
    call: Call,
    now: i64,
) -> Result<Answer, Error> {
    let time = at(now);
    Ok(match call {
        Call::Post(by, body, parent, wake_at) => {
            let new = NewComment {
                body,
                parent,
                wake_at: wake_at.map(at),
                ..NewComment::default()
            };
            Answer::Posted(Box::new(
                store
                    .post_comment(&by, &issue.key, new, &AGENTS, time)
                    .await?,
            ))
        }
        Call::Edit(by, id, body) => {
            let edit = CommentEdit {
                revision: None,
                body,
            };
            Answer::Posted(Box::new(
                store.edit_comment(&by, id, edit, &AGENTS, time).await?,
            ))
        }
        Call::Delete(by, id) => match store.delete_comment(&by, id, time).await {
            Ok(()) | Err(Error::Missing { .. }) => Answer::Done,
            Err(error) => return Err(error),
        },
        Call::Claim => {
            let claimed = store.claim_next(&room(), &key, time).await?;
            Answer::Claimed(claimed.map(|claimed| claimed.attempt))
        }
        Call::Open(attempt) => Answer::Opened(store.open_package(attempt, [1; 32], time).await?),
        Call::Verdict(attempt, well) => {
            let outcome = if well {
                Outcome::Succeeded
            } else {
                Outcome::failed(FailureClass::OOMKilled, "too big")
            };
            store.verdict(attempt, told(outcome, None), time).await?;
            Answer::Done
        }
        Call::Release(attempt) => match store.release(attempt, time).await {
            Ok(_) | Err(Error::Conflict { .. }) => Answer::Done,
            Err(error) => return Err(error),
        },
        Call::Fire(task) => {
            store.fire(task, time).await?;
            Answer::Done
        }
        Call::Stop(task) => match store
            .end_unclaimed(task, failed(FailureClass::Cancelled), time)
            .await
        {
            Ok(_) | Err(Error::Conflict { .. }) => Answer::Done,
            Err(error) => return Err(error),
        },
    })
}
