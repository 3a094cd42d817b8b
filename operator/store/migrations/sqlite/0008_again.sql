-- Runs that somebody asks for again, tasks that are put aside, what agents cause counted from the person's word at the
-- top, and requests that are made again.

-- True while people keep it aside through the API: the AgentTask of a task that was born here does not say so.
ALTER TABLE tasks ADD COLUMN held INTEGER NOT NULL DEFAULT FALSE;

-- The task that is done again.
ALTER TABLE wakes ADD COLUMN again_of BLOB;
ALTER TABLE wake_causes ADD COLUMN again_of BLOB;
-- What a person did at the top of the chain of causes: the comment, or an id of its own.
ALTER TABLE wakes ADD COLUMN root BLOB;
ALTER TABLE wake_causes ADD COLUMN root BLOB;

-- A comment wakes an agent once by itself, and again when a person asks for that.
DROP INDEX wake_causes_once;
CREATE UNIQUE INDEX wake_causes_once ON wake_causes (comment, agent) WHERE comment IS NOT NULL AND again_of IS NULL;
CREATE INDEX wake_causes_of_comment ON wake_causes (comment) WHERE comment IS NOT NULL;
CREATE INDEX wakes_of_root ON wakes (root) WHERE author_kind = 'agent';

-- Guards that count along a chain, said once for each root.
CREATE TABLE root_stops (
    root BLOB NOT NULL,
    guard TEXT NOT NULL,
    stopped_at INTEGER NOT NULL,
    PRIMARY KEY (root, guard)
) STRICT;

-- Requests that carried an Idempotency-Key, for a day: what was made, so that it is not made twice.
CREATE TABLE requests (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    -- SHA-256 of what was asked.
    request BLOB NOT NULL,
    made BLOB NOT NULL,
    -- JSON list of who was woken.
    wakes TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    PRIMARY KEY (caller, key)
) STRICT;

CREATE INDEX requests_by_age ON requests (made_at);
