//! The contract between the runner and what drives one agent's command line.
//!
//! A [`Provider`] is what is fixed about a CLI: its names, where it keeps sessions, how it is started and
//! stopped. An [`Adapter`] is one run of it: a state machine without I/O, clock or tasks. It is told what
//! happens as [`Input`] and answers with [`Output`]; the runner does what is asked, in order, before it
//! gives the next input. So an adapter is tested by replaying a transcript.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::programs::Version;
use protocol::providers::{self, Facts};
use protocol::tools::ToolPolicy;
use protocol::{EventBody, FailureClass, Outcome, TokenUsage};

use crate::environment::Environment;
use crate::ledger::{Ledger, UsageFile};
use crate::mcp::{McpServers, Values};

/// What is fixed about one agent's command line.
pub trait Provider: Sync {
    /// The id that Runtimes name, for example `claude`.
    fn id(&self) -> &'static str;

    /// What the operator knows about it too.
    fn facts(&self) -> &'static Facts {
        providers::facts(self.id()).unwrap_or(&providers::PLAIN)
    }

    /// Name of the context file that the CLI reads in its working directory, for example `CLAUDE.md`.
    fn context_file(&self) -> &'static str;

    /// True when the CLI does not read that file: what stands in it is said before the message as well.
    fn reads_no_file(&self) -> bool {
        false
    }

    /// The folder under `$HOME` in which the CLI looks for skills, each a folder with a `SKILL.md`.
    fn skills(&self, place: &Place<'_>) -> PathBuf;

    /// Where the CLI keeps which skills are switched on, of one that leaves those switched off that it finds.
    fn skill_list(&self, _place: &Place<'_>) -> Option<SkillList> {
        None
    }

    /// Every file in which the CLI may keep `session`. The conversation is there when one of them exists
    /// and is not empty. Empty when that cannot be told by looking, or when the id is none of this CLI's:
    /// an id comes from a CLI's output, so one that could leave the store's directory gives no path. Where
    /// the name of a file cannot be worked out, the store is looked through, within bounds.
    fn session_files(&self, place: &Place<'_>, session: &str) -> Vec<PathBuf>;

    /// Where the CLI writes down its tokens, of one that tells them nowhere else.
    fn ledger(&self) -> Option<&'static Ledger> {
        None
    }

    /// How the CLI is stopped.
    fn ladder(&self) -> Ladder;

    /// The command line of one run, and the adapter that follows it.
    fn launch(&self, launch: &Launch) -> (CommandLine, Box<dyn Adapter>);
}

/// The file in which a CLI keeps which skills are switched on.
#[derive(Clone, Debug)]
pub struct SkillList {
    /// Where.
    pub path: PathBuf,
    /// Switches those of these names on in what stands in it, which is null where nothing of use does.
    pub switch_on: fn(&mut serde_json::Value, &[String]),
}

/// Where a CLI runs.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Its `$HOME`.
    pub home: &'a Path,
    /// Its working directory.
    pub cwd: &'a Path,
    /// Its environment, since some CLIs move their store by a variable.
    pub env: &'a BTreeMap<String, String>,
}

/// Waiting times of the steps by which a run is stopped: interrupt, end of input, TERM, KILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// From [`HostCommand::Interrupt`] to closing stdin; zero where the protocol knows no interrupt.
    pub interrupt: Duration,
    /// From closing stdin to TERM.
    pub close: Duration,
    /// From TERM to KILL.
    pub term: Duration,
}

/// What one run is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The Runtime's command; empty means the provider's usual one.
    pub command: Vec<String>,
    /// The version that the operator was told of, if it knows one. What only some versions have rests on it.
    pub version: Option<Version>,
    /// Put between the command and the protocol's arguments.
    pub launch_prefix: Vec<String>,
    /// Put after the protocol's arguments.
    pub args: Vec<String>,
    /// The model asked for.
    pub model: Option<String>,
    /// Working directory.
    pub cwd: PathBuf,
    /// `$HOME`.
    pub home: PathBuf,
    /// True when the CLI runs as root.
    pub root: bool,
    /// The conversation to go on with.
    pub resume: Option<String>,
    /// A name that no conversation has yet, for a CLI that has to be given one.
    pub new_session: String,
    /// The first user message, notices included.
    pub message: String,
    /// How much the model thinks, in the CLI's own words.
    pub thinking: Option<String>,
    /// The tier of the provider's service, in the CLI's own words.
    pub service_tier: Option<String>,
    /// How often the model is asked at most, for a CLI that counts itself; the runner counts as well.
    pub max_turns: Option<u32>,
    /// The Agent's arguments, put after those of the Runtime and filtered alike.
    pub custom_args: Vec<String>,
    /// The MCP servers that it is given, which it can take as its facts say. None: those that it finds by itself.
    pub mcp: Option<McpServers>,
    /// Which tools it may use, and for which somebody is asked.
    pub tools: ToolPolicy,
    /// The folders of the skills that it is given.
    pub skills: Vec<PathBuf>,
    /// A folder in memory for files that hold secrets.
    pub private: PathBuf,
    /// The runner's own program, for a CLI that can only ask by way of one.
    pub runner: PathBuf,
    /// The CLI's environment, but for what its command line adds.
    pub env: Environment,
}

/// How the CLI is started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandLine {
    /// Program and arguments. The prompt is never among them.
    pub argv: Vec<String>,
    /// Variables that are set unless the container's environment has them.
    pub env_defaults: Vec<(String, String)>,
    /// Variables that are set whatever the container's environment has. They may hold secrets.
    pub env: Values,
    /// A variable that holds JSON, and what is put into that, over what the container's environment has in it.
    pub env_json: Option<JsonVariable>,
    /// Where the CLI writes its tokens at its end, of one that does not tell them all. Where that can be read, it counts.
    pub usage_file: Option<UsageFile>,
    /// Written before the start, so that an adapter needs no file system.
    pub files: Vec<LaunchFile>,
    /// How the CLI is stopped, of one that is a client of a service of its own, which works on when the CLI has ended. What
    /// such a CLI leaves behind is ended once the adapter was told of its end, and has the answers of its [`Output::Run`].
    pub service: Option<Ladder>,
    /// Made after them, in folders of this run alone.
    pub links: Vec<LaunchLink>,
    /// Written to stdin once the reader runs; stdin stays open.
    pub stdin: Vec<u8>,
    /// What a reader should know about the command line, for example that a reserved flag was dropped.
    pub notes: Vec<EventBody>,
}

/// JSON for a variable. It may hold secrets, so it is not shown.
#[derive(Clone, PartialEq)]
pub struct JsonVariable {
    /// The variable.
    pub name: String,
    /// An object.
    pub value: serde_json::Value,
}

impl std::fmt::Debug for JsonVariable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("JsonVariable").field(&self.name).finish()
    }
}

/// A file that a CLI reads at its start. It is replaced in one step, for this user alone, and never through a link.
#[derive(Clone, PartialEq, Eq)]
pub struct LaunchFile {
    /// Where. Folders above it are made.
    pub path: PathBuf,
    /// The whole of it.
    pub content: Vec<u8>,
    /// It holds secret values: it is removed again once the CLI has ended.
    pub secret: bool,
}

/// A link to something that stays, in a folder that goes with the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchLink {
    /// Where. Folders above it are made.
    pub path: PathBuf,
    /// What it names.
    pub to: PathBuf,
    /// What it names is a folder, which is made where it is not there.
    pub folder: bool,
}

impl std::fmt::Debug for LaunchFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaunchFile")
            .field("path", &self.path)
            .field("bytes", &self.content.len())
            .field("secret", &self.secret)
            .finish()
    }
}

/// One run of a CLI.
pub trait Adapter: Send {
    /// Takes one input and appends what is to be done.
    ///
    /// Exactly one [`Output::Done`] per run, at the latest in answer to [`Input::Exited`]; where that is answered by an
    /// [`Output::Run`], in answer to its [`Input::Ran`]. After it the adapter is given nothing more.
    fn handle(&mut self, input: Input<'_>, out: &mut Vec<Output>);
}

/// What an adapter is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<'a> {
    /// The process runs and [`CommandLine::stdin`] is on its way. Always the first input.
    Started,
    /// One line of stdout without its newline; any bytes, at most [`protocol::limits::LINE_BYTES`].
    Stdout(&'a [u8]),
    /// A line of stdout was longer than that and was thrown away. This many bytes.
    StdoutTooLong(u64),
    /// One line of stderr without its newline, shortened where it is long.
    Stderr(&'a [u8]),
    /// A timer of [`Output::SetTimer`] ran out.
    Timer(TimerId),
    /// A program of [`Output::Run`] has ended.
    Ran {
        /// Which.
        id: SideId,
        /// What it wrote to stdout; none of one that failed, or did not end in time.
        stdout: Option<&'a [u8]>,
    },
    /// The process has ended and its pipes are read to their end. Nothing follows but [`Input::Ran`].
    Exited(Exit),
    /// The runner wants something of the CLI.
    Host(HostCommand<'a>),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// What the runner wants of a running CLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCommand<'a> {
    /// End the turn now by the protocol's own means. The [`Ladder`] follows whatever the adapter does.
    Interrupt,
    /// Hand over what a person adds while the turn runs. Answered by [`Output::Steered`] with the same id, at once or
    /// when it is known; the runner answers for an adapter that is done.
    Steer {
        /// Names the remark.
        id: &'a str,
        /// The whole text for the model, its frame included.
        text: &'a str,
    },
    /// What was decided on an [`Output::Ask`]. One that no longer waits is ignored.
    Decide {
        /// That of the question.
        id: &'a str,
        /// Whether the tool may be used.
        allow: bool,
        /// The reason that was given.
        why: Option<&'a str>,
    },
    /// A tool has run for longer than its budget: end what runs in the background, if the protocol can. An adapter that
    /// asked for it says [`Activity::ToolsInterrupted`].
    InterruptBackgroundTools,
}

/// Names a timer; each adapter has its own constants. Setting one again moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimerId(pub u8);

impl TimerId {
    /// Set by no adapter: it comes when stdout has been closed for so long that the run would be ended for it. One that
    /// has a result, and only waits for the end of its process, gives it.
    pub const CLOSED: Self = Self(u8::MAX);
}

/// Names a program that runs beside the CLI; each adapter has its own constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideId(pub u8);

/// What an adapter asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Something for the timeline. Texts are whole: the runner cuts, merges and redacts.
    Event(EventBody),
    /// Bytes for stdin, its newline included.
    Write(Vec<u8>),
    /// Close stdin after everything written so far.
    CloseStdin,
    /// Give [`Input::Timer`] after this long.
    SetTimer {
        /// Which.
        id: TimerId,
        /// How long.
        after: Duration,
    },
    /// What became of a [`HostCommand::Steer`].
    Steered {
        /// Which.
        id: String,
        /// Fine only once the CLI has it and the model will read it in this turn; else why not, in a short sentence.
        taken: Result<(), String>,
    },
    /// The CLI waits for a decision on a tool; [`HostCommand::Decide`] answers.
    Ask {
        /// Names the question, once per run.
        id: String,
        /// The tool, as the CLI calls it.
        tool: String,
        /// What the tool is given. The decision is on exactly this.
        input: serde_json::Value,
        /// Why it is asked, where the CLI says so.
        why: Option<String>,
    },
    /// The CLI no longer waits for this decision.
    Withdrawn {
        /// Which.
        id: String,
    },
    /// Run a program beside the CLI, in its environment and directory, without input. [`Input::Ran`] tells of its end.
    Run {
        /// Which.
        id: SideId,
        /// The program and its arguments.
        argv: Vec<String>,
        /// It is ended after this long.
        within: Duration,
    },
    /// End these processes, and all that they began. The runner does so with those that descend from the CLI and leaves
    /// others alone: a number comes from a CLI's output.
    EndProcesses {
        /// Their numbers.
        pids: Vec<u32>,
    },
    /// A sign that the CLI lives, or how far it is, which is nothing for the timeline.
    Activity(Activity),
    /// The run is over. What still lives of the CLI is stopped: from the rung `close` of the [`Ladder`].
    Done(AdapterResult),
}

/// What the runner's watchdogs go by, beside events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It said something that is no event.
    Frame,
    /// It says that it tries a request to the model again, after a failure of this class.
    Retrying(FailureClass),
    /// The model has answered one request: counted where a number of turns is the limit and the CLI has no flag for it.
    ModelTurn,
    /// Each answer of the model will be told, so that none has to be guessed from what is seen.
    TellsTurns,
    /// It was asked to end what runs in the background, and its tools get one more window for it.
    ToolsInterrupted,
}

/// How a run ended, as the CLI told it. The runner adds durations, what it knows better (a stop that it was
/// told, a time-out), and the last lines of stderr to a failure's message.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterResult {
    /// Success or failure. Unknown things are failures.
    pub outcome: Outcome,
    /// The final answer; empty unless it succeeded.
    pub output: String,
    /// The conversation that a later run can resume; none when no pointer is to be kept.
    pub session: Option<String>,
    /// Ids that can never be resumed again.
    pub retired: Vec<String>,
    /// Tokens of this run by model.
    pub usage: BTreeMap<String, TokenUsage>,
    /// What became of [`Launch::resume`].
    pub resume: ResumeOutcome,
}

/// What became of the conversation that was to be resumed, with what it rests on in a short sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResumeOutcome {
    /// None was asked for.
    NotAsked,
    /// The CLI said that it goes on with it.
    Continued(String),
    /// Positive evidence that it can never be resumed: unknown to the CLI, a history that the provider
    /// refuses, recorded under another login. The runner may start once more without it.
    Rejected(String),
    /// It failed before it named a conversation, and it is one that need not say when it does not know one. The runner may
    /// start once more without it, and gives it up only for one that works.
    Doubtful(String),
    /// The CLI said neither.
    Unknown(String),
}
