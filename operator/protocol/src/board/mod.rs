//! What people and agents write to each other: issues, comments, who they are, and who is woken by what.
//!
//! A workspace is named in the path; `-` stands for that of the caller's own task token. Every list is a
//! [`Page`]; what changes carries a `revision`, and a write that names an old one is refused with 409.

mod approval;
mod attachment;
mod chat;
mod comment;
mod explain;
mod history;
mod inbox;
mod issue;
mod live;
mod page;
mod people;
mod project;
mod raw;
mod run;
mod search;
mod skill;
mod subscriber;
mod team;
mod usage;
mod wake;
mod ways;

pub use approval::{Approval, ApprovalQuery, ApprovalState, Decision};
pub use attachment::{Attachment, NewAttachment};
pub use chat::{
    Chat, ChatCause, ChatEdit, ChatMessage, ChatMessageKind, ChatQuery, ChatSent, NO_RESPONSE,
    NewChat, NewChatMessage, NewQuickIssue, QuickCause, QuickIssue,
};
pub use comment::{Comment, CommentEdit, CommentPage, CommentQuery, NewComment, Posted};
pub use explain::{AttemptView, ConditionView, Explanation, WaitingView};
pub use history::{History, HistoryEntry};
pub use inbox::{InboxEntry, InboxKind};
pub use issue::{Issue, IssueEdit, IssueKey, IssueQuery, IssueStatus, NewIssue, SavedIssue};
pub use live::{LiveBody, LiveMessage, LiveRequest, LiveTarget};
pub use page::{Cursor, Page};
pub use people::{
    AccessToken, AgentCard, Author, AuthorKind, LoginAnswer, LoginExchange, Member, MintedToken,
    NewAccessToken, PersonView, Recipient, RecipientKind,
};
pub use project::{
    NewProject, Project, ProjectEdit, ProjectEnd, Repository, SECRET_PREFIX, check_repositories,
    is_branch, is_project_name,
};
pub use raw::{RawLog, RawQuery};
pub use run::{Again, Cause, CauseKind, Rerun, Retry, RunView, Steer, TimelineItem};
pub use search::{SearchHit, SearchQuery};
pub use skill::{SkillCard, SkillSource};
pub use subscriber::Subscription;
pub use team::{TeamBriefing, TeamCard, TeamMember, TeamView};
pub use usage::{UsageQuery, UsageReport};
pub use wake::{BlockedReason, Outcome as WakeOutcome, Preview, Verdict as WakeVerdict};
pub use ways::{
    DeliveryState, DeliveryView, Makes, RuntimeCard, ScheduleCard, ScheduleTime, ScheduleView,
    Standing, WebhookCard,
};
