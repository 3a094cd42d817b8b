use super::*;

const WINDOWS: Windows = Windows {
    first_frame: Some(Duration::from_secs(30)),
    idle: Some(Duration::from_secs(1000)),
    tool: Some(Duration::from_secs(500)),
    progress: None,
    first_progress: None,
};

/// A run and its clock in seconds.
struct Run {
    began: Instant,
    watch: Watch,
}

impl Run {
    fn new(windows: Windows) -> Self {
        let began = Instant::now();
        Self {
            began,
            watch: Watch::new(windows, began),
        }
    }

    fn at(&self, seconds: u64) -> Instant {
        self.began + Duration::from_secs(seconds)
    }

    fn says(&mut self, seconds: u64, event: EventBody) {
        self.watch.line(self.at(seconds));
        self.watch.event(&event, self.at(seconds));
    }

    fn does(&mut self, seconds: u64, activity: Activity) {
        self.watch.line(self.at(seconds));
        self.watch.activity(activity, self.at(seconds));
    }

    /// Barks at exactly this second, with this class and these words.
    fn ends(&mut self, seconds: u64, class: FailureClass, words: &[&str]) {
        assert_eq!(self.watch.due(), Some(self.at(seconds)));
        let before = self.at(seconds) - Duration::from_millis(1);
        assert_eq!(self.watch.look(before), None);
        let Some(Step::End(bark)) = self.watch.look(self.at(seconds)) else {
            panic!("no bark at {seconds}");
        };
        assert_eq!(bark.outcome().class(), Some(class));
        for word in words {
            assert!(bark.words().contains(word), "{}", bark.words());
        }
    }
}

fn text() -> EventBody {
    EventBody::Text {
        content: "hi".into(),
    }
}

fn starts(call: &str) -> EventBody {
    EventBody::ToolUse {
        tool: "Bash".into(),
        call_id: call.into(),
        input: serde_json::json!({}),
    }
}

fn ends(call: &str) -> EventBody {
    EventBody::ToolResult {
        tool: None,
        call_id: call.into(),
        output: String::new(),
        status: None,
    }
}

#[test]
fn the_first_line_has_a_budget_of_its_own() {
    let mut run = Run::new(WINDOWS);
    run.ends(
        30,
        FailureClass::CliCrashed,
        &["first-frame", "30 s", "nothing"],
    );
    let mut run = Run::new(WINDOWS);
    run.watch.line(run.at(29));
    assert_eq!(run.watch.due(), Some(run.at(1029)));
}

#[test]
fn silence_ends_the_run_and_names_what_was_seen_last() {
    let mut run = Run::new(WINDOWS);
    run.says(10, text());
    run.ends(
        1010,
        FailureClass::IdleTimeout,
        &["idle watchdog", "1000 s", "text"],
    );
    // Any line is a sign of life.
    run.watch.line(run.at(1000));
    run.ends(2000, FailureClass::IdleTimeout, &["idle"]);
}

#[test]
fn a_tool_has_its_own_window_and_one_more_where_the_cli_ends_what_runs() {
    let mut run = Run::new(WINDOWS);
    run.says(10, starts("a"));
    // A line while a tool runs does not move its window, another tool does.
    run.says(100, text());
    assert_eq!(run.watch.due(), Some(run.at(510)));
    run.says(200, starts("b"));
    run.says(300, ends("b"));
    assert_eq!(run.watch.look(run.at(800)), Some(Step::InterruptTools));
    run.watch.activity(Activity::ToolsInterrupted, run.at(800));
    assert_eq!(run.watch.look(run.at(800)), None);
    run.ends(1300, FailureClass::ToolTimeout, &["tool watchdog", "500 s"]);
    // A CLI that cannot is ended at once.
    let mut run = Run::new(WINDOWS);
    run.says(10, starts("a"));
    assert_eq!(run.watch.look(run.at(510)), Some(Step::InterruptTools));
    run.ends(
        510,
        FailureClass::ToolTimeout,
        &["the start of tool \"Bash\""],
    );
    // After its end silence counts again.
    let mut run = Run::new(WINDOWS);
    run.says(10, starts("a"));
    run.says(400, ends("a"));
    run.ends(
        1400,
        FailureClass::IdleTimeout,
        &["the end of tool \"Bash\""],
    );
}

#[test]
fn waiting_for_a_person_and_for_ourselves_is_nobodys_silence() {
    let mut run = Run::new(WINDOWS);
    run.says(10, starts("a"));
    run.watch.waits();
    run.watch.waits();
    assert_eq!(
        (run.watch.due(), run.watch.look(run.at(99_999))),
        (None, None)
    );
    run.watch.waited(run.at(50_000));
    assert_eq!(run.watch.due(), None, "another decision is awaited");
    run.watch.waited(run.at(60_000));
    assert_eq!(run.watch.due(), Some(run.at(60_500)));
    run.watch.held(run.at(60_400));
    assert_eq!(run.watch.due(), Some(run.at(60_900)));
}

#[test]
fn a_closed_output_ends_the_run_whatever_is_awaited() {
    let mut run = Run::new(WINDOWS);
    run.says(10, starts("a"));
    run.watch.waits();
    run.watch.closed(run.at(20));
    run.watch.held(run.at(25));
    assert_eq!(run.watch.look(run.at(30)), Some(Step::Judge));
    run.ends(
        30,
        FailureClass::CliCrashed,
        &["output watchdog", "10 s", "the start of tool"],
    );
}

#[test]
fn retries_alone_end_a_run_with_their_class() {
    let mut run = Run::new(WINDOWS);
    for at in [10, 500, 1000, 1500] {
        run.does(at, Activity::Retrying(FailureClass::ProviderOverloaded));
    }
    run.does(1700, Activity::Retrying(FailureClass::ProviderServerError));
    run.ends(
        1810,
        FailureClass::ProviderServerError,
        &["retry watchdog", "1800 s"],
    );
    // A word in between, and they count from the next one.
    run.says(1701, text());
    run.does(1710, Activity::Retrying(FailureClass::ProviderServerError));
    assert_eq!(run.watch.due(), Some(run.at(2710)));
}

#[test]
fn silence_after_a_request_that_is_tried_again_has_its_class() {
    for (retries, class) in [
        (true, FailureClass::ProviderOverloaded),
        (false, FailureClass::IdleTimeout),
    ] {
        let mut run = Run::new(WINDOWS);
        run.says(5, text());
        if retries {
            run.does(10, Activity::Retrying(FailureClass::ProviderOverloaded));
        }
        let idle = WINDOWS.idle.unwrap().as_secs();
        run.watch.line(run.at(10));
        run.ends(10 + idle, class, &["idle watchdog"]);
    }
}

#[test]
fn a_turn_without_progress_ends_though_lines_come() {
    let windows = Windows {
        progress: Some(Duration::from_secs(600)),
        first_progress: Some(Duration::from_secs(60)),
        ..WINDOWS
    };
    let status = || EventBody::Status {
        status: "running".into(),
        session_id: None,
    };
    let mut run = Run::new(windows);
    run.says(10, status());
    run.watch.line(run.at(60));
    run.ends(
        70,
        FailureClass::IdleTimeout,
        &["first-turn", "60 s", "the start of the turn"],
    );
    let mut run = Run::new(windows);
    run.says(10, status());
    run.does(20, Activity::Frame);
    run.watch.line(run.at(600));
    run.ends(
        620,
        FailureClass::IdleTimeout,
        &["progress watchdog", "600 s"],
    );
    // A tool that runs has its own window.
    let mut run = Run::new(windows);
    run.says(10, status());
    run.says(20, starts("a"));
    assert_eq!(run.watch.due(), Some(run.at(520)));
}

#[test]
fn zero_is_off_and_a_providers_own_time_is_only_ever_shorter() {
    let timeouts = |idle_seconds, tool_seconds| TaskTimeouts {
        prepare_seconds: 1,
        task_seconds: 1,
        grace_seconds: 1,
        idle_seconds,
        tool_seconds,
    };
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let codex = protocol::providers::facts("codex").unwrap();
    let of = |idle, tool| Windows::of(codex, &timeouts(idle, tool));
    assert_eq!((of(0, 0).idle, of(0, 0).tool), (None, None));
    assert_eq!((of(0, 0).progress, of(0, 0).first_progress), (None, None));
    assert_eq!(of(7200, 9).progress, seconds(600));
    assert_eq!(of(7200, 9).tool, seconds(9));
    assert_eq!(of(20, 9).first_progress, seconds(20));
    let qwen = Windows::of(
        protocol::providers::facts("qwen").unwrap(),
        &timeouts(7200, 0),
    );
    assert_eq!(qwen.idle, seconds(1800));
    let off = Windows {
        first_frame: None,
        idle: None,
        tool: None,
        ..WINDOWS
    };
    let mut run = Run::new(off);
    run.does(10, Activity::Retrying(FailureClass::ProviderNetwork));
    run.says(20, starts("a"));
    assert_eq!(run.watch.due(), None);
}
