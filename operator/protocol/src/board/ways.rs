//! What the platform's people define and others only look at: schedules, webhooks and what they delivered, runtimes.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::IssueKey;
use crate::CommentId;

/// Whether something is as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Whether it is.
    pub ready: bool,
    /// Why, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// An `AgentSchedule`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleCard {
    /// Its resource name.
    pub name: String,
    /// When, as in cron.
    pub schedule: String,
    /// The time zone of that.
    pub time_zone: String,
    /// True while no time begins.
    pub suspended: bool,
    /// What each time makes.
    pub makes: Makes,
    /// Whether its times begin.
    pub standing: Standing,
    /// The last time that began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// The next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
}

/// What a schedule or webhook makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Makes {
    /// Issues.
    Issue {
        /// Their title, with what stands for parts of it.
        title: String,
        /// Who gets them: `agent:NAME` or `team:NAME`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<String>,
    },
    /// Tasks, without an issue.
    Task {
        /// The agent.
        agent: String,
        /// The key under which it remembers.
        subject: String,
    },
    /// Comments on the issues that deliveries name.
    Comment {},
    /// Issues and comments of what GitHub says of its issues.
    GitHub {
        /// The label with which they are handed over.
        label: String,
        /// Who gets them: `agent:NAME` or `team:NAME`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<String>,
    },
}

/// `GET schedules/{name}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleView {
    /// What a list says of it.
    #[serde(flatten)]
    pub card: ScheduleCard,
    /// What happens when a time comes while an earlier one goes on: `Allow`, `Forbid` or `Replace`.
    pub concurrency_policy: String,
    /// How late a time may begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting_deadline_seconds: Option<u32>,
    /// The last time that did not begin because it would have been too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_missed: Option<Timestamp>,
    /// Times that still go on, oldest first.
    pub going_on: Vec<ScheduleTime>,
    /// The description of the issue, or the prompt of the task.
    pub text: String,
}

/// A time of a schedule that still goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleTime {
    /// The time, as the schedule says it.
    pub at: Timestamp,
    /// The issue that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// The name of the task that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// An `AgentWebhook`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookCard {
    /// Its resource name.
    pub name: String,
    /// True while it refuses everything.
    pub suspended: bool,
    /// What each delivery becomes.
    pub makes: Makes,
    /// Where deliveries are sent to, below the address of the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The Secret with the key that signs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Whether deliveries are taken.
    pub standing: Standing,
    /// What became of the last one.
    pub delivered: Standing,
}

/// What a webhook has delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    /// For ever.
    pub id: Uuid,
    /// The sender's own id of it.
    pub delivery: String,
    /// What it tells of, as the sender says.
    pub event: String,
    /// How it stands.
    pub state: DeliveryState,
    /// The issue that it became, or on which it is a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueKey>,
    /// The comment that it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<CommentId>,
    /// Why it became nothing; empty where it did.
    pub remark: String,
    /// When it came.
    pub received: Timestamp,
}

/// How a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeliveryState {
    /// It was not dealt with yet.
    Waiting,
    /// It became an issue or a comment.
    Done,
    /// It is none that is taken over.
    Ignored,
    /// It could not become what it should; the sender may send it again.
    Failed,
}

impl DeliveryState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Done, Self::Ignored, Self::Failed];

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Ignored => "ignored",
            Self::Failed => "failed",
        }
    }

    /// Of its word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// A Runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeCard {
    /// Its resource name, by which Agents name it.
    pub name: String,
    /// Which command line it runs.
    pub provider: String,
    /// The image that holds it.
    pub image: String,
    /// The model of agents that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Pods at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pods: Option<u32>,
    /// The version of its program, where that told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The models that its program says it can be asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// How many more it named.
    #[serde(default)]
    pub models_left_out: u32,
    /// The words with which it can be told how much a model is to think.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thinking_levels: Vec<String>,
    /// Whether pods can be made.
    pub standing: Standing,
}
