-- Tasks that wait for a moment. Their session offers them once that was noticed; their turn counts from there.
ALTER TABLE tasks ADD COLUMN fire_at BIGINT;
ALTER TABLE tasks ADD COLUMN deferred BOOLEAN NOT NULL DEFAULT FALSE;

DROP INDEX tasks_queued_of_session;
ALTER TABLE tasks DROP COLUMN turn_at;
ALTER TABLE tasks ADD COLUMN turn_at BIGINT
    GENERATED ALWAYS AS (COALESCE(fire_at, created_at) - priority * 36000000) STORED;
CREATE INDEX tasks_queued_of_session ON tasks (session, turn_at, id) WHERE state = 'queued' AND NOT deferred;

-- When each of its causes was to wake its agent; none for at once.
ALTER TABLE wake_causes ADD COLUMN fire_at BIGINT;

-- Before when a comment wakes nobody, whomever an edit lets it name.
ALTER TABLE comments ADD COLUMN wake_at BIGINT;

-- Whether anything of an agent waits that may be claimed.
CREATE INDEX sessions_waiting ON sessions (namespace_uid, agent) WHERE head_task IS NOT NULL;
