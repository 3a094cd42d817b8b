//! Agents that speak ACP, the Agent Client Protocol. One client drives them all: a
//! session is opened or gone on with, set up, and given one prompt, whose answer decides. What tells one agent
//! from another is a [`Dialect`] in a small file of its own.

mod claude_agent;
mod codex;
mod content;
mod dialect;
mod dim;
mod finish;
mod gate;
mod gemini;
mod generic;
mod grok;
mod hermes;
mod hooked;
mod kimi;
mod kiro;
mod mcode;
mod meter;
mod opening;
mod outside;
mod permissions;
mod qoder;
mod qwenpaw;
mod reasonix;
mod remarks;
mod run;
mod servers;
mod sessions;
mod set_up;
mod stderr;
mod tools;
mod traecli;
mod updates;
mod verdict;
mod vibe;
mod zeroclaw;

use std::path::PathBuf;

use self::dialect::{Dialect, Model};
use self::opening::without_lifted;
use self::run::Run;
use super::command::{Parts, option};
use crate::adapter::{Adapter, CommandLine, Ladder, Launch, Place, Provider, SkillList};
use crate::ledger::Ledger;

/// An agent that speaks ACP.
pub(super) struct Acp(&'static Dialect);

pub(super) const GEMINI: Acp = Acp(&gemini::DIALECT);
pub(super) const KIMI: Acp = Acp(&kimi::DIALECT);
pub(super) const VIBE: Acp = Acp(&vibe::DIALECT);
pub(super) const HERMES: Acp = Acp(&hermes::DIALECT);
pub(super) const CLAUDE_AGENT: Acp = Acp(&claude_agent::DIALECT);
pub(super) const CODEX: Acp = Acp(&codex::DIALECT);
pub(super) const REASONIX: Acp = Acp(&reasonix::DIALECT);
pub(super) const KIRO: Acp = Acp(&kiro::DIALECT);
pub(super) const QODER: Acp = Acp(&qoder::DIALECT);
pub(super) const QODERCLICN: Acp = Acp(&qoder::CN);
pub(super) const TRAECLI: Acp = Acp(&traecli::DIALECT);
pub(super) const GROK: Acp = Acp(&grok::DIALECT);
pub(super) const QWENPAW: Acp = Acp(&qwenpaw::DIALECT);
pub(super) const MCODE: Acp = Acp(&mcode::DIALECT);
pub(super) const DIM: Acp = Acp(&dim::DIALECT);
pub(super) const ZEROCLAW: Acp = Acp(&zeroclaw::DIALECT);
pub(super) const GENERIC: Acp = Acp(&generic::DIALECT);

impl Provider for Acp {
    fn id(&self) -> &'static str {
        self.0.id
    }

    fn context_file(&self) -> &'static str {
        self.0.context_file
    }

    fn reads_no_file(&self) -> bool {
        self.0.reads_no_file
    }

    fn skills(&self, place: &Place<'_>) -> PathBuf {
        (self.0.skills)(place)
    }

    fn skill_list(&self, place: &Place<'_>) -> Option<SkillList> {
        (self.0.skill_list)(place)
    }

    fn session_files(&self, place: &Place<'_>, session: &str) -> Vec<PathBuf> {
        (self.0.session_files)(place, session)
    }

    fn ledger(&self) -> Option<&'static Ledger> {
        self.0.ledger
    }

    fn ladder(&self) -> Ladder {
        self.0.ladder
    }

    fn launch(&self, launch: &Launch) -> (CommandLine, Box<dyn Adapter>) {
        (
            command_line(self.0, launch),
            Box::new(Run::new(self.0, launch)),
        )
    }
}

/// The command line of one run.
fn command_line(dialect: &Dialect, launch: &Launch) -> CommandLine {
    let mut args = dialect.args.to_vec();
    if let Model::Flag(flag) = dialect.model {
        args.extend(option(flag, launch.model.as_deref()));
    }
    if let Some(flag) = dialect.thinking {
        args.extend(option(flag, launch.thinking.as_deref()));
    }
    let root_env = if launch.root { dialect.root_env } else { &[] };
    let mut parts = Parts {
        program: dialect.program,
        reserved: dialect.reserved,
        args,
        last: dialect.last.to_vec(),
        env: [dialect.env, root_env].concat(),
        files: (dialect.files)(launch),
        ..Parts::default()
    };
    if !launch.tools.is_empty() {
        (dialect.held)(launch, &mut parts);
    }
    if dialect.lifted.is_empty() {
        return parts.line(launch);
    }
    parts.line(&Launch {
        args: without_lifted(dialect, &launch.args),
        custom_args: without_lifted(dialect, &launch.custom_args),
        ..launch.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{launch, words};

    /// Each with its command line, without and with all that can be added.
    const ALL: [(Acp, &str, &str); 17] = [
        (
            GEMINI,
            "gemini --acp --skip-trust",
            "gemini --acp --skip-trust -m m --extra 1",
        ),
        (KIMI, "kimi acp", "kimi acp --extra 1"),
        (VIBE, "vibe-acp", "vibe-acp --extra 1"),
        (HERMES, "hermes acp", "hermes acp --extra 1"),
        (
            CLAUDE_AGENT,
            "claude-agent-acp",
            "claude-agent-acp --extra 1",
        ),
        (CODEX, "codex-acp", "codex-acp --extra 1"),
        (
            REASONIX,
            "reasonix acp --planner auto --sandbox-network auto --sandbox-bash auto --workspace-only",
            "reasonix acp --planner auto --sandbox-network auto --sandbox-bash auto --workspace-only --extra 1",
        ),
        (
            KIRO,
            "kiro-cli acp --trust-all-tools",
            "kiro-cli acp --trust-all-tools --extra 1",
        ),
        (
            QODER,
            "qodercli --yolo --acp",
            "qodercli --yolo --acp --extra 1",
        ),
        (
            QODERCLICN,
            "qoderclicn --yolo --acp",
            "qoderclicn --yolo --acp --extra 1",
        ),
        (
            TRAECLI,
            "traecli acp serve --yolo",
            "traecli acp serve --yolo --extra 1",
        ),
        (
            GROK,
            "grok --no-auto-update agent --always-approve stdio",
            "grok --no-auto-update agent --always-approve --extra 1 stdio",
        ),
        (
            QWENPAW,
            "qwenpaw acp --local-diagnostics",
            "qwenpaw acp --local-diagnostics --extra 1",
        ),
        (MCODE, "mcode acp", "mcode acp --extra 1"),
        (DIM, "dim acp", "dim acp --extra 1"),
        (ZEROCLAW, "zeroclaw acp", "zeroclaw acp --extra 1"),
        (GENERIC, "acp", "acp --extra 1"),
    ];

    #[test]
    fn command_lines() {
        let full = Launch {
            args: words(&["--extra", "1"]),
            model: Some("m".to_owned()),
            ..launch()
        };
        for (acp, plain, with_all) in ALL {
            let argv = |launch| command_line(acp.0, launch).argv.join(" ");
            assert_eq!(
                (argv(&launch()).as_str(), argv(&full).as_str()),
                (plain, with_all)
            );
        }
        let other = Launch {
            command: words(&["agent", "--stdio"]),
            launch_prefix: words(&["acp", "x"]),
            ..launch()
        };
        assert_eq!(
            command_line(KIMI.0, &other).argv.join(" "),
            "agent --stdio acp x acp"
        );
    }

    #[test]
    fn reserved_flags_are_left_out_with_a_note() {
        for (acp, ..) in ALL {
            for (flag, _) in acp.0.reserved {
                let args = vec![format!("{flag}=v")];
                let line = command_line(acp.0, &Launch { args, ..launch() });
                assert_eq!(line.argv, command_line(acp.0, &launch()).argv, "{flag}");
                assert_eq!(line.notes.len(), 1, "{flag}");
            }
        }
    }

    #[test]
    fn only_root_calls_itself_a_sandbox() {
        let sandbox = |root| {
            let line = command_line(CLAUDE_AGENT.0, &Launch { root, ..launch() });
            line.env_defaults
                .iter()
                .any(|(name, _)| name == "IS_SANDBOX")
        };
        assert!(sandbox(true) && !sandbox(false));
    }
}
