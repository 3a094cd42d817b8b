//! The claim: one transaction decides which task gets its session next, and gives it an attempt and a token.

use jiff::Timestamp;
use protocol::{AttemptId, Credential, InstallationKey, Salt, SessionId, TaskId, TaskState};
use rand::RngCore as _;
use serde::Serialize;

use crate::db::{Conn, Sql, query, to_json};
use crate::life::{self, TaskEvent};
use crate::sessions::{self, SessionRow};
use crate::shares::{self, Share};
use crate::writes::Write;
use crate::{Error, Store, WritePoint, tokens};

/// How often a claim looks again when another write took what it had chosen.
const LOOKS: usize = 8;

/// A Runtime and the agents that may use it: what is claimed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// UID of the namespace.
    pub namespace_uid: String,
    /// Name of the Runtime.
    pub runtime: String,
    /// Its provider, kept with each attempt: an event tells only the provider's session id.
    pub provider: String,
    /// Sessions that may be held on this Runtime at the same time.
    pub max_pods: u32,
    /// Who may use it.
    pub agents: Vec<LaneAgent>,
    /// What its workspace may have.
    pub share: Share,
}

/// An agent of a [`Lane`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaneAgent {
    /// Name of the Agent.
    pub name: String,
    /// Sessions of it that may be held at the same time.
    pub max_concurrent: u32,
}

/// What was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The new attempt.
    pub attempt: AttemptId,
    /// The session that it holds now.
    pub session: SessionRow,
    /// The Runtime that it runs on.
    pub runtime: String,
    /// What its workspace has had, where workspaces share something; [`Store::served`].
    pub served: Option<i64>,
}

/// The place of a task among those that wait: the least comes first.
///
/// Each point of its priority counts as 36 seconds that it has waited already (the schema computes it), so what has
/// a low one is overtaken for a time and then goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    turn_at: i64,
    task: TaskId,
}

// Each agent with room offers the session whose best task comes first; the best of these is taken. Every part
// is a look into an index, however many tasks wait. The two databases unfold the list of agents differently, and
// Postgres would rather read all sessions than join one for each agent.
const CANDIDATE: Sql = Sql {
    sqlite: "SELECT sessions.id AS session, sessions.head_turn_at AS turn_at, sessions.head_task AS task \
        FROM (SELECT (SELECT free.id FROM sessions AS free \
           WHERE free.namespace_uid = $1 AND free.agent = (lane.value ->> 'name') \
           AND free.holder_task IS NULL AND free.head_task IS NOT NULL \
           ORDER BY free.head_turn_at, free.head_task LIMIT 1) AS id \
         FROM json_each($3) AS lane WHERE (SELECT count(*) FROM sessions AS held WHERE held.namespace_uid = $1 \
           AND held.agent = (lane.value ->> 'name') AND held.holder_task IS NOT NULL) \
           < (lane.value ->> 'max_concurrent')) AS offered \
         JOIN sessions ON sessions.id = offered.id \
         WHERE (SELECT count(*) FROM sessions AS held WHERE held.namespace_uid = $1 \
           AND held.holder_runtime = $2 AND held.holder_task IS NOT NULL) < $4 \
         ORDER BY sessions.head_turn_at, sessions.head_task LIMIT 1",
    postgres: "SELECT offered.id AS session, offered.turn_at, offered.task \
        FROM json_to_recordset($3::json) AS lane (name text, max_concurrent bigint) \
        CROSS JOIN LATERAL (SELECT free.id, free.head_turn_at AS turn_at, free.head_task AS task \
           FROM sessions AS free WHERE free.namespace_uid = $1 AND free.agent = lane.name \
           AND free.holder_task IS NULL AND free.head_task IS NOT NULL \
           ORDER BY free.head_turn_at, free.head_task LIMIT 1) AS offered \
        WHERE (SELECT count(*) FROM sessions AS held WHERE held.namespace_uid = $1 \
           AND held.agent = lane.name AND held.holder_task IS NOT NULL) < lane.max_concurrent \
        AND (SELECT count(*) FROM sessions AS held WHERE held.namespace_uid = $1 \
           AND held.holder_runtime = $2 AND held.holder_task IS NOT NULL) < $4 \
        ORDER BY offered.turn_at, offered.task LIMIT 1",
};

impl Store {
    /// Claims the next task of a lane: of those that wait, whose session nobody holds, whose agent, Runtime and
    /// workspace have room, the first by its [`Place`]. Holders are what fills a limit, also those whose pod is
    /// still ending. The attempt's token lives from `now` on.
    ///
    /// # Errors
    /// [`Error::Conflict`] when others took each choice, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn claim_next(
        &self,
        lane: &Lane,
        key: &InstallationKey,
        now: Timestamp,
    ) -> Result<Option<Claimed>, Error> {
        let agents = to_json("agents of a lane", &lane.agents)?;
        // Most often there is nothing to claim; that is found out without waiting for anyone.
        if candidate(&mut self.reader().await?, lane, &agents)
            .await?
            .is_none()
        {
            return Ok(None);
        }
        let mut write = self.write(WritePoint::Claim).await?;
        // Two claims at once could both see the last free place. In this order everywhere.
        let is_shared = lane.share.max_pods.is_some();
        if is_shared {
            write.serialize(shares::ALL_PODS).await?;
        }
        write.serialize(&lane.namespace_uid).await?;
        if shares::held(&mut write, lane, now).await?.is_some() {
            return Ok(None);
        }
        let Some((session, task)) = choose(&mut write, lane, &agents).await? else {
            return Ok(None);
        };
        let attempt = advance(&mut write, task).await?;
        let salt = new_salt();
        insert(&mut write, attempt, &session, lane, salt, now).await?;
        let token = key.task_token(attempt, salt);
        tokens::insert(&mut write, attempt, Credential::token_hash(&token), now).await?;
        let session = hold(&mut write, &session, attempt, &lane.runtime, now).await?;
        let served = match is_shared {
            true => Some(shares::pay(&mut write, lane).await?),
            false => None,
        };
        write.changed(task);
        write.commit().await?;
        Ok(Some(Claimed {
            attempt,
            session,
            runtime: lane.runtime.clone(),
            served,
        }))
    }

    /// The place of what would be claimed next in a lane, its share aside.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn next_in(&self, lane: &Lane) -> Result<Option<Place>, Error> {
        let agents = to_json("agents of a lane", &lane.agents)?;
        let found = candidate(&mut self.reader().await?, lane, &agents).await?;
        Ok(found.map(|(_, place)| place))
    }
}

/// The session whose head comes next, as far as can be seen without a lock.
async fn candidate(
    on: impl Into<Conn<'_>>,
    lane: &Lane,
    agents: &str,
) -> Result<Option<(SessionId, Place)>, Error> {
    let find = query("choose what to claim", CANDIDATE)
        .bind(lane.namespace_uid.as_str())
        .bind(lane.runtime.as_str())
        .bind(agents)
        .bind(lane.max_pods);
    find.optional(on)
        .await?
        .map(|row| {
            let place = Place {
                turn_at: row.get("turn_at")?,
                task: TaskId(row.get("task")?),
            };
            Ok((SessionId(row.get("session")?), place))
        })
        .transpose()
}

/// The session to be claimed, locked, and its head. Waits for a session that another write has locked and then
/// looks again: to skip it would leave its task waiting with nobody to wake it.
async fn choose(
    write: &mut Write,
    lane: &Lane,
    agents: &str,
) -> Result<Option<(SessionRow, TaskId)>, Error> {
    for _ in 0..LOOKS {
        let Some((chosen, _)) = candidate(&mut *write, lane, agents).await? else {
            return Ok(None);
        };
        let (session, head) = sessions::locked_with_head(write, chosen).await?;
        match head {
            Some(head)
                if session.holder.is_none()
                    && is_still_chosen(write, lane, agents, chosen).await? =>
            {
                return Ok(Some((session, head)));
            }
            Some(_) | None => {}
        }
    }
    Err(Error::Conflict {
        what: "each task that was chosen was changed meanwhile".to_owned(),
    })
}

/// Under the lock: whether it still comes first.
async fn is_still_chosen(
    write: &mut Write,
    lane: &Lane,
    agents: &str,
    chosen: SessionId,
) -> Result<bool, Error> {
    // SQLite writes one at a time, so nothing can have happened.
    if write.is_alone() {
        return Ok(true);
    }
    let first = candidate(write, lane, agents).await?;
    Ok(first.is_some_and(|(session, _)| session == chosen))
}

async fn advance(write: &mut Write, task: TaskId) -> Result<AttemptId, Error> {
    const UPDATE: &str = "UPDATE tasks SET state = $3, attempt = attempt + 1 WHERE id = $1 AND state = $2 RETURNING attempt";
    let from = TaskState::Queued;
    let update = query("claim a task", UPDATE)
        .bind(task)
        .bind(from)
        .bind(life::next(from, TaskEvent::Claim)?);
    Ok(AttemptId {
        task,
        number: update.one(write).await?.u32("attempt")?,
    })
}

async fn insert(
    write: &mut Write,
    attempt: AttemptId,
    session: &SessionRow,
    lane: &Lane,
    salt: Salt,
    now: Timestamp,
) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO attempts (task, number, session, salt, runtime, provider, claimed_at, claim_uid, \
        namespace_uid) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    query("begin an attempt", INSERT)
        .bind(attempt.task)
        .bind(attempt.number)
        .bind(session.id)
        .bind(salt.0.to_vec())
        .bind(lane.runtime.as_str())
        .bind(lane.provider.as_str())
        .bind(now)
        .bind(session.claim_uid.clone())
        .bind(lane.namespace_uid.as_str())
        .execute(write)
        .await?;
    Ok(())
}

/// Makes the attempt the holder, and notes which task of the session comes next.
async fn hold(
    write: &mut Write,
    session: &SessionRow,
    attempt: AttemptId,
    runtime: &str,
    now: Timestamp,
) -> Result<SessionRow, Error> {
    const HOLD: &str = "UPDATE sessions SET holder_task = $2, holder_attempt = $3, holder_runtime = $4, \
        holder_since = $5, runs = runs + 1 WHERE id = $1 AND holder_task IS NULL";
    let hold = query("hold a session", HOLD)
        .bind(session.id)
        .bind(attempt.task)
        .bind(attempt.number);
    if hold.bind(runtime).bind(now).execute(&mut *write).await? != 1 {
        return Err(Error::Conflict {
            what: format!("session {} has a holder", session.id),
        });
    }
    sessions::choose_head(write, session.id).await?;
    sessions::read(write, session.id).await
}

fn new_salt() -> Salt {
    let mut bytes = [0; 16];
    rand::rng().fill_bytes(&mut bytes);
    Salt(bytes)
}
