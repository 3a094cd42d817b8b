//! Looks whether the store keeps its own promises; for tests and for `mooring-operator check`.

use std::fmt;

use crate::db::query;
use crate::{Error, Store};

/// Rows that one rule names at most.
const NAMED: u32 = 20;

/// A promise that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise, in a sentence.
    pub rule: &'static str,
    /// Ids of what breaks it.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

/// A rule and the statement that finds what breaks it, as ids of tasks or sessions.
const RULES: &[(&str, &str)] = &[
    (
        "a token belongs to the last attempt of an active task",
        "SELECT tokens.task AS id FROM tokens LEFT JOIN tasks ON tasks.id = tokens.task \
         AND tasks.attempt = tokens.attempt AND tasks.state IN ('claimed', 'preparing', 'running') \
         WHERE tasks.id IS NULL LIMIT $1",
    ),
    (
        "an active task has a token",
        "SELECT id FROM tasks WHERE state IN ('claimed', 'preparing', 'running') \
         AND NOT EXISTS (SELECT 1 FROM tokens WHERE tokens.task = tasks.id) LIMIT $1",
    ),
    (
        "an active or finishing task holds its session with its last attempt",
        "SELECT id FROM tasks WHERE state IN ('claimed', 'preparing', 'running', 'finishing') \
         AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = tasks.session \
         AND holder_task = tasks.id AND holder_attempt = tasks.attempt) LIMIT $1",
    ),
    (
        "the holder of a session is an attempt of a task that is not finished",
        "SELECT id FROM sessions WHERE holder_task IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks \
         JOIN attempts ON attempts.task = tasks.id AND attempts.number = tasks.attempt \
         WHERE tasks.id = sessions.holder_task AND tasks.attempt = sessions.holder_attempt \
         AND tasks.session = sessions.id AND tasks.state <> 'finished') LIMIT $1",
    ),
    (
        "an attempt is alive exactly while it is the last one of an active task",
        "SELECT attempts.task AS id FROM attempts JOIN tasks ON tasks.id = attempts.task \
         WHERE (ended_at IS NULL) <> (tasks.attempt = attempts.number \
         AND tasks.state IN ('claimed', 'preparing', 'running')) LIMIT $1",
    ),
    (
        "attempts are numbered without a gap",
        "SELECT id FROM tasks WHERE attempt <> (SELECT count(*) FROM attempts WHERE task = tasks.id) LIMIT $1",
    ),
    (
        "positions of a timeline have no gap",
        "SELECT id FROM tasks WHERE events <> (SELECT count(*) FROM timeline WHERE task = tasks.id) \
         OR events <> (SELECT COALESCE(MAX(position), 0) FROM timeline WHERE task = tasks.id) LIMIT $1",
    ),
    (
        "events of an attempt are stored without a gap up to its budget",
        "SELECT task AS id FROM attempts WHERE last_seq - left_out + CASE WHEN left_out > 0 THEN 1 ELSE 0 END \
         <> (SELECT count(*) FROM timeline WHERE timeline.task = attempts.task AND attempt = number) LIMIT $1",
    ),
    (
        "a session offers its best queued task",
        "SELECT id FROM sessions WHERE COALESCE((SELECT CASE WHEN tasks.id = head_task \
         AND tasks.priority = head_priority AND COALESCE(fire_at, tasks.created_at) = head_created_at THEN 1 ELSE 0 END FROM tasks \
         WHERE session = sessions.id AND state = 'queued' AND NOT deferred ORDER BY turn_at, tasks.id LIMIT 1), \
         CASE WHEN head_task IS NULL THEN 1 ELSE 0 END) <> 1 LIMIT $1",
    ),
    (
        "a deferred task knows until when, and nobody has claimed it",
        "SELECT id FROM tasks WHERE deferred AND (fire_at IS NULL \
         OR state IN ('claimed', 'preparing', 'running')) LIMIT $1",
    ),
    (
        "a woken task that waits for its time has no cause that comes sooner",
        "SELECT tasks.id AS id FROM tasks JOIN wakes ON wakes.task = tasks.id WHERE deferred AND absorbing \
         AND EXISTS (SELECT 1 FROM wake_causes WHERE wake_causes.task = tasks.id \
         AND (wake_causes.fire_at IS NULL OR wake_causes.fire_at < tasks.fire_at)) LIMIT $1",
    ),
    (
        // Not the other way round: what was put aside takes in nothing any more when it goes on.
        "a woken task takes in more only until its package is opened, it is put aside, or it is over",
        "SELECT wakes.task AS id FROM wakes JOIN tasks ON tasks.id = wakes.task \
         WHERE absorbing AND NOT (opened_at IS NULL AND state IN ('queued', 'claimed')) LIMIT $1",
    ),
    (
        "a woken task that nobody has opened has the cause that it names",
        "SELECT task AS id FROM wakes WHERE absorbing AND NOT EXISTS (SELECT 1 FROM wake_causes \
         WHERE wake_causes.task = wakes.task AND wake_causes.cause_kind = wakes.cause_kind \
         AND (wake_causes.comment = wakes.comment OR (wake_causes.comment IS NULL AND wakes.comment IS NULL))) LIMIT $1",
    ),
    (
        "a deleted comment wakes nobody any more",
        "SELECT wakes.task AS id FROM wakes JOIN wake_causes ON wake_causes.task = wakes.task \
         JOIN comments ON comments.id = wake_causes.comment WHERE absorbing AND deleted_at IS NOT NULL LIMIT $1",
    ),
    (
        "the task of a chat takes in more only while its package is closed and it is not over",
        "SELECT chat_tasks.task AS id FROM chat_tasks JOIN tasks ON tasks.id = chat_tasks.task \
         WHERE absorbing AND state NOT IN ('queued', 'claimed') LIMIT $1",
    ),
    (
        "messages of a chat are numbered without a gap",
        "SELECT id FROM chats WHERE messages <> (SELECT count(*) FROM chat_messages WHERE chat = chats.id) \
         OR messages <> (SELECT COALESCE(MAX(position), 0) FROM chat_messages WHERE chat = chats.id) LIMIT $1",
    ),
    (
        "what a task answers in a chat was written in its own chat",
        "SELECT chat_messages.task AS id FROM chat_messages JOIN chat_tasks ON chat_tasks.task = chat_messages.task \
         WHERE chat_messages.chat <> chat_tasks.chat LIMIT $1",
    ),
    (
        "who asked for an issue has it or their text, once its task is over",
        "SELECT task AS id FROM quick_issues JOIN tasks ON tasks.id = task \
         WHERE (verdict IS NOT NULL) <> (ended_at IS NOT NULL) \
         OR (ended_at IS NOT NULL AND issue IS NULL AND entry IS NULL) LIMIT $1",
    ),
    (
        "issues of a workspace are numbered without a gap",
        "SELECT id FROM issues WHERE number > (SELECT last_number FROM workspaces \
         WHERE workspaces.namespace_uid = issues.namespace_uid) OR (number > 1 AND NOT EXISTS (SELECT 1 \
         FROM issues AS others WHERE others.namespace_uid = issues.namespace_uid \
         AND others.number = issues.number - 1)) LIMIT $1",
    ),
    (
        "an entry of an inbox is about an issue of its member's workspace",
        "SELECT inbox.id AS id FROM inbox JOIN members ON members.id = inbox.member \
         JOIN issues ON issues.id = inbox.issue WHERE members.namespace_uid <> issues.namespace_uid LIMIT $1",
    ),
    (
        "an issue knows how many comments it has",
        "SELECT id FROM issues WHERE comments <> (SELECT count(*) FROM comments AS all_of_it \
         WHERE all_of_it.issue = issues.id AND all_of_it.deleted_at IS NULL) LIMIT $1",
    ),
    (
        "a thread knows how many replies it has",
        "SELECT id FROM comments WHERE thread = id AND replies <> (SELECT count(*) FROM comments AS replied \
         WHERE replied.thread = comments.id AND replied.id <> comments.id AND replied.deleted_at IS NULL) LIMIT $1",
    ),
];

impl Store {
    /// Every promise that does not hold. Reads the whole store: not for every minute.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn violations(&self) -> Result<Vec<Violation>, Error> {
        let mut reader = self.reader().await?;
        let mut found = Vec::new();
        for (rule, statement) in RULES {
            let ids = query(rule, *statement).bind(NAMED).all(&mut reader).await?;
            let ids: Result<Vec<_>, _> =
                ids.iter().map(|row| row.get::<uuid::Uuid>("id")).collect();
            found.extend(ids?.into_iter().map(|id| Violation {
                rule,
                what: id.to_string(),
            }));
        }
        Ok(found)
    }
}
