//! What the token of a task allows. In a task's pod help and completion know nothing else.

use clap::Command;
use protocol::TokenScope;

/// Nouns, or a noun and a verb. The API decides; this says it before one asks.
const OF_A_TASK: &[&str] = &[
    "issue list",
    "issue get",
    "issue create",
    "issue edit",
    "issue assign",
    "issue status",
    "issue children",
    "issue search",
    "issue runs",
    "issue timeline",
    "issue usage",
    "comment list",
    "comment add",
    "comment edit",
    "comment delete",
    "comment resolve",
    "chat show",
    "task get",
    "agent list",
    "team list",
    "team get",
    "member list",
    "skill list",
    "skill get",
    "project list",
    "project get",
    "attachment list",
    "attachment add",
    "attachment get",
    "attachment delete",
    "repo list",
    "repo checkout",
    "repo credential",
    "whoami",
    "version",
    "completion",
];

/// Those of them that the token of an agent allows which sees more than its issue.
const OF_A_WIDER_SCOPE: &[&str] = &["issue list"];

/// Settings that the pod is given, and that nobody there needs to know of.
const GIVEN: [&str; 6] = [
    "workspace",
    "server",
    "ca",
    "tls_name",
    "token_file",
    "config_home",
];

/// The command line without what a task may not do whose token reaches so far.
pub(crate) fn of_a_task(whole: &Command, scope: TokenScope) -> Command {
    let nouns = whole
        .get_subcommands()
        .filter_map(|noun| of_noun(noun, noun.get_name(), scope));
    without_subcommands(whole).subcommands(nouns)
}

fn of_noun(noun: &Command, name: &str, scope: TokenScope) -> Option<Command> {
    if is_allowed(name, scope) {
        return Some(noun.clone());
    }
    let verbs: Vec<Command> = noun
        .get_subcommands()
        .filter(|verb| is_allowed(&format!("{name} {}", verb.get_name()), scope))
        .cloned()
        .collect();
    (!verbs.is_empty()).then(|| without_subcommands(noun).subcommands(verbs))
}

fn is_allowed(name: &str, scope: TokenScope) -> bool {
    let sees_more = match scope {
        TokenScope::Issue => false,
        TokenScope::Project | TokenScope::Workspace => true,
    };
    OF_A_TASK.contains(&name) && (sees_more || !OF_A_WIDER_SCOPE.contains(&name))
}

/// A command can be given subcommands, and none can be taken from it; so it is made again.
fn without_subcommands(command: &Command) -> Command {
    let mut bare = Command::new(command.get_name().to_owned())
        .args(command.get_arguments().cloned().map(|argument| {
            let given = GIVEN.contains(&argument.get_id().as_str());
            argument.hide(given)
        }))
        .groups(command.get_groups().cloned())
        .subcommand_required(command.is_subcommand_required_set())
        .arg_required_else_help(command.is_arg_required_else_help_set());
    if let Some(about) = command.get_about() {
        bare = bare.about(about.clone());
    }
    if let Some(about) = command.get_long_about() {
        bare = bare.long_about(about.clone());
    }
    if let Some(version) = command.get_version() {
        bare = bare.version(version.to_owned());
    }
    bare
}

/// The noun and verb of a command line that was understood.
pub(crate) fn name(matches: &clap::ArgMatches) -> String {
    let mut words = Vec::new();
    let mut matches = Some(matches);
    while let Some((name, inner)) = matches.and_then(clap::ArgMatches::subcommand) {
        words.push(name);
        matches = Some(inner);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Arguments;

    #[test]
    fn every_name_of_the_list_exists() {
        let whole = Arguments::command();
        for name in OF_A_TASK {
            let found = name
                .split(' ')
                .try_fold(&whole, |command, word| command.find_subcommand(word));
            assert!(found.is_some(), "{name}");
        }
        for name in GIVEN {
            assert!(
                whole
                    .get_arguments()
                    .any(|argument| argument.get_id() == name),
                "{name}"
            );
        }
    }

    #[test]
    fn nothing_else_is_left() {
        let mut left = Vec::new();
        for noun in of_a_task(&Arguments::command(), TokenScope::Project).get_subcommands() {
            let verbs: Vec<_> = noun.get_subcommands().collect();
            if verbs.is_empty() {
                left.push(noun.get_name().to_owned());
            }
            for verb in verbs {
                left.push(format!("{} {}", noun.get_name(), verb.get_name()));
            }
        }
        left.sort();
        let mut wanted = OF_A_TASK.to_vec();
        wanted.sort_unstable();
        assert_eq!(left, wanted);
    }
}
