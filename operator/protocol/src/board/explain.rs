//! Why a task is where it is, with what shows it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RunView;
use crate::TaskId;

/// Why a task is where it is: one sentence, and the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Where it is.
    pub run: RunView,
    /// Why, and what can be done, in a sentence or two.
    pub summary: String,
    /// The task that it does again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_of: Option<TaskId>,
    /// What holds it while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingView>,
    /// What the cluster shows of its object; empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionView>,
    /// Its last attempts, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptView>,
}

/// A limit that holds a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingView {
    /// Which: the word of [`RunView::waits_for`].
    pub limit: String,
    /// The particulars.
    pub message: String,
    /// Since when.
    pub since: Timestamp,
}

/// A condition of an object, as Kubernetes has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionView {
    /// Of what.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in a word.
    pub reason: String,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Since when.
    pub since: Timestamp,
}

/// One pod's try at a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptView {
    /// Which.
    pub number: u32,
    /// The Runtime that it runs on.
    pub runtime: String,
    /// The node of its pod, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// When it got the session.
    pub claimed: Timestamp,
    /// When its runner began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<Timestamp>,
    /// When its agent ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When its runner was heard last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Why the operator ended it; none when its own result did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
