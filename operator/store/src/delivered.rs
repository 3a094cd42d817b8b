//! What webhooks have delivered, as people look at it.

use protocol::CommentId;
use protocol::board::{DeliveryState, DeliveryView, IssueKey, Page};
use uuid::Uuid;

use crate::db::{Row, query};
use crate::{Error, Store, WorkspaceRef, page};

impl Store {
    /// What a webhook has delivered and is still remembered, newest first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or cursor that is none, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn deliveries(
        &self,
        workspace: &WorkspaceRef,
        webhook: &str,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<DeliveryView>, Error> {
        const LIST: &str = "SELECT id, delivery, event, state, comment, remark, received_at, \
            (SELECT number FROM issues WHERE issues.id = deliveries.issue) AS number, \
            (SELECT prefix FROM workspaces WHERE workspaces.namespace_uid = deliveries.namespace_uid) AS prefix \
            FROM deliveries WHERE namespace_uid = $1 AND webhook = $2 AND id < $3 ORDER BY id DESC LIMIT $4";
        let (limit, before) = (page::limit(limit)?, page::after(cursor)?);
        let list = query("list deliveries", LIST)
            .bind(workspace.namespace_uid.as_str())
            .bind(webhook)
            .bind(before.unwrap_or(Uuid::max()))
            .bind(limit + 1);
        let rows = list.all(&mut self.reader().await?).await?;
        let found = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(page::page(found, limit, |last: &DeliveryView| {
            last.id.to_string()
        }))
    }
}

fn read(row: &Row) -> Result<DeliveryView, Error> {
    let state: String = row.get("state")?;
    let number: Option<i64> = row.get("number")?;
    let issue = match number {
        Some(_) => Some(IssueKey {
            prefix: row.get("prefix")?,
            number: row.u32("number")?,
        }),
        None => None,
    };
    let comment: Option<Uuid> = row.get("comment")?;
    Ok(DeliveryView {
        id: row.get("id")?,
        delivery: row.get("delivery")?,
        event: row.get("event")?,
        state: DeliveryState::parse(&state).ok_or(Error::Corrupt {
            what: "deliveries",
            found: state,
        })?,
        issue,
        comment: comment.map(CommentId),
        remark: row.get("remark")?,
        received: row.time("received_at")?,
    })
}
