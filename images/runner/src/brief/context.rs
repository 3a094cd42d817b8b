//! The first layer: who the agent is and how it works here.

use protocol::Package;

use super::sections;
use super::template::fill;

const ISSUE: &str = "Issue";

/// What stands in the context file. Nothing in it is of one turn, or of one issue.
///
/// `tame` is applied to what others wrote.
#[must_use]
pub fn context(package: &Package, tame: impl Fn(&str) -> String) -> String {
    let agent = &package.agent;
    let name = tame(&agent.display_name).replace('\n', " ");
    let instructions = tame(agent.instructions.trim());
    let on_issue = package.subject.kind == ISSUE;
    let (answer, commands) = if on_issue {
        (
            include_str!("answer_comment.md"),
            include_str!("commands_comment.md"),
        )
    } else {
        (
            include_str!("answer_message.md"),
            include_str!("commands_message.md"),
        )
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
        whole(commands),
    ])
}
