-- What people added while an agent worked, offered to its attempt. Until that has taken it in, another task waits with it.

CREATE TABLE steers (
    task BLOB NOT NULL,
    attempt INTEGER NOT NULL,
    comment BLOB NOT NULL REFERENCES comments (id),
    state TEXT NOT NULL CHECK (state IN ('offered', 'taken', 'refused')),
    why TEXT,
    offered_at INTEGER NOT NULL,
    settled_at INTEGER,
    PRIMARY KEY (task, attempt, comment),
    FOREIGN KEY (task, attempt) REFERENCES attempts (task, number),
    CHECK ((settled_at IS NULL) = (state = 'offered'))
) STRICT;

-- Comments are looked up by what refers to them.
CREATE INDEX steers_of_comment ON steers (comment);
