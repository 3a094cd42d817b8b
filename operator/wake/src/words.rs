//! What Mooring itself writes into a thread.

use crate::guard::{Guard, Limits};
use crate::issue::ClosedStage;

/// Says that agents were stopped, and how to go on.
#[must_use]
pub fn stopped(guard: Guard, limits: Limits, by: &str, agent: &str) -> String {
    let why = match guard {
        Guard::Depth => format!(
            "agents have woken each other in a chain of {} without a person",
            limits.depth
        ),
        Guard::Runs => format!(
            "agents have caused {} runs on this issue within an hour without a person",
            limits.runs
        ),
        Guard::Rounds => format!(
            "`{by}` and `{agent}` have woken each other {} times without a person",
            limits.rounds
        ),
        Guard::Root => format!(
            "agents have caused {} runs, here and on other issues, since a person last said something",
            limits.root
        ),
    };
    format!(
        "Stopped: {why}, so `{agent}` was not woken by `{by}`. A comment of a person on this issue lets them go on; \
         mention the agent that is to work next."
    )
}

/// Says that parts of an issue are done.
#[must_use]
pub fn children_done(closed: ClosedStage, last: &str) -> String {
    match closed {
        ClosedStage::Unstaged => {
            format!("All sub-issues are closed; the last one was {last}.")
        }
        ClosedStage::UpTo(stage) => {
            format!("All sub-issues up to stage {stage} are closed; the last one was {last}.")
        }
    }
}

/// Says how the run ended that one agent asked of another; `failure` is the word for why it failed, `answered` that
/// its answer stands on its own issue.
#[must_use]
pub fn delegate_ended(agent: &str, issue: &str, failure: Option<&str>, answered: bool) -> String {
    match failure {
        None if answered => {
            format!("The run of `{agent}` on {issue} ended well; its answer is there.")
        }
        None => {
            format!("The run of `{agent}` on {issue} ended well, without a comment of its own.")
        }
        Some(class) => format!("The run of `{agent}` on {issue} failed: {class}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mention::mentions;

    #[test]
    fn nothing_that_mooring_says_names_anybody() {
        let mut said: Vec<_> = [Guard::Depth, Guard::Runs, Guard::Rounds, Guard::Root]
            .into_iter()
            .map(|guard| stopped(guard, Limits::default(), "a", "b"))
            .collect();
        said.push(children_done(ClosedStage::Unstaged, "TEAM-2"));
        said.push(children_done(ClosedStage::UpTo(3), "TEAM-2"));
        for answered in [false, true] {
            said.push(delegate_ended("a", "TEAM-1", None, answered));
        }
        said.push(delegate_ended("a", "TEAM-1", Some("OOMKilled"), false));
        for text in said {
            assert!(mentions(&text).is_empty(), "{text}");
            assert!(text.ends_with('.'), "{text}");
        }
    }
}
