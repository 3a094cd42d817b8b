//! Who is woken by a write, and what became of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Recipient;
use crate::TaskId;

/// What a write means for one recipient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Who.
    pub recipient: Recipient,
    /// The agent that is woken for it, where the recipient is a team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executes: Option<String>,
    /// What.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What became of a wake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum Verdict {
    /// A task was queued.
    Queued {
        /// Which; absent in a preview.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    },
    /// A task that had not begun yet takes it in.
    Coalesced {
        /// Which.
        task: TaskId,
    },
    /// A task waits until its time comes.
    Deferred {
        /// Which; absent in a preview.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Until when: the earliest of all that it was asked for.
        until: Timestamp,
    },
    /// A task that works already is told of it while it does. Another one waits: it runs, unless the first has taken it in.
    Steered {
        /// The one that works.
        task: TaskId,
        /// The one that waits; absent in a preview, where there is none yet.
        #[serde(default, rename = "followUp", skip_serializing_if = "Option::is_none")]
        follow_up: Option<TaskId>,
    },
    /// Nobody is woken.
    Blocked {
        /// Why.
        reason: BlockedReason,
    },
}

/// Why a recipient is not woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BlockedReason {
    /// There is no such recipient, or the author may not wake it. One word for both, so that guessing tells
    /// nothing.
    NotAvailable,
    /// The author left it out.
    Suppressed,
    /// It would wake itself.
    SelfTrigger,
    /// The chain of agents that wake each other is as long as it may be.
    DepthLimit,
    /// As many runs were caused by agents on this issue in the last hour as may be.
    RateLimit,
    /// The same two agents have answered each other as often as they may without a person.
    RoundLimit,
    /// As many runs were caused by agents after one thing that a person did as may be.
    RootLimit,
    /// As many recipients were named as one write may wake.
    TooManyRecipients,
    /// No person is at the top of the chain of causes, and the workspace wants one.
    NoOriginator,
    /// As many tasks wait in the workspace as may.
    QueueFull,
}

/// Answer to a preview: what a write would do, before it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// One for each recipient.
    pub wakes: Vec<Outcome>,
}
