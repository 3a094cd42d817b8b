//! Replays of recordings, and of frames made up for a test, with what must hold for any input.

use std::collections::BTreeMap;
use std::path::PathBuf;

use protocol::programs::Version;
use protocol::{EventBody, FailureClass, Outcome};
use runner::adapter::{
    Activity, Adapter, AdapterResult, Exit, HostCommand, Input, Launch, Output, SideId,
};
use runner::adapters;
use serde_json::Value;

/// What ends a turn that was interrupted.
const ENDS_OF_INTERRUPTED: [&str; 2] = [
    "\"stopReason\": \"cancelled\"",
    "\"error_during_execution\"",
];
/// A refusal of a call that the program does not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// How a recorded run was started, how its process ended, and what its outcome is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// Which adapter.
    pub(crate) provider: &'static str,
    /// The folder of its recordings.
    pub(crate) folder: &'static str,
    pub(crate) name: &'static str,
    pub(crate) resume: Option<&'static str>,
    pub(crate) exit: i32,
    /// Our interrupt comes before the line that holds this, and the replay stops at the end of that turn.
    pub(crate) interrupt: Option<&'static str>,
    pub(crate) class: Option<FailureClass>,
}

impl Case {
    pub(crate) fn adapter(&self) -> Box<dyn Adapter> {
        let launch = Launch {
            cwd: "/workdir".into(),
            home: "/home/user".into(),
            resume: self.resume.map(str::to_owned),
            // The one of which there are two that speak otherwise.
            version: self
                .folder
                .ends_with("opencode-2")
                .then_some(Version(2, 0, 18)),
            message: "hi".to_owned(),
            ..Launch::default()
        };
        adapters::find(self.provider)
            .expect("there is an adapter")
            .launch(&launch)
            .1
    }

    pub(crate) fn exit(&self) -> Exit {
        match self.exit {
            code @ 0.. => Exit {
                code: Some(code),
                signal: None,
            },
            signal => Exit {
                code: None,
                signal: Some(-signal),
            },
        }
    }

    /// Lines of one of its files; none where there is no such file.
    fn lines(&self, kind: &str) -> Vec<String> {
        let file = folder(self.folder).join(format!("{}.{kind}", self.name));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn stdout(&self) -> Vec<String> {
        self.lines("jsonl")
    }

    pub(crate) fn stderr(&self) -> Vec<String> {
        self.lines("stderr.txt")
    }

    /// Everything that the adapter asked for.
    pub(crate) fn replay(&self) -> Vec<Output> {
        let mut run = Run::of(self);
        // Of those that get their prompt and no more it is closed from the start.
        let closed = run.out.contains(&Output::CloseStdin);
        for line in self.stdout() {
            if self.interrupt.is_some_and(|mark| line.contains(mark)) {
                run.give(Input::Host(HostCommand::Interrupt));
            }
            run.line(&line);
            let over = (!closed && run.out.contains(&Output::CloseStdin))
                || ENDS_OF_INTERRUPTED.iter().any(|end| line.contains(end));
            if self.interrupt.is_some() && over {
                break;
            }
        }
        for line in self.stderr() {
            run.give(Input::Stderr(line.as_bytes()));
        }
        run.end(self.exit())
    }
}

pub(crate) fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// The names of the recordings in a folder, sorted.
pub(crate) fn recorded(name: &str) -> Vec<String> {
    let mut recorded: Vec<_> = std::fs::read_dir(folder(name))
        .expect("the folder is there")
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let name = name
                .strip_suffix(".stdin.jsonl")
                .unwrap_or(&name)
                .to_owned();
            let name = name
                .strip_suffix(".jsonl")
                .or_else(|| name.strip_suffix(".stderr.txt"))
                .unwrap_or(&name);
            (name != "README.md").then(|| name.to_owned())
        })
        .collect();
    recorded.sort();
    recorded.dedup();
    recorded
}

/// A replay under way.
pub(crate) struct Run {
    adapter: Box<dyn Adapter>,
    pub(crate) out: Vec<Output>,
    /// The calls that the recording's client made, by their number.
    recorded: BTreeMap<u64, Call>,
    /// The adapter's own calls that wait for an answer.
    open: Vec<(u64, Call)>,
    /// How many calls of each kind the adapter has made.
    made: BTreeMap<String, usize>,
}

/// A call: its kind, and how many of that kind came before it.
type Call = (String, usize);

impl Run {
    pub(crate) fn of(case: &Case) -> Self {
        let frames = case.lines("stdin.jsonl");
        let frames = frames
            .iter()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut kinds = BTreeMap::new();
        let recorded = frames.filter_map(|frame| call_of(&frame, &mut kinds));
        let mut run = Self {
            adapter: case.adapter(),
            out: Vec::new(),
            recorded: recorded.collect(),
            open: Vec::new(),
            made: BTreeMap::new(),
        };
        run.give(Input::Started);
        run
    }

    pub(crate) fn is_done(&self) -> bool {
        self.out
            .iter()
            .any(|output| matches!(output, Output::Done(_)))
    }

    pub(crate) fn give(&mut self, input: Input<'_>) {
        if self.is_done() {
            return;
        }
        let before = self.out.len();
        self.adapter.handle(input, &mut self.out);
        for output in &self.out[before..] {
            if let Output::Write(bytes) = output {
                assert!(bytes.ends_with(b"\n"), "a whole line");
                let frame = serde_json::from_slice(bytes).ok();
                let call = frame.and_then(|frame| call_of(&frame, &mut self.made));
                self.open.extend(call);
            }
        }
    }

    /// One recorded line. The adapter may number its calls otherwise than the client of the recording did, and
    /// make more of them: an answer gets the number of the call that it belongs to, and a call that was not
    /// made in the recording is answered with nothing.
    pub(crate) fn line(&mut self, line: &str) {
        while let Some(at) = self.not_recorded() {
            let (id, _) = self.open.remove(at);
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            self.give(Input::Stdout(answer.as_bytes()));
        }
        if let Some(line) = self.renumbered(line) {
            self.give(Input::Stdout(line.as_bytes()));
        }
    }

    /// An open call that was not made in the recording.
    fn not_recorded(&self) -> Option<usize> {
        let made = |call: &Call| self.recorded.values().any(|made| made == call);
        self.open.iter().position(|(_, call)| !made(call))
    }

    /// The line with the adapter's own number; none for the answer to a call that the adapter did not make.
    fn renumbered(&mut self, line: &str) -> Option<String> {
        let as_it_is = Some(line.to_owned());
        let Ok(mut frame) = serde_json::from_str::<Value>(line) else {
            return as_it_is;
        };
        let id = frame.get("id").and_then(Value::as_u64);
        let asked = id.filter(|_| frame.get("method").is_none());
        let Some(call) = asked.and_then(|id| self.recorded.get(&id)) else {
            return as_it_is;
        };
        // The adapter calls only what the program offers.
        if frame["error"]["code"] == METHOD_NOT_FOUND {
            return None;
        }
        let at = self.open.iter().position(|(_, open)| open == call)?;
        frame["id"] = Value::from(self.open.remove(at).0);
        Some(frame.to_string())
    }

    pub(crate) fn end(mut self, exit: Exit) -> Vec<Output> {
        self.give(Input::Exited(exit));
        // Nothing runs beside a replay.
        let beside: Vec<_> = self.out.iter().filter_map(side_of).collect();
        for id in beside {
            self.give(Input::Ran { id, stdout: None });
        }
        let done = self
            .out
            .iter()
            .filter(|output| matches!(output, Output::Done(_)))
            .count();
        assert_eq!(done, 1, "exactly one Done");
        assert!(
            matches!(self.out.last(), Some(Output::Done(_))),
            "nothing after Done"
        );
        check_pairs(&self.out);
        check_class(&self.out);
        self.out
    }
}

/// The program that it asks to run beside it.
pub(crate) fn side_of(output: &Output) -> Option<SideId> {
    let Output::Run { id, .. } = output else {
        return None;
    };
    Some(*id)
}

/// The number of a call and which it is; `before`: how many there were of each kind.
///
/// The ways to go on with a conversation are one kind: what is answered to one of them is so to another, but for the history
/// that some repeat before it.
fn call_of(frame: &Value, before: &mut BTreeMap<String, usize>) -> Option<(u64, Call)> {
    let kind = match frame.get("method")?.as_str()? {
        "session/load" | "session/resume" => "session",
        "thread/fork" | "thread/resume" => "thread",
        method => method,
    };
    let id = frame.get("id")?.as_u64()?;
    let count = before.entry(kind.to_owned()).or_default();
    *count += 1;
    Some((id, (kind.to_owned(), *count)))
}

/// Nothing is unknown where the words of the failure say what it is.
fn check_class(out: &[Output]) {
    if let Outcome::Failed {
        class: FailureClass::Unknown,
        message,
        ..
    } = &result(out).outcome
    {
        let known = runner::classify::classify(message);
        assert_eq!(known, FailureClass::Unknown, "{message}");
    }
}

/// Each tool call has one start and, after it, one result; the session is told once.
pub(crate) fn check_pairs(out: &[Output]) {
    let mut open = BTreeMap::new();
    let mut told = 0;
    for output in out {
        let Output::Event(event) = output else {
            continue;
        };
        if let EventBody::ToolUse { call_id, .. } = event {
            assert_eq!(open.insert(call_id, true), None, "{call_id} started twice");
        } else if let EventBody::ToolResult { call_id, .. } = event {
            assert_eq!(
                open.insert(call_id, false),
                Some(true),
                "{call_id} ended twice or before its start"
            );
        } else if matches!(event, EventBody::Status { .. }) {
            told += 1;
        }
    }
    assert!(open.values().all(|open| !open), "left open: {open:?}");
    assert!(told <= 1);
}

pub(crate) fn result(out: &[Output]) -> &AdapterResult {
    let result = out.iter().find_map(|output| {
        if let Output::Done(result) = output {
            Some(result)
        } else {
            None
        }
    });
    result.expect("there is a result")
}

/// The outputs as a reader likes to see them, one a line.
pub(crate) fn shown(out: &[Output]) -> String {
    out.iter()
        // As many as there are frames, or once each run, and of no interest to who reads.
        .filter(|output| {
            !matches!(
                output,
                Output::Activity(Activity::Frame | Activity::TellsTurns)
            )
        })
        .map(|output| line_of(output) + "\n")
        .collect()
}

fn line_of(output: &Output) -> String {
    match output {
        Output::Event(event) => {
            format!(
                "event {}",
                serde_json::to_string(event).expect("an event is JSON")
            )
        }
        Output::Write(bytes) => format!("write {}", String::from_utf8_lossy(bytes).trim_end()),
        Output::CloseStdin => "close stdin".to_owned(),
        Output::SetTimer { id, after } => format!("timer {} in {after:?}", id.0),
        Output::Steered { id, taken } => format!("steered {id} {taken:?}"),
        Output::Ask {
            id, tool, input, ..
        } => format!("ask {id} {tool} {input}"),
        Output::Withdrawn { id } => format!("withdrawn {id}"),
        Output::Run { id, argv, .. } => format!("run {} {}", id.0, argv.join(" ")),
        Output::EndProcesses { pids } => format!("end processes {pids:?}"),
        Output::Activity(activity) => format!("activity {activity:?}"),
        Output::Done(result) => format!("done {result:#?}"),
    }
}
