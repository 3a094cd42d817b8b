-- What attempts have used, whole texts of what tools gave, and what happened on an issue in its order.

-- Tokens that an attempt has used of a model, as its result tells it. Agent and issue stand here too, since that is
-- how it is asked for.
CREATE TABLE usage (
    task UUID NOT NULL,
    attempt BIGINT NOT NULL,
    model TEXT NOT NULL,
    namespace_uid TEXT NOT NULL,
    agent TEXT NOT NULL,
    issue UUID,
    at BIGINT NOT NULL,
    input BIGINT NOT NULL,
    output BIGINT NOT NULL,
    cache_read BIGINT NOT NULL,
    cache_write BIGINT NOT NULL,
    PRIMARY KEY (task, attempt, model),
    FOREIGN KEY (task, attempt) REFERENCES attempts (task, number)
);

CREATE INDEX usage_of_agent ON usage (namespace_uid, agent, at);
CREATE INDEX usage_of_issue ON usage (issue) WHERE issue IS NOT NULL;

-- The whole of an output whose beginning stands in the timeline, by the number of its event.
CREATE TABLE event_texts (
    task UUID NOT NULL,
    attempt BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, attempt, seq),
    FOREIGN KEY (task, attempt) REFERENCES attempts (task, number)
);

-- Bytes of an attempt's texts.
ALTER TABLE attempts ADD COLUMN text_bytes BIGINT NOT NULL DEFAULT 0;

-- Ids rise with time.
CREATE INDEX comments_in_order ON comments (issue, id);
