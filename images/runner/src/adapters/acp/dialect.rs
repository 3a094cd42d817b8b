//! What tells one agent that speaks ACP from another. Each has a small file of its own beside this one that
//! names its differences from [`BASE`]; the protocol itself is the same for all.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::gate::Gated;
use super::sessions::Step;
use crate::adapter::{Ladder, Launch, LaunchFile, Place, SkillList};
use crate::adapters::command::Parts;
use crate::adapters::flags::Reserved;
use crate::adapters::json_rpc::Refusal;
use crate::adapters::names::Kept;
use crate::ledger::Ledger;

/// The differences of one agent.
pub(super) struct Dialect {
    /// The provider's id.
    pub(super) id: &'static str,
    /// Its program, unless the Runtime names another.
    pub(super) program: &'static str,
    /// Arguments that make it speak ACP. They come before those of the Runtime.
    pub(super) args: &'static [&'static str],
    /// Arguments after those of the Runtime.
    pub(super) last: &'static [&'static str],
    /// Flags that a Runtime cannot set.
    pub(super) reserved: &'static Reserved,
    /// Variables that are set unless the container's environment has them.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// The same, only where it runs as root.
    pub(super) root_env: &'static [(&'static str, &'static str)],
    /// The context file that it reads.
    pub(super) context_file: &'static str,
    /// True when it reads none: what stands there is said before the message.
    pub(super) reads_no_file: bool,
    /// Where it looks for skills. The usual place is read by most.
    pub(super) skills: fn(&Place<'_>) -> PathBuf,
    /// Where it keeps which of them are switched on, if it leaves switched off what it finds.
    pub(super) skill_list: fn(&Place<'_>) -> Option<SkillList>,
    /// Where it keeps a conversation; see [`crate::adapter::Provider::session_files`].
    pub(super) session_files: fn(&Place<'_>, &str) -> Vec<PathBuf>,
    /// Where it writes down its tokens, if it tells them nowhere else.
    pub(super) ledger: Option<&'static Ledger>,
    /// The lowest version that is driven, where it has to say one.
    pub(super) lowest: Option<Version>,
    /// Ways to log in, without which it opens no session: the first of them that it announces and takes.
    pub(super) logins: &'static [&'static str],
    /// Adds to what a session is opened with.
    pub(super) opening: fn(&Launch, &mut Value),
    /// Flags of a Runtime that are not for the command line, since `opening` takes their values.
    pub(super) lifted: &'static [&'static str],
    /// Words of a refused opening that mean that it lacks a setting.
    pub(super) unset: &'static [&'static str],
    /// A call of its own before all settings of an opened session.
    pub(super) first: fn(&Launch, &str, &Value) -> Option<Step>,
    /// Settings of a session that are made in each.
    pub(super) choices: &'static [Choice],
    /// How a conversation goes on, where both ways are offered.
    pub(super) resume: Resume,
    /// True for a refusal of a conversation that somebody else holds at the moment.
    pub(super) is_held: fn(&Refusal) -> bool,
    /// Words beside the usual ones with which it says that it does not know a conversation.
    pub(super) lost: &'static [&'static str],
    /// False of one that is known by no name: a refusal in words that are not known here may mean the same.
    pub(super) is_known: bool,
    /// True when a prompt in a lost conversation is refused without a word.
    pub(super) refuses_when_lost: bool,
    /// The id under which a session was opened, where it is not said as usual.
    pub(super) renamed: fn(&Value) -> &str,
    /// True when it says of a session that is to go on under another id that it is a new one.
    pub(super) is_new: fn(&Value) -> bool,
    /// How the model is chosen.
    pub(super) model: Model,
    /// The flag that says how much the model thinks; by the option of the session where there is none.
    pub(super) thinking: Option<&'static str>,
    /// True when it takes every MCP server though it does not say so.
    pub(super) announces_no_servers: bool,
    /// Session modes in which it asks for no permission; the first that it offers is set.
    pub(super) modes: &'static [&'static str],
    /// True for Codex behind it, whose own hook stands before its tools.
    pub(super) hooked: bool,
    /// Of one that is made to ask before each use of a tool, over the protocol.
    pub(super) gated: Option<Gated>,
    /// Where it is held to its tools it knows no such mode, and asks about what is left to it.
    pub(super) asks_when_held: bool,
    /// True when its questions for a permission are told of as calls that there are not.
    pub(super) asks_apart: bool,
    /// What is special about a question for a permission.
    pub(super) asks: fn(&Value) -> Asks,
    /// True when older versions read the prompt under another name, so that it is sent under both.
    pub(super) prompt_twice: bool,
    /// How a remark is handed over while it works.
    pub(super) steers: Steers,
    /// How its tools get their names.
    pub(super) tools: Naming,
    /// The tool that an update is of, as the program itself and a policy name it, where it says that.
    pub(super) tool: fn(&Value) -> &str,
    /// Files that it finds at its start.
    pub(super) files: fn(&Launch) -> Vec<LaunchFile>,
    /// What it is started with where it is held to its tools.
    pub(super) held: fn(&Launch, &mut Parts<'_>),
    /// What it keeps to then, of one that is held to the names of tools, and what shows that it does.
    pub(super) kept: Option<Kept>,
    /// True for an update in the agent's words that is a notice of its program.
    pub(super) is_notice: fn(&Value) -> bool,
    /// Words of notices that mean that the conversation no longer fits, if nothing else was said.
    pub(super) overflow: &'static [&'static str],
    /// True when it tells some failures of the provider on stderr only.
    pub(super) fails_on_stderr: bool,
    /// True when it refuses a prompt in words that say nothing, and a notice before them says why.
    pub(super) fails_in_notices: bool,
    /// True when only the ends of a turn that the protocol names are no failure.
    pub(super) only_known_ends: bool,
    /// True for the title and the input of a tool whose success means that the work is done, whatever comes after it.
    pub(super) is_goal: fn(&str, &Value) -> bool,
    /// Words with which it refuses a prompt though the work is done.
    pub(super) refuses_when_done: &'static [&'static str],
    /// True when it leaves tools without an end in a turn that went well.
    pub(super) leaves_tools_open: bool,
    /// True when it never tells the end of a tool that changes a file: whatever comes next tells it.
    pub(super) leaves_edits_open: bool,
    /// What its numbers of tokens are of.
    pub(super) usage: Scope,
    /// True when it lets go of a conversation only once that is closed.
    pub(super) closes: bool,
    /// After its input has ended it is given this long.
    pub(super) linger: Duration,
    /// How it is stopped.
    pub(super) ladder: Ladder,
}

/// A version: its three numbers.
pub(super) type Version = [u64; 3];

/// A setting of a session.
pub(super) struct Choice {
    /// Its id.
    pub(super) id: &'static str,
    /// What it is set to.
    pub(super) value: &'static str,
    /// True when it is set whether or not it is offered, and the run fails where it cannot be.
    pub(super) needed: bool,
}

/// What is special about a question for a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// Nothing.
    Permission,
    /// It is for what an agent may not do here.
    Forbidden,
    /// It is for a person, who is not there.
    Person,
}

/// How a remark is handed over to an agent that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steers {
    /// It is not.
    No,
    /// As a second prompt that begins so.
    Prompt(&'static str),
    /// By `_x.ai/interject`; a notice says when the model has it.
    Interject,
    /// By the method that it names in its capabilities, below this key of their `_meta`.
    Named(&'static str),
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
    /// The same, and by its id also where the session does not say which there are.
    Unasked,
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
    /// The turn, told again and again by a notice of its own.
    Notice,
    /// Each answer of the model, told once behind its words.
    Answer,
}

/// An agent without differences.
pub(super) const BASE: Dialect = Dialect {
    id: "acp",
    program: "acp",
    args: &[],
    last: &[],
    reserved: &[],
    env: &[("NO_COLOR", "1")],
    root_env: &[],
    context_file: "AGENTS.md",
    reads_no_file: false,
    skills: |place| place.home.join(".agents/skills"),
    skill_list: |_| None,
    session_files: |_, _| Vec::new(),
    ledger: None,
    lowest: None,
    logins: &[],
    opening: |_, _| {},
    lifted: &[],
    unset: &[],
    first: |_, _, _| None,
    choices: &[],
    resume: Resume::Resume,
    is_held: |_| false,
    lost: &[],
    is_known: true,
    refuses_when_lost: false,
    renamed: |_| "",
    is_new: |_| false,
    model: Model::InSession,
    thinking: None,
    announces_no_servers: false,
    modes: &[],
    asks_when_held: false,
    hooked: false,
    gated: None,
    asks_apart: false,
    asks: |_| Asks::Permission,
    prompt_twice: false,
    steers: Steers::No,
    tools: Naming::Title,
    tool: |_| "",
    files: |_| Vec::new(),
    held: |_, _| {},
    kept: None,
    is_notice: |_| false,
    overflow: &[],
    fails_on_stderr: false,
    fails_in_notices: false,
    only_known_ends: false,
    is_goal: |_, _| false,
    refuses_when_done: &[],
    leaves_tools_open: false,
    leaves_edits_open: false,
    usage: Scope::Turn,
    closes: false,
    linger: Duration::from_secs(2),
    ladder: Ladder {
        interrupt: Duration::from_secs(2),
        close: Duration::from_secs(2),
        term: Duration::from_secs(5),
    },
};
