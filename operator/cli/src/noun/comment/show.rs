//! Comments, as people read them.

use std::fmt::Write as _;

use protocol::board::Comment;

use crate::noun::wakes;
use crate::table::Table;
use crate::text;

/// Characters of a text of which only the beginning is shown.
const BEGINNING: usize = 200;
/// Columns by which a comment's text is indented below its head.
const INDENT: usize = 4;

fn is_root(comment: &Comment) -> bool {
    comment.id == comment.thread
}

/// Comments, a line each.
pub(super) fn summary(comments: &[Comment]) -> Table<6> {
    let head = ["ID", "AUTHOR", "REPLIES", "LAST", "STATE", "TEXT"];
    let rows = comments.iter().map(|comment| {
        let (replies, state) = if is_root(comment) {
            let state = if comment.resolved { "resolved" } else { "open" };
            (comment.replies.to_string(), state)
        } else {
            (String::new(), "reply")
        };
        [
            comment.id.to_string(),
            wakes::author(&comment.author),
            replies,
            text::time(comment.last_activity),
            state.to_owned(),
            comment.body.trim_start().to_owned(),
        ]
    });
    Table::new(head, rows)
}

/// A comment with its text.
pub(in crate::noun) fn describe(comment: &Comment) -> String {
    with_text(comment, comment.body.trim_end())
}

/// A comment with the beginning of its text, on one line.
pub(super) fn compact(comment: &Comment) -> String {
    let words = comment.body.split_whitespace();
    let whole = words.collect::<Vec<_>>().join(" ");
    let end = whole.char_indices().nth(BEGINNING);
    let shown = end.map_or(whole.clone(), |(end, _)| format!("{}…", &whole[..end]));
    with_text(comment, &shown)
}

fn with_text(comment: &Comment, body: &str) -> String {
    let mut head = format!(
        "{} {} {}",
        comment.id,
        text::time(comment.created),
        wakes::author(&comment.author)
    );
    if !is_root(comment) {
        let _ = write!(head, ", in thread {}", comment.thread);
    } else if comment.replies > 0 {
        let _ = write!(
            head,
            ", {} replies, last {}",
            comment.replies,
            text::time(comment.last_activity)
        );
    }
    if comment.resolved {
        head.push_str(", resolved");
    }
    if let Some(edited) = comment.edited {
        let _ = write!(head, ", edited {}", text::time(edited));
    }
    let mut shown = format!("{}\n{}", text::line(&head), text::indented(body, INDENT));
    for file in &comment.attachments {
        let line = format!("with {} {}: {} bytes", file.id, file.name, file.bytes);
        shown += &text::indented(&text::line(&line), INDENT);
    }
    shown.push('\n');
    shown
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::board::{Attachment, Author, AuthorKind};
    use protocol::{AttachmentId, CommentId};
    use uuid::Uuid;

    use super::*;

    fn comment(id: u128, thread: u128) -> Comment {
        Comment {
            id: CommentId(Uuid::from_u128(id)),
            thread: CommentId(Uuid::from_u128(thread)),
            author: Author {
                kind: AuthorKind::Agent,
                id: "reviewer".into(),
                name: "Reviewer\u{1b}]0;x\u{7}".into(),
            },
            body: "Looks good.\n\n    code\n\u{1b}[2J".into(),
            task: None,
            resolved: false,
            replies: 0,
            last_activity: Timestamp::UNIX_EPOCH,
            revision: 1,
            created: Timestamp::UNIX_EPOCH,
            edited: None,
            attachments: Vec::new(),
        }
    }

    #[test]
    fn comments_are_shown() {
        let root = Comment {
            replies: 2,
            resolved: true,
            author: Author {
                kind: AuthorKind::Member,
                id: "x".into(),
                name: "ada".into(),
            },
            ..comment(1, 1)
        };
        let reply = Comment {
            edited: Some(Timestamp::UNIX_EPOCH),
            ..comment(2, 1)
        };
        let system = Comment {
            author: Author {
                kind: AuthorKind::System,
                id: String::new(),
                name: String::new(),
            },
            ..comment(3, 3)
        };
        let long = Comment {
            body: "a long\n\nword ".repeat(30),
            attachments: vec![Attachment {
                id: AttachmentId(Uuid::from_u128(9)),
                name: "log\u{1b}[2J.txt".into(),
                media_type: "text/plain".into(),
                bytes: 17,
                sha256: String::new(),
                author: system.author.clone(),
                created: Timestamp::UNIX_EPOCH,
            }],
            ..comment(4, 4)
        };
        insta::assert_snapshot!("comment_compact", compact(&long));
        let all = [root, reply, system];
        let shown: String = all.iter().map(describe).collect();
        insta::assert_snapshot!("comments", shown);
        insta::assert_snapshot!("comments_summary", summary(&all).render(140));
    }
}
