//! Measures what `operator/docs/figures.md` says of comments, on the running cluster, and prints it as Markdown.
//!
//! `cargo run -p e2e --bin board-figures`

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::script::Script;
use e2e::token::ApiClient;
use e2e::{Cluster, Person, Workspace, install, objects};
use futures::future::try_join_all;
use jiff::Timestamp;
use protocol::board::{Comment, Explanation, MintedToken, Page, Posted, RunView, SavedIssue};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::json;

/// Runs of each kind; the middle one is shown.
const RUNS: usize = 5;
/// Those who write at a time.
const WRITERS: usize = 8;
/// For so long.
const WRITING: Duration = Duration::from_secs(10);
/// An agent answers within this time.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks for its answer. The figure is the difference of two times of the server, so this is none of it.
const PAUSE: Duration = Duration::from_millis(200);

#[tokio::main]
async fn main() -> Result<()> {
    let cluster = Cluster::connect().await?;
    Box::pin(install::ensure(&cluster)).await?;
    let workspace = Workspace::create(&cluster, "board-figures").await?;
    let table = Box::pin(measure(&workspace)).await;
    let removed = workspace.delete().await;
    std::io::stdout()
        .write_all(table?.as_bytes())
        .context("print the figures")?;
    removed
}

async fn measure(workspace: &Workspace) -> Result<String> {
    workspace.prepare().await?;
    let ada = Person::with_role(workspace, "ada", "edit").await?;
    ada.login().await?;
    // The first pod of a namespace waits for its network policies; that is not what is measured.
    answered(&ada, &issue(&ada, "warm").await?).await?;
    let (mut first, mut next) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let key = issue(&ada, &format!("run {run}")).await?;
        first.push(answered(&ada, &key).await?);
        next.push(answered(&ada, &key).await?);
    }
    let mut text = String::from(
        "| from a comment | to the claim | to the agent's own first call of the API |\n| --- | --- | --- |\n",
    );
    for (name, times) in [
        ("new session: volume and pod are made", first),
        ("next comment: a new pod on its volume", next),
    ] {
        let claimed = middle(times.iter().map(|it| it.claimed));
        let called = middle(times.iter().map(|it| it.called));
        text += &format!(
            "| {name} | {} ms | {} ms |\n",
            claimed.as_millis(),
            called.as_millis()
        );
    }
    text += "\n| comments a second through the API, eight writers | |\n| --- | --- |\n";
    for (name, issues) in [
        ("each on an issue of its own", WRITERS),
        ("all on one issue", 1),
    ] {
        let rate = comments(workspace, &ada, issues).await?;
        text += &format!("| {name} | {rate:.0} |\n");
    }
    Ok(text)
}

async fn issue(ada: &Person, title: &str) -> Result<String> {
    let made: SavedIssue = ada.ask(&["issue", "create", "--title", title]).await?;
    Ok(made.issue.key.to_string())
}

/// What came of a comment, and after how long.
struct Answered {
    /// Its task was claimed.
    claimed: Duration,
    /// Its agent asked the API for something: to take its answer.
    called: Duration,
}

async fn answered(ada: &Person, key: &str) -> Result<Answered> {
    let script = Script::new()
        .run(&format!("moor comment add {key} --body 'Seen.'"))
        .answer("Done.");
    let body = format!(
        "[Worker](mention://agent/{}) please:\n\n```\n{}\n```\n",
        objects::AGENT,
        script.prompt()
    );
    let posted: Posted = ada.ask(&["comment", "add", key, "--body", &body]).await?;
    let root = posted.comment.id.to_string();
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        let thread: Page<Comment> = ada
            .ask(&["comment", "list", key, "--thread", &root])
            .await?;
        if let [asked, answer, ..] = &thread.items[..] {
            let runs: Page<RunView> = ada.ask(&["issue", "runs", key]).await?;
            let newest = runs.items.iter().max_by_key(|run| run.created);
            let task = newest.context("an answer without a run")?.id.to_string();
            let explained: Explanation = ada.ask(&["task", "explain", &task]).await?;
            let attempt = explained.attempts.first();
            let claimed = attempt.context("a run without an attempt")?.claimed;
            return Ok(Answered {
                claimed: between(asked.created, claimed)?,
                called: between(asked.created, answer.created)?,
            });
        }
        tokio::time::sleep(PAUSE).await;
    }
    anyhow::bail!("no answer on {key} within {PATIENCE:?}")
}

fn between(from: Timestamp, to: Timestamp) -> Result<Duration> {
    Duration::try_from(to.duration_since(from)).context("it is older than the comment")
}

/// How many comments a second are taken, each by a request of its own.
async fn comments(workspace: &Workspace, ada: &Person, issues: usize) -> Result<f64> {
    let minted: MintedToken = ada
        .ask(&["token", "create", "--label", "figures", "--days", "1"])
        .await?;
    let token = SecretString::from(minted.token);
    let api = Arc::new(ApiClient::published(&workspace.cluster).await?);
    let mut keys = Vec::new();
    for number in 0..issues {
        keys.push(issue(ada, &format!("busy {number}")).await?);
    }
    let since = Instant::now();
    let writers = (0..WRITERS).map(|writer| {
        let path = format!(
            "/api/v1/workspaces/{}/issues/{}/comments",
            workspace.namespace,
            keys[writer % issues]
        );
        write(Arc::clone(&api), token.clone(), path, since)
    });
    let written = try_join_all(writers.map(tokio::spawn)).await?;
    let written: u32 = written.into_iter().sum::<Result<u32>>()?;
    Ok(f64::from(written) / since.elapsed().as_secs_f64())
}

async fn write(
    api: Arc<ApiClient>,
    token: SecretString,
    path: String,
    since: Instant,
) -> Result<u32> {
    let mut written = 0;
    while since.elapsed() < WRITING {
        let body = json!({"body": format!("Comment {written}, as long as a sentence usually is.")});
        let (code, answer) = api.call(Method::POST, &path, &token, Some(&body)).await?;
        ensure!(code == 200 || code == 201, "{code}: {answer}");
        written += 1;
    }
    Ok(written)
}

fn middle(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() / 2]
}
