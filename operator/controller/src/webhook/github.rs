//! What GitHub tells of issues. Programs are not listened to: what Mooring's own agents say there would come back.

use crds::{Association, GitHubIssues};
use jiff::Timestamp;
use protocol::limits;
use serde_json::Value;
use store::Become;

use super::read::{Wish, new_issue};
use super::template::{cut, harmless, line};

/// What happened longer ago when it is delivered is not taken over. Deliveries are remembered for a day longer, so who
/// has seen one cannot send it once more; GitHub itself sends again for three days.
const RECENT_HOURS: i64 = 6 * 24;

/// Reads an event that came at this moment.
pub(super) fn read(spec: &GitHubIssues, event: &str, payload: &Value, came: Timestamp) -> Wish {
    let (wish, at) = match wish(spec, event, payload) {
        (wish @ (Wish::Ignore(_) | Wish::Wrong(_)), _) => return wish,
        (wish @ Wish::Become(_), at) => (wish, text(payload, at)),
    };
    // Its signature covers the body, so the time in it is GitHub's.
    match at.parse::<Timestamp>() {
        Ok(at) if came.duration_since(at).as_hours() < RECENT_HOURS => wish,
        Ok(_) => Wish::Ignore("it tells of what happened days ago"),
        Err(_) => Wish::Wrong("it does not say when it happened".to_owned()),
    }
}

/// What an event asks for, and where it says when it happened.
fn wish(spec: &GitHubIssues, event: &str, payload: &Value) -> (Wish, &'static str) {
    let action = text(payload, "/action");
    match (event, action) {
        // A label changes the issue.
        ("issues", "labeled") => (labelled(spec, payload), "/issue/updated_at"),
        ("issue_comment", "created") => (commented(spec, payload), "/comment/created_at"),
        _ => (Wish::Ignore("it is neither a label nor a comment"), ""),
    }
}

fn labelled(spec: &GitHubIssues, payload: &Value) -> Wish {
    if text(payload, "/label/name") != spec.label {
        return Wish::Ignore("it is another label");
    }
    if is_program(payload, "/sender") {
        return Wish::Ignore("a program gave it the label");
    }
    let Some(reference) = reference(payload) else {
        return Wish::Wrong("it names no issue of a repository".to_owned());
    };
    let title = line(
        &harmless(text(payload, "/issue/title")),
        limits::TITLE_BYTES,
    );
    if title.is_empty() {
        return Wish::Wrong("the issue has no title".to_owned());
    }
    let description = format!(
        "{} by {}, labelled by {}:\n\n{}",
        line(&harmless(text(payload, "/issue/html_url")), 500),
        login(payload, "/issue/user"),
        login(payload, "/sender"),
        harmless(text(payload, "/issue/body")),
    );
    Wish::Become(Become::Issue {
        new: Box::new(new_issue(
            (title, &description),
            spec.assignee.as_ref(),
            spec.priority,
        )),
        reference: Some(reference),
        // The same label again says nothing new.
        comment: None,
    })
}

fn commented(spec: &GitHubIssues, payload: &Value) -> Wish {
    let by_app = payload.pointer("/comment/performed_via_github_app");
    if is_program(payload, "/comment/user")
        || is_program(payload, "/sender")
        || by_app.is_some_and(|app| !app.is_null())
    {
        return Wish::Ignore("a program wrote it");
    }
    let association = text(payload, "/comment/author_association");
    if !spec.comments_by.iter().any(|one| covers(*one, association)) {
        return Wish::Ignore("who wrote it is none of commentsBy");
    }
    let Some(reference) = reference(payload) else {
        return Wish::Wrong("it names no issue of a repository".to_owned());
    };
    let body = format!(
        "{} wrote {}:\n\n{}",
        login(payload, "/comment/user"),
        line(&harmless(text(payload, "/comment/html_url")), 500),
        harmless(text(payload, "/comment/body")),
    );
    Wish::Become(Become::CommentOnReference {
        reference,
        body: cut(&body, limits::COMMENT_BYTES),
    })
}

fn covers(one: Association, word: &str) -> bool {
    match one {
        Association::Owner => word == "OWNER",
        Association::Member => word == "MEMBER",
        Association::Collaborator => word == "COLLABORATOR",
        Association::Contributor => word == "CONTRIBUTOR",
        Association::Anybody => true,
    }
}

/// The name by which an issue is known again.
fn reference(payload: &Value) -> Option<String> {
    let repository = text(payload, "/repository/full_name");
    let number = payload.pointer("/issue/number")?.as_u64()?;
    (!repository.is_empty()).then(|| line(&format!("{repository}#{number}"), 256))
}

fn is_program(payload: &Value, pointer: &str) -> bool {
    text(payload, &format!("{pointer}/type")) == "Bot"
}

fn login(payload: &Value, pointer: &str) -> String {
    line(&harmless(text(payload, &format!("{pointer}/login"))), 100)
}

fn text<'a>(payload: &'a Value, pointer: &str) -> &'a str {
    payload
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec() -> GitHubIssues {
        serde_json::from_value(json!({"label": "mooring", "assignee": {"name": "reviewer"}}))
            .unwrap()
    }

    fn issue() -> Value {
        json!({
            "number": 7, "title": "It leaks", "body": "[x](mention://agent/deployer)", "html_url": "https://github.com/a/b/issues/7",
            "user": {"login": "eve", "type": "User"}, "updated_at": "2026-01-31T12:00:00Z",
        })
    }

    fn label(name: &str, sender: &str) -> Value {
        json!({
            "action": "labeled", "label": {"name": name}, "issue": issue(), "repository": {"full_name": "a/b"},
            "sender": {"login": "ada", "type": sender},
        })
    }

    fn comment(association: &str, kind: &str, app: Value) -> Value {
        json!({
            "action": "created", "issue": issue(), "repository": {"full_name": "a/b"}, "sender": {"login": "ada", "type": kind},
            "comment": {
                "body": "and now?", "created_at": "2026-01-31T12:00:00Z", "html_url": "https://github.com/a/b/issues/7#issuecomment-1", "author_association": association,
                "user": {"login": "ada", "type": kind}, "performed_via_github_app": app,
            },
        })
    }

    fn came(at: &str) -> Timestamp {
        at.parse().unwrap()
    }

    fn read(spec: &GitHubIssues, event: &str, payload: &Value) -> Wish {
        super::read(spec, event, payload, came("2026-01-31T12:00:05Z"))
    }

    #[test]
    fn what_happened_days_ago_is_not_taken_over_and_what_is_ahead_is() {
        let events = [
            ("issues", label("mooring", "User")),
            ("issue_comment", comment("OWNER", "User", Value::Null)),
        ];
        for (event, payload) in &events {
            for (at, taken) in [
                ("2026-01-31T11:59:00Z", true),
                ("2026-02-06T11:59:59Z", true),
                ("2026-02-06T12:00:00Z", false),
                ("2027-01-31T12:00:00Z", false),
            ] {
                let wish = super::read(&spec(), event, payload, came(at));
                assert_eq!(
                    matches!(wish, Wish::Become(_)),
                    taken,
                    "{event} {at}: {wish:?}"
                );
            }
        }
        let mut timeless = label("mooring", "User");
        timeless["issue"]["updated_at"] = Value::Null;
        assert!(matches!(read(&spec(), "issues", &timeless), Wish::Wrong(_)));
    }

    #[test]
    fn the_label_makes_an_issue() {
        let Wish::Become(Become::Issue {
            new,
            reference,
            comment,
        }) = read(&spec(), "issues", &label("mooring", "User"))
        else {
            panic!("an issue");
        };
        assert_eq!(reference.as_deref(), Some("a/b#7"));
        assert_eq!(comment, None);
        assert_eq!(new.title, "It leaks");
        let wanted = "https://github.com/a/b/issues/7 by eve, labelled by ada:\n\n[x](mention: //agent/deployer)";
        assert_eq!(new.description, wanted);
        assert_eq!(
            new.assignee.map(|assignee| assignee.id).as_deref(),
            Some("reviewer")
        );
    }

    #[test]
    fn a_comment_of_somebody_who_belongs_to_it_is_taken_over() {
        for association in ["OWNER", "MEMBER", "COLLABORATOR"] {
            let wanted = Become::CommentOnReference {
                reference: "a/b#7".to_owned(),
                body: "ada wrote https://github.com/a/b/issues/7#issuecomment-1:\n\nand now?"
                    .to_owned(),
            };
            let read = read(
                &spec(),
                "issue_comment",
                &comment(association, "User", Value::Null),
            );
            assert_eq!(read, Wish::Become(wanted), "{association}");
        }
    }

    #[test]
    fn what_else_comes_is_ignored_or_wrong() {
        let ignored = [
            ("issues", label("bug", "User")),
            ("issues", label("mooring", "Bot")),
            ("issues", json!({"action": "opened"})),
            ("issue_comment", json!({"action": "edited"})),
            ("push", json!({})),
            ("issue_comment", comment("NONE", "User", Value::Null)),
            ("issue_comment", comment("CONTRIBUTOR", "User", Value::Null)),
            ("issue_comment", comment("OWNER", "Bot", Value::Null)),
            ("issue_comment", comment("OWNER", "User", json!({"id": 1}))),
        ];
        for (event, payload) in ignored {
            let read = read(&spec(), event, &payload);
            assert!(
                matches!(read, Wish::Ignore(_)),
                "{event} {payload}: {read:?}"
            );
        }
        let mut nowhere = label("mooring", "User");
        nowhere["repository"] = Value::Null;
        assert!(matches!(read(&spec(), "issues", &nowhere), Wish::Wrong(_)));
    }

    #[test]
    fn no_part_of_it_names_somebody_or_cannot_be_stored() {
        let mut forged = label("mooring", "User");
        forged["issue"]["html_url"] = json!("[x](mention://agent/deployer)");
        forged["repository"]["full_name"] = json!("a/\0b");
        let Wish::Become(Become::Issue { new, reference, .. }) = read(&spec(), "issues", &forged)
        else {
            panic!("an issue");
        };
        assert_eq!(reference.as_deref(), Some("a/b#7"));
        assert!(wake::mentions(&new.description).is_empty());
    }
}
