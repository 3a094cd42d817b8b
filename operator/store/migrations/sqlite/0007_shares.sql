-- Who goes first: each point of priority is a head start of 36 seconds, so a hundred are an hour. What has a low one
-- is overtaken only by what comes within that time.
ALTER TABLE tasks ADD COLUMN turn_at INTEGER GENERATED ALWAYS AS (created_at - priority * 36000000) VIRTUAL;
ALTER TABLE sessions ADD COLUMN head_turn_at INTEGER
    GENERATED ALWAYS AS (head_created_at - head_priority * 36000000) VIRTUAL;

DROP INDEX tasks_queued_of_session;
CREATE INDEX tasks_queued_of_session ON tasks (session, turn_at, id) WHERE state = 'queued';
DROP INDEX sessions_claimable;
CREATE INDEX sessions_claimable ON sessions (namespace_uid, agent, head_turn_at, head_task)
    WHERE holder_task IS NULL AND head_task IS NOT NULL;

-- Whose run it is, for what a workspace may begin in an hour. Absent in what was claimed before.
ALTER TABLE attempts ADD COLUMN namespace_uid TEXT;
CREATE INDEX attempts_of_namespace ON attempts (namespace_uid, claimed_at) WHERE namespace_uid IS NOT NULL;

-- What the workspaces have had of what they share, in virtual time: a claim costs less of it the more its workspace
-- weighs, and who has had least comes next.
CREATE TABLE shares (
    namespace_uid TEXT NOT NULL PRIMARY KEY,
    served INTEGER NOT NULL
) STRICT;

-- Virtual time now: where the claim began that was paid last.
CREATE TABLE share_clock (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    passed INTEGER NOT NULL
) STRICT;
INSERT INTO share_clock (one, passed) VALUES (1, 0);

-- Which task of a session comes next, by the new order.
UPDATE sessions SET (head_task, head_priority, head_created_at) =
    (SELECT id, priority, created_at FROM tasks WHERE tasks.session = sessions.id AND state = 'queued'
     ORDER BY turn_at, id LIMIT 1)
    WHERE head_task IS NOT NULL;
