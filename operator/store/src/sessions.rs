//! Sessions: the volume, who holds it, and the conversation that can be resumed.

use jiff::Timestamp;
use protocol::{AttemptId, ProviderSession, SessionId, Subject, TaskId};
use uuid::Uuid;

use crate::db::{Conn, Row, Sql, query, to_json};
use crate::writes::Write;
use crate::{Error, Store, WritePoint};

/// Provider session ids that a session remembers as never to be resumed again; the oldest is forgotten.
pub const RETIRED_SESSIONS: usize = 16;

/// What makes a session: one agent on one subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionKey {
    /// UID of the namespace.
    pub namespace_uid: String,
    /// Name of the Agent.
    pub agent: String,
    /// What it is about.
    pub subject: Subject,
}

/// The attempt whose pod may use the volume now. It counts against every limit until it is released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Which attempt.
    pub attempt: AttemptId,
    /// The Runtime that it runs on.
    pub runtime: String,
    /// Since when.
    pub since: Timestamp,
}

/// The conversation that can be resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The provider's own conversation.
    pub session: ProviderSession,
    /// UID of the volume claim that it lies on, where known.
    pub claim_uid: Option<String>,
    /// The task that told of it last.
    pub task: TaskId,
    /// When.
    pub at: Timestamp,
}

/// A session as the store holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// What makes it.
    pub key: SessionKey,
    /// Name of the namespace.
    pub namespace: String,
    /// Who may use the volume now.
    pub holder: Option<Holder>,
    /// Number in the name of its volume claim; 0 before the first.
    pub claim_generation: u32,
    /// UID of that claim, once it was seen.
    pub claim_uid: Option<String>,
    /// The conversation that can be resumed.
    pub pointer: Option<Pointer>,
    /// Provider session ids never to be resumed again, oldest first, at most [`RETIRED_SESSIONS`].
    pub retired: Vec<String>,
    /// The node that the volume was used on last.
    pub last_node: Option<String>,
    /// When an attempt on it ended last.
    pub last_used_at: Option<Timestamp>,
    /// Attempts so far.
    pub runs: u64,
    /// True when another task of it waits for its turn.
    pub waits: bool,
}

macro_rules! session {
    ($rest:literal) => {
        concat!(
            "SELECT id, namespace_uid, namespace, agent, subject_kind, subject_name, holder_task, holder_attempt, \
             holder_runtime, holder_since, head_task, claim_generation, claim_uid, pointer, pointer_claim_uid, \
             pointer_task, pointer_at, retired, last_node, last_used_at, runs FROM sessions ",
            $rest
        )
    };
}

const SESSION: &str = session!("WHERE id = $1");
const SESSION_LOCKED: Sql = Sql {
    sqlite: SESSION,
    postgres: session!("WHERE id = $1 FOR UPDATE"),
};

impl SessionRow {
    pub(crate) fn read(row: &Row) -> Result<Self, Error> {
        let holder = match row.get::<Option<Uuid>>("holder_task")? {
            Some(task) => Some(Holder {
                attempt: AttemptId {
                    task: TaskId(task),
                    number: row.u32("holder_attempt")?,
                },
                runtime: row.get("holder_runtime")?,
                since: row.time("holder_since")?,
            }),
            None => None,
        };
        let pointer = match row.json_opt("pointer")? {
            Some(session) => Some(Pointer {
                session,
                claim_uid: row.get("pointer_claim_uid")?,
                task: TaskId(row.get("pointer_task")?),
                at: row.time("pointer_at")?,
            }),
            None => None,
        };
        Ok(Self {
            id: SessionId(row.get("id")?),
            key: SessionKey {
                namespace_uid: row.get("namespace_uid")?,
                agent: row.get("agent")?,
                subject: Subject {
                    kind: row.get("subject_kind")?,
                    name: row.get("subject_name")?,
                },
            },
            namespace: row.get("namespace")?,
            holder,
            claim_generation: row.u32("claim_generation")?,
            claim_uid: row.get("claim_uid")?,
            pointer,
            retired: row.json("retired")?,
            last_node: row.get("last_node")?,
            last_used_at: row.time_opt("last_used_at")?,
            runs: row.u64("runs")?,
            waits: row.get::<Option<Uuid>>("head_task")?.is_some(),
        })
    }

    /// True when this attempt may use the volume now.
    #[must_use]
    pub fn is_held_by(&self, attempt: AttemptId) -> bool {
        self.holder
            .as_ref()
            .is_some_and(|holder| holder.attempt == attempt)
    }
}

impl Store {
    /// A session.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn session(&self, session: SessionId) -> Result<Option<SessionRow>, Error> {
        let found = query("read a session", SESSION)
            .bind(session)
            .optional(&mut self.reader().await?)
            .await?;
        found.as_ref().map(SessionRow::read).transpose()
    }

    /// The session of a key.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn session_by_key(&self, key: &SessionKey) -> Result<Option<SessionRow>, Error> {
        const BY_KEY: &str = session!(
            "WHERE namespace_uid = $1 AND agent = $2 AND subject_kind = $3 AND subject_name = $4"
        );
        let find = bind_key(query("find a session", BY_KEY), key);
        let found = find.optional(&mut self.reader().await?).await?;
        found.as_ref().map(SessionRow::read).transpose()
    }

    /// Sessions with a holder, by id: a page after `after`.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn held_sessions(
        &self,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<SessionRow>, Error> {
        const PAGE: &str =
            session!("WHERE holder_task IS NOT NULL AND id > $1 ORDER BY id LIMIT $2");
        let after = after.unwrap_or(SessionId(Uuid::nil()));
        let list = query("list held sessions", PAGE).bind(after).bind(limit);
        list.all(&mut self.reader().await?)
            .await?
            .iter()
            .map(SessionRow::read)
            .collect()
    }

    /// The generation under which to make the session's volume claim: the current one as long as no claim of
    /// it was recorded, else one more, so that a lost claim's name is never used again. Asking twice before
    /// [`Store::record_claim`] gives the same.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn next_generation(&self, session: SessionId) -> Result<u32, Error> {
        const UPDATE: &str =
            "UPDATE sessions SET claim_generation = $2, claim_uid = NULL WHERE id = $1";
        let mut write = self.write(WritePoint::NextGeneration).await?;
        let row = locked(&mut write, session).await?;
        if row.claim_generation > 0 && row.claim_uid.is_none() {
            return Ok(row.claim_generation);
        }
        let next = row.claim_generation + 1;
        query("begin a generation", UPDATE)
            .bind(session)
            .bind(next)
            .execute(&mut write)
            .await?;
        write.commit().await?;
        Ok(next)
    }

    /// Records the volume claim that was seen under this generation; also for the attempt that holds the
    /// session, as what its pod mounts. Recording it again changes nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] for a generation that is not the current one, [`Error::Missing`], [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn record_claim(
        &self,
        session: SessionId,
        generation: u32,
        claim_uid: &str,
    ) -> Result<(), Error> {
        const SESSION: &str = "UPDATE sessions SET claim_uid = $2 WHERE id = $1";
        const ATTEMPT: &str = "UPDATE attempts SET claim_uid = $3 WHERE task = $1 AND number = $2 AND ended_at IS NULL";
        let mut write = self.write(WritePoint::RecordClaim).await?;
        let row = locked(&mut write, session).await?;
        if row.claim_generation != generation {
            let current = row.claim_generation;
            let what = format!(
                "volume claim {generation} of session {session} is not the current one, which is {current}"
            );
            return Err(Error::Conflict { what });
        }
        query("record a volume claim", SESSION)
            .bind(session)
            .bind(claim_uid)
            .execute(&mut write)
            .await?;
        if let Some(holder) = row.holder {
            let record = query("record the claim of an attempt", ATTEMPT).bind(holder.attempt.task);
            record
                .bind(holder.attempt.number)
                .bind(claim_uid)
                .execute(&mut write)
                .await?;
        }
        write.commit().await
    }
}

/// Finds or makes the session of a key, and locks it.
pub(crate) async fn enter(
    write: &mut Write,
    key: &SessionKey,
    namespace: &str,
    id: Uuid,
) -> Result<SessionId, Error> {
    const INSERT: &str = "INSERT INTO sessions (namespace_uid, agent, subject_kind, subject_name, id, namespace) \
        VALUES ($1, $2, $3, $4, $5, $6) \
        ON CONFLICT (namespace_uid, agent, subject_kind, subject_name) DO NOTHING";
    const FIND: &str = "SELECT id FROM sessions \
        WHERE namespace_uid = $1 AND agent = $2 AND subject_kind = $3 AND subject_name = $4";
    const FIND_LOCKED: Sql = Sql {
        sqlite: FIND,
        postgres: "SELECT id FROM sessions \
            WHERE namespace_uid = $1 AND agent = $2 AND subject_kind = $3 AND subject_name = $4 FOR UPDATE",
    };
    let insert = bind_key(query("enter a session", INSERT), key)
        .bind(id)
        .bind(namespace);
    if insert.execute(&mut *write).await? == 1 {
        return Ok(SessionId(id));
    }
    let found = bind_key(query("find a session", FIND_LOCKED), key)
        .one(&mut *write)
        .await?;
    Ok(SessionId(found.get("id")?))
}

fn bind_key(query: crate::db::Query, key: &SessionKey) -> crate::db::Query {
    query
        .bind(key.namespace_uid.as_str())
        .bind(key.agent.as_str())
        .bind(key.subject.kind.as_str())
        .bind(key.subject.name.as_str())
}

/// A session, locked until the write is over.
pub(crate) async fn locked(write: &mut Write, session: SessionId) -> Result<SessionRow, Error> {
    Ok(locked_with_head(write, session).await?.0)
}

/// A session, locked until the write is over, and its best queued task: the only one that a claim looks at.
pub(crate) async fn locked_with_head(
    write: &mut Write,
    session: SessionId,
) -> Result<(SessionRow, Option<TaskId>), Error> {
    let lock = query("lock a session", SESSION_LOCKED).bind(session);
    let missing = || Error::Missing {
        what: format!("session {session}"),
    };
    let found = lock.optional(write).await?.ok_or_else(missing)?;
    let head: Option<Uuid> = found.get("head_task")?;
    Ok((SessionRow::read(&found)?, head.map(TaskId)))
}

/// Notes which queued task of the session comes next. Called by every write after which that may be another.
pub(crate) async fn choose_head(write: &mut Write, session: SessionId) -> Result<(), Error> {
    const CHOOSE: &str = "UPDATE sessions SET (head_task, head_priority, head_created_at) = \
        (SELECT id, priority, COALESCE(fire_at, created_at) FROM tasks WHERE session = $1 AND state = 'queued' \
         AND NOT deferred ORDER BY turn_at, id LIMIT 1) WHERE id = $1";
    let choose = query("choose the next task of a session", CHOOSE).bind(session);
    choose.execute(write).await?;
    Ok(())
}

/// Changes to what a session knows of its conversation, decided without the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conversation {
    pub(crate) pointer: Option<Pointer>,
    pub(crate) retired: Vec<String>,
}

impl Conversation {
    /// What the session knows now.
    pub(crate) fn of(session: &SessionRow) -> Self {
        Self {
            pointer: session.pointer.clone(),
            retired: session.retired.clone(),
        }
    }

    /// Never resumes this id again.
    pub(crate) fn retire(&mut self, id: &str) {
        self.retired.retain(|retired| retired != id);
        self.retired.push(id.to_owned());
        let surplus = self.retired.len().saturating_sub(RETIRED_SESSIONS);
        self.retired.drain(..surplus);
        if self
            .pointer
            .as_ref()
            .is_some_and(|pointer| pointer.session.id == id)
        {
            self.pointer = None;
        }
    }

    /// Resumes this one from now on, unless its id is retired.
    pub(crate) fn point(&mut self, pointer: Pointer) {
        if !pointer.session.id.is_empty() && !self.retired.contains(&pointer.session.id) {
            self.pointer = Some(pointer);
        }
    }

    /// Keeps it, where it differs from what the session knew.
    pub(crate) async fn store(self, write: &mut Write, session: &SessionRow) -> Result<(), Error> {
        const UPDATE: &str = "UPDATE sessions SET pointer = $2, pointer_claim_uid = $3, pointer_task = $4, \
            pointer_at = $5, retired = $6 WHERE id = $1";
        if self == Self::of(session) {
            return Ok(());
        }
        let pointer = self.pointer.as_ref();
        let json = pointer
            .map(|pointer| to_json("provider session", &pointer.session))
            .transpose()?;
        query("keep what is known of a conversation", UPDATE)
            .bind(session.id)
            .bind(json)
            .bind(pointer.and_then(|pointer| pointer.claim_uid.clone()))
            .bind(pointer.map(|pointer| pointer.task))
            .bind(pointer.map(|pointer| pointer.at))
            .bind(to_json("retired sessions", &self.retired)?)
            .execute(write)
            .await?;
        Ok(())
    }
}

/// The session's row, read without a lock.
pub(crate) async fn read(on: impl Into<Conn<'_>>, session: SessionId) -> Result<SessionRow, Error> {
    SessionRow::read(
        &query("read a session", SESSION)
            .bind(session)
            .one(on)
            .await?,
    )
}
