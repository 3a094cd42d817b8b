-- Instants are whole microseconds since 1970, texts that hold JSON are named in the comments.

CREATE TABLE installation (
    one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    id UUID NOT NULL
);

-- One (namespace, agent, subject). The row is also the lock of everything under it.
CREATE TABLE sessions (
    id UUID NOT NULL PRIMARY KEY,
    namespace_uid TEXT NOT NULL,
    namespace TEXT NOT NULL,
    agent TEXT NOT NULL,
    subject_kind TEXT NOT NULL,
    subject_name TEXT NOT NULL,
    -- The attempt whose pod may use the volume now.
    holder_task UUID,
    holder_attempt BIGINT,
    holder_runtime TEXT,
    holder_since BIGINT,
    -- The best of its queued tasks, so that a claim looks at one row per session however many wait.
    head_task UUID,
    head_priority BIGINT,
    head_created_at BIGINT,
    claim_generation BIGINT NOT NULL DEFAULT 0,
    claim_uid TEXT,
    -- JSON of the provider session: a CLI chooses the id, and JSON can hold any character.
    pointer TEXT,
    pointer_claim_uid TEXT,
    pointer_task UUID,
    pointer_at BIGINT,
    -- JSON list of provider session ids, oldest first.
    retired TEXT NOT NULL DEFAULT '[]',
    last_node TEXT,
    last_used_at BIGINT,
    runs BIGINT NOT NULL DEFAULT 0,
    UNIQUE (namespace_uid, agent, subject_kind, subject_name),
    CHECK ((holder_task IS NULL) = (holder_attempt IS NULL)),
    CHECK ((holder_task IS NULL) = (holder_runtime IS NULL)),
    CHECK ((holder_task IS NULL) = (holder_since IS NULL)),
    CHECK ((head_task IS NULL) = (head_priority IS NULL)),
    CHECK ((head_task IS NULL) = (head_created_at IS NULL))
);

CREATE INDEX sessions_held_by_agent ON sessions (namespace_uid, agent) WHERE holder_task IS NOT NULL;
CREATE INDEX sessions_held_by_runtime ON sessions (namespace_uid, holder_runtime) WHERE holder_task IS NOT NULL;
CREATE INDEX sessions_held ON sessions (id) WHERE holder_task IS NOT NULL;
CREATE INDEX sessions_claimable ON sessions (namespace_uid, agent, head_priority DESC, head_created_at, head_task)
    WHERE holder_task IS NULL AND head_task IS NOT NULL;

CREATE TABLE tasks (
    id UUID NOT NULL PRIMARY KEY,
    object_uid TEXT NOT NULL UNIQUE,
    namespace TEXT NOT NULL,
    namespace_uid TEXT NOT NULL,
    name TEXT NOT NULL,
    spec_hash TEXT NOT NULL,
    session UUID NOT NULL REFERENCES sessions (id),
    agent TEXT NOT NULL,
    priority BIGINT NOT NULL,
    policy TEXT NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('queued', 'claimed', 'preparing', 'running', 'finishing', 'suspended', 'finished')),
    -- Number of the last attempt, 0 for none.
    attempt BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    deadline_at BIGINT,
    suspended_at BIGINT,
    -- JSON of the verdict that stands.
    verdict TEXT,
    -- JSON list of what came after it.
    late_results TEXT NOT NULL DEFAULT '[]',
    closed_at BIGINT,
    -- When the object was removed because its time to live was over.
    expired_at BIGINT,
    -- Position of the last event of the timeline.
    events BIGINT NOT NULL DEFAULT 0,
    CHECK ((verdict IS NOT NULL) = (state IN ('finishing', 'finished'))),
    CHECK ((closed_at IS NOT NULL) = (state = 'finished')),
    CHECK ((suspended_at IS NOT NULL) = (state = 'suspended'))
);

-- One active task per session, whatever anyone believes.
CREATE UNIQUE INDEX tasks_one_active_per_session ON tasks (session)
    WHERE state IN ('claimed', 'preparing', 'running');
CREATE INDEX tasks_queued_of_session ON tasks (session, priority DESC, created_at, id) WHERE state = 'queued';
CREATE INDEX tasks_queued_of_agent ON tasks (namespace_uid, agent, id) WHERE state = 'queued';
CREATE INDEX tasks_active_of_agent ON tasks (namespace_uid, agent, id)
    WHERE state IN ('claimed', 'preparing', 'running');
CREATE INDEX tasks_open ON tasks (id) WHERE state <> 'finished';
CREATE INDEX tasks_open_of_namespace ON tasks (namespace_uid, id) WHERE state <> 'finished';
CREATE INDEX tasks_open_by_state ON tasks (state) WHERE state <> 'finished';
CREATE INDEX tasks_expired ON tasks (namespace_uid, name, spec_hash) WHERE expired_at IS NOT NULL;

CREATE TABLE attempts (
    task UUID NOT NULL REFERENCES tasks (id),
    number BIGINT NOT NULL CHECK (number > 0),
    session UUID NOT NULL REFERENCES sessions (id),
    salt BYTEA NOT NULL,
    runtime TEXT NOT NULL,
    provider TEXT NOT NULL,
    -- SHA-256 of the nonce that the package was opened with.
    nonce BYTEA,
    claimed_at BIGINT NOT NULL,
    opened_at BIGINT,
    started_at BIGINT,
    ended_at BIGINT,
    end_reason TEXT,
    pod_uid TEXT,
    node TEXT,
    claim_uid TEXT,
    secret_gone BOOLEAN NOT NULL DEFAULT FALSE,
    last_contact_at BIGINT,
    -- Number of the last event that was taken, stored or left out.
    last_seq BIGINT NOT NULL DEFAULT 0,
    left_out BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (task, number)
);

-- A row is a live token. Verdict and suspension delete it in their own transaction.
CREATE TABLE tokens (
    hash BYTEA NOT NULL PRIMARY KEY,
    task UUID NOT NULL UNIQUE,
    attempt BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    FOREIGN KEY (task, attempt) REFERENCES attempts (task, number)
);

CREATE TABLE timeline (
    task UUID NOT NULL,
    attempt BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    -- Gap-free in the task, whatever attempt an event belongs to.
    position BIGINT NOT NULL,
    at BIGINT NOT NULL,
    -- JSON of the event's body.
    body TEXT NOT NULL,
    PRIMARY KEY (task, attempt, seq),
    UNIQUE (task, position),
    FOREIGN KEY (task, attempt) REFERENCES attempts (task, number)
);

-- What the API tells a runner, numbered from 1 within an attempt.
CREATE TABLE commands (
    task UUID NOT NULL,
    attempt BIGINT NOT NULL,
    number BIGINT NOT NULL,
    -- JSON of the command's kind.
    kind TEXT NOT NULL,
    PRIMARY KEY (task, attempt, number),
    FOREIGN KEY (task, attempt) REFERENCES attempts (task, number)
);
