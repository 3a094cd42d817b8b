//! What tells one agent that speaks ACP from another. Each has a small file of its own beside this one that
//! names its differences from [`BASE`]; the protocol itself is the same for all.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::adapter::{Ladder, Place};
use crate::adapters::flags::Reserved;

/// The differences of one agent.
pub(super) struct Dialect {
    /// The provider's id.
    pub(super) id: &'static str,
    /// Its program, unless the Runtime names another.
    pub(super) program: &'static str,
    /// Arguments that make it speak ACP. They come before those of the Runtime.
    pub(super) args: &'static [&'static str],
    /// Flags that a Runtime cannot set.
    pub(super) reserved: &'static Reserved,
    /// Variables that are set unless the container's environment has them.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// The same, only where it runs as root.
    pub(super) root_env: &'static [(&'static str, &'static str)],
    /// The context file that it reads.
    pub(super) context_file: &'static str,
    /// Where it looks for skills. The usual place is read by most.
    pub(super) skills: fn(&Place<'_>) -> PathBuf,
    /// Where it keeps a conversation; see [`crate::adapter::Provider::session_files`].
    pub(super) session_files: fn(&Place<'_>, &str) -> Vec<PathBuf>,
    /// How a conversation goes on, where both ways are offered.
    pub(super) resume: Resume,
    /// Words beside the usual ones with which it says that it does not know a conversation.
    pub(super) lost: &'static [&'static str],
    /// True when a prompt in a lost conversation is refused without a word.
    pub(super) refuses_when_lost: bool,
    /// The id under which a session was opened, where it is not said as usual.
    pub(super) renamed: fn(&Value) -> &str,
    /// How the model is chosen.
    pub(super) model: Model,
    /// Session modes in which it asks for no permission; the first that it offers is set.
    pub(super) modes: &'static [&'static str],
    /// How its tools get their names.
    pub(super) tools: Naming,
    /// True for an update in the agent's words that is a notice of its program.
    pub(super) is_notice: fn(&Value) -> bool,
    /// Words of notices that mean that the conversation no longer fits, if nothing else was said.
    pub(super) overflow: &'static [&'static str],
    /// True when it tells some failures of the provider on stderr only.
    pub(super) fails_on_stderr: bool,
    /// What its numbers of tokens are of.
    pub(super) usage: Scope,
    /// How it is stopped.
    pub(super) ladder: Ladder,
}

/// How a conversation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    /// `session/resume`: nothing is told again.
    Resume,
    /// `session/load`: the history is told again, and not shown.
    Load,
}

/// How the model is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    /// By this flag.
    Flag(&'static str),
    /// In the session, by whichever of the two ways it offers.
    InSession,
    /// Named when the session is opened, and set in it where it then runs with another.
    WhenOpened,
}

/// How tools get their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// What stands before the colon of the title.
    Title,
    /// The same, with names of its own, and the kind of the call where the title says none of them.
    Hermes,
    /// By the kind of the call: the title is its arguments.
    Kind,
}

/// What numbers of tokens are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The turn.
    Turn,
    /// The whole conversation, whose sum so far is told before the turn.
    Conversation,
}

/// An agent without differences.
pub(super) const BASE: Dialect = Dialect {
    id: "acp",
    program: "acp",
    args: &[],
    reserved: &[],
    env: &[("NO_COLOR", "1")],
    root_env: &[],
    context_file: "AGENTS.md",
    skills: |place| place.home.join(".agents/skills"),
    session_files: |_, _| Vec::new(),
    resume: Resume::Resume,
    lost: &[],
    refuses_when_lost: false,
    renamed: |_| "",
    model: Model::InSession,
    modes: &[],
    tools: Naming::Title,
    is_notice: |_| false,
    overflow: &[],
    fails_on_stderr: false,
    usage: Scope::Turn,
    ladder: Ladder {
        interrupt: Duration::from_secs(2),
        close: Duration::from_secs(2),
        term: Duration::from_secs(5),
    },
};
