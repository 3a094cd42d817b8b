//! What the agent is told by us: the context file before every conversation, and the first message of a turn.
//!
//! Three layers. The context file holds what stays the same from turn to turn, since providers put it at the
//! front of the conversation and every change throws away their cache. The first message holds what this turn
//! is about. Everything else, the issue and what was said on it, the agent reads itself. The texts are the
//! files beside this one, one for each section.

mod chat;
mod context;
mod message;
mod quote;
mod remark;
mod team;
mod template;

#[cfg(test)]
mod tests;

pub use context::{context, standing};
pub use message::message;
pub use remark::remark;

/// The sections that are there, with an empty line between two.
fn sections(all: impl IntoIterator<Item = Option<String>>) -> String {
    let there: Vec<String> = all.into_iter().flatten().collect();
    there.join("\n\n")
}
