//! The first message of a turn that answers a chat, and of one that writes an issue for somebody.

use protocol::Package;
use protocol::board::{ChatCause, ChatMessage, QuickCause};

use super::message::{behalf_of, interrupted, new_conversation};
use super::template::fill;
use super::{quote, sections};
use crate::resume::Decision;

/// What a person wrote in a chat. A conversation that does not go on is told where the rest is.
pub(super) fn chat(package: &Package, chat: &ChatCause, decision: &Decision) -> String {
    let resumed = matches!(decision, Decision::Resume(_));
    let head = fill(
        include_str!("woken_chat.md"),
        &[
            ("author", &quote::author(&chat.member)),
            ("title", &quote::title(&chat.title)),
        ],
    );
    let cut = chat.cut.then(|| fill(include_str!("chat_cut.md"), &[]));
    let before = (!resumed && chat.before > 0).then(|| {
        let count = match chat.before {
            1 => "1 message".to_owned(),
            more => format!("{more} messages"),
        };
        fill(include_str!("chat_before.md"), &[("count", &count)])
    });
    let first = [
        Some(head),
        Some(match chat.messages.is_empty() {
            true => fill(include_str!("chat_nothing.md"), &[]),
            false => messages(&chat.messages),
        }),
        (!chat.messages.is_empty()).then(|| fill(include_str!("quotes.md"), &[])),
    ];
    let rest = [
        cut,
        before,
        new_conversation(decision),
        interrupted(package),
        Some(fill(include_str!("chat_answer.md"), &[])),
        Some(behalf_of(&chat.member.name)),
    ];
    sections(first.into_iter().chain(rest))
}

fn messages(all: &[ChatMessage]) -> String {
    sections(all.iter().map(|message| {
        let head = fill(
            include_str!("chat_quoted.md"),
            &[
                ("position", &message.position.to_string()),
                ("time", &message.created.to_string()),
            ],
        );
        Some(format!("{head}\n\n{}", quote::block(&message.body)))
    }))
}

/// What a person wants an issue to be made from.
pub(super) fn quick(package: &Package, quick: &QuickCause, decision: &Decision) -> String {
    let task = match &quick.issue {
        None => fill(include_str!("quick_make.md"), &[]),
        Some(issue) => fill(
            include_str!("quick_made.md"),
            &[("issue", &issue.to_string())],
        ),
    };
    let head = fill(
        include_str!("woken_quick.md"),
        &[("author", &quote::author(&quick.author))],
    );
    sections([
        Some(head),
        Some(quote::block(&quick.text)),
        Some(fill(include_str!("quotes.md"), &[])),
        new_conversation(decision),
        interrupted(package),
        Some(task),
        Some(behalf_of(&quick.author.name)),
    ])
}
