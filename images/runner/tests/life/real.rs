//! The same life with real programs against a scripted model: a stand-in written by us proves nothing about
//! signals, home directories or resume.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use protocol::providers::{Facts, Held};
use protocol::{
    EndReason, FailureClass, Outcome, Package, ProviderSession, SessionPolicy, ToolStatus,
};
use rustix::process::Signal;

use crate::api::{Api, said};
use crate::approvals::{asks, results};
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
            .arg(source("tests/real/scenarios.json"))
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
            ("SCRIPTED_KEY", KEY),
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

/// A real program.
struct Real {
    provider: &'static str,
    program: PathBuf,
}

/// Those that are installed. Of the others it is said why they are not run.
fn installed() -> Vec<Real> {
    let of = |provider: &'static str| {
        let installer = format!("tests/install-{provider}.sh");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(&installer);
        let told = Command::new(script).arg("--where").output().unwrap();
        let program = PathBuf::from(String::from_utf8(told.stdout).unwrap().trim());
        let there = program.is_file();
        if !there {
            skip(&format!(
                "no {}; images/runner/{installer} installs it",
                program.display()
            ));
        }
        there.then_some(Real { provider, program })
    };
    ["claude", "codex"].into_iter().filter_map(of).collect()
}

impl Real {
    fn task(&self, model: &Model, prompt: &str) -> Package {
        let mut package = package(prompt);
        package.runtime.provider = self.provider.to_owned();
        package.runtime.command = vec![self.program.display().to_string()];
        package.agent.model = None;
        if self.provider == "codex" {
            let provider = format!(
                "model_providers.scripted={{name=\"scripted\",base_url=\"{}/v1\",env_key=\"SCRIPTED_KEY\",wire_api=\"responses\"}}",
                model.url
            );
            let settings = [
                "model=\"scripted\"",
                "model_provider=\"scripted\"",
                &provider,
            ];
            let args = settings.iter().flat_map(|setting| ["-c", setting]);
            package.runtime.args = args.map(str::to_owned).collect();
        }
        package
    }
}

#[tokio::test]
async fn a_conversation_goes_on_in_the_next_run() {
    let model = Model::start();
    for real in installed() {
        conversation(&model, &real).await;
    }
}

async fn conversation(model: &Model, real: &Real) {
    let pod = model.pod();
    let first = real.task(model, "[scenario:text] Remember the word lantern4711.");
    let api = Api::serve(first).await;
    let ended = pod.run(&api).await;
    let told = api.told();
    assert_eq!(told.results[0].outcome, Outcome::Succeeded, "{}", ended.log);
    let session = told.results[0].provider_session.clone();

    let mut second = real.task(model, "[scenario:recall] Which word was it?");
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
    let model = Model::start();
    for real in installed() {
        let pod = model.pod();
        let api = Api::serve(real.task(&model, "[scenario:shell] go")).await;
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
}

#[tokio::test]
async fn a_stop_and_a_term_end_it_in_the_midst_of_a_command() {
    let model = Model::start();
    let installed = installed();
    let both = installed
        .iter()
        .flat_map(|real| [(real, true), (real, false)]);
    for (real, command) in both {
        let pod = model.pod();
        let api = Api::serve(real.task(&model, "[scenario:long-command] go")).await;
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

/// A command that runs for longer than a tool may is ended by itself, and the turn goes on.
#[tokio::test]
async fn a_tool_that_runs_for_too_long_is_ended_and_the_turn_goes_on() {
    let model = Model::start();
    for real in installed() {
        let pod = model.pod();
        let mut task = real.task(&model, "[scenario:long-command] go");
        task.timeouts.tool_seconds = 4;
        let api = Api::serve(task).await;
        let ended = pod.run(&api).await;
        let told = api.told();
        let result = &told.results[0];
        let said = said(&told.events);
        assert_eq!(result.outcome, Outcome::Succeeded, "{said}\n{}", ended.log);
        assert_eq!(result.output, "It ended.", "{said}");
        assert!(said.contains("has run for too long"), "{said}");
    }
}

/// A limit of one task is none of its conversation.
#[tokio::test]
async fn after_the_limit_the_conversation_goes_on() {
    let model = Model::start();
    for real in installed() {
        let pod = model.pod();
        let mut first = real.task(&model, "[scenario:shell] Remember the word lantern4711.");
        first.options.max_turns = Some(1);
        let api = Api::serve(first).await;
        let ended = pod.run(&api).await;
        let result = api.told().results[0].clone();
        let class = result.outcome.class();
        assert_eq!(class, Some(FailureClass::IterationLimit), "{}", ended.log);
        assert_eq!(result.retired_sessions, [] as [&str; 0]);

        let mut next = real.task(&model, "[scenario:recall] Which word was it?");
        next.session.resume = result.provider_session.clone();
        next.session.policy = SessionPolicy::Require;
        next.session.has_past = true;
        let api = Api::serve(next).await;
        let ended = pod.run(&api).await;
        let second = &api.told().results[0];
        assert_eq!(second.output, "The word was lantern4711.", "{}", ended.log);
        assert_eq!(second.provider_session, result.provider_session);
    }
}

/// What a run leaves that died before it had written anything: the file is there, and Codex refuses it.
#[tokio::test]
async fn a_refused_conversation_is_started_anew_once_and_the_agent_is_told() {
    let model = Model::start();
    for real in installed().iter().filter(|real| real.provider == "codex") {
        let pod = model.pod();
        let id = "11111111-2222-4333-8444-555555555555";
        let day = pod.at("workspace/home/.codex/sessions/2026/11/30");
        std::fs::create_dir_all(&day).unwrap();
        let rollout = day.join(format!("rollout-2026-11-30T06-00-00-{id}.jsonl"));
        std::fs::write(&rollout, "\n").unwrap();

        let mut task = real.task(&model, "[scenario:notice] Were you told?");
        task.session.has_past = true;
        task.session.resume = Some(ProviderSession {
            provider: "codex".to_owned(),
            id: id.to_owned(),
        });
        let api = Api::serve(task).await;
        let ended = pod.run(&api).await;
        let told = api.told();
        let result = &told.results[0];
        assert_eq!(result.output, "I was told.", "{}", ended.log);
        assert_eq!(result.retired_sessions, [id]);
        assert_eq!(result.resumed.session.answer, protocol::Answer::Yes);
        assert_eq!(result.resumed.provider.answer, protocol::Answer::No);
        assert_ne!(result.provider_session.as_ref().unwrap().id, id);
    }
}

/// With a tool policy nothing runs that an agent of an earlier task has left, and the agent has what it is given.
#[tokio::test]
async fn what_an_agent_left_runs_nothing_where_its_tools_are_looked_at() {
    let model = Model::start();
    for real in installed().iter().filter(|real| real.provider == "claude") {
        for gated in [true, false] {
            let pod = model.pod();
            let ran = |name: &str| pod.at("workspace/work").join(name);
            leave(&pod);
            let skill = pod.at("opt/mooring-skills/lantern/@");
            std::fs::create_dir_all(&skill).unwrap();
            let text =
                "---\nname: lantern\ndescription: Remember the word lantern4711.\n---\nHello.\n";
            std::fs::write(skill.join("SKILL.md"), text).unwrap();

            let mut task = real.task(&model, "[scenario:skill] Which word was it?");
            task.agent.skills = vec!["lantern".to_owned()];
            let tools = gated.then(|| asks(&["WebFetch"]));
            task.agent.tools = tools.clone();
            let api = Api::serve(task).await;
            let ended = pod.run(&api).await;
            let result = &api.told().results[0];
            assert_eq!(result.output, "The word was lantern4711.", "{}", ended.log);
            let mut task = real.task(&model, "[scenario:shell] go");
            task.agent.tools = tools;
            pod.run(&Api::serve(task).await).await;
            for left in ["user", "project", "local", "server", "user-server", "shell"] {
                assert_eq!(ran(left).exists(), !gated, "{left}");
            }
        }
    }
}

/// The context file reaches it also then.
#[tokio::test]
async fn the_context_file_is_read_where_its_tools_are_looked_at() {
    let model = Model::start();
    for real in installed().iter().filter(|real| real.provider == "claude") {
        let pod = model.pod();
        let mut sessions = None;
        for word in ["lantern4711", "rope4712"] {
            let mut task = real.task(&model, "[scenario:skill] Which word was it?");
            task.agent.tools = Some(asks(&["Bash"]));
            task.agent.instructions = format!("Remember the word {word}.");
            task.session.resume = sessions.take();
            task.session.has_past = task.session.resume.is_some();
            let api = Api::serve(task).await;
            let ended = pod.run(&api).await;
            let result = &api.told().results[0];
            assert_eq!(
                result.output,
                format!("The word was {word}."),
                "{}",
                ended.log
            );
            sessions = result.provider_session.clone();
        }
    }
}

/// What makes Claude Code run programs without any tool, where its agent can write.
fn leave(pod: &Pod) {
    let work = pod.at("workspace/work");
    let run = |name: &str| format!("touch {}", work.join(name).display());
    let hook = |name: &str| {
        let hook = serde_json::json!({"type": "command", "command": run(name)});
        serde_json::json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}})
    };
    let server = |name: &str| {
        let command = serde_json::json!({"command": "sh", "args": ["-c", run(name)]});
        serde_json::json!({"mcpServers": {name: command}})
    };
    std::fs::create_dir_all(pod.at("workspace/home")).unwrap();
    std::fs::write(pod.at("workspace/home/.bashrc"), run("shell")).unwrap();
    for (path, content) in [
        ("workspace/home/.claude/settings.json", hook("user")),
        ("workspace/work/.claude/settings.json", hook("project")),
        ("workspace/work/.claude/settings.local.json", hook("local")),
        ("workspace/work/.mcp.json", server("server")),
        ("workspace/home/.claude.json", server("user-server")),
    ] {
        let path = pod.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.to_string()).unwrap();
    }
}

/// The hook of the real program waits for a person, and what that one says is what happens.
#[tokio::test]
async fn a_person_decides_on_a_tool() {
    let model = Model::start();
    for real in installed() {
        let approves = |facts: &Facts| facts.tools.approve == Held::Uses;
        if !protocol::providers::facts(real.provider).is_some_and(approves) {
            continue;
        }
        for allow in [true, false] {
            let mut task = real.task(&model, "[scenario:shell] go");
            task.agent.tools = Some(asks(&["Bash"]));
            let api = Api::serve(task).await;
            let pod = model.pod();
            // Settings by which an agent would turn the hooks off change nothing.
            for folder in ["home", "work"] {
                let folder = pod.at("workspace").join(folder).join(".claude");
                std::fs::create_dir_all(&folder).unwrap();
                let off = r#"{"disableAllHooks": true}"#;
                std::fs::write(folder.join("settings.json"), off).unwrap();
            }
            let running = pod.start(&api);
            let told = api.until("a question", |told| !told.asked.is_empty()).await;
            assert!(
                told.asked[0].input["command"]
                    .as_str()
                    .unwrap()
                    .contains("scripted-"),
                "{:?}",
                told.asked
            );
            api.decide(1, allow, Some("as ada says"));
            let ended = running.end().await;
            let told = api
                .until("the result", |told| !told.results.is_empty())
                .await;
            let results = results(&told);
            let (output, status) = &results[0];
            let wanted = if allow {
                ToolStatus::Completed
            } else {
                ToolStatus::Failed
            };
            assert_eq!(
                (output.starts_with("scripted-42\n"), *status),
                (allow, Some(wanted)),
                "{}: {results:?}\n{}",
                real.provider,
                ended.log
            );
            // Why it may not is said to the model.
            assert_eq!(
                output.contains("denied by ada: as ada says"),
                !allow,
                "{output}"
            );
            assert_eq!(told.asked.len(), 1);
        }
    }
}
