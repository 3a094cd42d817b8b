-- Chats of a person with an agent, and issues that agents write for people.

-- The row is also the lock of everything under it.
CREATE TABLE chats (
    id UUID NOT NULL PRIMARY KEY,
    namespace_uid TEXT NOT NULL REFERENCES workspaces (namespace_uid),
    agent TEXT NOT NULL,
    -- Whose it is; nobody else sees it.
    member UUID NOT NULL REFERENCES members (id),
    title TEXT NOT NULL,
    archived BOOLEAN NOT NULL DEFAULT FALSE,
    -- How many messages it has; the position of the newest.
    messages BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    last_activity_at BIGINT NOT NULL
);

CREATE INDEX chats_of_member ON chats (member, archived, id);

CREATE TABLE chat_messages (
    chat UUID NOT NULL REFERENCES chats (id),
    position BIGINT NOT NULL CHECK (position > 0),
    kind TEXT NOT NULL CHECK (kind IN ('message', 'noResponse', 'failed')),
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    body TEXT NOT NULL,
    -- Of a person's message the task that has taken it in, of an agent's the one that it is the end of.
    task UUID REFERENCES tasks (id),
    failure TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (chat, position)
);

-- What no run has taken in yet.
CREATE INDEX chat_messages_waiting ON chat_messages (chat, position) WHERE author_kind = 'member' AND task IS NULL;
CREATE INDEX chat_messages_of_task ON chat_messages (task, position) WHERE task IS NOT NULL;

-- A row belongs to a task that was born here, before its object.
CREATE TABLE chat_tasks (
    task UUID NOT NULL PRIMARY KEY REFERENCES tasks (id),
    chat UUID NOT NULL REFERENCES chats (id),
    -- True until its package is opened or it is over: what comes until then is taken in.
    absorbing BOOLEAN NOT NULL DEFAULT TRUE
);

-- One task of a chat takes in what is written.
CREATE UNIQUE INDEX chat_tasks_slot ON chat_tasks (chat) WHERE absorbing;

-- A row belongs to a task that was born here to write an issue.
CREATE TABLE quick_issues (
    task UUID NOT NULL PRIMARY KEY REFERENCES tasks (id),
    namespace_uid TEXT NOT NULL REFERENCES workspaces (namespace_uid),
    agent TEXT NOT NULL,
    member UUID NOT NULL REFERENCES members (id),
    -- JSON list: the groups of the person when they asked.
    user_groups TEXT NOT NULL,
    text TEXT NOT NULL,
    -- The issue that the task has made.
    issue UUID REFERENCES issues (id),
    failure TEXT,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    -- Of one that ended without an issue: its entry in the inbox of the person.
    entry UUID,
    is_read BOOLEAN NOT NULL DEFAULT FALSE,
    archived BOOLEAN NOT NULL DEFAULT FALSE,
    CHECK (entry IS NULL OR issue IS NULL)
);

CREATE INDEX quick_issues_open ON quick_issues (member) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX quick_issues_entry ON quick_issues (entry) WHERE entry IS NOT NULL;
CREATE INDEX quick_issues_told ON quick_issues (member, entry) WHERE entry IS NOT NULL AND NOT archived;
