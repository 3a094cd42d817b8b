//! What people and agents write to each other: issues, comments, who they are, and who is woken by what.
//!
//! A workspace is named in the path; `-` stands for that of the caller's own task token. Every list is a
//! [`Page`]; what changes carries a `revision`, and a write that names an old one is refused with 409.

mod comment;
mod inbox;
mod issue;
mod page;
mod people;
mod run;
mod wake;

pub use comment::{Comment, CommentEdit, CommentPage, CommentQuery, NewComment, Posted};
pub use inbox::{InboxEntry, InboxKind};
pub use issue::{Issue, IssueEdit, IssueKey, IssueQuery, IssueStatus, NewIssue, SavedIssue};
pub use page::{Cursor, Page};
pub use people::{
    AccessToken, AgentCard, Author, AuthorKind, LoginAnswer, LoginExchange, Member, MintedToken,
    NewAccessToken, PersonView, Recipient, RecipientKind,
};
pub use run::{Cause, CauseKind, RunView, TimelineItem};
pub use wake::{BlockedReason, Outcome as WakeOutcome, Preview, Verdict as WakeVerdict};
