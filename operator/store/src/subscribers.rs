//! Who follows an issue, and is told of each comment on it.
//!
//! Who made it, has it, wrote on it or was named on it follows it from then on, until they say that they do not want
//! to. Being named by somebody makes them follow it again; nothing else does.

use jiff::Timestamp;
use protocol::board::{Author, AuthorKind, InboxKind, IssueKey, Member, Page};
use protocol::{CommentId, IssueId, MemberId, limits};
use serde::Serialize;
use uuid::Uuid;

use crate::db::{Sql, query, to_json};
use crate::tasks::new_id;
use crate::writes::Write;
use crate::{Error, Store, WorkspaceRef, WritePoint, issues, members, page};

impl Store {
    /// Lets a member follow an issue. Twice is once.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue, [`Error::Conflict`] when as many follow it as may,
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn subscribe(
        &self,
        workspace: &WorkspaceRef,
        key: &IssueKey,
        member: MemberId,
    ) -> Result<(), Error> {
        let mut write = self.write(WritePoint::Subscribe).await?;
        let issue = issues::locked(&mut write, workspace, key).await?;
        let issue = issue.ok_or_else(|| issues::missing(key))?.id;
        follow(&mut write, issue, member).await?;
        if !hear_again(&mut write, issue, member).await? {
            return Err(Error::Conflict {
                what: format!(
                    "{} members follow {key}, as many as may follow an issue",
                    limits::SUBSCRIBERS
                ),
            });
        }
        write.commit().await
    }

    /// Tells a member of an issue no more, until somebody names them on it. Twice is once.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn unsubscribe(
        &self,
        workspace: &WorkspaceRef,
        key: &IssueKey,
        member: MemberId,
    ) -> Result<(), Error> {
        // Kept, or the next comment of the member would make them follow it again. Who never did needs no row.
        const MUTE: &str = "UPDATE subscriptions SET muted = TRUE WHERE issue = $1 AND member = $2";
        let mut write = self.write(WritePoint::Unsubscribe).await?;
        let issue = issues::locked(&mut write, workspace, key).await?;
        let issue = issue.ok_or_else(|| issues::missing(key))?.id;
        let mute = query("let a member not follow an issue", MUTE)
            .bind(issue)
            .bind(member);
        mute.execute(&mut write).await?;
        write.commit().await
    }

    /// Who follows an issue.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue, [`Error::Invalid`] for a limit or cursor that is none,
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn subscribers(
        &self,
        workspace: &WorkspaceRef,
        key: &IssueKey,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<Member>, Error> {
        const LIST: &str = "SELECT members.id AS id, user_name, since FROM subscriptions \
            JOIN members ON members.id = subscriptions.member \
            WHERE issue = $1 AND NOT muted AND member > $2 ORDER BY member LIMIT $3";
        let (limit, after) = (page::limit(limit)?, page::after(cursor)?);
        let issue = self.issue(workspace, key).await?;
        let issue = issue.ok_or_else(|| issues::missing(key))?.id;
        let list = query("list who follows an issue", LIST)
            .bind(issue)
            .bind(after.unwrap_or(Uuid::nil()))
            .bind(limit + 1);
        let rows = list.all(&mut self.reader().await?).await?;
        let found = rows.iter().map(members::read).collect::<Result<_, _>>()?;
        Ok(page::page(found, limit, |last: &Member| {
            last.id.to_string()
        }))
    }
}

/// Lets a member follow an issue, unless they said that they do not want to, or as many follow it as may.
pub(crate) async fn follow(
    write: &mut Write,
    issue: IssueId,
    member: MemberId,
) -> Result<(), Error> {
    // No more of them are counted than there may be.
    const FOLLOW: &str = "INSERT INTO subscriptions (issue, member) SELECT $1, $2 WHERE (SELECT count(*) FROM \
        (SELECT 1 FROM subscriptions WHERE issue = $1 LIMIT $3) AS counted) < $3 ON CONFLICT DO NOTHING";
    if follows(write, issue, member).await? {
        return Ok(());
    }
    let follow = query("let a member follow an issue", FOLLOW)
        .bind(issue)
        .bind(member);
    follow.bind(limits::SUBSCRIBERS).execute(write).await?;
    Ok(())
}

/// True for a member who follows the issue, or said that they do not want to: most comments are by one who did.
async fn follows(write: &mut Write, issue: IssueId, member: MemberId) -> Result<bool, Error> {
    const FIND: &str = "SELECT muted FROM subscriptions WHERE issue = $1 AND member = $2";
    let find = query("look whether a member follows an issue", FIND)
        .bind(issue)
        .bind(member);
    Ok(find.optional(write).await?.is_some())
}

/// A member who did not want to be told is told again. False for one who does not follow the issue.
pub(crate) async fn hear_again(
    write: &mut Write,
    issue: IssueId,
    member: MemberId,
) -> Result<bool, Error> {
    const HEAR: &str = "UPDATE subscriptions SET muted = FALSE WHERE issue = $1 AND member = $2";
    let hear = query("let a member hear of an issue again", HEAR)
        .bind(issue)
        .bind(member);
    Ok(hear.execute(write).await? == 1)
}

/// Tells those who follow an issue of a comment; not its author, nor those who were told of it because they are
/// named. One statement for all of them.
pub(crate) async fn tell(
    write: &mut Write,
    issue: IssueId,
    (comment, author): (CommentId, &Author),
    named: &[MemberId],
    now: Timestamp,
) -> Result<(), Error> {
    const LIST: &str =
        "SELECT member FROM subscriptions WHERE issue = $1 AND NOT muted ORDER BY member LIMIT $2";
    // The last condition tells SQLite where the list ends and what to do on a conflict begins.
    const TELL: Sql = Sql {
        sqlite: "INSERT INTO inbox (id, member, kind, issue, comment, author_kind, author_id, author_name, created_at) \
            SELECT unhex(value ->> 'id'), unhex(value ->> 'member'), $2, $3, $4, $5, $6, $7, $8 FROM json_each($1) \
            WHERE TRUE ON CONFLICT DO NOTHING",
        postgres: "INSERT INTO inbox (id, member, kind, issue, comment, author_kind, author_id, author_name, created_at) \
            SELECT id, member, $2, $3, $4, $5, $6, $7, $8 FROM json_to_recordset($1::json) AS entry (id uuid, member uuid) \
            WHERE TRUE ON CONFLICT DO NOTHING",
    };
    let list = query("list whom a comment tells", LIST)
        .bind(issue)
        .bind(limits::SUBSCRIBERS);
    let mut entries = Vec::new();
    for row in list.all(&mut *write).await? {
        let member = MemberId(row.get("member")?);
        let own = author.kind == AuthorKind::Member && author.id == member.to_string();
        if !own && !named.contains(&member) {
            entries.push(Entry::new(member, now)?);
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    let tell = query("tell who follows an issue", TELL)
        .bind(to_json("entries of inboxes", &entries)?)
        .bind(InboxKind::Reply.as_str())
        .bind(issue)
        .bind(comment);
    tell.bind(author.kind.as_str())
        .bind(author.id.as_str())
        .bind(author.name.as_str())
        .bind(now)
        .execute(write)
        .await?;
    Ok(())
}

/// An entry for a member, in a form that both databases read.
#[derive(Serialize)]
struct Entry {
    id: String,
    member: String,
}

impl Entry {
    fn new(member: MemberId, now: Timestamp) -> Result<Self, Error> {
        Ok(Self {
            id: new_id(now)?.simple().to_string(),
            member: member.0.simple().to_string(),
        })
    }
}
