//! The second layer: the first user message of a turn.
//!
//! Whose words a line is must be beyond doubt: what others wrote is quoted line by line, names and titles stay
//! within quotation marks on one line. On whose behalf the agent acts comes last: it changes most often, and a
//! provider's cache ends at the first difference.

use protocol::board::{Cause, CauseKind, Comment, Repository};
use protocol::{FailureClass, Package};

use super::template::fill;
use super::{chat, quote, sections, team};
use crate::resume::Decision;

/// Bytes of the reason why a conversation could not be continued.
const REASON_BYTES: usize = 200;

/// The message: what woke the agent, or the prompt of its task, and what it has to know about its continuity.
#[must_use]
pub fn message(package: &Package, decision: &Decision) -> String {
    if let Some(asked) = &package.chat {
        return chat::chat(package, asked, decision);
    }
    if let Some(asked) = &package.quick_issue {
        return chat::quick(package, asked, decision);
    }
    match &package.cause {
        None => sections([
            new_conversation(decision),
            interrupted(package),
            Some(package.prompt.clone()),
        ]),
        Some(cause) => {
            let resumed = matches!(decision, Decision::Resume(_));
            sections([
                woken(cause),
                quoted(cause),
                leads(package, cause),
                Some(reading(cause, resumed)),
                Some(news(cause, resumed)),
                repositories(package),
                new_conversation(decision),
                interrupted(package),
                Some(reply(cause)),
                behalf(cause),
            ])
        }
    }
}

fn woken(cause: &Cause) -> Option<String> {
    let failure = cause.again.as_ref().and_then(|again| again.failure);
    let template = match cause.kind {
        CauseKind::Comment => include_str!("woken_comment.md"),
        CauseKind::Assignment => include_str!("woken_assignment.md"),
        CauseKind::Children => include_str!("woken_children.md"),
        // These have messages of their own.
        CauseKind::Chat | CauseKind::QuickIssue => return None,
    };
    let template = match (&cause.again, failure) {
        (None, _) => template,
        (Some(_), None) => include_str!("woken_again.md"),
        (Some(_), Some(_)) => include_str!("woken_retry.md"),
    };
    Some(fill(
        template,
        &[
            ("issue", &cause.issue.to_string()),
            ("title", &quote::title(&cause.title)),
            ("status", cause.status.as_str()),
            ("author", &quote::author(&cause.author)),
            (
                "failure",
                failure.map(FailureClass::as_str).unwrap_or_default(),
            ),
        ],
    ))
}

/// What it leads, where it was woken for its team.
fn leads(package: &Package, cause: &Cause) -> Option<String> {
    let team = package.team.as_ref()?;
    Some(team::section(team, &cause.issue.to_string()))
}

/// The comment that woke it, those that were taken in beside it, and where the rest of them is.
fn quoted(cause: &Cause) -> Option<String> {
    let newest = cause.comment.as_ref();
    if newest.is_none() && cause.coalesced.is_empty() {
        let is_gone = cause.kind == CauseKind::Comment;
        return is_gone.then(|| fill(include_str!("removed.md"), &[]));
    }
    let earlier = cause.coalesced.iter().map(|each| Some(comment(each)));
    let thread = newest.or(cause.coalesced.last()).map(|each| each.thread);
    let cut = thread.filter(|_| cause.cut).map(|thread| {
        fill(
            include_str!("cut.md"),
            &[
                ("issue", &cause.issue.to_string()),
                ("thread", &thread.to_string()),
            ],
        )
    });
    let others = (newest.is_some() && !cause.coalesced.is_empty())
        .then(|| fill(include_str!("coalesced.md"), &[]));
    let head = [newest.map(comment), others].into_iter().chain(earlier);
    Some(sections(
        head.chain([Some(fill(include_str!("quotes.md"), &[])), cut]),
    ))
}

fn comment(comment: &Comment) -> String {
    let head = fill(
        include_str!("quoted.md"),
        &[
            ("id", &comment.id.to_string()),
            ("author", &quote::author(&comment.author)),
            ("time", &comment.created.to_string()),
        ],
    );
    format!("{head}\n\n{}", quote::block(&comment.body))
}

/// Whether it has to read the issue. Only the server's word that nothing changed, about a conversation that
/// goes on, says that it has not.
fn reading(cause: &Cause, resumed: bool) -> String {
    if resumed && cause.unchanged {
        fill(include_str!("unchanged.md"), &[])
    } else {
        fill(
            include_str!("read.md"),
            &[("issue", &cause.issue.to_string())],
        )
    }
}

/// What others wrote: since the last run where the conversation goes on, else at all. One command reads it.
fn news(cause: &Cause, resumed: bool) -> String {
    let values = [
        ("issue", &*cause.issue.to_string()),
        ("count", &*count(cause.new_comments)),
        (
            "since",
            &*cause.last_run.map(|at| at.to_string()).unwrap_or_default(),
        ),
    ];
    let template = match (cause.last_run.is_some(), resumed, cause.new_comments) {
        (true, true, 0) => include_str!("nothing_since.md"),
        (true, true, _) => include_str!("since.md"),
        // What it was told in earlier runs is not known here, so the number since then says nothing.
        (true, false, _) => include_str!("roots.md"),
        (false, _, 0) => include_str!("nothing_so_far.md"),
        (false, _, _) => include_str!("so_far.md"),
    };
    fill(template, &values)
}

/// What can be checked out. Where there is nothing, nothing is said of it.
fn repositories(package: &Package) -> Option<String> {
    let name = |each: &Repository| match &each.default_branch {
        Some(branch) => format!("`{}` (branch {branch})", each.name),
        None => format!("`{}`", each.name),
    };
    let names: Vec<_> = package.repositories.iter().map(name).collect();
    (!names.is_empty()).then(|| {
        fill(
            include_str!("repositories.md"),
            &[("names", &names.join(", "))],
        )
    })
}

fn count(comments: u32) -> String {
    match comments {
        1 => "1 comment".to_owned(),
        more => format!("{more} comments"),
    }
}

pub(super) fn new_conversation(decision: &Decision) -> Option<String> {
    let Decision::Fresh(Some(reason)) = decision else {
        return None;
    };
    let reason = quote::line(reason, REASON_BYTES);
    Some(fill(
        include_str!("new_conversation.md"),
        &[("reason", &reason)],
    ))
}

pub(super) fn interrupted(package: &Package) -> Option<String> {
    package
        .interrupted
        .then(|| fill(include_str!("interrupted.md"), &[]))
}

/// How it answers: in the thread that woke it, and in those of which comments were taken in beside that.
fn reply(cause: &Cause) -> String {
    let issue = cause.issue.to_string();
    let first = match cause.reply_to {
        Some(parent) => fill(
            include_str!("reply.md"),
            &[("issue", &issue), ("parent", &parent.to_string())],
        ),
        None => fill(include_str!("reply_on_issue.md"), &[("issue", &issue)]),
    };
    let mut others: Vec<String> = Vec::new();
    for comment in &cause.coalesced {
        let thread = comment.thread.to_string();
        if Some(comment.thread) != cause.reply_to && !others.contains(&thread) {
            others.push(thread);
        }
    }
    if others.is_empty() {
        return first;
    }
    let others = fill(
        include_str!("other_threads.md"),
        &[("threads", &others.join(", "))],
    );
    format!("{first} {others}")
}

fn behalf(cause: &Cause) -> Option<String> {
    Some(behalf_of(cause.originator.as_deref()?))
}

pub(super) fn behalf_of(user: &str) -> String {
    fill(
        include_str!("behalf.md"),
        &[("originator", &quote::name(user))],
    )
}
