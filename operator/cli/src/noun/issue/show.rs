//! Issues, as people read them.

use std::fmt::Write as _;

use protocol::board::{Issue, SearchHit};

use crate::noun::wakes;
use crate::table::{Table, fields};
use crate::text;
use crate::who::Names;

/// What names an issue.
pub(super) fn key(issue: &Issue) -> String {
    issue.key.to_string()
}

/// Issues, a line each.
pub(super) fn table(issues: &[Issue], names: &Names) -> Table<7> {
    let head = [
        "KEY", "STATUS", "PRIO", "ASSIGNEE", "COMMENTS", "UPDATED", "TITLE",
    ];
    let rows = issues.iter().map(|issue| {
        [
            issue.key.to_string(),
            issue.status.as_str().to_owned(),
            issue.priority.to_string(),
            issue
                .assignee
                .as_ref()
                .map(|who| names.call(who))
                .unwrap_or_default(),
            issue.comments.to_string(),
            text::time(issue.updated),
            issue.title.clone(),
        ]
    });
    Table::new(head, rows)
}

/// One issue, with its description.
pub(super) fn describe(issue: &Issue, names: &Names) -> String {
    let assignee = issue.assignee.as_ref().map(|who| names.call(who));
    let parent = issue.parent.as_ref().map(|parent| match issue.stage {
        Some(stage) => format!("{parent}, stage {stage}"),
        None => parent.to_string(),
    });
    let mut rows = vec![
        ("Issue", issue.key.to_string()),
        ("Title", issue.title.clone()),
        ("Status", issue.status.as_str().to_owned()),
        ("Priority", issue.priority.to_string()),
        ("Assignee", assignee.unwrap_or_else(|| "nobody".to_owned())),
        ("Creator", wakes::author(&issue.creator)),
    ];
    if let Some(parent) = parent {
        rows.push(("Part of", parent));
    }
    if let Some(project) = &issue.project {
        rows.push(("Project", project.clone()));
    }
    if !issue.labels.is_empty() {
        rows.push(("Labels", issue.labels.join(" ")));
    }
    for (key, value) in &issue.metadata {
        rows.push(("Metadata", format!("{key}={value}")));
    }
    rows.push(("Comments", issue.comments.to_string()));
    rows.push(("Created", text::time(issue.created)));
    rows.push((
        "Updated",
        format!("{}, revision {}", text::time(issue.updated), issue.revision),
    ));
    let mut shown = fields(&rows);
    if !issue.description.is_empty() {
        shown.push('\n');
        shown.push_str(text::block(&issue.description).trim_end());
        shown.push('\n');
    }
    shown
}

/// What names the place of a hit: its comment, or its issue.
pub(super) fn place(hit: &SearchHit) -> String {
    hit.comment
        .map_or_else(|| hit.issue.to_string(), |comment| comment.to_string())
}

/// What was found, two lines each: where, and what stands there.
pub(super) fn hits(hits: &[SearchHit], width: usize) -> String {
    let mut shown = String::new();
    for hit in hits {
        let place = hit.comment.map_or_else(String::new, |comment| {
            format!("comment {comment} by {}, ", wakes::author(&hit.author))
        });
        let head = format!(
            "{}  {}  {}  ({place}{})",
            hit.issue,
            hit.status.as_str(),
            hit.title,
            text::time(hit.created)
        );
        shown.push_str(&text::line(&head));
        shown.push('\n');
        if !hit.snippet.is_empty() {
            let snippet = text::cut(&text::line(&hit.snippet), width.saturating_sub(4));
            let _ = writeln!(shown, "    {snippet}");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::IssueId;
    use protocol::board::{Author, AuthorKind, IssueStatus, Recipient, RecipientKind};
    use uuid::Uuid;

    use super::*;

    fn issue() -> Issue {
        Issue {
            id: IssueId(Uuid::from_u128(1)),
            key: "TEAM-12".parse().unwrap(),
            title: "Log in\u{1b}[31m with SSO".into(),
            description: "As a user.\r\n\n- one\u{7}\n".into(),
            status: IssueStatus::InProgress,
            priority: 5,
            assignee: Some(Recipient {
                kind: RecipientKind::Agent,
                id: "reviewer".into(),
            }),
            creator: Author {
                kind: AuthorKind::Member,
                id: Uuid::from_u128(2).to_string(),
                name: "ada".into(),
            },
            parent: Some("TEAM-1".parse().unwrap()),
            stage: Some(2),
            project: Some("website".into()),
            labels: vec!["area/web".into(), "bug".into()],
            metadata: [("build".into(), "17\u{1b}[2J".into())].into(),
            comments: 3,
            revision: 4,
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_was_found_is_shown() {
        let issue = issue();
        let hit = SearchHit {
            issue: issue.key,
            title: issue.title,
            status: issue.status,
            comment: None,
            author: issue.creator,
            created: issue.created,
            snippet: "As a user.\u{1b}[2J - one".into(),
        };
        let comment = SearchHit {
            comment: Some(protocol::CommentId(Uuid::from_u128(7))),
            snippet: "…and ".repeat(20),
            ..hit.clone()
        };
        let bare = SearchHit {
            snippet: String::new(),
            ..hit.clone()
        };
        insta::assert_snapshot!("hits", hits(&[hit, comment, bare], 80));
    }

    #[test]
    fn an_issue_is_shown() {
        insta::assert_snapshot!("issue", describe(&issue(), &Names::default()));
        let bare = Issue {
            assignee: None,
            parent: None,
            project: None,
            labels: Vec::new(),
            metadata: Default::default(),
            description: String::new(),
            ..issue()
        };
        insta::assert_snapshot!("issue_bare", describe(&bare, &Names::default()));
        let table = table(&[issue(), bare], &Names::default());
        insta::assert_snapshot!("issues", table.render(120));
    }
}
