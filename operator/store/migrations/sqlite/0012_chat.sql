-- Chats of a person with an agent, and issues that agents write for people.

-- The row is also the lock of everything under it.
CREATE TABLE chats (
    id BLOB NOT NULL PRIMARY KEY,
    namespace_uid TEXT NOT NULL REFERENCES workspaces (namespace_uid),
    agent TEXT NOT NULL,
    -- Whose it is; nobody else sees it.
    member BLOB NOT NULL REFERENCES members (id),
    title TEXT NOT NULL,
    archived INTEGER NOT NULL DEFAULT FALSE,
    -- How many messages it has; the position of the newest.
    messages INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    last_activity_at INTEGER NOT NULL
) STRICT;

CREATE INDEX chats_of_member ON chats (member, archived, id);

CREATE TABLE chat_messages (
    chat BLOB NOT NULL REFERENCES chats (id),
    position INTEGER NOT NULL CHECK (position > 0),
    kind TEXT NOT NULL CHECK (kind IN ('message', 'noResponse', 'failed')),
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    body TEXT NOT NULL,
    -- Of a person's message the task that has taken it in, of an agent's the one that it is the end of.
    task BLOB REFERENCES tasks (id),
    failure TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (chat, position)
) STRICT;

-- What no run has taken in yet.
CREATE INDEX chat_messages_waiting ON chat_messages (chat, position) WHERE author_kind = 'member' AND task IS NULL;
CREATE INDEX chat_messages_of_task ON chat_messages (task, position) WHERE task IS NOT NULL;

-- A row belongs to a task that was born here, before its object.
CREATE TABLE chat_tasks (
    task BLOB NOT NULL PRIMARY KEY REFERENCES tasks (id),
    chat BLOB NOT NULL REFERENCES chats (id),
    -- True until its package is opened or it is over: what comes until then is taken in.
    absorbing INTEGER NOT NULL DEFAULT TRUE
) STRICT;

-- One task of a chat takes in what is written.
CREATE UNIQUE INDEX chat_tasks_slot ON chat_tasks (chat) WHERE absorbing;

-- A row belongs to a task that was born here to write an issue.
CREATE TABLE quick_issues (
    task BLOB NOT NULL PRIMARY KEY REFERENCES tasks (id),
    namespace_uid TEXT NOT NULL REFERENCES workspaces (namespace_uid),
    agent TEXT NOT NULL,
    member BLOB NOT NULL REFERENCES members (id),
    -- JSON list: the groups of the person when they asked.
    user_groups TEXT NOT NULL,
    text TEXT NOT NULL,
    -- The issue that the task has made.
    issue BLOB REFERENCES issues (id),
    failure TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    -- Of one that ended without an issue: its entry in the inbox of the person.
    entry BLOB,
    is_read INTEGER NOT NULL DEFAULT FALSE,
    archived INTEGER NOT NULL DEFAULT FALSE,
    CHECK (entry IS NULL OR issue IS NULL)
) STRICT;

CREATE INDEX quick_issues_open ON quick_issues (member) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX quick_issues_entry ON quick_issues (entry) WHERE entry IS NOT NULL;
CREATE INDEX quick_issues_told ON quick_issues (member, entry) WHERE entry IS NOT NULL AND NOT archived;
