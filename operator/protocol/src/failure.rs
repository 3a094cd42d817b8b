//! One enum of reasons why a task did not succeed, used in status, events, logs and metrics, and one table
//! of what each means: who is at fault, whether a retry may help, what it does to the conversation.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who has to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Mooring itself or its Runtime.
    Platform,
    /// The cluster: scheduling, images, volumes, nodes.
    Cluster,
    /// The model's provider.
    Provider,
    /// The agent or its CLI.
    Agent,
    /// The person who asked, or who stopped it.
    User,
}

/// Whether the same task may be tried again. No retry happens by itself yet; the decision is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Retry {
    /// Trying again cannot help before something is changed.
    Never,
    /// Trying again after a pause may help.
    AfterBackoff,
    /// Trying again at once may help.
    AtOnce,
}

/// What the failure does to the conversation. The files are never touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionEffect {
    /// The next task resumes it.
    Keep,
    /// The provider session can never be used again; the next task starts fresh and says so.
    Retire,
}

macro_rules! classes {
    ($($(#[doc = $doc:literal])+ $name:ident => $fault:ident, $retry:ident, $session:ident;)+) => {
        /// Why a task did not succeed. The words are those of `operator/docs/failures.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum FailureClass {
            $($(#[doc = $doc])+ $name,)+
        }

        impl FailureClass {
            /// Every class, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The word used in conditions, events, logs, metrics and the store.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            /// What the class means and what to do, in a sentence or two.
            #[must_use]
            pub fn explanation(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// Who has to act.
            #[must_use]
            pub fn fault(self) -> Fault {
                match self { $(Self::$name => Fault::$fault,)+ }
            }

            /// Whether the same task may be tried again.
            #[must_use]
            pub fn retry(self) -> Retry {
                match self { $(Self::$name => Retry::$retry,)+ }
            }

            /// What it does to the conversation.
            #[must_use]
            pub fn session(self) -> SessionEffect {
                match self { $(Self::$name => SessionEffect::$session,)+ }
            }
        }
    };
}

classes! {
    /// No node can take the pod. The message holds the scheduler's words.
    Unschedulable => Cluster, AfterBackoff, Keep;
    /// The image is missing or may not be pulled. Check `spec.image` and the pull secrets of the Runtime.
    ImagePullFailed => Cluster, AfterBackoff, Keep;
    /// The session's volume could not be bound, attached or mounted in time.
    VolumeNotReady => Cluster, AfterBackoff, Keep;
    /// The namespace's ResourceQuota leaves no room for the pod.
    QuotaExceeded => Cluster, AfterBackoff, Keep;
    /// An admission policy refused the pod. The message holds its words.
    AdmissionDenied => Cluster, Never, Keep;
    /// A ConfigMap, Secret or key that the Runtime names does not exist, or the image wants to run as root.
    ContainerConfigInvalid => Platform, Never, Keep;
    /// The container could not be started, for example because a program is missing in the image.
    ContainerStartFailed => Platform, Never, Keep;
    /// A process of the pod used more memory than its limit. Raise `spec.pod.resources` of the Runtime.
    OOMKilled => Cluster, AtOnce, Keep;
    /// The node evicted the pod under pressure.
    Evicted => Cluster, AfterBackoff, Keep;
    /// A pod of higher priority, or a drain, took the node.
    Preempted => Cluster, AfterBackoff, Keep;
    /// The node is gone or does not answer.
    NodeLost => Cluster, AfterBackoff, Keep;
    /// Somebody deleted the pod while it ran.
    PodDeleted => User, AtOnce, Keep;
    /// The session's volume is full. Have the agent delete what it does not need, in a task on the same subject, or enlarge
    /// the volume's claim.
    VolumeFull => Agent, Never, Keep;
    /// The workdir could not be prepared, an MCP server that is `required` was not there, or the coding agent cannot be given
    /// or held to what the Agent or the Runtime says. The message says which.
    PrepareFailed => Platform, AfterBackoff, Keep;
    /// The pod did not open its package within the Runtime's prepare time.
    ClaimExpired => Platform, AfterBackoff, Keep;
    /// The agent ran longer than the Runtime's task time.
    TaskTimeout => Agent, Never, Keep;
    /// The agent's CLI gave no sign of life for the Runtime's `timeouts.idleSeconds`. The message names what was seen last.
    IdleTimeout => Agent, AtOnce, Keep;
    /// A tool of the agent ran longer than the Runtime's `timeouts.toolSeconds`. The message names it.
    ToolTimeout => Agent, Never, Keep;
    /// `deadlineSeconds` of the task ran out.
    DeadlineExceeded => User, Never, Keep;
    /// The runner ended without a result.
    RunnerCrashed => Platform, AtOnce, Keep;
    /// The agent's CLI ended without a result, or broke its own protocol.
    CliCrashed => Agent, AtOnce, Keep;
    /// The task requires its conversation to be resumed, and that cannot be done.
    SessionUnavailable => User, Never, Keep;
    /// Who asked for the task may not wake its Agent, or the workspace wants a person to ask. Have the one who asks added
    /// to `spec.access` of the Agent, then ask again.
    NotAllowed => User, Never, Keep;
    /// The Agent was deleted while the task ran.
    AgentDeleted => User, Never, Keep;
    /// The provider refused the credentials.
    ProviderAuth => Provider, Never, Keep;
    /// The provider's quota or credit is used up.
    ProviderQuota => Provider, AfterBackoff, Keep;
    /// The provider is overloaded or limits the rate.
    ProviderOverloaded => Provider, AfterBackoff, Keep;
    /// The provider had an internal error.
    ProviderServerError => Provider, AfterBackoff, Keep;
    /// The provider could not be reached. Check the Runtime's `network.allow`.
    ProviderNetwork => Provider, AfterBackoff, Keep;
    /// The conversation no longer fits the model's context.
    ContextOverflow => Agent, Never, Retire;
    /// The provider refuses the stored history.
    HistoryRejected => Provider, AtOnce, Retire;
    /// The CLI does not know the session that was to be resumed.
    SessionRejected => Agent, AtOnce, Retire;
    /// The provider does not know the model. Check `model` of the Agent.
    ModelNotFound => Provider, Never, Keep;
    /// The model was asked as often as `maxTurns` of the task or of the Agent allows, and the agent was not done. Another
    /// task on the same subject goes on from there.
    IterationLimit => Agent, Never, Keep;
    /// The agent ended its turn without an answer.
    EmptyOutput => Agent, AtOnce, Keep;
    /// The image lacks the agent's program.
    CliMissing => Platform, Never, Keep;
    /// The agent's program is older than the lowest version that is supported.
    CliTooOld => Platform, Never, Keep;
    /// The agent's CLI lacks a setting that it needs, for example an API key.
    ConfigMissing => Platform, Never, Keep;
    /// Somebody cancelled the task, or deleted it.
    Cancelled => User, Never, Keep;
    /// Mooring cannot tell. The message and the timeline hold what is known.
    Unknown => Platform, AfterBackoff, Keep;
}

impl FailureClass {
    /// Reads the word used in the store.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|class| class.as_str() == word)
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for class in FailureClass::ALL {
            assert_eq!(FailureClass::parse(class.as_str()), Some(*class));
            assert_eq!(
                serde_json::to_value(class).unwrap(),
                serde_json::Value::from(class.as_str())
            );
        }
        assert_eq!(FailureClass::parse("oomkilled"), None);
    }

    #[test]
    fn only_faults_of_the_conversation_retire_it() {
        let retired: Vec<_> = FailureClass::ALL
            .iter()
            .filter(|class| class.session() == SessionEffect::Retire)
            .map(|class| class.as_str())
            .collect();
        assert_eq!(
            retired,
            ["ContextOverflow", "HistoryRejected", "SessionRejected"]
        );
    }
}
