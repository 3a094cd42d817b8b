-- Uses of tools for which a person is asked.

CREATE TABLE approvals (
    id UUID NOT NULL PRIMARY KEY,
    namespace_uid TEXT NOT NULL,
    task UUID NOT NULL,
    attempt BIGINT NOT NULL,
    -- Names the question within the attempt, so that asking again is asking once.
    call_id TEXT NOT NULL,
    -- Whose chat or issue-to-be it is about: then nobody else sees it.
    member UUID REFERENCES members (id),
    tool TEXT NOT NULL,
    -- JSON, as a text that no database looks into.
    input TEXT NOT NULL,
    why TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'withdrawn')),
    asked_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    settled_at BIGINT,
    -- The user who decided, and what they said.
    decided_by TEXT,
    reason TEXT,
    UNIQUE (task, attempt, call_id),
    FOREIGN KEY (task, attempt) REFERENCES attempts (task, number),
    CHECK ((settled_at IS NULL) = (state = 'pending'))
);

CREATE INDEX approvals_of_workspace ON approvals (namespace_uid, id);
CREATE INDEX approvals_pending ON approvals (namespace_uid, id) WHERE state = 'pending';
CREATE INDEX approvals_pending_of_task ON approvals (task, id) WHERE state = 'pending';

-- Entries of inboxes: they lie apart because not every task has an issue.
CREATE TABLE approval_entries (
    id UUID NOT NULL PRIMARY KEY,
    member UUID NOT NULL REFERENCES members (id),
    approval UUID NOT NULL REFERENCES approvals (id),
    namespace_uid TEXT NOT NULL,
    is_read BOOLEAN NOT NULL DEFAULT FALSE,
    archived BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX approval_entries_once ON approval_entries (approval, member);
CREATE INDEX approval_entries_of_member ON approval_entries (member, namespace_uid, id) WHERE NOT archived;
