//! The end of a project. Its issues go on without it.

use jiff::Timestamp;
use protocol::IssueId;

use crate::db::query;
use crate::projects::{BY_NAME_LOCKED, missing};
use crate::{Error, LiveChange, Store, WorkspaceRef, WritePoint};

/// Issues that are taken out of a project in one transaction.
const AT_ONCE: u32 = 100;

impl Store {
    /// Takes a project away. Issues that belong to it are taken out of it before, where that is asked for: part by
    /// part, so who is cut off asks again.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such project, [`Error::Conflict`] when issues belong to it that are not to
    /// be taken out, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn delete_project(
        &self,
        workspace: &WorkspaceRef,
        name: &str,
        detach: bool,
        now: Timestamp,
    ) -> Result<(), Error> {
        const ANY: &str =
            "SELECT number FROM issues WHERE namespace_uid = $1 AND project = $2 LIMIT 1";
        const DELETE: &str = "DELETE FROM projects WHERE namespace_uid = $1 AND name = $2";
        let uid = workspace.namespace_uid.as_str();
        let any = || {
            query("look for an issue of a project", ANY)
                .bind(uid)
                .bind(name)
        };
        loop {
            let filed = any().optional(&mut self.reader().await?).await?;
            if filed.is_some() {
                if !detach {
                    return Err(Error::Conflict {
                        what: format!(
                            "issues belong to the project {name}: give them another one, or have them taken out of it \
                             with `detach`"
                        ),
                    });
                }
                self.detach(workspace, name, now).await?;
                continue;
            }
            let mut write = self.write(WritePoint::DeleteProject).await?;
            // From here on nobody files an issue into it.
            let lock = query("lock a project", BY_NAME_LOCKED).bind(uid).bind(name);
            let found = lock.optional(&mut write).await?;
            found.ok_or_else(|| missing(name))?;
            // Somebody may have done so just before.
            if any().optional(&mut write).await?.is_none() {
                let delete = query("delete a project", DELETE).bind(uid).bind(name);
                delete.execute(&mut write).await?;
                return write.commit().await;
            }
        }
    }

    /// Takes some issues out of a project.
    async fn detach(
        &self,
        workspace: &WorkspaceRef,
        name: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        const DETACH: &str = "UPDATE issues SET project = NULL, revision = revision + 1, updated_at = $3 \
            WHERE namespace_uid = $1 AND number IN (SELECT number FROM issues \
            WHERE namespace_uid = $1 AND project = $2 ORDER BY number LIMIT $4) RETURNING id";
        let mut write = self.write(WritePoint::DetachIssues).await?;
        let detach = query("take issues out of a project", DETACH)
            .bind(workspace.namespace_uid.as_str())
            .bind(name)
            .bind(now)
            .bind(AT_ONCE);
        for row in detach.all(&mut write).await? {
            write.happened(LiveChange::Issue(IssueId(row.get("id")?)));
        }
        write.commit().await
    }
}
