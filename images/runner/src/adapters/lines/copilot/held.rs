//! How Copilot CLI is held to the names of tools.

use crate::adapter::{Launch, LaunchLink, Place};
use crate::adapters::flags::{Reserved, Takes};
use crate::adapters::names::Kept;
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
/// By its flags, of which its stream shows whether they hold.
pub(super) const KEPT: Kept = Kept {
    program: "copilot",
    how: "a version whose flags --available-tools and --excluded-tools hold, as 1.0.102 is",
    // Its sub-agents, which have tools of their own.
    away: &["task"],
    // As it was recorded.
    has_none: |tool, said| said == format!("Tool '{tool}' does not exist."),
};

/// The tools that are taken away, and those that alone are left, if any. Its own have small letters.
pub(super) fn names(launch: &Launch) -> (Vec<String>, Vec<String>) {
    let spellings = |name: &str| {
        let small = name.to_lowercase();
        let other = (small != name).then(|| name.to_owned());
        [small].into_iter().chain(other)
    };
    let away = KEPT.away.iter().copied();
    let denied = away.chain(launch.tools.denied_tools());
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
