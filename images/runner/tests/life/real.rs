//! The same life with the real Claude Code against a scripted model: a stand-in written by us proves nothing
//! about signals, home directories or resume.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use protocol::{EndReason, FailureClass, Outcome, Package, SessionPolicy};
use rustix::process::Signal;

use crate::api::{Api, said};
use crate::pod::{Pod, package, skip};

const KEY: &str = "sk-test-0123456789";

/// The scripted model; ends with its value.
struct Model {
    child: Child,
    url: String,
}

impl Model {
    fn start() -> Self {
        let source = |file| Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let mut child = Command::new("python3")
            .arg(source("../scripted-model/scripted_model.py"))
            .arg("--scenarios")
            .arg(source("tests/real_claude/scenarios.json"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        let url = format!("http://{address}");
        Self { child, url }
    }

    fn pod(&self) -> Pod {
        let mut pod = Pod::new();
        pod.variables = [
            ("ANTHROPIC_BASE_URL", self.url.as_str()),
            ("ANTHROPIC_API_KEY", KEY),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
        pod
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The real program, or nothing, with the reason said.
fn claude() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/install-claude.sh");
    let told = Command::new(script).arg("--where").output().unwrap();
    let program = PathBuf::from(String::from_utf8(told.stdout).unwrap().trim());
    let there = program.is_file();
    if !there {
        skip(&format!(
            "no {}; images/runner/tests/install-claude.sh installs it",
            program.display()
        ));
    }
    there.then_some(program)
}

fn task(program: &Path, prompt: &str) -> Package {
    let mut package = package(prompt);
    package.runtime.command = vec![program.display().to_string()];
    package.agent.model = None;
    package
}

#[tokio::test]
async fn a_conversation_goes_on_in_the_next_run() {
    let Some(program) = claude() else { return };
    let model = Model::start();
    let pod = model.pod();
    let first = task(&program, "[scenario:text] Remember the word lantern4711.");
    let api = Api::serve(first).await;
    let ended = pod.run(&api).await;
    let told = api.told();
    assert_eq!(told.results[0].outcome, Outcome::Succeeded, "{}", ended.log);
    let session = told.results[0].provider_session.clone();

    let mut second = task(&program, "[scenario:recall] Which word was it?");
    second.session.resume = session.clone();
    second.session.policy = SessionPolicy::Require;
    second.session.has_past = true;
    let api = Api::serve(second).await;
    let ended = pod.run(&api).await;
    let result = &api.told().results[0];
    assert_eq!(result.output, "The word was lantern4711.", "{}", ended.log);
    assert_eq!(result.provider_session, session);
    let resumed = &result.resumed;
    for evidence in [&resumed.workdir, &resumed.session, &resumed.provider] {
        assert_eq!(evidence.answer, protocol::Answer::Yes, "{evidence:?}");
    }
}

#[tokio::test]
async fn its_command_runs_with_the_tools_of_the_pod() {
    let Some(program) = claude() else { return };
    let model = Model::start();
    let pod = model.pod();
    let api = Api::serve(task(&program, "[scenario:shell] go")).await;
    let ended = pod.run(&api).await;
    let told = api.told();
    assert_eq!(
        told.results[0].output, "The command printed scripted-42.",
        "{}",
        ended.log
    );
    let said = said(&told.events);
    assert!(
        said.contains(&pod.at("workspace/work").display().to_string()),
        "{said}"
    );
    assert!(!said.contains(KEY) && !ended.transcript.contains(KEY));
}

#[tokio::test]
async fn a_stop_and_a_term_end_it_in_the_midst_of_a_command() {
    let Some(program) = claude() else { return };
    let model = Model::start();
    for command in [true, false] {
        let pod = model.pod();
        let api = Api::serve(task(&program, "[scenario:long-command] go")).await;
        let running = pod.start(&api);
        api.until_said("tail -f").await;
        if command {
            api.stop(EndReason::Cancelled);
        } else {
            running.signal(Signal::TERM);
        }
        let ended = running.end().await;
        assert_eq!(ended.code, Some(0), "{}", ended.log);
        let wanted = if command {
            FailureClass::Cancelled
        } else {
            FailureClass::PodDeleted
        };
        let result = &api.told().results[0];
        assert_eq!(result.outcome.class(), Some(wanted), "{}", ended.log);
        assert!(result.provider_session.is_some());
    }
}
