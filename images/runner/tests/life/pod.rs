//! A pod in a directory: its volume, its Secret, and the runner as its process.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use protocol::{
    AgentBrief, AttemptId, Event, Evidence, MacKey, OutboxLine, Package, RuntimeBrief,
    SessionBrief, SessionPolicy, Subject, TaskId, TaskResult, TaskTimeouts, TerminationMessage,
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::api::{Api, KEY, TOKEN, Told};

const PATIENCE: Duration = Duration::from_secs(180);

/// The directory of a pod and what its volume keeps.
pub(crate) struct Pod {
    root: tempfile::TempDir,
    pub(crate) variables: Vec<(String, String)>,
    /// The runner's program.
    pub(crate) runner: PathBuf,
}

/// A runner at work.
pub(crate) struct Running {
    child: Child,
}

/// A runner that has ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) transcript: String,
    pub(crate) log: String,
}

impl Pod {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["run/secrets/mooring", "dev", "workspace"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("run/secrets/mooring/token"), TOKEN).unwrap();
        fs::write(root.path().join("dev/termination-log"), "").unwrap();
        Self {
            root,
            variables: Vec::new(),
            runner: env!("CARGO_BIN_EXE_mooring-runner").into(),
        }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Starts the runner.
    pub(crate) fn start(&self, api: &Api) -> Running {
        self.start_with(api, &[])
    }

    /// Runs a task to its good end: what was told, and the one result.
    pub(crate) async fn tell(&self, package: Package) -> (Told, TaskResult) {
        let api = Api::serve(package).await;
        let ended = self.run(&api).await;
        assert_eq!(ended.code, Some(0), "{}", ended.log);
        let told = api.told();
        assert_eq!(told.results.len(), 1, "exactly one result");
        let result = told.results[0].clone();
        (told, result)
    }

    /// Starts the runner behind another program.
    pub(crate) fn start_with(&self, api: &Api, before: &[&str]) -> Running {
        fs::write(self.at("run/secrets/mooring/ca.crt"), &api.ca).unwrap();
        let before = before.iter().map(OsStr::new);
        let mut line = before.chain([self.runner.as_os_str(), OsStr::new("run")]);
        let child = Command::new(line.next().unwrap())
            .args(line)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("MOORING_API", &api.url)
            .envs(self.variables.iter().cloned())
            .arg("--root")
            .arg(self.root.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Running { child }
    }

    /// Runs to the end.
    pub(crate) async fn run(&self, api: &Api) -> Ended {
        self.start(api).end().await
    }

    /// The result in the termination message, once its MAC was found good.
    pub(crate) fn left(&self) -> TaskResult {
        let text = fs::read_to_string(self.at("dev/termination-log")).unwrap();
        assert!(text.len() <= 3072, "{} bytes", text.len());
        let key = MacKey::from_wire(KEY).unwrap();
        let message = TerminationMessage::open(&key, &text).unwrap();
        assert_eq!(message.attempt, package("").attempt);
        message.result
    }

    /// Waits until files are as wanted; nothing tells when they change.
    pub(crate) async fn until(&self, what: &str, wanted: impl Fn(&Self) -> bool) {
        let looks = async {
            while !wanted(self) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, looks).await;
        assert!(waited.is_ok(), "waited in vain for {what}");
    }

    /// How many lines lie in the outbox, also while it is written.
    pub(crate) fn outbox_lines(&self) -> usize {
        let files = fs::read_dir(self.at("workspace/.mooring/outbox")).unwrap();
        files
            .map(|entry| {
                match fs::read_to_string(entry.unwrap().path()) {
                    Ok(text) => text.matches('\n').count(),
                    // The runner has just removed it.
                    Err(error) if error.kind() == ErrorKind::NotFound => 0,
                    Err(error) => panic!("{error}"),
                }
            })
            .sum()
    }

    /// The events in the outbox, once their MACs were found good.
    pub(crate) fn outbox(&self) -> Vec<Event> {
        let key = MacKey::from_wire(KEY).unwrap();
        let mut paths: Vec<_> = fs::read_dir(self.at("workspace/.mooring/outbox"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        let mut events = Vec::new();
        for path in paths {
            for line in fs::read_to_string(path).unwrap().lines() {
                events.push(OutboxLine::decode(&key, line).unwrap());
            }
        }
        events
    }
}

impl Running {
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) async fn end(self) -> Ended {
        let output = tokio::time::timeout(PATIENCE, self.child.wait_with_output())
            .await
            .expect("the runner ends")
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended {
            code: output.status.code(),
            signal: output.status.signal(),
            transcript: text(output.stdout),
            log: text(output.stderr),
        }
    }
}

/// Says why a test is skipped, which it may not be in CI.
pub(crate) fn skip(why: &str) {
    println!("skipped: {why}");
    let in_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    assert!(!in_ci, "skipped in CI: {why}");
}

/// The stand-in for an agent. Built once, since cargo builds no programs of other packages for a test.
pub(crate) fn fake() -> &'static str {
    static FAKE: OnceLock<String> = OnceLock::new();
    FAKE.get_or_init(|| {
        let runner = Path::new(env!("CARGO_BIN_EXE_mooring-runner"));
        let mut build = std::process::Command::new(env!("CARGO"));
        build.args(["build", "-q", "-p", "fakes"]);
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        let folder = runner.parent().unwrap();
        build.arg("--target-dir").arg(folder.parent().unwrap());
        if folder.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success(), "the stand-in is built");
        let fake = folder.join("mooring-fake-agent");
        fake.to_str().unwrap().to_owned()
    })
}

/// A first task with this prompt.
pub(crate) fn package(prompt: &str) -> Package {
    package_of(vec![fake().to_owned()], prompt)
}

/// The same, of another program.
pub(crate) fn package_of(command: Vec<String>, prompt: &str) -> Package {
    Package {
        attempt: AttemptId {
            task: TaskId(uuid::Uuid::from_u128(7)),
            number: 1,
        },
        namespace: "team".into(),
        name: "hello".into(),
        agent: AgentBrief {
            name: "reviewer".into(),
            display_name: "Reviewer".into(),
            instructions: "Be brief.".into(),
            model: Some("fake-model".into()),
            skills: Vec::new(),
            tools: None,
            token_scope: protocol::TokenScope::Issue,
        },
        runtime: RuntimeBrief {
            name: "claude".into(),
            provider: "claude".into(),
            version: None,
            command,
            launch_prefix: Vec::new(),
            args: Vec::new(),
        },
        options: protocol::RunOptions::default(),
        subject: Subject {
            kind: "Key".into(),
            name: "hello".into(),
        },
        prompt: prompt.into(),
        cause: None,
        team: None,
        repositories: Vec::new(),
        chat: None,
        quick_issue: None,
        interrupted: false,
        session: SessionBrief {
            policy: SessionPolicy::Resume,
            resume: None,
            not_resumable: None,
            volume: Evidence::no("the volume is new"),
            has_past: false,
        },
        timeouts: TaskTimeouts {
            prepare_seconds: 60,
            task_seconds: 60,
            grace_seconds: 8,
            idle_seconds: 0,
            tool_seconds: 0,
        },
    }
}
