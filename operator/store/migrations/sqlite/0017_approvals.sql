-- Uses of tools for which a person is asked.

CREATE TABLE approvals (
    id BLOB NOT NULL PRIMARY KEY,
    namespace_uid TEXT NOT NULL,
    task BLOB NOT NULL,
    attempt INTEGER NOT NULL,
    -- Names the question within the attempt, so that asking again is asking once.
    call_id TEXT NOT NULL,
    -- Whose chat or issue-to-be it is about: then nobody else sees it.
    member BLOB REFERENCES members (id),
    tool TEXT NOT NULL,
    -- JSON, as a text that no database looks into.
    input TEXT NOT NULL,
    why TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'withdrawn')),
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    settled_at INTEGER,
    -- The user who decided, and what they said.
    decided_by TEXT,
    reason TEXT,
    UNIQUE (task, attempt, call_id),
    FOREIGN KEY (task, attempt) REFERENCES attempts (task, number),
    CHECK ((settled_at IS NULL) = (state = 'pending'))
) STRICT;

CREATE INDEX approvals_of_workspace ON approvals (namespace_uid, id);
CREATE INDEX approvals_pending ON approvals (namespace_uid, id) WHERE state = 'pending';
CREATE INDEX approvals_pending_of_task ON approvals (task, id) WHERE state = 'pending';

-- Entries of inboxes: they lie apart because not every task has an issue.
CREATE TABLE approval_entries (
    id BLOB NOT NULL PRIMARY KEY,
    member BLOB NOT NULL REFERENCES members (id),
    approval BLOB NOT NULL REFERENCES approvals (id),
    namespace_uid TEXT NOT NULL,
    is_read INTEGER NOT NULL DEFAULT FALSE,
    archived INTEGER NOT NULL DEFAULT FALSE,
    created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX approval_entries_once ON approval_entries (approval, member);
CREATE INDEX approval_entries_of_member ON approval_entries (member, namespace_uid, id) WHERE NOT archived;
