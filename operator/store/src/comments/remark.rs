//! A comment that a person makes to a task that works.

use jiff::Timestamp;
use protocol::CommentId;
use protocol::board::{AuthorKind, Issue};

use super::post::{Written, insert, tell};
use crate::tasks::new_id;
use crate::writes::Write;
use crate::{Acting, Error, wakes};

/// One that was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remark {
    pub(crate) id: CommentId,
    pub(crate) root: CommentId,
}

/// Writes it into this thread, or a new one. The issue is locked.
pub(crate) async fn remark(
    write: &mut Write,
    by: &Acting,
    issue: &Issue,
    thread: Option<CommentId>,
    body: &str,
    now: Timestamp,
) -> Result<Remark, Error> {
    let id = CommentId(new_id(now)?);
    let remark = Remark {
        id,
        root: thread.unwrap_or(id),
    };
    insert(write, issue, remark.written(by, body, now)).await?;
    if by.author.kind == AuthorKind::Member {
        wakes::reset(write, issue.id).await?;
    }
    Ok(remark)
}

impl Remark {
    fn written<'a>(self, by: &'a Acting, body: &'a str, now: Timestamp) -> Written<'a> {
        Written {
            id: self.id,
            root: self.root,
            parent: (self.root != self.id).then_some(self.root),
            author: &by.author,
            body,
            task: by.task,
            wake_at: None,
            now,
        }
    }

    /// Tells those who follow the issue, and whom it names.
    pub(crate) async fn tell(
        self,
        write: &mut Write,
        by: &Acting,
        issue: &Issue,
        body: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        tell(write, &by.workspace, issue, self.written(by, body, now)).await
    }
}
