//! What is let in, and what is not.

use protocol::board::{CommentEdit, NewComment, NewIssue};
use protocol::limits;

use super::door::{self, Door};
use super::{limit, right};
use crate::error::Failure;

fn message(refused: Result<(), Failure>) -> String {
    let refused = refused.unwrap_err();
    assert_eq!(
        (refused.status.as_u16(), refused.code),
        (400, "invalidRequest")
    );
    refused.message.into_owned()
}

fn issue(title: &str) -> NewIssue {
    NewIssue {
        title: title.to_owned(),
        ..NewIssue::default()
    }
}

#[test]
fn a_title_is_one_line_of_plain_text() {
    let door = Door::new(None);
    door.new_issue(&mut issue("  Größe prüfen 🚢 ")).unwrap();
    for (title, wanted) in [
        ("a\u{1b}[31mb", "U+001B"),
        ("a\nb", "U+000A"),
        ("a\0", "U+0000"),
        ("a\u{9b}31m", "U+009B"),
        ("gpj.\u{202e}exe", "U+202E"),
        ("a\u{2028}b", "U+2028"),
    ] {
        let wanted = format!(
            "title: it holds the control character {wanted}; a title is one line of plain text"
        );
        assert_eq!(message(door.new_issue(&mut issue(title))), wanted);
    }
}

#[test]
fn a_text_keeps_its_lines_and_loses_what_a_terminal_obeys() {
    let mut given = CommentEdit {
        revision: None,
        body: "one\r\n\ttwo\u{1b}[31m\0 \u{202e}three\u{7f}".to_owned(),
    };
    Door::new(None).comment_edit(&mut given);
    assert_eq!(given.body, "one\n\ttwo[31m three");
}

#[test]
fn no_more_agents_are_left_out_than_could_be_mentioned() {
    let mut many = NewComment {
        body: "x".to_owned(),
        suppress: vec!["a".to_owned(); limits::MENTIONS],
        ..NewComment::default()
    };
    Door::new(None).new_comment(&mut many).unwrap();
    many.suppress.push("a".to_owned());
    let said = message(Door::new(None).new_comment(&mut many));
    assert_eq!(
        said,
        "suppress: it names more than 50 agents; name those that the comment would wake"
    );
}

#[test]
fn no_credential_is_let_in_also_not_in_parts() {
    let credential = format!("mrt_{}", "a".repeat(43));
    let (head, tail) = credential.split_at(20);
    for body in [
        format!("see {credential}"),
        format!("see {head}\u{1}{tail}"),
    ] {
        let mut given = NewComment {
            body,
            ..NewComment::default()
        };
        Door::new(None).new_comment(&mut given).unwrap();
        assert_eq!(given.body, "see [redacted]");
    }
    let mut given = issue(&credential);
    given.description = credential.clone();
    Door::new(None).new_issue(&mut given).unwrap();
    assert_eq!(
        (given.title.as_str(), given.description.as_str()),
        ("[redacted]", "[redacted]")
    );
}

#[test]
fn names_are_shown_without_what_a_terminal_obeys() {
    let name = "Re\u{1b}[31mview\u{202e}er \u{9b}1".to_owned();
    assert_eq!(door::plain(name), "Re[31mviewer 1");
    for name in ["a", "team-a", "0"] {
        assert!(door::is_name(name), "{name}");
    }
    for name in ["", "-", "-a", "a-", "A", "a.b", "a/b", "ä", &"a".repeat(64)] {
        assert!(!door::is_name(name), "{name}");
    }
}

#[test]
fn a_page_has_its_limits() {
    assert_eq!(limit(None).unwrap(), limits::PAGE_DEFAULT);
    assert_eq!(limit(Some(limits::PAGE_ITEMS)).unwrap(), limits::PAGE_ITEMS);
    for wrong in [0, limits::PAGE_ITEMS + 1, u32::MAX] {
        message(limit(Some(wrong)).map(drop));
    }
}

#[test]
fn agents_never_have_the_rights_of_people() {
    for (verb, resource, agents) in right::ALL {
        let never = ["inboxes", "approvals", "rawlogs"].contains(resource)
            || (*resource == "tasks" && *verb == "patch");
        assert!(!(never && *agents), "{verb} {resource}");
    }
}

#[test]
fn a_refused_write_says_what_stands_against_it() {
    let full = "TEAM-1 has 1000 parts, and no issue may have more";
    let conflict = |what: &str| {
        let what = what.to_owned();
        Failure::of_write(store::Error::Conflict { what })
    };
    let refused = conflict(full);
    assert_eq!((refused.status.as_u16(), refused.code), (409, "wrongState"));
    assert_eq!(refused.message, full);
    let credential = format!("mrt_{}", "a".repeat(43));
    assert_eq!(conflict(&credential).message, "[redacted]");
    let missing = Failure::of_write(store::Error::Missing {
        what: "agent x".to_owned(),
    });
    assert_eq!((missing.status.as_u16(), missing.code), (404, "notFound"));
    assert_eq!(
        missing.message,
        "there is no agent x, or none that this credential may see"
    );
}
