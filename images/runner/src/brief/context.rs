//! The first layer: who the agent is and how it works here.

use std::path::Path;

use protocol::{Package, Subject};

use super::sections;
use super::template::fill;

/// What stands in the context file. Nothing in it is of one turn, or of one issue.
///
/// `tame` is applied to what others wrote.
#[must_use]
pub fn context(package: &Package, tame: impl Fn(&str) -> String) -> String {
    let agent = &package.agent;
    let name = tame(&agent.display_name).replace('\n', " ");
    let instructions = tame(agent.instructions.trim());
    let on_issue = package.subject.kind == Subject::ISSUE;
    let is_quick = package.subject.kind == Subject::QUICK_ISSUE;
    let (answer, commands) = match package.subject.kind.as_str() {
        Subject::ISSUE => (
            include_str!("answer_comment.md"),
            include_str!("commands_comment.md"),
        ),
        Subject::CHAT => (
            include_str!("answer_chat.md"),
            include_str!("commands_chat.md"),
        ),
        Subject::QUICK_ISSUE => (
            include_str!("answer_quick.md"),
            include_str!("commands_quick.md"),
        ),
        _ => (
            include_str!("answer_message.md"),
            include_str!("commands_message.md"),
        ),
    };
    let whole = |template: &str| Some(fill(template, &[]));
    sections([
        Some(fill(include_str!("who.md"), &[("name", &name)])),
        (!instructions.is_empty()).then(|| {
            fill(
                include_str!("instructions.md"),
                &[("instructions", &instructions)],
            )
        }),
        Some(fill(
            include_str!("rules.md"),
            &[("answer", answer.trim_end())],
        )),
        whole(include_str!("steps.md")).filter(|_| on_issue),
        whole(include_str!("hand_over.md")).filter(|_| on_issue),
        whole(include_str!("steps_quick.md")).filter(|_| is_quick),
        whole(commands),
    ])
}

/// The same for a conversation that goes on, with its skills, which lie in this folder.
#[must_use]
pub fn standing(package: &Package, skills: &Path) -> String {
    let place = |name: &String| format!("`{}`", skills.join(name).display());
    let all: Vec<_> = package.agent.skills.iter().map(place).collect();
    let context = context(package, str::to_owned);
    sections([
        Some(fill(include_str!("standing.md"), &[("context", &context)])),
        (!all.is_empty()).then(|| fill(include_str!("skills.md"), &[("skills", &all.join(", "))])),
    ])
}
