//! Words are found in titles, descriptions and comments: what was written last comes first.
//!
//! The index follows the tables by triggers of the schema, so nothing that is written can be forgotten. It knows of
//! each text its workspace, its issue, and the issue that this is a part of: what a caller may find is one word more
//! that must be there, and costs no look at what it may not.

mod snippet;
mod words;

use protocol::board::{IssueKey, IssueStatus, Page, SearchHit, SearchQuery};
use protocol::{CommentId, IssueId, limits};
use uuid::Uuid;

use crate::db::{Reader, Row, Sql, query};
use crate::issues::read_author;
use crate::{Error, Store, WorkspaceRef, page};
use words::Words;

/// Longer texts are read one by one, so that no page of them stands in memory at once.
const SHORT: u32 = 8192;

/// In what a caller may search.
#[derive(Clone, Copy, Debug)]
pub enum SearchScope<'a> {
    /// All that was written in the workspace.
    Workspace,
    /// What was written on the issues of a project; and on this issue and its parts, whatever theirs is.
    Project(&'a str, Option<&'a IssueKey>),
    /// What was written on this issue, and on its parts.
    Issue(&'a IssueKey),
}

/// What is shown of a text. `$found` says where the words are looked for.
macro_rules! select {
    ($from:literal, $found:literal) => {
        concat!(
            "SELECT search_texts.number AS position, prefix, issues.number AS number, title, status, issues.id AS issue, \
             comments.id AS comment, coalesce(comments.author_kind, issues.author_kind) AS author_kind, \
             coalesce(comments.author_id, issues.author_id) AS author_id, \
             coalesce(comments.author_name, issues.author_name) AS author_name, \
             coalesce(comments.created_at, issues.created_at) AS created_at, \
             CASE WHEN length(coalesce(body, description)) <= $4 THEN coalesce(body, description) END AS text FROM ",
            $from, " JOIN issues ON issues.id = search_texts.issue \
             JOIN workspaces ON workspaces.namespace_uid = issues.namespace_uid \
             LEFT JOIN comments ON comments.id = search_texts.comment WHERE ", $found, " LIMIT $3"
        )
    };
}

const SEARCH: Sql = Sql {
    // In this order, which is that of the index: the newest are found first, and no more than a page of them.
    sqlite: select!(
        "search_words CROSS JOIN search_texts ON search_texts.number = search_words.rowid",
        "search_words MATCH $1 AND search_words.rowid < $2 AND issues.namespace_uid = $5 \
         AND ($6 = '' OR project = $6 OR issues.number = $7 OR issues.parent = $7) ORDER BY search_words.rowid DESC"
    ),
    postgres: select!(
        "search_texts",
        "words @@ $1::tsquery AND search_texts.number < $2 AND search_texts.namespace_uid = $5 \
         AND ($6 = '' OR project = $6 OR issues.number = $7 OR issues.parent = $7) ORDER BY search_texts.number DESC"
    ),
};

impl Store {
    /// Texts that hold all of the words, the newest first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for words, a limit or a cursor that are none, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn search(
        &self,
        workspace: &WorkspaceRef,
        scope: SearchScope<'_>,
        asked: &SearchQuery,
    ) -> Result<Page<SearchHit>, Error> {
        let words = Words::read(&asked.q)?;
        let limit = page::limit(asked.limit)?;
        let before = page::after::<i64>(asked.cursor.as_deref())?;
        let uid = workspace.namespace_uid.as_str();
        let mut reader = self.reader().await?;
        let terms = match &reader {
            Reader::Sqlite(_) => words.sqlite(&place(uid, scope)),
            Reader::Postgres(_) => words.postgres(&place(uid, scope)),
        };
        // How common the words are decides how they are best looked for.
        let find = query("search", SEARCH)
            .planned_anew()
            .bind(terms)
            .bind(before.unwrap_or(i64::MAX))
            .bind(limit + 1);
        let (project, own) = match scope {
            SearchScope::Workspace | SearchScope::Issue(_) => ("", None),
            SearchScope::Project(project, own) => (project, own),
        };
        let find = find.bind(SHORT).bind(uid).bind(project);
        let rows = find
            .bind(own.map(|own| own.number))
            .all(&mut reader)
            .await?;
        let mut hits = Vec::with_capacity(rows.len());
        for row in &rows {
            let position: i64 = row.get("position")?;
            hits.push((position, read(&mut reader, row, &words).await?));
        }
        let page = page::page(hits, limit, |(position, _)| position.to_string());
        Ok(Page {
            items: page.items.into_iter().map(|(_, hit)| hit).collect(),
            next: page.next,
        })
    }
}

/// The word that stands for a scope in the index, as the schema's triggers write it.
fn place(uid: &str, scope: SearchScope<'_>) -> String {
    let uid = uid.replace('-', "");
    match scope {
        SearchScope::Workspace | SearchScope::Project(..) => format!("w{uid}"),
        SearchScope::Issue(key) => format!("i{uid}x{}", key.number),
    }
}

async fn read(reader: &mut Reader, row: &Row, words: &Words) -> Result<SearchHit, Error> {
    let comment = row.get::<Option<Uuid>>("comment")?.map(CommentId);
    let text = match row.get::<Option<String>>("text")? {
        Some(text) => text,
        None => long(reader, IssueId(row.get("issue")?), comment).await?,
    };
    Ok(SearchHit {
        issue: IssueKey {
            prefix: row.get("prefix")?,
            number: row.u32("number")?,
        },
        title: row.get("title")?,
        status: row.word("status", IssueStatus::parse)?,
        comment,
        author: read_author(row)?,
        created: row.time("created_at")?,
        snippet: snippet::around(&text, words, limits::SNIPPET_CHARS),
    })
}

/// A text that was too long to come with the others.
async fn long(
    reader: &mut Reader,
    issue: IssueId,
    comment: Option<CommentId>,
) -> Result<String, Error> {
    const OF_COMMENT: &str = "SELECT body AS text FROM comments WHERE id = $1";
    const OF_ISSUE: &str = "SELECT description AS text FROM issues WHERE id = $1";
    let find = match comment {
        Some(comment) => query("read a comment that was found", OF_COMMENT).bind(comment),
        None => query("read an issue that was found", OF_ISSUE).bind(issue),
    };
    find.one(reader).await?.get("text")
}
