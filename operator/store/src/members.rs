//! People of a workspace. A row is made by the first call that was let in; nobody administers it.

use jiff::Timestamp;
use protocol::MemberId;
use protocol::board::{Author, AuthorKind, Member, Page};
use uuid::Uuid;

use crate::db::{Conn, Row, query};
use crate::tasks::new_id;
use crate::{Error, Store, WorkspaceRef, WritePoint, page, text, workspaces};

/// Bytes of a user name.
pub(crate) const USER_BYTES: usize = 1024;

const OF_USER: &str =
    "SELECT id, user_name, since FROM members WHERE namespace_uid = $1 AND user_name = $2";

impl Store {
    /// The member that a user is; made by the first call.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that cannot be one, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn member(
        &self,
        workspace: &WorkspaceRef,
        user: &str,
        now: Timestamp,
    ) -> Result<Member, Error> {
        const INSERT: &str = "INSERT INTO members (id, namespace_uid, user_name, since) VALUES ($1, $2, $3, $4) \
            ON CONFLICT (namespace_uid, user_name) DO NOTHING";
        text::name("user name", user, USER_BYTES)?;
        if let Some(member) = of_user(&mut self.reader().await?, workspace, user).await? {
            return Ok(member);
        }
        let id = new_id(now)?;
        let mut write = self.write(WritePoint::EnterMember).await?;
        workspaces::enter(&mut write, workspace).await?;
        let insert = query("enter a member", INSERT)
            .bind(id)
            .bind(workspace.namespace_uid.as_str());
        insert.bind(user).bind(now).execute(&mut write).await?;
        // Another call may have been the first one.
        let member = of_user(&mut write, workspace, user).await?;
        write.commit().await?;
        member.ok_or_else(|| Error::Missing {
            what: format!("member {user}"),
        })
    }

    /// Members of a workspace, the first ones first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or cursor that is none, [`Error::Unavailable`].
    pub async fn members(
        &self,
        workspace: &WorkspaceRef,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<Member>, Error> {
        const LIST: &str = "SELECT id, user_name, since FROM members WHERE namespace_uid = $1 AND id > $2 \
            ORDER BY id LIMIT $3";
        let (limit, after) = (page::limit(limit)?, page::after(cursor)?);
        let list = query("list members", LIST)
            .bind(workspace.namespace_uid.as_str())
            // Nobody has the nil id, so it stands before all.
            .bind(after.unwrap_or(Uuid::nil()))
            .bind(limit + 1);
        let rows = list.all(&mut self.reader().await?).await?;
        let members = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(page::page(members, limit, |last: &Member| {
            last.id.to_string()
        }))
    }

    /// A member of the workspace.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn member_by_id(
        &self,
        workspace: &WorkspaceRef,
        member: MemberId,
    ) -> Result<Option<Member>, Error> {
        find(&mut self.reader().await?, workspace, member).await
    }
}

/// A member of the workspace.
pub(crate) async fn find(
    on: impl Into<Conn<'_>>,
    workspace: &WorkspaceRef,
    member: MemberId,
) -> Result<Option<Member>, Error> {
    const FIND: &str =
        "SELECT id, user_name, since FROM members WHERE id = $1 AND namespace_uid = $2";
    let find = query("read a member", FIND)
        .bind(member)
        .bind(workspace.namespace_uid.as_str());
    find.optional(on).await?.as_ref().map(read).transpose()
}

/// The member that a user is, if there was a first call.
pub(crate) async fn of_user(
    on: impl Into<Conn<'_>>,
    workspace: &WorkspaceRef,
    user: &str,
) -> Result<Option<Member>, Error> {
    let find = query("find a member", OF_USER)
        .bind(workspace.namespace_uid.as_str())
        .bind(user);
    find.optional(on).await?.as_ref().map(read).transpose()
}

/// The member who an author is.
pub(crate) fn who(author: &Author) -> Option<MemberId> {
    match author.kind {
        AuthorKind::Member => author.id.parse().ok(),
        AuthorKind::Agent | AuthorKind::System => None,
    }
}

pub(crate) fn read(row: &Row) -> Result<Member, Error> {
    Ok(Member {
        id: MemberId(row.get("id")?),
        user: row.get("user_name")?,
        since: row.time("since")?,
    })
}
