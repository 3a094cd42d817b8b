-- What people added while an agent worked, offered to its attempt. Until that has taken it in, another task waits with it.

CREATE TABLE steers (
    task uuid NOT NULL,
    attempt bigint NOT NULL,
    comment uuid NOT NULL REFERENCES comments (id),
    state text NOT NULL CHECK (state IN ('offered', 'taken', 'refused')),
    why text,
    offered_at bigint NOT NULL,
    settled_at bigint,
    PRIMARY KEY (task, attempt, comment),
    FOREIGN KEY (task, attempt) REFERENCES attempts (task, number),
    CHECK ((settled_at IS NULL) = (state = 'offered'))
);

-- Comments are looked up by what refers to them.
CREATE INDEX steers_of_comment ON steers (comment);
