//! Whether reading, writing and searching stay flat: issues and comments with 100 issues and with 10,000 of them,
//! twenty comments under each; and what it costs to tell a thousand people of a comment.
//!
//! ```sh
//! cargo run --release -p store --example flat_board -- /var/tmp/flat.db
//! cargo run --release -p store --example flat_board -- postgres://user@127.0.0.1/empty_database
//! ```
//!
//! The store is filled with what the measurement needs, so it must be one that nobody else uses.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use protocol::board::{
    Author, AuthorKind, CommentQuery, IssueKey, IssueQuery, IssueStatus, Member, NewComment,
    NewIssue, SearchQuery,
};
use protocol::{InstallationKey, limits};
use secrecy::ExposeSecret as _;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
use store::{Acting, Lane, LaneAgent, SearchScope, Settings, Store, WorkspaceRef};
use uuid::Uuid;

/// Calls of each kind in one measurement.
const ROUNDS: u32 = 100;
/// People who follow one of the issues.
const FOLLOWERS: u32 = limits::SUBSCRIBERS;

/// One agent.
struct Reviewer;

impl wake::Directory for Reviewer {
    fn agent(&self, name: &str) -> Option<wake::AgentFacts> {
        (name == "reviewer").then(|| wake::AgentFacts {
            display_name: "Reviewer".to_owned(),
            access: None,
        })
    }
}

/// Makes a call for each round, and shows how long they took.
macro_rules! timed {
    ($issues:ident, $what:literal, $round:ident, $call:expr) => {{
        let mut taken = Vec::new();
        for $round in 0..ROUNDS {
            let begun = Instant::now();
            $call.await.context($what)?;
            taken.push(begun.elapsed());
        }
        show($issues, $what, taken);
    }};
}

#[tokio::main]
async fn main() -> Result<()> {
    let address = std::env::args()
        .nth(1)
        .context("the first argument is a path or a postgres:// URL")?;
    let settings: Settings = address.parse()?;
    let store = Store::open(&settings).await?;
    println!(
        "{:>8} {:>9} {:>9} {:>9}",
        "issues", "what", "p50 ms", "p99 ms"
    );
    for issues in [100, 10_000] {
        let workspace = WorkspaceRef {
            namespace: format!("n{issues}"),
            namespace_uid: Uuid::now_v7().to_string(),
        };
        let ada = store.member(&workspace, "ada", moment()?).await?;
        fill(&settings, &workspace, issues).await?;
        measure(&store, &acting(workspace, &ada), issues).await?;
    }
    Ok(())
}

/// Issues and comments behind the store's back: two hundred thousand writes would take their time.
async fn fill(settings: &Settings, workspace: &WorkspaceRef, issues: u32) -> Result<()> {
    const ISSUES: &str = "INSERT INTO issues (id, namespace_uid, number, title, description, status, priority, author_kind, \
        author_id, author_name, comments, revision, created_at, updated_at) SELECT {issue}, '{uid}', n, 'issue ' || n, \
        'why', CASE WHEN n % 2 = 0 THEN 'todo' ELSE 'done' END, 0, 'member', '', 'ada', 20, 1, 0, 0 FROM {numbers}";
    // Materialized, since an id that is made twice is two ids.
    const COMMENTS: &str = "WITH drafts AS MATERIALIZED (SELECT {comment} AS id, issues.id AS issue, number, n FROM issues \
        JOIN {twenty} ON TRUE WHERE namespace_uid = '{uid}') INSERT INTO comments (id, issue, thread, author_kind, \
        author_id, author_name, body, last_activity_at, revision, created_at) SELECT id, issue, id, 'member', '', 'ada', \
        'a few words of somebody about case' || number, n, 1, n FROM drafts";
    const NUMBERED: &str =
        "UPDATE workspaces SET last_number = {issues} WHERE namespace_uid = '{uid}'";
    for statement in [ISSUES, COMMENTS, NUMBERED] {
        let statement = statement
            .replace("{issue}", &id(settings, "n"))
            .replace("{comment}", &id(settings, "number * 20 + n"))
            .replace("{uid}", &workspace.namespace_uid)
            .replace("{issues}", &issues.to_string())
            .replace("{numbers}", &series(settings, issues))
            .replace("{twenty}", &series(settings, 20));
        let statement = sqlx::AssertSqlSafe(statement);
        match settings {
            Settings::Sqlite { path } => {
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
                let mut aside = options.connect().await?;
                aside.execute(statement).await?;
                // What else comes with each write: the index of words is put in order, a little at a time.
                aside
                    .execute("INSERT INTO search_words (search_words) VALUES ('optimize')")
                    .await?;
                aside.close().await?;
            }
            Settings::Postgres { url } => {
                let mut aside = sqlx::PgConnection::connect(url.expose_secret()).await?;
                aside.execute(statement).await?;
                aside.execute("ANALYZE").await?;
            }
        }
    }
    Ok(())
}

/// An id in the words of the database. Ids rise with time, as real ones do.
fn id(settings: &Settings, order: &str) -> String {
    match settings {
        Settings::Sqlite { .. } => {
            format!("unhex(printf('%08x', {order}) || hex(randomblob(12)))")
        }
        Settings::Postgres { .. } => {
            format!("(lpad(to_hex({order}), 8, '0') || substr(md5(random()::text), 1, 24))::uuid")
        }
    }
}

/// The numbers from 1 on, in the words of the database.
fn series(settings: &Settings, last: u32) -> String {
    match settings {
        Settings::Sqlite { .. } => format!(
            "(WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {last}) SELECT n FROM s) AS s"
        ),
        Settings::Postgres { .. } => format!("generate_series(1, {last}) AS n"),
    }
}

async fn measure(store: &Store, by: &Acting, issues: u32) -> Result<()> {
    let workspace = &by.workspace;
    let now = moment()?;
    let prefix = format!("N{issues}");
    let key = |round: u32| IssueKey {
        prefix: prefix.clone(),
        number: number(round, issues),
    };
    let todo = IssueQuery {
        status: Some(IssueStatus::Todo),
        ..IssueQuery::default()
    };
    let (plain, mention) = (
        said("/note as it is"),
        said("[r](mention://agent/reviewer)"),
    );
    let (lane, secret) = (lane(workspace), InstallationKey::new([1; 32]));
    let query = CommentQuery::default();
    timed!(
        issues,
        "list",
        _round,
        store.issues(workspace, &IssueQuery::default())
    );
    timed!(issues, "list todo", _round, store.issues(workspace, &todo));
    timed!(issues, "get", round, store.issue(workspace, &key(round)));
    timed!(
        issues,
        "comments",
        round,
        store.comments(workspace, &key(round), &query)
    );
    timed!(
        issues,
        "create",
        _round,
        store.create_issue(by, titled(), &Reviewer, now)
    );
    timed!(
        issues,
        "comment",
        round,
        store.post_comment(by, &key(round), plain.clone(), &Reviewer, now)
    );
    timed!(
        issues,
        "preview",
        round,
        store.preview_comment(by, &key(round), &mention, &Reviewer, now)
    );
    timed!(
        issues,
        "mention",
        round,
        store.post_comment(by, &key(round), mention.clone(), &Reviewer, now)
    );
    timed!(
        issues,
        "claim",
        _round,
        store.claim_next(&lane, &secret, now)
    );
    follow(store, workspace, &key(0), now).await?;
    timed!(
        issues,
        "tell 1000",
        _round,
        store.post_comment(by, &key(0), plain.clone(), &Reviewer, now)
    );
    timed!(
        issues,
        "runs",
        round,
        store.runs_of_issue(workspace, &key(round), 50, None)
    );
    find(store, workspace, issues).await
}

/// Searches for words that are more and less common.
async fn find(store: &Store, workspace: &WorkspaceRef, issues: u32) -> Result<()> {
    // Twenty comments hold the first word, all of them the second, none the third.
    let words = |words: &str| SearchQuery {
        q: words.to_owned(),
        ..SearchQuery::default()
    };
    let find = async |words| {
        store
            .search(workspace, SearchScope::Workspace, &words)
            .await
    };
    let rare = |round| words(&format!("case{}", number(round, issues)));
    timed!(issues, "rare", round, find(rare(round)));
    timed!(issues, "common", _round, find(words("somebody")));
    timed!(issues, "absent", _round, find(words("nowhere")));
    Ok(())
}

/// The number of an issue; those of the rounds are spread over all of them.
fn number(round: u32, issues: u32) -> u32 {
    round * 7919 % issues + 1
}

fn show(issues: u32, what: &str, mut taken: Vec<Duration>) {
    taken.sort_unstable();
    let milliseconds = |part: usize| taken[(taken.len() - 1) * part / 100].as_secs_f64() * 1000.0;
    let (p50, p99) = (milliseconds(50), milliseconds(99));
    println!("{issues:>8} {what:>9} {p50:>9.2} {p99:>9.2}");
}

/// Lets as many people follow an issue as may.
async fn follow(
    store: &Store,
    workspace: &WorkspaceRef,
    key: &IssueKey,
    now: Timestamp,
) -> Result<()> {
    // Who writes there follows it already.
    for number in 1..FOLLOWERS {
        let user = format!("follower-{number}");
        let member = store.member(workspace, &user, now).await?;
        store.subscribe(workspace, key, member.id).await?;
    }
    Ok(())
}

/// When all of it happens.
fn moment() -> Result<Timestamp> {
    Ok(Timestamp::from_second(1_800_000_000)?)
}

fn titled() -> NewIssue {
    NewIssue {
        title: "one more".to_owned(),
        ..NewIssue::default()
    }
}

fn said(body: &str) -> NewComment {
    NewComment {
        body: body.to_owned(),
        ..NewComment::default()
    }
}

fn acting(workspace: WorkspaceRef, member: &Member) -> Acting {
    Acting {
        workspace,
        author: Author {
            kind: AuthorKind::Member,
            id: member.id.to_string(),
            name: member.user.clone(),
        },
        task: None,
        user: Some(member.user.clone()),
        groups: Vec::new(),
    }
}

fn lane(workspace: &WorkspaceRef) -> Lane {
    Lane {
        namespace_uid: workspace.namespace_uid.clone(),
        runtime: "claude".to_owned(),
        provider: "claude".to_owned(),
        max_pods: u32::MAX,
        agents: vec![LaneAgent {
            name: "reviewer".to_owned(),
            max_concurrent: u32::MAX,
        }],
        share: store::Share::default(),
    }
}
