-- What issues are sorted by, who follows them, and what is found of all that was written.

-- JSON list, sorted, and JSON object: as they are shown. Labels stand in issue_labels too, for lists.
ALTER TABLE issues ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
ALTER TABLE issues ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';

CREATE TABLE issue_labels (
    namespace_uid TEXT NOT NULL,
    label TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (namespace_uid, label, number),
    FOREIGN KEY (namespace_uid, number) REFERENCES issues (namespace_uid, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX issue_labels_of_issue ON issue_labels (namespace_uid, number);

-- Who is told of each comment on an issue.
CREATE TABLE subscriptions (
    issue BLOB NOT NULL REFERENCES issues (id),
    member BLOB NOT NULL REFERENCES members (id),
    -- They do not want to be told, until somebody names them again.
    muted INTEGER NOT NULL DEFAULT FALSE,
    PRIMARY KEY (issue, member)
) STRICT, WITHOUT ROWID;

CREATE INDEX subscriptions_heard ON subscriptions (issue, member) WHERE NOT muted;

INSERT INTO subscriptions (issue, member)
    SELECT issues.id, members.id FROM issues JOIN members ON members.namespace_uid = issues.namespace_uid
        AND members.id = unhex(replace(author_id, '-', '')) WHERE author_kind = 'member'
    UNION SELECT issues.id, members.id FROM issues JOIN members ON members.namespace_uid = issues.namespace_uid
        AND members.id = unhex(replace(assignee_id, '-', '')) WHERE assignee_kind = 'member'
    UNION SELECT issues.id, members.id FROM comments JOIN issues ON issues.id = comments.issue
        JOIN members ON members.namespace_uid = issues.namespace_uid
        AND members.id = unhex(replace(comments.author_id, '-', '')) WHERE comments.author_kind = 'member';

-- What can be found: an issue's title and description, or a comment that is not deleted. Numbers rise, so the
-- newest has the highest.
CREATE TABLE search_texts (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    issue BLOB NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    comment BLOB REFERENCES comments (id) ON DELETE CASCADE
) STRICT;

CREATE UNIQUE INDEX search_texts_of_issue ON search_texts (issue) WHERE comment IS NULL;
CREATE UNIQUE INDEX search_texts_of_comment ON search_texts (comment) WHERE comment IS NOT NULL;

-- The words of a text, under its number. `place` holds one word each for the workspace, the issue, and the issue
-- that this is a part of, so that the index itself knows what a caller may find. The texts themselves stay where
-- they are.
CREATE VIRTUAL TABLE search_words USING fts5 (
    words, place, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 0"
);

-- Triggers, so that nothing that is written can be forgotten, whoever writes it.
CREATE TRIGGER issue_is_found AFTER INSERT ON issues BEGIN
    INSERT INTO search_texts (issue) VALUES (new.id);
    INSERT INTO search_words (rowid, words, place)
        SELECT search_texts.number, new.title || ' ' || new.description,
            'w' || replace(new.namespace_uid, '-', '')
            || ' i' || replace(new.namespace_uid, '-', '') || 'x' || new.number
            || coalesce(' i' || replace(new.namespace_uid, '-', '') || 'x' || new.parent, '')
        FROM search_texts WHERE search_texts.issue = new.id AND search_texts.comment IS NULL;
END;

CREATE TRIGGER issue_is_found_anew AFTER UPDATE OF title, description ON issues
    WHEN new.title <> old.title OR new.description <> old.description BEGIN
    DELETE FROM search_words WHERE rowid = (SELECT number FROM search_texts WHERE search_texts.issue = new.id AND search_texts.comment IS NULL);
    INSERT INTO search_words (rowid, words, place)
        SELECT search_texts.number, new.title || ' ' || new.description,
            'w' || replace(new.namespace_uid, '-', '')
            || ' i' || replace(new.namespace_uid, '-', '') || 'x' || new.number
            || coalesce(' i' || replace(new.namespace_uid, '-', '') || 'x' || new.parent, '')
        FROM search_texts WHERE search_texts.issue = new.id AND search_texts.comment IS NULL;
END;

CREATE TRIGGER comment_is_found AFTER INSERT ON comments WHEN new.deleted_at IS NULL BEGIN
    INSERT INTO search_texts (issue, comment) VALUES (new.issue, new.id);
    INSERT INTO search_words (rowid, words, place)
        SELECT search_texts.number, new.body,
            'w' || replace(namespace_uid, '-', '')
            || ' i' || replace(namespace_uid, '-', '') || 'x' || issues.number
            || coalesce(' i' || replace(namespace_uid, '-', '') || 'x' || issues.parent, '')
        FROM search_texts JOIN issues ON issues.id = search_texts.issue WHERE search_texts.comment = new.id;
END;

CREATE TRIGGER comment_is_found_anew AFTER UPDATE OF body ON comments
    WHEN new.deleted_at IS NULL AND new.body <> old.body BEGIN
    DELETE FROM search_words WHERE rowid = (SELECT number FROM search_texts WHERE search_texts.comment = new.id);
    INSERT INTO search_words (rowid, words, place)
        SELECT search_texts.number, new.body,
            'w' || replace(namespace_uid, '-', '')
            || ' i' || replace(namespace_uid, '-', '') || 'x' || issues.number
            || coalesce(' i' || replace(namespace_uid, '-', '') || 'x' || issues.parent, '')
        FROM search_texts JOIN issues ON issues.id = search_texts.issue WHERE search_texts.comment = new.id;
END;

CREATE TRIGGER comment_is_found_no_more AFTER UPDATE OF deleted_at ON comments
    WHEN new.deleted_at IS NOT NULL AND old.deleted_at IS NULL BEGIN
    DELETE FROM search_texts WHERE search_texts.comment = new.id;
END;

CREATE TRIGGER text_is_found_no_more AFTER DELETE ON search_texts BEGIN
    DELETE FROM search_words WHERE rowid = old.number;
END;

-- What was written before.
INSERT INTO search_texts (issue, comment)
    SELECT issue, comment FROM (
        SELECT id AS issue, NULL AS comment, created_at FROM issues
        UNION ALL SELECT issue, id, created_at FROM comments WHERE deleted_at IS NULL
    ) ORDER BY created_at;
INSERT INTO search_words (rowid, words, place)
    SELECT search_texts.number, coalesce(comments.body, issues.title || ' ' || issues.description),
        'w' || replace(namespace_uid, '-', '')
        || ' i' || replace(namespace_uid, '-', '') || 'x' || issues.number
        || coalesce(' i' || replace(namespace_uid, '-', '') || 'x' || issues.parent, '')
    FROM search_texts JOIN issues ON issues.id = search_texts.issue LEFT JOIN comments ON comments.id = search_texts.comment;
