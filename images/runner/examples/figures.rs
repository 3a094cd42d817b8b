//! What the runner costs: how long a frame of the agent's program takes to the API, and how much processor and memory goes
//! into that. A stand-in writes frames with its clock in them at a given rate, a local API takes the events over TLS.
//!
//! `cargo build --release -p runner && cargo run --release -p runner --example figures`, or with the path of another
//! runner as its argument.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be measured is not measured"
)]

#[expect(dead_code, reason = "the tests of a runner's life use the rest of it")]
#[path = "../tests/life/api.rs"]
mod api;

use std::cell::RefCell;
use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use protocol::{Event, EventBody, Outcome, Package};
use runner::journal::system_clock;
use serde_json::{Value, json};

use crate::api::{Api, TOKEN};

/// The argument by which this program is the stand-in.
const STAND_IN: &str = "--stand-in";
/// What stands before the clock in a frame.
const MARK: &str = "written at ";
/// How often the runner is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Words of a frame beside the clock: as many as a small remark of an agent has.
const WORDS: &str = "and here are some words, as an agent says them while it works on something";

/// Frames a second, 0 for as many as are taken, and how many in all.
const RUNS: [(u64, u64); 4] = [(10, 100), (1_000, 10_000), (10_000, 100_000), (0, 200_000)];

fn main() {
    let given: Vec<String> = std::env::args().collect();
    if given.get(1).is_some_and(|first| first == STAND_IN) {
        stand_in(given[2].parse().unwrap(), given[3].parse().unwrap()).unwrap();
        return;
    }
    let me = std::env::current_exe().unwrap();
    let runner = given.get(1).map_or_else(|| built(&me), PathBuf::from);
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let mut table = String::from(
        "| frames a second | frames | frame → API, p50 | p99 | most | processor, of one | of a frame | memory at most |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (rate, frames) in RUNS {
        table += &runtime
            .block_on(measure(&me, &runner, rate, frames))
            .row(rate, frames);
    }
    io::stdout().write_all(table.as_bytes()).unwrap();
}

/// What was measured in one run.
struct Figures {
    /// From a frame's writing to its event at the API, sorted.
    took: Vec<Duration>,
    /// From the first frame to the last.
    wall: Duration,
    spent: Spent,
}

impl Figures {
    fn row(&self, rate: u64, frames: u64) -> String {
        let at = |part: usize| {
            let index = (self.took.len() * part / 100).min(self.took.len() - 1);
            milliseconds(self.took[index])
        };
        let seconds = self.wall.as_secs_f64();
        let busy = self.spent.processor.as_secs_f64();
        let asked = match rate {
            0 => format!("{:.0}, all that it takes", frames as f64 / seconds),
            rate => format!("{:.0} of {rate}", frames as f64 / seconds),
        };
        format!(
            "| {asked} | {frames} | {} | {} | {} | {:.0} % | {:.1} µs | {:.1} MiB |\n",
            at(50),
            at(99),
            at(100),
            busy / seconds * 100.0,
            busy / frames as f64 * 1e6,
            self.spent.memory_kib as f64 / 1024.0,
        )
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// One run of the runner with a stand-in that writes so many frames.
async fn measure(me: &Path, runner: &Path, rate: u64, frames: u64) -> Figures {
    let api = Api::serve(package(me, rate, frames)).await;
    let root = tempfile::tempdir().unwrap();
    for folder in ["run/secrets/mooring", "dev", "workspace"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    fs::write(root.path().join("run/secrets/mooring/token"), TOKEN).unwrap();
    fs::write(root.path().join("run/secrets/mooring/ca.crt"), &api.ca).unwrap();
    fs::write(root.path().join("dev/termination-log"), "").unwrap();
    let child = tokio::process::Command::new(runner)
        .arg("run")
        .arg("--root")
        .arg(root.path())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("MOORING_API", &api.url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn();
    let mut child = child.expect("cargo build --release -p runner makes the runner");
    let watched = Watched::of(child.id().unwrap());
    let seen = RefCell::new(Seen::default());
    let told = api
        .until("the end", |told| {
            seen.borrow_mut().take(&told.events);
            !told.results.is_empty()
        })
        .await;
    let spent = watched.end();
    assert!(child.wait().await.unwrap().success());
    assert_eq!(told.results[0].outcome, Outcome::Succeeded);
    let Seen {
        mut took,
        first,
        last,
        ..
    } = seen.into_inner();
    assert_eq!(took.len() as u64, frames, "every frame is told of");
    took.sort_unstable();
    let wall = Duration::from_micros(u64::try_from(last - first).unwrap());
    Figures { took, wall, spent }
}

/// The runner that was built beside this example.
fn built(me: &Path) -> PathBuf {
    let folder = me.parent().and_then(Path::parent).unwrap();
    folder.join("mooring-runner")
}

fn package(me: &Path, rate: u64, frames: u64) -> Package {
    let no = json!({"answer": "No", "evidence": "it is new"});
    let package = json!({
        "attempt": {"task": "01890a5d-ac96-774b-bcce-b302099a8057", "number": 1},
        "namespace": "figures", "name": "figures",
        "agent": {"name": "a", "displayName": "A", "instructions": ""},
        "runtime": {
            "name": "claude", "provider": "claude", "launchPrefix": [], "args": [],
            "command": [me, STAND_IN, rate.to_string(), frames.to_string()],
        },
        "subject": {"kind": "Key", "name": "figures"}, "prompt": "Go.", "interrupted": false,
        "session": {"policy": "Resume", "volume": no, "hasPast": false},
        "timeouts": {
            "prepareSeconds": 60, "taskSeconds": 60, "graceSeconds": 8, "idleSeconds": 0, "toolSeconds": 0,
        },
    });
    serde_json::from_value(package).unwrap()
}

/// What the API has seen so far.
#[derive(Default)]
struct Seen {
    events: usize,
    took: Vec<Duration>,
    /// When the first and the last frame were written.
    first: i64,
    last: i64,
}

impl Seen {
    fn take(&mut self, events: &[Event]) {
        let now = system_clock().as_microsecond();
        for event in &events[self.events..] {
            let (EventBody::Text { content } | EventBody::Thinking { content }) = &event.body
            else {
                continue;
            };
            for rest in content.split(MARK).skip(1) {
                let digits = rest.split(' ').next().unwrap_or_default();
                let written: i64 = digits.parse().unwrap();
                if self.took.is_empty() {
                    self.first = written;
                }
                self.last = written;
                let took = u64::try_from(now - written).unwrap_or_default();
                self.took.push(Duration::from_micros(took));
            }
        }
        self.events = events.len();
    }
}

/// What a process has used so far.
#[derive(Clone, Copy, Default)]
struct Spent {
    processor: Duration,
    memory_kib: u64,
}

impl Spent {
    /// `None` once it is gone.
    fn of(process: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name may hold anything; of the fields after it the twelfth and thirteenth are times in hundredths.
        let (_, fields) = stat.rsplit_once(')')?;
        let times = fields.split_whitespace().skip(11).take(2);
        let hundredths: u64 = times.filter_map(|time| time.parse::<u64>().ok()).sum();
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let most = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(Self {
            processor: Duration::from_millis(hundredths * 10),
            memory_kib: most.split_whitespace().next()?.parse().ok()?,
        })
    }
}

/// Looks at a process until it is told not to, or that is gone.
struct Watched {
    last: Arc<Mutex<Spent>>,
    over: Arc<AtomicBool>,
}

impl Watched {
    fn of(process: u32) -> Self {
        let last = Arc::new(Mutex::new(Spent::default()));
        let over = Arc::new(AtomicBool::new(false));
        let (seen, end) = (Arc::clone(&last), Arc::clone(&over));
        thread::spawn(move || {
            while let Some(spent) = Spent::of(process)
                && !end.load(Ordering::Relaxed)
            {
                *seen.lock().unwrap() = spent;
                thread::sleep(LOOK);
            }
        });
        Self { last, over }
    }

    fn end(self) -> Spent {
        self.over.store(true, Ordering::Relaxed);
        *self.last.lock().unwrap()
    }
}

/// Speaks as much of Claude Code's protocol as a turn needs, and writes frames.
fn stand_in(rate: u64, frames: u64) -> io::Result<()> {
    let mut lines = io::stdin().lock().lines();
    let mut out = io::stdout().lock();
    for line in lines.by_ref() {
        let frame: Value = serde_json::from_str(&line?)?;
        if frame["type"] == "user" {
            break;
        }
        let answer =
            json!({"subtype": "success", "request_id": frame["request_id"], "response": {}});
        let answer = json!({"type": "control_response", "response": answer});
        writeln!(out, "{answer}")?;
    }
    let session = "01890a5d-ac96-774b-bcce-b302099a8058";
    let begin = json!({"type": "system", "subtype": "init", "session_id": session, "model": "m", "tools": []});
    writeln!(out, "{begin}")?;
    let began = Instant::now();
    for number in 0..frames {
        if let Some(at) = (number * 1_000_000).checked_div(rate) {
            let due = began + Duration::from_micros(at);
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        // In turn, so that each is an event of its own.
        let kind = if number.is_multiple_of(2) {
            "thinking"
        } else {
            "text"
        };
        let now = system_clock().as_microsecond();
        let block = json!({"type": kind, (kind): format!("{MARK}{now} {WORDS}\n")});
        let message = json!({"id": format!("m{number}"), "role": "assistant", "model": "m", "content": [block]});
        let frame = json!({"type": "assistant", "session_id": session, "message": message});
        writeln!(out, "{frame}")?;
    }
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "session_id": session, "result": "Done.",
        "terminal_reason": "completed", "stop_reason": "end_turn", "num_turns": 1,
    });
    writeln!(out, "{result}")?;
    // Its input ends once the result was read.
    lines.for_each(drop);
    Ok(())
}
