-- Work that comes by the clock and from outside.

-- AgentSchedules, by the UID of the object.
CREATE TABLE schedules (
    schedule_uid TEXT NOT NULL PRIMARY KEY,
    namespace_uid TEXT NOT NULL,
    name TEXT NOT NULL,
    -- What its times follow from. Under another rule only later times count.
    rule TEXT NOT NULL,
    -- Times up to this one are dealt with.
    since BIGINT NOT NULL,
    last_fired_at BIGINT,
    UNIQUE (namespace_uid, name)
);

-- Times that have begun and still go on.
CREATE TABLE firings (
    schedule_uid TEXT NOT NULL REFERENCES schedules (schedule_uid),
    fire_at BIGINT NOT NULL,
    -- The issue that was made, or the AgentTask that is to be made.
    issue UUID REFERENCES issues (id),
    object TEXT,
    -- True once the AgentTask is there.
    made BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (schedule_uid, fire_at),
    CHECK ((issue IS NULL) <> (object IS NULL))
);

-- What webhooks have delivered. It is stored before the sender is answered.
CREATE TABLE deliveries (
    id UUID NOT NULL PRIMARY KEY,
    namespace TEXT NOT NULL,
    namespace_uid TEXT NOT NULL,
    webhook TEXT NOT NULL,
    -- The sender's own id of it.
    delivery TEXT NOT NULL,
    event TEXT NOT NULL,
    -- SHA-256, where the sender's signature does not cover its id.
    body_hash BYTEA,
    -- Until it is dealt with.
    body BYTEA,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'ignored', 'failed')),
    -- What it became.
    issue UUID REFERENCES issues (id),
    comment UUID,
    remark TEXT NOT NULL DEFAULT '',
    received_at BIGINT NOT NULL,
    UNIQUE (namespace_uid, webhook, delivery),
    CHECK ((state = 'waiting') = (body IS NOT NULL))
);

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
    issue UUID NOT NULL REFERENCES issues (id),
    thread UUID,
    PRIMARY KEY (namespace_uid, webhook, reference)
);
