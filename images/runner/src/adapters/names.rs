//! Whether a program keeps to the names of tools that were left to it. It is held to them by itself; that it tells of each
//! use shows whether it is.

use std::collections::BTreeMap;

use protocol::FailureClass;

use super::ending::Fault;
use crate::adapter::Launch;

/// Such calls at once.
const OPEN: usize = 256;

/// What a program keeps to, and what it says of a tool that it should not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) program: &'static str,
    /// Of which version it has to be.
    pub(super) how: &'static str,
    /// Tools that are taken away too.
    pub(super) away: &'static [&'static str],
    /// True for what it says of a tool that it does not have: then it did nothing.
    pub(super) has_none: fn(tool: &str, said: &str) -> bool,
}

/// The names of one run. Without a policy nothing is looked at.
#[derive(Debug, Default)]
pub(super) struct Names {
    kept: Option<Kept>,
    denied: Vec<String>,
    /// Empty for all others.
    allowed: Vec<String>,
    /// Calls of tools that it should not have, by which it must do nothing, with their tools.
    open: BTreeMap<String, String>,
}

impl Names {
    pub(super) fn of(launch: &Launch, kept: Kept) -> Self {
        if launch.tools.is_empty() {
            return Self::default();
        }
        let away = kept.away.iter().copied();
        Self {
            kept: Some(kept),
            denied: away
                .chain(launch.tools.denied_tools())
                .map(str::to_owned)
                .collect(),
            allowed: launch.tools.allow.clone(),
            open: BTreeMap::new(),
        }
    }

    /// A call begins. Some say so of tools too that they do not have.
    pub(super) fn begins(&mut self, call: &str, tool: &str) -> Option<Fault> {
        let kept = self.kept?;
        let is_in = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(tool));
        if !is_in(&self.denied) && (self.allowed.is_empty() || is_in(&self.allowed)) {
            return None;
        }
        if self.open.len() == OPEN {
            return Some(passed(kept, tool));
        }
        self.open.insert(call.to_owned(), tool.to_owned());
        None
    }

    /// A call is over: the end of the run, when it was of a tool that it should not have.
    pub(super) fn ends(&mut self, call: &str, failed_with: Option<&str>) -> Option<Fault> {
        let (kept, tool) = (self.kept?, self.open.remove(call)?);
        let nothing = failed_with.is_some_and(|said| (kept.has_none)(&tool, said));
        (!nothing).then(|| passed(kept, &tool))
    }

    /// The same of a call that was never over.
    pub(super) fn left(&self) -> Option<Fault> {
        let kept = self.kept?;
        self.open.values().next().map(|tool| passed(kept, tool))
    }
}

fn passed(kept: Kept, tool: &str) -> Fault {
    let message = format!(
        "{} used a tool that was taken away from it ({tool}), so the agent cannot be held to its tools: it has to be of {}",
        kept.program, kept.how
    );
    Fault::new(FailureClass::CliCrashed, message)
}

#[cfg(test)]
mod tests {
    use protocol::tools::ToolPolicy;

    use super::*;
    use crate::testing::{launch, words};

    const KEPT: Kept = Kept {
        program: "some",
        how: "a version that keeps to it",
        away: &["task"],
        has_none: |tool, said| said == format!("Tool '{tool}' does not exist."),
    };

    fn held(allow: &[&str], deny: &[&str]) -> Names {
        let tools = ToolPolicy {
            allow: words(allow),
            deny: words(deny),
            ..ToolPolicy::default()
        };
        Names::of(&Launch { tools, ..launch() }, KEPT)
    }

    #[test]
    fn a_tool_outside_the_names_does_nothing_or_ends_the_run() {
        for (allow, deny, tool, outside) in [
            (vec![], vec!["Bash"], "bash", true),
            (vec![], vec!["Bash"], "view", false),
            (vec!["View"], vec![], "view", false),
            (vec!["View"], vec![], "bash", true),
            (vec!["View"], vec!["view"], "view", true),
            (vec![], vec!["bash"], "task", true),
            (vec![], vec![], "task", false),
        ] {
            let context = format!("{allow:?} {deny:?} {tool}");
            let refused = format!("Tool '{tool}' does not exist.");
            for (failed_with, ends) in [
                (None, outside),
                (Some("Path 'x' does not exist."), outside),
                (Some(refused.as_str()), false),
            ] {
                let mut names = held(&allow, &deny);
                assert!(names.begins("1", tool).is_none(), "{context}");
                assert_eq!(names.left().is_some(), outside, "{context}");
                let fault = names.ends("1", failed_with);
                assert_eq!(fault.is_some(), ends, "{context} {failed_with:?}");
                assert!(names.left().is_none());
            }
        }
    }

    #[test]
    fn calls_are_remembered_within_bounds() {
        let mut names = held(&[], &["bash"]);
        for call in 0..OPEN {
            assert!(names.begins(&call.to_string(), "bash").is_none());
        }
        assert!(names.begins("one more", "bash").is_some());
    }
}
