-- Projects, the repositories that they are about, and files on issues.

CREATE TABLE projects (
    namespace_uid TEXT NOT NULL REFERENCES workspaces (namespace_uid),
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    -- JSON list.
    repositories TEXT NOT NULL,
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (namespace_uid, name)
) STRICT, WITHOUT ROWID;

-- Name of a project of the same workspace. Projects do not go, so it names one as long as the issue is there.
ALTER TABLE issues ADD COLUMN project TEXT;

CREATE INDEX issues_of_project ON issues (namespace_uid, project, number) WHERE project IS NOT NULL;

-- A row is written once its file lies on the volume, under the row's id.
CREATE TABLE attachments (
    id BLOB NOT NULL PRIMARY KEY,
    issue BLOB NOT NULL REFERENCES issues (id),
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    -- SHA-256.
    digest BLOB NOT NULL,
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX attachments_of_issue ON attachments (issue, id);
-- The same file under the same name is there once, so that sending it again is harmless.
CREATE UNIQUE INDEX attachments_once ON attachments (issue, name, digest);

-- Bytes that the files of the workspace take.
ALTER TABLE workspaces ADD COLUMN attachment_bytes INTEGER NOT NULL DEFAULT 0;
