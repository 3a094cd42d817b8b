//! Ids in their own types, so that the compiler keeps a task from a session.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

id!(
    /// A task, for ever: `UUIDv7`, so ids sort by creation. Stands in labels, tokens and the API; the UID of
    /// the AgentTask object is an attribute of it.
    TaskId
);
id!(
    /// One (namespace, agent, subject): the volume and the conversation on it.
    SessionId
);
id!(
    /// An issue, for ever.
    IssueId
);
id!(
    /// A comment, for ever: `UUIDv7`, so ids sort by writing.
    CommentId
);
id!(
    /// A chat, for ever: `UUIDv7`, so ids sort by beginning.
    ChatId
);
id!(
    /// A person of a workspace.
    MemberId
);
id!(
    /// A person's token.
    TokenId
);
id!(
    /// An entry of a person's inbox.
    InboxId
);
id!(
    /// A use of a tool for which a person is asked: `UUIDv7`, so ids sort by asking.
    ApprovalId
);
id!(
    /// A file on an issue: `UUIDv7`, so ids sort by arrival.
    AttachmentId
);
id!(
    /// What a store and a cluster have in common; where they differ the operator only reads.
    InstallationId
);

/// One pod's try at a task. The number always rises and fences every write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptId {
    /// The task that is tried.
    pub task: TaskId,
    /// 1 for the first attempt.
    pub number: u32,
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.task, self.number)
    }
}
