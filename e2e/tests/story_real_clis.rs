//! A comment wakes the real command lines in their pods: they read the issue and answer in its thread with `moor`, and the
//! next comment finds the same conversation in another pod. What their model is asked is the evidence.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use crds::AgentTask;
use crds::names::task_name;
use e2e::model::{Model, holds};
use e2e::objects::{Draft, at, text};
use e2e::store::task_id;
use e2e::{Person, Workspace, objects, story, wait};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::ListParams;
use protocol::board::{AuthorKind, Comment, Page, Posted, RunView, SavedIssue, WakeVerdict};
use protocol::{FailureClass, TaskId, TaskState};
use serde_json::{Value, json};

/// What the agent says at the end of its first turn, to nobody: it stands in no comment.
const LAST_WORDS: &str = "The valve is shut, 5b0d97.";
/// What it is asked to keep in mind.
const WORD: &str = "w81d2c40f7";
/// What a person adds while it works.
const REMARK: &str = "Mind the mast: aside-maple.";
/// How long it takes until its model is asked, in a pod that is new.
const SOON: Duration = Duration::from_secs(120);

/// A command line, and how its Runtime tells it of the model.
struct Real {
    provider: &'static str,
    /// What its Agent says about tools, if anything.
    tools: Option<Value>,
    /// A person adds something while it works.
    is_steered: bool,
    settings: fn(Draft<crds::Runtime>, &Model) -> Draft<crds::Runtime>,
}

impl Real {
    fn agent(&self) -> Draft<crds::Agent> {
        let agent = objects::agent(objects::AGENT, "real");
        let agent = if self.is_steered {
            agent.set("/spec/whileRunning", "Steer")
        } else {
            agent
        };
        match &self.tools {
            Some(tools) => agent.set("/spec/tools", tools.clone()),
            None => agent,
        }
    }

    fn name(&self) -> String {
        let held = if self.tools.is_some() {
            " held to tools"
        } else {
            ""
        };
        format!("{}{held}", self.provider)
    }
}

/// Servers that are none of its business, each with where it listens.
type Others = Vec<(&'static str, String)>;

/// The apiserver, by its Service and at its node; the node's kubelet; and a server like its model, in both ways.
async fn others(workspace: &Workspace, model: &Model) -> Result<Others> {
    let nodes: Api<Node> = Api::all(workspace.cluster.client.clone());
    let nodes = nodes.list(&ListParams::default()).await?;
    let status = nodes.items.into_iter().find_map(|node| node.status);
    let mut addresses = status
        .and_then(|status| status.addresses)
        .into_iter()
        .flatten();
    let node = addresses.find(|address| address.type_ == "InternalIP");
    let node = node.context("a node has an address")?.address;
    // From here it answers, so what the agent sees is the wall.
    model.requests().await.context("ask the other server")?;
    Ok(vec![
        ("kubernetes", "kubernetes.default.svc:443".to_owned()),
        ("kubernetes-at-its-node", format!("{node}:6443")),
        ("kubelet", format!("{node}:10250")),
        ("another-service", model.authority()),
        ("another-pod", model.address()),
    ])
}

/// What the model lets it do: look and answer, then answer again with what it remembers.
fn scenarios(key: &str, others: &Others) -> Value {
    let shell = |command: String| json!([{"do": "shell", "command": command}]);
    // What is open, seen from inside: a connection is made or it is not.
    let reach = r#"reach() { timeout 3 bash -c "exec 3<>/dev/tcp/$2/$3" 2>/dev/null && echo "$1 is open" || echo "$1 is shut"; }"#;
    let api = r#"api="${MOORING_API#https://}"; reach api "${api%:*}" "${api##*:}""#;
    let outside = others.iter().map(|(name, place)| {
        let (host, port) = place.rsplit_once(':').unwrap_or((place, "443"));
        format!("reach {name} {host} {port}")
    });
    let outside = outside.collect::<Vec<_>>().join("; ");
    // Until the remark is there; then its runner has it in a moment.
    let heard = format!(
        "for i in $(seq 60); do moor comment list {key} | grep -q 'Mind the' && break; sleep 1; done"
    );
    json!({
        "side_text": "Words",
        "look": {"turns": [
            {"text": "I look.", "tools": shell(format!("moor issue get {key}; {reach}; {api}; {outside}"))},
            {"tools": shell(format!("moor comment add {key} --body 'It was the valve.'"))},
            {"text": LAST_WORDS},
        ]},
        "again": {"turns": [
            {"tools": shell(format!("moor comment add {key} --body 'It still is.'"))},
            {"recall": {"pattern": "Remember the word ([a-z0-9]+)", "found": "The word was $1.", "missing": "Which word?"}},
        ]},
        "beside": {"turns": [
            {"tools": shell(format!("{heard}; sleep 3"))},
            {"tools": shell("true".to_owned())},
            {"recall": {"pattern": "aside-([a-z]+)", "anywhere": true, "found": "A person said $1.", "missing": "Nobody said anything."}},
        ]},
    })
}

/// The image of the command line and that of its model, where both are there.
fn images(workspace: &Workspace, provider: &str) -> Option<(String, String)> {
    let all = &workspace.cluster.settings.images;
    let image = match provider {
        "claude" => &all.agent_claude,
        "codex" => &all.agent_codex,
        "pi" => &all.agent_pi,
        _ => &all.agent_acp,
    };
    Some((image.clone()?, all.scripted_model.clone()?))
}

/// Tells it, and says how long the program took to ask its model.
async fn tell(workspace: &Workspace, real: &Real, image: &str, model: &str) -> Result<String> {
    let ada = Person::with_role(workspace, "ada", "edit").await?;
    ada.login().await?;
    let described = "Water in the hold, said nobody else.";
    let issue = [
        "issue",
        "create",
        "--title",
        "Fix the leak",
        "--description",
    ];
    let created: SavedIssue = ada.ask(&[&issue[..], &[described]].concat()).await?;
    let key = created.issue.key.to_string();
    let other = Box::pin(Model::start(workspace, model, &json!({}))).await?;
    let others = others(workspace, &other).await?;
    let model = Box::pin(Model::start(workspace, model, &scenarios(&key, &others))).await?;
    let runtime = objects::runtime("real", image)
        .set("/spec/provider", real.provider)
        .set("/spec/pod/resources/limits/memory", "1Gi")
        .set("/spec/workdir/size", "256Mi")
        .set("/spec/network/allow", model.peers());
    workspace
        .prepare_with(&(real.settings)(runtime, &model), &real.agent())
        .await?;

    let words = format!("[scenario:look] Remember the word {WORD}.");
    let (first, root) = ask(workspace, &ada, &key, None, &words).await?;
    assert_eq!(text(&first, "/status/result/summary")?, LAST_WORDS);
    let before = model.requests().await?;
    let cold = until_asked(workspace, &first, &before).await?;
    for (word, what) in [
        (WORD, "the comment that woke it"),
        (described, "what `moor issue get` says"),
        ("api is open", "the way to the API"),
    ] {
        ensure!(holds(&before, word), "its model never heard of {what}");
    }
    for (name, place) in &others {
        let word = format!("{name} is shut");
        ensure!(holds(&before, &word), "nothing keeps it from {place}");
    }
    let asked_first = before.first().context("its model was never asked")?;
    ensure!(
        !holds(std::slice::from_ref(asked_first), described),
        "the description was there before the agent asked for it"
    );

    let (second, _) = ask(
        workspace,
        &ada,
        &key,
        Some(&root),
        "[scenario:again] And now?",
    )
    .await?;
    let summary = text(&second, "/status/result/summary")?;
    assert_eq!(summary, format!("The word was {WORD}."));
    let asked = model.requests().await?.split_off(before.len());
    let warm = until_asked(workspace, &second, &asked).await?;
    let figures = format!(
        "{}: process started → first request to its model {cold} ms in a new home, {warm} ms in the same",
        real.name()
    );
    ensure!(
        holds(&asked, LAST_WORDS),
        "the earlier turn is not in what the model was asked: the conversation did not go on"
    );
    assert_eq!(
        workspace.conversation_of(&second).await?,
        workspace.conversation_of(&first).await?
    );
    let pod = "/status/attempts/0/podUid";
    assert_ne!(at(&first, pod), at(&second, pod));
    for part in ["volume", "workdir", "session", "provider"] {
        let answer = text(&second, &format!("/status/resumed/{part}/answer"))?;
        assert_eq!(answer, "Yes", "{part}");
    }
    answered(&ada, &key, &root).await?;
    if real.is_steered {
        hears_while_it_works(workspace, &ada, &key, &root, &model).await?;
    }
    model.stop(workspace).await?;
    other.stop(workspace).await?;
    Ok(figures)
}

/// Milliseconds from the start of a task's process to the first of these requests.
async fn until_asked(workspace: &Workspace, task: &AgentTask, requests: &[Value]) -> Result<f64> {
    let first = requests.first().context("its model was never asked")?;
    let id = task_id(&text(task, "/status/taskId")?)?;
    let started = workspace.store().await?.started(id).await?;
    let at = first["at"].as_f64().context("a request has a time")?;
    let started = started.as_microsecond() as f64 / 1e6;
    Ok(((at - started) * 1000.0).round())
}

/// Mentions the agent, and waits for the end of its task. Gives back that and the id of the comment.
async fn ask(
    workspace: &Workspace,
    person: &Person,
    key: &str,
    parent: Option<&str>,
    words: &str,
) -> Result<(AgentTask, String)> {
    let (id, comment) = begin(person, key, parent, words).await?;
    Ok((over(workspace, id).await?, comment))
}

/// Mentions the agent. Gives back the task that this begins, and the id of the comment.
async fn begin(
    person: &Person,
    key: &str,
    parent: Option<&str>,
    words: &str,
) -> Result<(TaskId, String)> {
    let body = format!("[Worker](mention://agent/worker) {words}");
    let posted = say(person, key, parent, &body).await?;
    let [wake] = &posted.wakes[..] else {
        bail!("not one recipient: {:?}", posted.wakes)
    };
    let WakeVerdict::Queued { task: Some(id) } = &wake.verdict else {
        bail!("not queued: {:?}", wake.verdict)
    };
    Ok((*id, posted.comment.id.to_string()))
}

async fn say(person: &Person, key: &str, parent: Option<&str>, body: &str) -> Result<Posted> {
    let mut arguments = vec!["comment", "add", key, "--body", body];
    arguments.extend(parent.into_iter().flat_map(|parent| ["--parent", parent]));
    person.ask(&arguments).await
}

/// A task that ends well.
async fn over(workspace: &Workspace, id: TaskId) -> Result<AgentTask> {
    let name = task_name(objects::AGENT, &id.to_string())?;
    let task = workspace.finished(name.as_str()).await?;
    ensure!(objects::is_true(&task, "Succeeded"), "{:?}", task.status);
    Ok(task)
}

/// What a person adds in the thread while the agent works is in the next question to its model, in the same task; the one
/// that would have done it otherwise is cancelled.
async fn hears_while_it_works(
    workspace: &Workspace,
    person: &Person,
    key: &str,
    root: &str,
    model: &Model,
) -> Result<()> {
    let before = model.requests().await?.len();
    let words = "[scenario:beside] Once more.";
    let (working, _) = begin(person, key, Some(root), words).await?;
    wait::polled("its model is asked", SOON, async || {
        let asked = model.requests().await?.split_off(before);
        Ok(holds(&asked, "scenario:beside").then_some(()))
    })
    .await?;
    let posted = say(person, key, Some(root), REMARK).await?;
    let [wake] = &posted.wakes[..] else {
        bail!("not one recipient: {:?}", posted.wakes)
    };
    let WakeVerdict::Steered {
        task,
        follow_up: Some(next),
    } = &wake.verdict
    else {
        bail!("not told: {:?}", wake.verdict)
    };
    assert_eq!(*task, working);
    let task = over(workspace, working).await?;
    let summary = text(&task, "/status/result/summary")?;
    assert_eq!(summary, "A person said maple.");
    let asked = model.requests().await?.split_off(before);
    ensure!(holds(&asked, REMARK), "its model never heard of the remark");
    let next: RunView = person.ask(&["task", "get", &next.to_string()]).await?;
    assert_eq!(
        (next.state, next.failure),
        (TaskState::Finished, Some(FailureClass::Cancelled)),
        "the agent took it in"
    );
    Ok(())
}

/// The agent has answered in the thread that woke it, twice, as itself.
async fn answered(person: &Person, key: &str, root: &str) -> Result<()> {
    let page: Page<Comment> = person
        .ask(&["comment", "list", key, "--thread", root])
        .await?;
    let by_agent = page.items.iter();
    let by_agent = by_agent.filter(|comment| comment.author.kind == AuthorKind::Agent);
    let said: Vec<_> = by_agent
        .map(|comment| (comment.author.id.as_str(), comment.body.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (objects::AGENT, "It was the valve."),
            (objects::AGENT, "It still is.")
        ]
    );
    Ok(())
}

fn anthropic(runtime: Draft<crds::Runtime>, model: &Model) -> Draft<crds::Runtime> {
    runtime.set(
        "/spec/pod/env",
        json!([
            {"name": "ANTHROPIC_BASE_URL", "value": model.url()},
            {"name": "ANTHROPIC_API_KEY", "value": "scripted"},
        ]),
    )
}

fn codex(runtime: Draft<crds::Runtime>, model: &Model) -> Draft<crds::Runtime> {
    let provider = format!(
        "model_providers.scripted={{name=\"scripted\",base_url=\"{}/v1\",env_key=\"PROVIDER_KEY\",wire_api=\"responses\"}}",
        model.url()
    );
    runtime
        .set(
            "/spec/args",
            json!([
                "-c",
                "model=\"scripted\"",
                "-c",
                "model_provider=\"scripted\"",
                "-c",
                provider
            ]),
        )
        .set(
            "/spec/pod/env",
            json!([{"name": "PROVIDER_KEY", "value": "scripted"}]),
        )
}

fn pi(runtime: Draft<crds::Runtime>, model: &Model) -> Draft<crds::Runtime> {
    let models = json!({"providers": {"scripted": {
        "baseUrl": model.url(), "apiKey": "PROVIDER_KEY", "api": "anthropic-messages",
        "models": [{
            "id": "scripted-1", "name": "Scripted", "reasoning": true, "input": ["text"], "contextWindow": 128_000,
            "maxTokens": 8192, "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0},
        }],
    }}});
    runtime
        .set(
            "/spec/args",
            json!(["--provider", "scripted", "--model", "scripted-1"]),
        )
        .set(
            "/spec/pod/env",
            json!([
                {"name": "PI_MODELS", "value": models.to_string()},
                {"name": "PROVIDER_KEY", "value": "scripted"},
            ]),
        )
}

fn codex_acp(runtime: Draft<crds::Runtime>, model: &Model) -> Draft<crds::Runtime> {
    let config = json!({"model": "scripted", "model_provider": "scripted", "model_providers": {"scripted": {
        "name": "scripted", "base_url": format!("{}/v1", model.url()), "env_key": "PROVIDER_KEY", "wire_api": "responses",
    }}});
    runtime.set(
        "/spec/pod/env",
        json!([
            {"name": "CODEX_CONFIG", "value": config.to_string()},
            {"name": "MODEL_PROVIDER", "value": "scripted"},
            {"name": "PROVIDER_KEY", "value": "scripted"},
        ]),
    )
}

/// A story of one command line.
macro_rules! tells {
    ($($name:ident: $provider:literal, $settings:expr, $story:literal, $tools:expr, $steered:literal;)+) => {
        $(#[tokio::test]
        async fn $name() -> Result<()> {
            let real = Real {
                provider: $provider,
                tools: $tools,
                is_steered: $steered,
                settings: $settings,
            };
            story($story, async |workspace| {
                let Some((image, model)) = images(workspace, $provider) else {
                    println!("skipped: no image of {} or of its model", $provider);
                    return Ok(());
                };
                println!("{}", Box::pin(tell(workspace, &real, &image, &model)).await?);
                Ok(())
            })
            .await
        })+
    };
}

/// Each use of a tool is looked at, and all that it does here is let in.
fn looked_at() -> Option<Value> {
    Some(json!({"deny": ["WebFetch"]}))
}

tells! {
    claude_code_answers_and_remembers: "claude", anthropic, "claude", None, true;
    codex_answers_and_remembers: "codex", codex, "codex", None, false;
    pi_answers_and_remembers: "pi", pi, "pi", None, true;
    claude_code_behind_acp_answers_and_remembers: "claude-agent-acp", anthropic, "claude-agent-acp", None, false;
    codex_behind_acp_answers_and_remembers: "codex-acp", codex_acp, "codex-acp", None, false;
    claude_code_does_so_where_its_tools_are_looked_at: "claude", anthropic, "claude-held", looked_at(), false;
    codex_does_so_where_its_tools_are_looked_at: "codex", codex, "codex-held", looked_at(), false;
    pi_does_so_where_its_tools_are_looked_at: "pi", pi, "pi-held", looked_at(), false;
}
