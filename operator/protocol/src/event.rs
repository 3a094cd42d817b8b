//! What happens during a run, as one stream of events whatever the CLI (`protocols`: unified model).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One event of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// 1 for the first event of the attempt, rising by one.
    pub seq: u64,
    /// When the runner saw it, in whole microseconds.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum EventBody {
    /// Words of the agent. Neighbouring ones belong together.
    Text {
        /// The words.
        content: String,
    },
    /// Thoughts of the agent.
    Thinking {
        /// The words.
        content: String,
    },
    /// A tool starts.
    ToolUse {
        /// Its name.
        tool: String,
        /// Pairs it with its result.
        call_id: String,
        /// Its arguments as the model gave them.
        input: serde_json::Value,
    },
    /// A tool has ended. Exactly one for each [`EventBody::ToolUse`].
    ToolResult {
        /// The call it answers.
        call_id: String,
        /// Its name, where known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// What it gave back, at most [`crate::limits::TOOL_OUTPUT_BYTES`] in the timeline.
        output: String,
        /// How it ended, where the CLI says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<ToolStatus>,
    },
    /// The agent runs. Sent once, as early as the provider's session id is known.
    Status {
        /// `running`.
        status: String,
        /// The provider's id of the conversation, so that it is kept before the turn ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
    },
    /// Something a reader should see now. Does not decide the result.
    Error {
        /// The words.
        content: String,
    },
    /// A remark of the CLI or of the runner.
    Log {
        /// How grave.
        level: LogLevel,
        /// The words.
        content: String,
    },
}

/// How a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolStatus {
    /// As it should.
    Completed,
    /// With an error.
    Failed,
}

/// How grave a remark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LogLevel {
    /// For whoever looks for a cause.
    Debug,
    /// Something changed.
    Info,
    /// Something was wrong and was coped with.
    Warn,
    /// Something was wrong.
    Error,
}
