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
    revision BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (namespace_uid, name)
);

-- Name of a project of the same workspace. Projects do not go, so it names one as long as the issue is there.
ALTER TABLE issues ADD COLUMN project TEXT;

CREATE INDEX issues_of_project ON issues (namespace_uid, project, number) WHERE project IS NOT NULL;

-- A row is written once its file lies on the volume, under the row's id.
CREATE TABLE attachments (
    id UUID NOT NULL PRIMARY KEY,
    issue UUID NOT NULL REFERENCES issues (id),
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes BIGINT NOT NULL CHECK (bytes >= 0),
    -- SHA-256.
    digest BYTEA NOT NULL,
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author_name TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE INDEX attachments_of_issue ON attachments (issue, id);
-- The same file under the same name is there once, so that sending it again is harmless.
CREATE UNIQUE INDEX attachments_once ON attachments (issue, name, digest);

-- Bytes that the files of the workspace take.
ALTER TABLE workspaces ADD COLUMN attachment_bytes BIGINT NOT NULL DEFAULT 0;
