//! Issues, as people read them.

use protocol::board::Issue;

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
            comments: 3,
            revision: 4,
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn an_issue_is_shown() {
        insta::assert_snapshot!("issue", describe(&issue(), &Names::default()));
        let bare = Issue {
            assignee: None,
            parent: None,
            description: String::new(),
            ..issue()
        };
        insta::assert_snapshot!("issue_bare", describe(&bare, &Names::default()));
        let table = table(&[issue(), bare], &Names::default());
        insta::assert_snapshot!("issues", table.render(120));
    }
}
