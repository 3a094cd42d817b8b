//! What happened on an issue: what was said, and who was woken, in one order.

use protocol::board::{Comment, History, HistoryEntry, IssueKey, Page, RunView};
use uuid::Uuid;

use crate::db::query;
use crate::tasks::task_columns;
use crate::{Error, Store, WorkspaceRef, comments, issues, page, runs};

impl Store {
    /// Comments and runs of an issue, newest first. Both have ids that rise with time, and those are the order.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such issue, [`Error::Invalid`] for a limit or cursor that is none,
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn history(
        &self,
        workspace: &WorkspaceRef,
        key: &IssueKey,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Page<HistoryEntry>, Error> {
        const COMMENTS: &str = comments::select!(
            "WHERE issue = $1 AND id < $2 AND (deleted_at IS NULL OR replies > 0) ORDER BY id DESC LIMIT $3"
        );
        const RUNS: &str = runs::select!(
            "WHERE id IN (SELECT task FROM wakes WHERE issue = $1 AND task < $2 ORDER BY task DESC LIMIT $3) \
             ORDER BY id DESC"
        );
        let (limit, before) = (page::limit(limit)?, page::after(cursor)?);
        let issue = self.issue(workspace, key).await?;
        let issue = issue.ok_or_else(|| issues::missing(key))?;
        let mut reader = self.reader().await?;
        let mut entries: Vec<(Uuid, HistoryEntry)> = Vec::new();
        let before = before.unwrap_or(Uuid::max());
        let part = |doing, sql| {
            let list = query(doing, sql).bind(issue.id).bind(before);
            list.bind(limit + 1)
        };
        let rows = part("list what was said", COMMENTS)
            .all(&mut reader)
            .await?;
        let comments = comments::read_all(&mut reader, &rows).await?;
        entries.extend(comments.into_iter().map(said));
        let rows = part("list who was woken", RUNS).all(&mut reader).await?;
        for row in &rows {
            entries.push(runs::read(row).map(woken)?);
        }
        entries.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
        entries.truncate(limit as usize + 1);
        let page = page::page(entries, limit, |(id, _)| id.to_string());
        Ok(Page {
            items: page.items.into_iter().map(|(_, entry)| entry).collect(),
            next: page.next,
        })
    }
}

fn said(comment: Comment) -> (Uuid, HistoryEntry) {
    let id = comment.id.0;
    let entry = HistoryEntry {
        at: comment.created,
        what: History::Comment {
            comment: Box::new(comment),
        },
    };
    (id, entry)
}

fn woken(run: RunView) -> (Uuid, HistoryEntry) {
    let id = run.id.0;
    let entry = HistoryEntry {
        at: run.created,
        what: History::Run { run: Box::new(run) },
    };
    (id, entry)
}
