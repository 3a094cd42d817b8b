//! How Copilot CLI is held to the names of tools.

use std::collections::BTreeMap;

use protocol::FailureClass;

use crate::adapter::{Launch, LaunchLink, Place};
use crate::adapters::ending::Fault;
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::own::Home;
use crate::adapters::stores;
use crate::mcp::Values;

/// Those that would bring back what is taken away, where it is held to its tools.
pub(super) const GATED: &Reserved = &[
    ("--allow-tool", Takes::Value),
    ("--deny-tool", Takes::Value),
    ("--available-tools", Takes::Value),
    ("--excluded-tools", Takes::Value),
    ("--plugin-dir", Takes::Value),
    ("--agent", Takes::Value),
];
/// Its sub-agents, which have tools of their own.
const AGENTS: &str = "task";
/// Such calls at once.
const OPEN: usize = 256;

/// The tools that are taken away, and those that alone are left, if any. Its own have small letters.
pub(super) fn names(launch: &Launch) -> (Vec<String>, Vec<String>) {
    let spellings = |name: &str| {
        let small = name.to_lowercase();
        let other = (small != name).then(|| name.to_owned());
        [small].into_iter().chain(other)
    };
    let denied = [AGENTS].into_iter().chain(launch.tools.denied_tools());
    let allowed = launch.tools.allow.iter().map(String::as_str);
    (
        denied.flat_map(spellings).collect(),
        allowed.flat_map(spellings).collect(),
    )
}

/// Its home where it is held to its tools. Conversations stay in the usual one.
pub(super) fn home(launch: &Launch) -> (Vec<LaunchLink>, Values) {
    let place = Place {
        home: &launch.home,
        cwd: &launch.cwd,
        env: launch.env.variables(),
    };
    let usual = stores::folder(&place, "COPILOT_HOME", ".copilot");
    let Home { folder, links } = Home::new(launch, "copilot", &usual, &[("session-state", true)]);
    let variables = [
        ("COPILOT_HOME", folder.display().to_string()),
        // Else it would trust the working directory, with its hooks and servers.
        ("COPILOT_ALLOW_ALL", "false".to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    (links, Values(variables.to_vec()))
}

/// Whether it keeps to the names. Without a policy nothing is looked at.
#[derive(Default)]
pub(super) struct Names {
    holds: bool,
    denied: Vec<String>,
    /// Empty for all others.
    allowed: Vec<String>,
    /// Calls of tools that it should not have, by which it must do nothing, with their tools.
    open: BTreeMap<String, String>,
}

impl Names {
    pub(super) fn of(launch: &Launch) -> Self {
        let (denied, allowed) = names(launch);
        Self {
            holds: !launch.tools.is_empty(),
            denied,
            allowed,
            open: BTreeMap::new(),
        }
    }

    /// A call begins. It says so of tools too that it does not have.
    pub(super) fn begins(&mut self, call: &str, tool: &str) -> Option<Fault> {
        let is_in = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(tool));
        let may = !is_in(&self.denied) && (self.allowed.is_empty() || is_in(&self.allowed));
        if !self.holds || may {
            return None;
        }
        if self.open.len() == OPEN {
            return Some(passed(tool));
        }
        self.open.insert(call.to_owned(), tool.to_owned());
        None
    }

    /// A call is over: the end of the run, when it was of a tool that it should not have.
    pub(super) fn ends(&mut self, call: &str, failed_with: Option<&str>) -> Option<Fault> {
        let tool = self.open.remove(call)?;
        let has_none = format!("Tool '{tool}' does not exist.");
        (failed_with != Some(has_none.as_str())).then(|| passed(&tool))
    }

    /// The same of a call that was never over.
    pub(super) fn left(&self) -> Option<Fault> {
        self.open.values().next().map(|tool| passed(tool))
    }
}

fn passed(what: &str) -> Fault {
    let message = format!(
        "copilot used a tool that was taken away from it ({what}), so the agent cannot be held to its tools: it has to be of \
         a version whose flags --available-tools and --excluded-tools hold, as 1.0.102 is"
    );
    Fault::new(FailureClass::CliCrashed, message)
}

#[cfg(test)]
mod tests {
    use protocol::tools::ToolPolicy;

    use super::*;
    use crate::testing::{launch, words};

    fn held(allow: &[&str], deny: &[&str]) -> Names {
        Names::of(&Launch {
            tools: ToolPolicy {
                allow: words(allow),
                deny: words(deny),
                ..ToolPolicy::default()
            },
            ..launch()
        })
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
            // The last is what it says of a tool that it does not have, as it was recorded.
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
