//! The facts that a decision needs, looked up alike for a write and for its preview.

use jiff::{Timestamp, ToSpan as _};
use protocol::board::{Author, AuthorKind, Issue};
use protocol::{IssueId, TaskId};
use uuid::Uuid;
use wake::{Asker, Candidate, Decision, Directory, Limits, Person, Principal, Target};

use super::row::{Evidence, WakeRow};
use crate::db::{Conn, Reader, query};
use crate::workspaces::webhook_of;
use crate::writes::Write;
use crate::{Error, quick};

/// What statements run on: a look, or a write that has begun.
pub(crate) trait Looks: Send {
    fn conn(&mut self) -> Conn<'_>;
}

impl Looks for Reader {
    fn conn(&mut self) -> Conn<'_> {
        self.into()
    }
}

impl Looks for Write {
    fn conn(&mut self) -> Conn<'_> {
        self.into()
    }
}

/// Who would wake somebody, with the chain of causes behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) author: Author,
    pub(crate) task: Option<TaskId>,
    /// The user at the top.
    pub(crate) originator: Option<Person>,
    /// What woke the author, when it is an agent whose task was born here.
    behind: Option<WakeRow>,
    /// Agents in the chain so far, since a person last said something.
    depth: u32,
    /// What a person did at the top of the chain; none where a person is the author, whose act it is itself.
    pub(super) root: Option<Uuid>,
}

/// The chain behind an author. `person` is who a person is for Kubernetes, `task` that of an agent.
pub(crate) async fn chain(
    on: &mut impl Looks,
    author: &Author,
    person: Option<Person>,
    task: Option<TaskId>,
) -> Result<Chain, Error> {
    let behind = match task {
        Some(task) => WakeRow::find(on.conn(), task).await?,
        None => None,
    };
    let (depth, root) = match &behind {
        Some(row) => match person_said(on, row.issue).await? {
            // What a person says begins anew what goes on below it.
            Some((at, said)) if at > row.cause.at => (0, Some(said)),
            Some(_) | None => (row.cause.depth, row.cause.root.or(Some(row.task.0))),
        },
        None => (0, task.map(|task| task.0)),
    };
    let originator = match author.kind {
        AuthorKind::Member => person,
        AuthorKind::Agent | AuthorKind::System => match (&behind, task) {
            (Some(row), _) => row.cause.originator.clone(),
            // A person asked it for an issue: no issue is behind it yet.
            (None, Some(task)) => {
                let asked = quick::asked_by(on.conn(), task).await?;
                asked.map(|(user, groups)| Person { user, groups })
            }
            (None, None) => None,
        },
    };
    Ok(Chain {
        author: author.clone(),
        task,
        originator,
        behind,
        depth,
        root,
    })
}

impl Chain {
    /// Agents in the chain with a wake of this evidence. What comes back to who asked makes it no longer.
    pub(crate) fn depth(&self, evidence: Evidence) -> u32 {
        match (self.author.kind, evidence) {
            (AuthorKind::Member, _) => 0,
            (_, Evidence::HandBack) => self.depth.saturating_sub(1),
            (_, Evidence::Person | Evidence::Delegation | Evidence::Children) => {
                self.depth.saturating_add(1)
            }
        }
    }

    /// True when it is this agent that asked the author for what it does now.
    pub(crate) fn was_asked_by(&self, agent: &str) -> bool {
        self.behind.as_ref().is_some_and(|row| {
            let cause = &row.cause;
            cause.evidence == Evidence::Delegation && cause.author.id == agent
        })
    }

    /// The user who answers for a wake: who is at the top of the chain, else the person who made the issue.
    pub(crate) fn accountable(&self, issue: &Issue) -> Option<String> {
        let creator = || person_of(&issue.creator);
        let originator = self.originator.as_ref();
        originator
            .map(|person| person.user.clone())
            .or_else(creator)
    }

    /// By whose right agents are woken.
    pub(crate) fn principal(&self) -> Principal {
        match (self.author.kind, &self.originator) {
            (AuthorKind::Member, Some(person)) => Principal::Person(person.clone()),
            (AuthorKind::Agent, originator) => Principal::Agent {
                name: self.author.id.clone(),
                originator: originator.clone(),
            },
            (AuthorKind::Member, None) | (AuthorKind::System, _) => {
                match webhook_of(&self.author) {
                    Some(name) => Principal::Webhook { name },
                    None => Principal::Mooring,
                }
            }
        }
    }

    /// The issue that an author who is an agent works on.
    pub(crate) fn own_issue(&self) -> Option<IssueId> {
        self.behind.as_ref().map(|row| row.issue)
    }

    /// What a plain wake by this author is.
    pub(crate) fn evidence(&self) -> Evidence {
        match self.author.kind {
            AuthorKind::Member => Evidence::Person,
            AuthorKind::Agent | AuthorKind::System => Evidence::Delegation,
        }
    }
}

/// What a person is called as an author: the user name.
fn person_of(author: &Author) -> Option<String> {
    match author.kind {
        AuthorKind::Member => Some(author.name.clone()),
        AuthorKind::Agent | AuthorKind::System => None,
    }
}

/// A question whether agents are woken.
pub(crate) struct Asked<'a> {
    /// Where.
    pub(crate) issue: &'a Issue,
    /// By whom.
    pub(crate) chain: &'a Chain,
    pub(crate) evidence: Evidence,
    /// Who is meant.
    pub(crate) targets: &'a [Target],
    /// Whom the author leaves out.
    pub(crate) suppress: &'a [String],
    pub(crate) directory: &'a dyn Directory,
    pub(crate) limits: Limits,
    pub(crate) now: Timestamp,
}

/// Decides for each of those who are meant.
pub(crate) async fn decide(on: &mut impl Looks, asked: Asked<'_>) -> Result<Vec<Decision>, Error> {
    if asked.targets.is_empty() {
        return Ok(Vec::new());
    }
    let (asker, candidates) = match asked.chain.author.kind {
        AuthorKind::Member => (
            Asker::Person,
            asked
                .targets
                .iter()
                .map(|target| candidate(target, 0))
                .collect(),
        ),
        AuthorKind::Agent | AuthorKind::System => among_agents(on, &asked).await?,
    };
    Ok(wake::judge(
        &asker,
        &asked.chain.principal(),
        &candidates,
        asked.suppress,
        asked.directory,
        asked.limits,
    ))
}

/// The facts that the guards ask for.
async fn among_agents(
    on: &mut impl Looks,
    asked: &Asked<'_>,
) -> Result<(Asker, Vec<Candidate>), Error> {
    let (chain, issue, limits) = (asked.chain, asked.issue.id, asked.limits);
    let said = said_at(person_said(on, issue).await?);
    let mut candidates = Vec::new();
    for target in asked.targets {
        let rounds = match &target.agent {
            Some(agent) => {
                rounds(on, issue, (&chain.author.id, agent), said, limits.rounds).await?
            }
            None => 0,
        };
        candidates.push(candidate(target, rounds));
    }
    let hour = asked.now.checked_sub(1.hour()).unwrap_or(Timestamp::MIN);
    let since = said.max(hour);
    let mut caused = runs(on, issue, since, limits.runs).await?;
    if let Some(own) = &chain.behind {
        // Or it would only have to make ever new parts of its issue, each of which begins to count at nothing.
        let said = said_at(person_said(on, own.issue).await?);
        let by_task = runs_of_task(on, own.task, since.max(said), limits.runs).await?;
        caused = caused.max(by_task);
    }
    let of_root = match chain.root {
        Some(root) => runs_of_root(on, root, limits.root).await?,
        None => 0,
    };
    let asker = Asker::Agent {
        name: chain.author.id.clone(),
        here: chain.behind.as_ref().is_none_or(|row| row.issue == issue),
        depth: chain.depth(asked.evidence),
        runs: caused,
        of_root,
    };
    Ok((asker, candidates))
}

fn candidate(target: &Target, rounds: u32) -> Candidate {
    Candidate {
        target: target.clone(),
        rounds,
    }
}

/// When a person last said something on an issue, and in which comment.
async fn person_said(
    on: &mut impl Looks,
    issue: IssueId,
) -> Result<Option<(Timestamp, Uuid)>, Error> {
    const SAID: &str = "SELECT created_at, id FROM comments WHERE issue = $1 AND author_kind = 'member' \
        ORDER BY created_at DESC LIMIT 1";
    let find = query("look when a person said something", SAID).bind(issue);
    let found = find.optional(on.conn()).await?;
    found
        .map(|row| Ok((row.time("created_at")?, row.get("id")?)))
        .transpose()
}

fn said_at(said: Option<(Timestamp, Uuid)>) -> Timestamp {
    said.map_or(Timestamp::MIN, |(at, _)| at)
}

/// Runs that agents have caused after what a person did; not counted further than to the limit.
async fn runs_of_root(on: &mut impl Looks, root: Uuid, limit: u32) -> Result<u32, Error> {
    const RUNS: &str = "SELECT count(*) AS runs FROM (SELECT 1 FROM wakes WHERE root = $1 AND author_kind = 'agent' \
        LIMIT $2) AS counted";
    let count = query("count what came of a root", RUNS)
        .bind(root)
        .bind(limit);
    count.one(on.conn()).await?.u32("runs")
}

/// Runs that agents have caused on an issue since then; not counted further than to the limit.
async fn runs(
    on: &mut impl Looks,
    issue: IssueId,
    since: Timestamp,
    limit: u32,
) -> Result<u32, Error> {
    const RUNS: &str = "SELECT count(*) AS runs FROM (SELECT 1 FROM wakes WHERE issue = $1 AND author_kind = 'agent' \
        AND woken_at > $2 LIMIT $3) AS counted";
    let count = query("count what agents caused", RUNS)
        .bind(issue)
        .bind(since)
        .bind(limit);
    count.one(on.conn()).await?.u32("runs")
}

/// Runs that a task of an agent has caused since then, on whichever issue; not counted further than to the limit.
async fn runs_of_task(
    on: &mut impl Looks,
    task: TaskId,
    since: Timestamp,
    limit: u32,
) -> Result<u32, Error> {
    const RUNS: &str = "SELECT count(*) AS runs FROM (SELECT DISTINCT task FROM wake_causes WHERE author_task = $1 \
        AND woken_at > $2 LIMIT $3) AS counted";
    let count = query("count what a task caused", RUNS)
        .bind(task)
        .bind(since)
        .bind(limit);
    count.one(on.conn()).await?.u32("runs")
}

/// How often two agents have woken each other on an issue since then, there and back; not counted further than to
/// the limit.
async fn rounds(
    on: &mut impl Looks,
    issue: IssueId,
    (one, other): (&str, &str),
    since: Timestamp,
    limit: u32,
) -> Result<u32, Error> {
    const ROUNDS: &str = "SELECT count(*) AS there FROM (SELECT 1 FROM wakes WHERE issue = $1 AND author_kind = 'agent' \
        AND author_id = $2 AND agent = $3 AND woken_at > $4 LIMIT $5) AS counted";
    let mut least = limit;
    for (from, to) in [(one, other), (other, one)] {
        let count = query("count rounds of two agents", ROUNDS)
            .bind(issue)
            .bind(from)
            .bind(to)
            .bind(since)
            .bind(limit);
        least = least.min(count.one(on.conn()).await?.u32("there")?);
    }
    Ok(least)
}
