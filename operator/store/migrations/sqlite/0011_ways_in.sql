-- Work that comes by the clock and from outside.

-- AgentSchedules, by the UID of the object.
CREATE TABLE schedules (
    schedule_uid TEXT NOT NULL PRIMARY KEY,
    namespace_uid TEXT NOT NULL,
    name TEXT NOT NULL,
    -- What its times follow from. Under another rule only later times count.
    rule TEXT NOT NULL,
    -- Times up to this one are dealt with.
    since INTEGER NOT NULL,
    last_fired_at INTEGER,
    UNIQUE (namespace_uid, name)
) STRICT;

-- Times that have begun and still go on.
CREATE TABLE firings (
    schedule_uid TEXT NOT NULL REFERENCES schedules (schedule_uid),
    fire_at INTEGER NOT NULL,
    -- The issue that was made, or the AgentTask that is to be made.
    issue BLOB REFERENCES issues (id),
    object TEXT,
    -- True once the AgentTask is there.
    made INTEGER NOT NULL DEFAULT FALSE,
    PRIMARY KEY (schedule_uid, fire_at),
    CHECK ((issue IS NULL) <> (object IS NULL))
) STRICT;

-- What webhooks have delivered. It is stored before the sender is answered.
CREATE TABLE deliveries (
    id BLOB NOT NULL PRIMARY KEY,
    namespace TEXT NOT NULL,
    namespace_uid TEXT NOT NULL,
    webhook TEXT NOT NULL,
    -- The sender's own id of it.
    delivery TEXT NOT NULL,
    event TEXT NOT NULL,
    -- SHA-256, where the sender's signature does not cover its id.
    body_hash BLOB,
    -- Until it is dealt with.
    body BLOB,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'ignored', 'failed')),
    -- What it became.
    issue BLOB REFERENCES issues (id),
    comment BLOB,
    remark TEXT NOT NULL DEFAULT '',
    received_at INTEGER NOT NULL,
    UNIQUE (namespace_uid, webhook, delivery),
    CHECK ((state = 'waiting') = (body IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX deliveries_once ON deliveries (namespace_uid, webhook, body_hash) WHERE body_hash IS NOT NULL;
CREATE INDEX deliveries_waiting ON deliveries (id) WHERE state = 'waiting';
CREATE INDEX deliveries_waiting_of_webhook ON deliveries (namespace_uid, webhook) WHERE state = 'waiting';
CREATE INDEX deliveries_of_webhook ON deliveries (namespace_uid, webhook, id);
CREATE INDEX deliveries_by_age ON deliveries (received_at) WHERE state <> 'waiting';

-- Which issue stands for something that a webhook tells of, and the thread in which it goes on.
CREATE TABLE webhook_issues (
    namespace_uid TEXT NOT NULL,
    webhook TEXT NOT NULL,
    -- The sender's name of it.
    reference TEXT NOT NULL,
    issue BLOB NOT NULL REFERENCES issues (id),
    thread BLOB,
    PRIMARY KEY (namespace_uid, webhook, reference)
) STRICT;
