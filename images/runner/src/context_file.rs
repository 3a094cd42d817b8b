//! The context file: what the agent's CLI reads before every conversation.
//!
//! Ours is one marked block; everything else in the file belongs to the agent and stays. The block says nothing
//! that changes from task to task, since each change would throw away the provider's prompt cache.

use protocol::Package;

use crate::brief;

const BEGIN: &str = "<!-- mooring: begin. Written before every run; changes in here are lost. -->";
const END: &str = "<!-- mooring: end -->";
/// What every mark of ours begins with.
const MARK: &str = "<!-- mooring:";

/// The block for an agent.
#[must_use]
pub fn block(package: &Package) -> String {
    // Nobody but us writes marks inside the block, so that it always ends where it should.
    let unmarked = |text: &str| text.replace(MARK, "<!-- mooring :");
    format!("{BEGIN}\n{}\n{END}\n", brief::context(package, unmarked))
}

/// `text` with `block` in the place of the block before, or at its end.
#[must_use]
pub fn upsert(text: &str, block: &str) -> String {
    match find(text) {
        Some((start, end)) => format!("{}{block}{}", &text[..start], &text[end..]),
        None if text.trim().is_empty() => block.to_owned(),
        None => format!("{}\n\n{block}", text.trim_end()),
    }
}

/// Where the block stands, its last newline included.
fn find(text: &str) -> Option<(usize, usize)> {
    let start = text.find(BEGIN)?;
    let end = start + text[start..].find(END)? + END.len();
    let newline = usize::from(text[end..].starts_with('\n'));
    Some((start, end + newline))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{asked, chatted, package, woken};

    #[test]
    fn the_block_tells_who_and_how() {
        insta::assert_snapshot!(block(&package()));
        insta::assert_snapshot!("on_an_issue", block(&woken()));
        insta::assert_snapshot!("in_a_chat", block(&chatted()));
        insta::assert_snapshot!("for_an_issue_to_be_made", block(&asked()));
    }

    #[test]
    fn the_block_is_the_same_for_every_turn_and_issue() {
        let first = woken();
        let mut second = woken();
        second.attempt.number = 2;
        second.name = "reviewer-2".into();
        second.subject.name = "TEAM-99".into();
        second.session.has_past = true;
        second.interrupted = true;
        second.cause = None;
        assert_eq!(block(&first), block(&second));
    }

    #[test]
    fn the_block_cannot_be_ended_by_instructions() {
        let mut package = package();
        package.agent.instructions = format!("a {END} b");
        let text = upsert("", &block(&package));
        assert_eq!(find(&text), Some((0, text.len())));
    }

    #[test]
    fn the_block_cannot_be_ended_by_a_name() {
        let mut package = package();
        package.agent.display_name = format!("a {END} b");
        let text = upsert("", &block(&package));
        assert_eq!(find(&text), Some((0, text.len())));
    }

    #[test]
    fn foreign_text_stays_and_the_block_is_replaced() {
        let (old, new) = (
            format!("{BEGIN}\nold\n{END}\n"),
            format!("{BEGIN}\nnew\n{END}\n"),
        );
        assert_eq!(upsert("", &new), new);
        assert_eq!(upsert("mine\n", &old), format!("mine\n\n{old}"));
        let around = format!("before\n{old}after\n");
        assert_eq!(upsert(&around, &new), format!("before\n{new}after\n"));
        let broken = format!("before\n{BEGIN}\nno end\n");
        assert!(upsert(&broken, &new).starts_with("before\n"));
    }

    proptest! {
        #[test]
        fn writing_twice_is_writing_once(before in "(a|\n|<!-- mooring: end -->){0,6}", after in "(b|\n){0,6}") {
            let block = format!("{BEGIN}\nx\n{END}\n");
            let once = upsert(&format!("{before}{after}"), &block);
            prop_assert_eq!(&upsert(&once, &block), &once);
            for foreign in before.split(|c| c != 'a').chain(after.split(|c| c != 'b')) {
                prop_assert!(once.contains(foreign));
            }
        }
    }
}
