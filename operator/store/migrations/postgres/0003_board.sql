-- What people and agents write to each other. Authors are kept as they were called when they wrote.

-- A row at first use. Its prefix comes from the namespace's name and never changes.
CREATE TABLE workspaces (
    namespace_uid TEXT NOT NULL PRIMARY KEY,
    namespace TEXT NOT NULL,
    prefix TEXT NOT NULL,
    -- Number of its newest issue.
    last_number BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE members (
    id UUID NOT NULL PRIMARY KEY,
    namespace_uid TEXT NOT NULL REFERENCES workspaces (namespace_uid),
    user_name TEXT NOT NULL,
    since BIGINT NOT NULL,
    UNIQUE (namespace_uid, user_name)
);

CREATE INDEX members_of_workspace ON members (namespace_uid, id);

-- The row is also the lock of everything under it.
CREATE TABLE issues (
    id UUID NOT NULL PRIMARY KEY,
    namespace_uid TEXT NOT NULL REFERENCES workspaces (namespace_uid),
    number BIGINT NOT NULL CHECK (number > 0),
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('backlog', 'todo', 'in_progress', 'in_review', 'done', 'blocked', 'cancelled')),
    priority BIGINT NOT NULL,
    assignee_kind TEXT,
    assignee_id TEXT,
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    -- Number of the issue that it is a part of.
    parent BIGINT,
    stage BIGINT,
    -- How many comments it has.
    comments BIGINT NOT NULL DEFAULT 0,
    revision BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (namespace_uid, number),
    FOREIGN KEY (namespace_uid, parent) REFERENCES issues (namespace_uid, number),
    CHECK ((assignee_kind IS NULL) = (assignee_id IS NULL)),
    CHECK (parent < number),
    CHECK (stage IS NULL OR parent IS NOT NULL)
);

CREATE INDEX issues_by_status ON issues (namespace_uid, status, number);
CREATE INDEX issues_of_assignee ON issues (namespace_uid, assignee_kind, assignee_id, number)
    WHERE assignee_id IS NOT NULL;
CREATE INDEX issues_of_assignee_by_status ON issues (namespace_uid, assignee_kind, assignee_id, status, number)
    WHERE assignee_id IS NOT NULL;
CREATE INDEX issues_of_parent ON issues (namespace_uid, parent, number) WHERE parent IS NOT NULL;
CREATE INDEX issues_of_parent_by_stage ON issues (namespace_uid, parent, stage, status) WHERE parent IS NOT NULL;

CREATE TABLE comments (
    id UUID NOT NULL PRIMARY KEY,
    issue UUID NOT NULL REFERENCES issues (id),
    -- The comment that begins its thread: itself, for a root.
    thread UUID NOT NULL REFERENCES comments (id),
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    body TEXT NOT NULL,
    -- The task in which an agent wrote it.
    task UUID REFERENCES tasks (id),
    resolved BOOLEAN NOT NULL DEFAULT FALSE,
    -- Of a root: how many replies it has, and when the last of them was written.
    replies BIGINT NOT NULL DEFAULT 0,
    last_activity_at BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    edited_at BIGINT
);

CREATE INDEX comments_of_issue ON comments (issue, created_at, id);
CREATE INDEX comments_of_thread ON comments (thread, created_at, id);
CREATE INDEX comments_roots ON comments (issue, created_at, id) WHERE thread = id;
CREATE INDEX comments_roots_by_activity ON comments (issue, last_activity_at, id) WHERE thread = id;

CREATE TABLE inbox (
    id UUID NOT NULL PRIMARY KEY,
    member UUID NOT NULL REFERENCES members (id),
    kind TEXT NOT NULL,
    issue UUID NOT NULL REFERENCES issues (id),
    -- No reference: what it tells of may be deleted, the entry stays.
    comment UUID,
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    is_read BOOLEAN NOT NULL DEFAULT FALSE,
    -- Kept, so that nobody is told of the same thing again.
    archived BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX inbox_once ON inbox (member, kind, comment) WHERE comment IS NOT NULL;
CREATE INDEX inbox_of_member ON inbox (member, id) WHERE NOT archived;

-- A row is a token of a person. Ending it deletes the row.
CREATE TABLE access_tokens (
    id UUID NOT NULL PRIMARY KEY,
    -- SHA-256.
    hash BYTEA NOT NULL UNIQUE,
    user_name TEXT NOT NULL,
    -- JSON list, as of the login.
    user_groups TEXT NOT NULL,
    -- True for one of a login, false for one that its owner made with that.
    login BOOLEAN NOT NULL,
    label TEXT NOT NULL,
    prefix TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    last_used_at BIGINT
);

CREATE INDEX access_tokens_of_user ON access_tokens (user_name, id);
CREATE INDEX access_tokens_by_end ON access_tokens (expires_at);

-- LoginRequest objects that were turned into a token, so that none is twice.
CREATE TABLE logins (
    object_uid TEXT NOT NULL PRIMARY KEY,
    exchanged_at BIGINT NOT NULL
);

CREATE INDEX logins_by_age ON logins (exchanged_at);

-- Lists for people go newest first.
CREATE INDEX tasks_of_namespace ON tasks (namespace_uid, id);
