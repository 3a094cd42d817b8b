//! What the routes of the board share: who may call them, what of the path they are given, what of a text is
//! let in, pages, and who can be woken.
//!
//! A handler is given a [`BoardCaller`], an [`OnIssue`], an [`OnComment`], an [`OnTask`] or an
//! [`OnEntry`]: each of them has been authorised for its [`Right`], and what lies outside the caller's scope is
//! not there for it.

mod caller;
mod directory;
mod door;
mod page;
mod right;
mod scope;
#[cfg(test)]
mod tests;

pub(crate) use caller::BoardCaller;
pub(crate) use directory::Recipients;
pub(crate) use door::{is_name, plain};
pub(crate) use page::{EventsQuery, Filling, PageQuery, limit};
pub(crate) use right::{
    CancelTasks, CreateComments, CreateIssues, DeleteComments, DeleteInbox, GetIssues, GetTasks,
    GetTimelines, ListAgents, ListChildren, ListComments, ListInbox, ListIssues, ListMembers,
    ListRuns, ListTasks, PatchComments, PatchInbox, PatchIssues, Right,
};
pub(crate) use scope::{OnComment, OnEntry, OnIssue, OnTask};
