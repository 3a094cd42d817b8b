-- Files that came with a comment. A file can come with several, and is on the issue once.
CREATE TABLE comment_files (
    comment BLOB NOT NULL REFERENCES comments (id) ON DELETE CASCADE,
    attachment BLOB NOT NULL REFERENCES attachments (id) ON DELETE CASCADE,
    PRIMARY KEY (comment, attachment)
) STRICT, WITHOUT ROWID;

CREATE INDEX comment_files_of_attachment ON comment_files (attachment);
