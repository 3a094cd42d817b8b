-- Who was woken by what. A row of `wakes` belongs to a task that was born here, before its object.

-- The comment that a reply answers.
ALTER TABLE comments ADD COLUMN parent BLOB;

-- A deleted comment keeps its place in its thread, without its text.
ALTER TABLE comments ADD COLUMN deleted_at INTEGER;

CREATE INDEX comments_of_people ON comments (issue, created_at) WHERE author_kind = 'member';
CREATE INDEX comments_of_task ON comments (task, created_at, id) WHERE task IS NOT NULL;

CREATE TABLE wakes (
    task BLOB NOT NULL PRIMARY KEY REFERENCES tasks (id),
    namespace_uid TEXT NOT NULL,
    agent TEXT NOT NULL,
    issue BLOB NOT NULL REFERENCES issues (id),
    -- The thread that it answers in; the id of the issue for what belongs to no thread.
    thread BLOB NOT NULL,
    -- True until its package is opened or it is over: what comes until then is taken in.
    absorbing INTEGER NOT NULL DEFAULT TRUE,
    -- The newest of its causes, as it stands in wake_causes.
    cause_kind TEXT NOT NULL,
    comment BLOB,
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    -- The task in which an agent caused it.
    author_task BLOB,
    -- The user at the top of the chain of causes.
    originator TEXT,
    -- The user who answers for it: the originator, else who made the issue.
    accountable TEXT,
    evidence TEXT NOT NULL,
    depth INTEGER NOT NULL,
    woken_at INTEGER NOT NULL,
    -- When its package was opened first, and the SHA-256 of title and description as they were then.
    opened_at INTEGER,
    shown_hash BLOB
) STRICT;

-- A slot: one task of an agent takes in what is said in one thread.
CREATE UNIQUE INDEX wakes_slot ON wakes (namespace_uid, agent, issue, thread) WHERE absorbing;
CREATE INDEX wakes_of_issue ON wakes (issue, task);
CREATE INDEX wakes_opened ON wakes (issue, agent, opened_at) WHERE opened_at IS NOT NULL;
CREATE INDEX wakes_by_agents ON wakes (issue, woken_at) WHERE author_kind = 'agent';
CREATE INDEX wakes_between_agents ON wakes (issue, author_id, agent, woken_at) WHERE author_kind = 'agent';

-- What a task was woken by and has taken in, in the order in which it came.
CREATE TABLE wake_causes (
    task BLOB NOT NULL REFERENCES wakes (task),
    number INTEGER NOT NULL,
    agent TEXT NOT NULL,
    cause_kind TEXT NOT NULL,
    comment BLOB REFERENCES comments (id),
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    author_task BLOB,
    originator TEXT,
    accountable TEXT,
    evidence TEXT NOT NULL,
    depth INTEGER NOT NULL,
    woken_at INTEGER NOT NULL,
    PRIMARY KEY (task, number)
) STRICT;

-- A comment wakes an agent once, whatever anyone believes.
CREATE UNIQUE INDEX wake_causes_once ON wake_causes (comment, agent) WHERE comment IS NOT NULL;
CREATE INDEX wake_causes_of_author ON wake_causes (author_task, agent) WHERE author_task IS NOT NULL;

-- Guards that were said to have stopped agents, until a person says something.
CREATE TABLE stops (
    issue BLOB NOT NULL REFERENCES issues (id),
    guard TEXT NOT NULL,
    -- Which agents, for a guard between two.
    agents TEXT NOT NULL,
    stopped_at INTEGER NOT NULL,
    PRIMARY KEY (issue, guard, agents)
) STRICT;
