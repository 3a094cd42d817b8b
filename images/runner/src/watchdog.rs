//! Watches that a CLI goes on: pure decisions over what it was seen to do and when.
//!
//! A watchdog ends a run that would not end by itself. Each has a window; what counts as a sign of life differs. None of
//! them barks while a person's decision is awaited, while the runner itself does not read, or once there is a result.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::providers::Facts;
use protocol::{EventBody, FailureClass, Outcome, TaskTimeouts};
use tokio::time::Instant;

use crate::adapter::Activity;

/// A CLI that has done nothing but try the same request again for so long is ended.
const RETRYING: Duration = Duration::from_secs(30 * 60);
/// Nothing can come of a CLI whose stdout is closed. One that is about to end gets so long.
const CLOSED: Duration = Duration::from_secs(10);
/// Tools that are followed at a time. Of more than these the ends are not awaited.
const IN_FLIGHT: usize = 256;
/// Characters of a tool's name in a message.
const NAME_CHARS: usize = 60;

/// How long each watchdog waits; none that is absent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// From the start to the first line.
    pub first_frame: Option<Duration>,
    /// Without any line while no tool runs.
    pub idle: Option<Duration>,
    /// Without the start or the end of a tool while at least one runs.
    pub tool: Option<Duration>,
    /// Without anything that shows progress while no tool runs.
    pub progress: Option<Duration>,
    /// The same at the beginning of the turn.
    pub first_progress: Option<Duration>,
}

impl Windows {
    /// Those of a provider under a Runtime. A provider's own times only shorten the Runtime's, and go with it where
    /// that is off.
    #[must_use]
    pub fn of(facts: &Facts, timeouts: &TaskTimeouts) -> Self {
        let on = |seconds: u32| (seconds > 0).then(|| Duration::from_secs(seconds.into()));
        let idle = on(timeouts.idle_seconds);
        let own = |seconds: Option<u32>| {
            let own = seconds.map(|seconds| Duration::from_secs(seconds.into()));
            idle.and_then(|idle| own.map(|own| own.min(idle)))
        };
        Self {
            first_frame: facts.first_frame(),
            idle: own(facts.idle_seconds).or(idle),
            tool: on(timeouts.tool_seconds),
            progress: own(facts.progress_seconds),
            first_progress: own(facts.first_progress_seconds),
        }
    }
}

/// Which watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dog {
    FirstFrame,
    Idle,
    Tool,
    Progress,
    FirstProgress,
    Retrying,
    Closed,
}

/// Why a run is ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bark {
    dog: Dog,
    window: Duration,
    last: String,
    class: FailureClass,
}

impl Bark {
    /// What it means for the run.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome::failed(self.class, self.words())
    }

    /// Which watchdog, its window, and what was seen last.
    #[must_use]
    pub fn words(&self) -> String {
        let seconds = self.window.as_secs();
        let what = match self.dog {
            Dog::FirstFrame => {
                format!("first-frame watchdog: the agent's program said nothing within {seconds} s")
            }
            Dog::Idle => format!("idle watchdog: the agent's program said nothing for {seconds} s"),
            Dog::Tool => {
                format!("tool watchdog: a tool ran for {seconds} s without an end or another start")
            }
            Dog::Progress => {
                format!("progress watchdog: the turn made no progress for {seconds} s")
            }
            Dog::FirstProgress => {
                format!(
                    "first-turn watchdog: the turn made no progress within {seconds} s of its start"
                )
            }
            Dog::Closed => {
                format!(
                    "output watchdog: the agent's program closed its output and was still there {seconds} s later"
                )
            }
            Dog::Retrying => {
                format!(
                    "retry watchdog: for {seconds} s nothing came but retries of the same request"
                )
            }
        };
        format!("{what}; seen last: {}", self.last)
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask the CLI to end what runs in the background, then look again.
    InterruptTools,
    /// Ask the adapter whether it has all that it needs, then look again.
    Judge,
    /// End the run.
    End(Bark),
}

/// What was seen of one run.
#[derive(Debug)]
pub struct Watch {
    windows: Windows,
    started: Instant,
    /// Some line was read.
    framed: bool,
    last_line: Instant,
    /// Since the CLI said that its turn runs.
    progressed: Option<Instant>,
    /// Something beyond that was seen.
    beyond_start: bool,
    tools: BTreeMap<String, String>,
    tools_changed: Instant,
    /// The CLI was asked to end its tools since the last change, and whether it said that it does.
    asked: bool,
    retrying: Option<(Instant, FailureClass)>,
    /// Decisions that are awaited.
    waits: u32,
    /// When stdout was closed.
    closed: Option<Instant>,
    /// The adapter was asked since.
    judged: bool,
    last: String,
}

impl Watch {
    /// A run that begins now.
    #[must_use]
    pub fn new(windows: Windows, now: Instant) -> Self {
        Self {
            windows,
            started: now,
            framed: false,
            last_line: now,
            progressed: None,
            beyond_start: false,
            tools: BTreeMap::new(),
            tools_changed: now,
            asked: false,
            retrying: None,
            waits: 0,
            closed: None,
            judged: false,
            last: "nothing".to_owned(),
        }
    }

    /// A line of stdout, whatever it says.
    pub fn line(&mut self, now: Instant) {
        self.framed = true;
        self.last_line = now;
    }

    /// Stdout is closed: no line comes any more.
    pub fn closed(&mut self, now: Instant) {
        self.closed = Some(now);
    }

    /// What an adapter made of a line of stdout.
    pub fn event(&mut self, body: &EventBody, now: Instant) {
        let words = match body {
            EventBody::Log { .. } => {
                "a line for the log".clone_into(&mut self.last);
                return;
            }
            EventBody::Status { .. } => {
                self.progressed.get_or_insert(now);
                "the start of the turn".clone_into(&mut self.last);
                return;
            }
            EventBody::Text { .. } => "text".to_owned(),
            EventBody::Thinking { .. } => "thinking".to_owned(),
            EventBody::Error { .. } => "an error".to_owned(),
            EventBody::ToolUse { call_id, tool, .. } => {
                let name: String = tool.chars().take(NAME_CHARS).collect();
                let words = format!("the start of tool {name:?}");
                if self.tools.len() < IN_FLIGHT {
                    self.tools.insert(call_id.clone(), name);
                }
                self.tools_move(now);
                words
            }
            EventBody::ToolResult { call_id, .. } => {
                let name = self.tools.remove(call_id).unwrap_or_default();
                self.tools_move(now);
                format!("the end of tool {name:?}")
            }
        };
        self.progress(now);
        self.last = words;
    }

    /// What an adapter says beside events.
    pub fn activity(&mut self, activity: Activity, now: Instant) {
        match activity {
            Activity::Frame | Activity::ModelTurn => self.progress(now),
            Activity::TellsTurns => {}
            Activity::Retrying(class) => {
                let since = self.retrying.map_or(now, |(since, _)| since);
                self.retrying = Some((since, class));
                self.last = format!("a retry after {class}");
            }
            Activity::ToolsInterrupted => self.tools_changed = now,
        }
    }

    /// A person's decision is awaited.
    pub fn waits(&mut self) {
        self.waits = self.waits.saturating_add(1);
    }

    /// One is no longer.
    pub fn waited(&mut self, now: Instant) {
        self.waits = self.waits.saturating_sub(1);
        self.held(now);
    }

    /// Nothing could be seen until now: all windows begin anew.
    pub fn held(&mut self, now: Instant) {
        self.last_line = now;
        self.tools_changed = now;
        self.started = now;
        self.progressed = self.progressed.map(|_| now);
        self.retrying = self.retrying.map(|(_, class)| (now, class));
    }

    fn progress(&mut self, now: Instant) {
        self.progressed = Some(now);
        self.beyond_start = true;
        self.retrying = None;
    }

    fn tools_move(&mut self, now: Instant) {
        self.tools_changed = now;
        self.asked = false;
    }

    /// When the next window ends, if nothing is seen until then.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.soonest().map(|(at, ..)| at)
    }

    /// What is to be done at this time.
    pub fn look(&mut self, now: Instant) -> Option<Step> {
        let (_, dog, window, class) = self.soonest().filter(|(at, ..)| *at <= now)?;
        if dog == Dog::Tool && !std::mem::replace(&mut self.asked, true) {
            return Some(Step::InterruptTools);
        }
        if dog == Dog::Closed && !std::mem::replace(&mut self.judged, true) {
            return Some(Step::Judge);
        }
        Some(Step::End(Bark {
            dog,
            window,
            last: self.last.clone(),
            class,
        }))
    }

    fn soonest(&self) -> Option<(Instant, Dog, Duration, FailureClass)> {
        let closed = self.closed.map(|at| {
            let class = FailureClass::CliCrashed;
            (at + CLOSED, Dog::Closed, CLOSED, class)
        });
        // No decision can help one that says nothing more.
        if self.waits > 0 || closed.is_some() {
            return closed;
        }
        let end = |since: Instant, window: Option<Duration>, dog: Dog, class: FailureClass| {
            window.map(|window| (since + window, dog, window, class))
        };
        let idle = FailureClass::IdleTimeout;
        // Silence after a request that is tried again is the provider's.
        let silent = self.retrying.map_or(idle, |(_, class)| class);
        let quiet = self.tools.is_empty();
        let windows = &self.windows;
        let progress = self.progressed.filter(|_| quiet).and_then(|since| {
            let first = windows.first_progress.filter(|_| !self.beyond_start);
            end(since, first, Dog::FirstProgress, idle)
                .or_else(|| end(since, windows.progress, Dog::Progress, idle))
        });
        let all = [
            (!self.framed)
                .then(|| {
                    let class = FailureClass::CliCrashed;
                    end(self.started, windows.first_frame, Dog::FirstFrame, class)
                })
                .flatten(),
            quiet
                .then(|| end(self.last_line, windows.idle, Dog::Idle, silent))
                .flatten(),
            (!quiet)
                .then(|| {
                    let class = FailureClass::ToolTimeout;
                    end(self.tools_changed, windows.tool, Dog::Tool, class)
                })
                .flatten(),
            progress,
            // It goes with the others: who switches them off wants to wait.
            self.retrying
                .filter(|_| windows.idle.is_some())
                .map(|(since, class)| (since + RETRYING, Dog::Retrying, RETRYING, class)),
        ];
        all.into_iter().flatten().min_by_key(|(at, ..)| *at)
    }
}

#[cfg(test)]
mod tests;
