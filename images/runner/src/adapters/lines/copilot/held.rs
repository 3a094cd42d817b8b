//! How Copilot CLI is held to the names of tools.

use crate::adapter::{Launch, LaunchLink, Place};
use crate::adapters::flags::{Reserved, Takes};
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

/// Its home where it is held to its tools: a folder in memory, new for each run, so that no hook, server, extension or
/// trusted folder in it is of the agent. Conversations and the skills that it is given stay where they are.
pub(super) fn home(launch: &Launch) -> (Vec<LaunchLink>, Values) {
    let place = Place {
        home: &launch.home,
        cwd: &launch.cwd,
        env: launch.env.variables(),
    };
    let folder = launch
        .private
        .join(format!("copilot-{}", launch.new_session));
    let usual = stores::folder(&place, "COPILOT_HOME", ".copilot");
    let kept = LaunchLink {
        path: folder.join("session-state"),
        to: usual.join("session-state"),
        folder: true,
    };
    let skills = launch.skills.iter().filter_map(|skill| {
        Some(LaunchLink {
            path: folder.join("skills").join(skill.file_name()?),
            to: skill.clone(),
            folder: false,
        })
    });
    let variables = [
        ("COPILOT_HOME", folder.display().to_string()),
        // Else it would trust the working directory, with its hooks and servers.
        ("COPILOT_ALLOW_ALL", "false".to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    (
        [kept].into_iter().chain(skills).collect(),
        Values(variables.to_vec()),
    )
}
