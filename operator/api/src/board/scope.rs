//! What the path names, once it is known that the caller may see it.

use std::str::FromStr;

use axum::extract::FromRequestParts;
use http::request::Parts;
use protocol::board::{Attachment, Comment, IssueKey, is_project_name};
use protocol::{ApprovalId, AttachmentId, CommentId, InboxId, MemberId, TaskId};

use super::caller::segment;
use super::{BoardCaller, Right};
use crate::auth::Caller;
use crate::error::Failure;
use crate::state::Shared;

/// A caller, and an issue in its scope. Whether a person's issue exists the store says.
pub(crate) struct OnIssue<R> {
    pub(crate) caller: BoardCaller<R>,
    pub(crate) key: IssueKey,
}

/// A caller, and a comment on an issue in its scope.
pub(crate) struct OnComment<R> {
    pub(crate) caller: BoardCaller<R>,
    pub(crate) comment: Comment,
}

/// A caller, and a task of the workspace; for an agent its own. Whether it exists the store says.
pub(crate) struct OnTask<R> {
    pub(crate) caller: BoardCaller<R>,
    pub(crate) task: TaskId,
}

/// A caller, and a project in its scope. Whether a person's exists the store says.
pub(crate) struct OnProject<R> {
    pub(crate) caller: BoardCaller<R>,
    pub(crate) name: String,
}

/// A caller, and a file on an issue in its scope.
pub(crate) struct OnAttachment<R> {
    pub(crate) caller: BoardCaller<R>,
    pub(crate) attachment: Attachment,
}

/// A person, and a use of a tool. Whether that person sees it the store says.
pub(crate) struct OnApproval<R> {
    pub(crate) caller: BoardCaller<R>,
    pub(crate) member: MemberId,
    pub(crate) approval: ApprovalId,
}

/// A person, and an entry of an inbox. Whether it is that person's own the store says.
pub(crate) struct OnEntry<R> {
    _caller: BoardCaller<R>,
    pub(crate) member: MemberId,
    pub(crate) entry: InboxId,
}

impl<R: Right> Caller for OnIssue<R> {}
impl<R: Right> Caller for OnComment<R> {}
impl<R: Right> Caller for OnTask<R> {}
impl<R: Right> Caller for OnProject<R> {}
impl<R: Right> Caller for OnAttachment<R> {}
impl<R: Right> Caller for OnApproval<R> {}
impl<R: Right> Caller for OnEntry<R> {}

impl<R: Right> FromRequestParts<Shared> for OnIssue<R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        let caller = BoardCaller::from_request_parts(parts, state).await?;
        let key = named(parts, state, "key").await?;
        caller.check_scope(state, &key).await?;
        Ok(Self { caller, key })
    }
}

impl<R: Right> FromRequestParts<Shared> for OnComment<R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        let caller = BoardCaller::from_request_parts(parts, state).await?;
        let id: CommentId = named(parts, state, "id").await?;
        let found = state.store.comment(caller.workspace(), id).await?;
        let (key, comment) = found.ok_or_else(Failure::not_found)?;
        caller.check_scope(state, &key).await?;
        Ok(Self { caller, comment })
    }
}

impl<R: Right> FromRequestParts<Shared> for OnTask<R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        let caller = BoardCaller::from_request_parts(parts, state).await?;
        let task: TaskId = named(parts, state, "id").await?;
        if let Some((own, _)) = caller.agent()
            && own.task != task
        {
            return Err(Failure::not_found());
        }
        Ok(Self { caller, task })
    }
}

impl<R: Right> FromRequestParts<Shared> for OnProject<R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        let caller = BoardCaller::from_request_parts(parts, state).await?;
        let name = segment(parts, state, "name").await?;
        if !is_project_name(&name) {
            return Err(Failure::not_found());
        }
        caller.check_project(state, &name).await?;
        Ok(Self { caller, name })
    }
}

impl<R: Right> FromRequestParts<Shared> for OnAttachment<R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        let caller = BoardCaller::from_request_parts(parts, state).await?;
        let id: AttachmentId = named(parts, state, "id").await?;
        let found = state.store.attachment(caller.workspace(), id).await?;
        let (key, attachment) = found.ok_or_else(Failure::not_found)?;
        caller.check_scope(state, &key).await?;
        Ok(Self { caller, attachment })
    }
}

impl<R: Right> FromRequestParts<Shared> for OnApproval<R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        let caller = BoardCaller::from_request_parts(parts, state).await?;
        let member = caller.member()?;
        let approval = named(parts, state, "id").await?;
        Ok(Self {
            caller,
            member,
            approval,
        })
    }
}

impl<R: Right> FromRequestParts<Shared> for OnEntry<R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        let caller = BoardCaller::from_request_parts(parts, state).await?;
        let member = caller.member()?;
        let entry = named(parts, state, "id").await?;
        Ok(Self {
            _caller: caller,
            member,
            entry,
        })
    }
}

/// What a part of the path names. One that cannot be a name is answered like one that nothing has.
async fn named<T: FromStr>(parts: &mut Parts, state: &Shared, name: &str) -> Result<T, Failure> {
    let text = segment(parts, state, name).await?;
    text.parse().map_err(|_| Failure::not_found())
}
