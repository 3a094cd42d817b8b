//! What a delivery is to become. Pure: from what the webhook says and the sender wrote to a wish.

use crds::{AgentWebhookSpec, Assignee, WebhookComment, WebhookIssue};
use jiff::Timestamp;
use protocol::board::NewIssue;
use protocol::limits;
use serde_json::Value;
use store::Become;

use super::github;
use super::template::{cut, fill, line};
use crate::schedule::recipient;

/// Bytes of the name by which a sender knows what it tells of.
const REFERENCE_BYTES: usize = 256;

/// What a delivery asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Something that is to be.
    Become(Become),
    /// Nothing; why.
    Ignore(&'static str),
    /// It is not what the webhook takes; why not.
    Wrong(String),
}

/// Reads a delivery.
pub(super) fn read(spec: &AgentWebhookSpec, event: &str, body: &[u8], came: Timestamp) -> Wish {
    let Ok(payload) = serde_json::from_slice::<Value>(body) else {
        return Wish::Wrong("the body is no JSON".to_owned());
    };
    if let Some(github) = &spec.git_hub {
        return github::read(github, event, &payload, came);
    }
    match (&spec.issue, &spec.comment) {
        (Some(issue), _) => an_issue(issue, &payload),
        (None, Some(comment)) => a_comment(comment, &payload),
        (None, None) => {
            Wish::Wrong("the webhook has neither issue nor comment nor gitHub".to_owned())
        }
    }
}

fn an_issue(issue: &WebhookIssue, payload: &Value) -> Wish {
    let title = line(&fill(&issue.title, payload), limits::TITLE_BYTES);
    if title.is_empty() {
        return Wish::Wrong(
            "the title comes out empty: nothing is where its pointers point to".to_owned(),
        );
    }
    let text = fill(&issue.description, payload);
    let reference = issue.reference.as_ref();
    let reference = reference.map(|text| line(&fill(text, payload), REFERENCE_BYTES));
    let comment = match text.trim().is_empty() {
        true => title.clone(),
        false => cut(&text, limits::COMMENT_BYTES),
    };
    let new = new_issue((title, &text), issue.assignee.as_ref(), issue.priority);
    Wish::Become(Become::Issue {
        new: Box::new(new),
        reference: reference.filter(|reference| !reference.is_empty()),
        comment: Some(comment),
    })
}

fn a_comment(comment: &WebhookComment, payload: &Value) -> Wish {
    let key = line(&fill(&comment.issue, payload), REFERENCE_BYTES);
    let Ok(issue) = key.parse() else {
        return Wish::Wrong(format!("{key:?} is no key of an issue"));
    };
    let body = cut(&fill(&comment.body, payload), limits::COMMENT_BYTES);
    if body.trim().is_empty() {
        return Wish::Wrong(
            "the comment comes out empty: nothing is where its pointers point to".to_owned(),
        );
    }
    Wish::Become(Become::CommentOnIssue { issue, body })
}

/// An issue for whoever gets the webhook's issues.
pub(super) fn new_issue(
    (title, description): (String, &str),
    assignee: Option<&Assignee>,
    priority: i32,
) -> NewIssue {
    NewIssue {
        title,
        description: cut(description, limits::DESCRIPTION_BYTES),
        assignee: assignee.map(recipient),
        priority,
        ..NewIssue::default()
    }
}
