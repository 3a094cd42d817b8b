//! Replays of recordings, and of frames made up for a test.

use std::path::PathBuf;

use protocol::EventBody;
use runner::adapter::{Adapter, AdapterResult, Exit, HostCommand, Input, Launch, Output};
use runner::adapters;

use crate::cases::{CASES, Case};

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude")
}

/// Lines of a recording's stdout or stderr; none where it wrote nothing.
pub(crate) fn lines(file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub(crate) fn case(name: &str) -> &'static Case {
    CASES
        .iter()
        .find(|case| case.name == name)
        .expect("the case is in the table")
}

impl Case {
    pub(crate) fn adapter(&self) -> Box<dyn Adapter> {
        let launch = Launch {
            command: Vec::new(),
            launch_prefix: Vec::new(),
            args: Vec::new(),
            model: None,
            cwd: "/workdir".into(),
            home: "/home/user".into(),
            root: false,
            resume: self.resume.map(str::to_owned),
            message: "hi".to_owned(),
        };
        adapters::find("claude")
            .expect("there is an adapter for claude")
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

    pub(crate) fn stdout(&self) -> Vec<String> {
        lines(&format!("{}.jsonl", self.name))
    }

    /// Everything that the adapter asked for.
    pub(crate) fn replay(&self) -> Vec<Output> {
        let mut run = Run::of(self);
        for line in self.stdout() {
            if self.interrupt && line.contains("\"still_queued\"") {
                run.give(Input::Host(HostCommand::Interrupt));
            }
            run.give(Input::Stdout(line.as_bytes()));
            if self.interrupt && run.out.contains(&Output::CloseStdin) {
                break;
            }
        }
        for line in lines(&format!("{}.stderr.txt", self.name)) {
            run.give(Input::Stderr(line.as_bytes()));
        }
        run.end(self.exit())
    }
}

/// A replay under way, which checks what must hold for any input.
pub(crate) struct Run {
    adapter: Box<dyn Adapter>,
    pub(crate) out: Vec<Output>,
}

impl Run {
    pub(crate) fn of(case: &Case) -> Self {
        Self {
            adapter: case.adapter(),
            out: Vec::new(),
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.out
            .iter()
            .any(|output| matches!(output, Output::Done(_)))
    }

    pub(crate) fn give(&mut self, input: Input<'_>) {
        if !self.is_done() {
            self.adapter.handle(input, &mut self.out);
        }
    }

    pub(crate) fn end(mut self, exit: Exit) -> Vec<Output> {
        self.give(Input::Exited(exit));
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
        self.out
    }
}

/// Each tool call has one start and, after it, one result; the session is told once.
pub(crate) fn check_pairs(out: &[Output]) {
    let mut open = std::collections::BTreeMap::new();
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
    let result = out.iter().find_map(|output| match output {
        Output::Done(result) => Some(result),
        Output::Event(_) | Output::Write(_) | Output::CloseStdin | Output::SetTimer { .. } => None,
    });
    result.expect("there is a result")
}

/// The outputs as a reader likes to see them, one a line.
pub(crate) fn shown(out: &[Output]) -> String {
    out.iter().map(|output| line_of(output) + "\n").collect()
}

pub(crate) fn line_of(output: &Output) -> String {
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
        Output::Done(result) => format!("done {result:#?}"),
    }
}
