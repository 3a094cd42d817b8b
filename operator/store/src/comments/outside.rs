//! A comment that another system makes through a webhook.

use jiff::Timestamp;
use protocol::CommentId;
use protocol::board::{CauseKind, Issue};

use super::post::{Written, check_body, insert, tell};
use crate::tasks::new_id;
use crate::wakes::{self, Begin};
use crate::writes::Write;
use crate::{Acting, Error};

/// What another system says.
pub(crate) struct Outside<'a> {
    pub(crate) by: &'a Acting,
    /// Locked.
    pub(crate) issue: &'a Issue,
    /// The thread in which it goes on; none where it begins one.
    pub(crate) thread: Option<CommentId>,
    pub(crate) body: &'a str,
    pub(crate) directory: &'a dyn wake::Directory,
    pub(crate) now: Timestamp,
}

/// Writes it, and wakes who has the issue, be it an agent or a team. Whom the text names is not asked: nobody knows
/// who wrote it.
pub(crate) async fn from_outside(write: &mut Write, said: Outside<'_>) -> Result<CommentId, Error> {
    let Outside {
        by,
        issue,
        thread,
        body,
        directory,
        now,
    } = said;
    check_body(body)?;
    let id = CommentId(new_id(now)?);
    let root = thread.unwrap_or(id);
    let written = Written {
        id,
        root,
        parent: thread,
        author: &by.author,
        body,
        task: None,
        wake_at: None,
        now,
    };
    insert(write, issue, written).await?;
    let chain = wakes::chain(write, &by.author, by.person(), None).await?;
    let closed = issue.status.is_closed();
    let has_it = issue.assignee.iter().filter(|_| !closed);
    let begin = Begin {
        workspace: &by.workspace,
        issue,
        kind: CauseKind::Comment,
        evidence: chain.evidence(),
        comment: Some(id),
        thread: Some(root),
        targets: &wake::targets(has_it, directory),
        suppress: &[],
        directory,
        limits: write.limits(),
        now,
        fire_at: None,
    };
    begin.now(write, &chain).await?;
    tell(write, &by.workspace, issue, written).await?;
    Ok(id)
}
