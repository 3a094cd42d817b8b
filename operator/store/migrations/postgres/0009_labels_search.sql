-- What issues are sorted by, who follows them, and what is found of all that was written.

-- JSON list, sorted, and JSON object: as they are shown. Labels stand in issue_labels too, for lists.
ALTER TABLE issues ADD COLUMN labels TEXT NOT NULL DEFAULT '[]';
ALTER TABLE issues ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';

CREATE TABLE issue_labels (
    namespace_uid TEXT NOT NULL,
    label TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (namespace_uid, label, number),
    FOREIGN KEY (namespace_uid, number) REFERENCES issues (namespace_uid, number)
);

CREATE INDEX issue_labels_of_issue ON issue_labels (namespace_uid, number);

-- Who is told of each comment on an issue.
CREATE TABLE subscriptions (
    issue UUID NOT NULL REFERENCES issues (id),
    member UUID NOT NULL REFERENCES members (id),
    -- They do not want to be told, until somebody names them again.
    muted BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (issue, member)
);

CREATE INDEX subscriptions_heard ON subscriptions (issue, member) WHERE NOT muted;

INSERT INTO subscriptions (issue, member)
    SELECT issues.id, members.id FROM issues JOIN members ON members.namespace_uid = issues.namespace_uid
        AND members.id::text = author_id WHERE author_kind = 'member'
    UNION SELECT issues.id, members.id FROM issues JOIN members ON members.namespace_uid = issues.namespace_uid
        AND members.id::text = assignee_id WHERE assignee_kind = 'member'
    UNION SELECT issues.id, members.id FROM comments JOIN issues ON issues.id = comments.issue
        JOIN members ON members.namespace_uid = issues.namespace_uid
        AND members.id::text = comments.author_id WHERE comments.author_kind = 'member';

-- What can be found: an issue's title and description, or a comment that is not deleted. Numbers rise, so the
-- newest has the highest. `words` holds the words of the text, and one each for the workspace, the issue, and the
-- issue that this is a part of, so that the index itself knows what a caller may find.
CREATE TABLE search_texts (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace_uid TEXT NOT NULL,
    issue UUID NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    comment UUID REFERENCES comments (id) ON DELETE CASCADE,
    words TSVECTOR NOT NULL
);

CREATE UNIQUE INDEX search_texts_of_issue ON search_texts (issue) WHERE comment IS NULL;
CREATE UNIQUE INDEX search_texts_of_comment ON search_texts (comment) WHERE comment IS NOT NULL;
CREATE INDEX search_texts_by_words ON search_texts USING gin (words);
-- For words that are everywhere: the newest are found sooner by looking than in the index.
CREATE INDEX search_texts_by_age ON search_texts (namespace_uid, number);

-- Words are divided as SQLite does it: by all that is neither letter nor digit. No text has a word that begins
-- with a blank, so those of the place cannot be taken for one.
CREATE FUNCTION words_of(body TEXT, uid TEXT, number BIGINT, parent BIGINT) RETURNS TSVECTOR
    LANGUAGE sql IMMUTABLE AS $$
    SELECT strip(to_tsvector('simple'::regconfig,
            regexp_replace(body, '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+', ' ', 'g')))
        || array_to_tsvector(array_remove(ARRAY[
            ' w' || replace(uid, '-', ''),
            ' i' || replace(uid, '-', '') || 'x' || number::text,
            ' i' || replace(uid, '-', '') || 'x' || parent::text], NULL))
$$;

-- Triggers, so that nothing that is written can be forgotten, whoever writes it.
CREATE FUNCTION find_issue() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO search_texts (namespace_uid, issue, words) VALUES (NEW.namespace_uid, NEW.id,
        words_of(NEW.title || ' ' || NEW.description, NEW.namespace_uid, NEW.number, NEW.parent));
    RETURN NULL;
END $$;

CREATE FUNCTION find_issue_anew() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    UPDATE search_texts SET words = words_of(NEW.title || ' ' || NEW.description, NEW.namespace_uid, NEW.number, NEW.parent)
        WHERE issue = NEW.id AND comment IS NULL;
    RETURN NULL;
END $$;

CREATE FUNCTION find_comment() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO search_texts (namespace_uid, issue, comment, words)
        SELECT namespace_uid, NEW.issue, NEW.id, words_of(NEW.body, namespace_uid, number, parent)
        FROM issues WHERE id = NEW.issue;
    RETURN NULL;
END $$;

CREATE FUNCTION find_comment_anew() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    UPDATE search_texts SET words = words_of(NEW.body, issues.namespace_uid, issues.number, issues.parent)
        FROM issues WHERE issues.id = NEW.issue AND search_texts.comment = NEW.id;
    RETURN NULL;
END $$;

CREATE FUNCTION find_comment_no_more() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM search_texts WHERE comment = NEW.id;
    RETURN NULL;
END $$;

CREATE TRIGGER issue_is_found AFTER INSERT ON issues FOR EACH ROW EXECUTE FUNCTION find_issue();
CREATE TRIGGER issue_is_found_anew AFTER UPDATE OF title, description ON issues FOR EACH ROW
    WHEN (NEW.title <> OLD.title OR NEW.description <> OLD.description) EXECUTE FUNCTION find_issue_anew();
CREATE TRIGGER comment_is_found AFTER INSERT ON comments FOR EACH ROW
    WHEN (NEW.deleted_at IS NULL) EXECUTE FUNCTION find_comment();
CREATE TRIGGER comment_is_found_anew AFTER UPDATE OF body ON comments FOR EACH ROW
    WHEN (NEW.deleted_at IS NULL AND NEW.body <> OLD.body) EXECUTE FUNCTION find_comment_anew();
CREATE TRIGGER comment_is_found_no_more AFTER UPDATE OF deleted_at ON comments FOR EACH ROW
    WHEN (NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL) EXECUTE FUNCTION find_comment_no_more();

-- What was written before.
INSERT INTO search_texts (namespace_uid, issue, comment, words)
    SELECT namespace_uid, issue, comment, words_of(body, namespace_uid, number, parent) FROM (
        SELECT namespace_uid, id AS issue, NULL::uuid AS comment, title || ' ' || description AS body, number, parent,
            created_at FROM issues
        UNION ALL SELECT namespace_uid, issue, comments.id, body, number, issues.parent, comments.created_at
            FROM comments JOIN issues ON issues.id = comments.issue WHERE deleted_at IS NULL
    ) AS written ORDER BY created_at;
