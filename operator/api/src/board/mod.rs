//! What the routes of the board share: who may call them, what of the path they are given, what of a text is
//! let in, pages, and who can be woken.
//!
//! A handler is given a [`BoardCaller`], an [`OnIssue`], an [`OnComment`], an [`OnTask`], an [`OnChat`], an
//! [`OnAttachment`], an [`OnProject`], an [`OnApproval`] or an [`OnEntry`]: each of them has been authorised for its [`Right`], and
//! what lies outside the caller's scope is not there for it.

mod caller;
mod chat;
mod directory;
mod door;
mod page;
mod reach;
mod right;
mod scope;
#[cfg(test)]
mod tests;

pub(crate) use caller::{BoardCaller, issue_of, path_part};
pub(crate) use chat::{OnChat, check_private};
pub(crate) use directory::Recipients;
pub(crate) use door::{is_name, plain};
pub(crate) use page::{EventsQuery, Filling, PageQuery, limit, named_page};
pub(crate) use reach::Reach;
pub(crate) use right::{
    CancelTasks, CreateAttachments, CreateChats, CreateComments, CreateIssues, CreateProjects,
    CreateQuickIssues, DecideApprovals, DeleteAttachments, DeleteComments, DeleteInbox,
    DeleteProjects, GetApprovals, GetAttachments, GetChats, GetIssues, GetProjects, GetQuickIssues,
    GetRawLogs, GetRuntimes, GetSchedules, GetSkills, GetTasks, GetTeams, GetTimelines,
    GetWebhooks, ListAgents, ListApprovals, ListAttachments, ListChats, ListChildren, ListComments,
    ListHistory, ListInbox, ListIssues, ListMembers, ListProjects, ListRuns, ListRuntimes,
    ListSchedules, ListSkills, ListTasks, ListTeams, ListWebhooks, LookOn, PatchChats,
    PatchComments, PatchInbox, PatchIssues, PatchProjects, RerunTasks, Right, SuspendTasks,
    verbs_of_agents,
};
pub(crate) use scope::{OnApproval, OnAttachment, OnComment, OnEntry, OnIssue, OnProject, OnTask};
