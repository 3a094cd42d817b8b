//! What can be asked, one file a noun.

mod agent;
mod approval;
mod attachment;
mod chat;
mod comment;
mod completion;
mod config;
mod inbox;
mod issue;
mod login;
mod member;
mod project;
mod repo;
mod run;
mod runtime;
mod schedule;
mod skill;
mod task;
mod team;
mod token;
mod usage;
mod version;
mod wakes;
mod webhook;
mod when;
mod whoami;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use client::PageQuery;
use protocol::board::{IssueKey, IssueStatus};
use protocol::limits;

use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::settings::Settings;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Issues: what is to be done, by whom, and where it stands.
    Issue {
        #[command(subcommand)]
        verb: issue::Verb,
    },
    /// Comments: how people and agents talk. A mention in one wakes an agent.
    Comment {
        #[command(subcommand)]
        verb: comment::Verb,
    },
    /// Chats: you and one agent, and nobody else.
    Chat {
        #[command(subcommand)]
        verb: chat::Verb,
    },
    /// Tasks: the runs of agents.
    Task {
        #[command(subcommand)]
        verb: task::Verb,
    },
    /// Agents of the workspace.
    Agent {
        #[command(subcommand)]
        verb: agent::Verb,
    },
    /// Teams of agents: who leads them and who is in them.
    Team {
        #[command(subcommand)]
        verb: team::Verb,
    },
    /// People of the workspace.
    Member {
        #[command(subcommand)]
        verb: member::Verb,
    },
    /// Attachments: files on issues.
    Attachment {
        #[command(subcommand)]
        verb: attachment::Verb,
    },
    /// Projects: issues that belong together, and the repositories that they are about.
    Project {
        #[command(subcommand)]
        verb: project::Verb,
    },
    /// Skills: what agents can load when they need it.
    Skill {
        #[command(subcommand)]
        verb: skill::Verb,
    },
    /// Schedules: work that begins by the clock.
    Schedule {
        #[command(subcommand)]
        verb: schedule::Verb,
    },
    /// Webhooks: what other systems send.
    Webhook {
        #[command(subcommand)]
        verb: webhook::Verb,
    },
    /// Runtimes: on what agents run.
    Runtime {
        #[command(subcommand)]
        verb: runtime::Verb,
    },
    /// Repositories of the project, in the working directory of an agent.
    Repo {
        #[command(subcommand)]
        verb: repo::Verb,
    },
    /// What you should look at.
    Inbox {
        #[command(subcommand)]
        verb: inbox::Verb,
    },
    /// Approvals: uses of tools for which agents wait for a decision.
    Approval {
        #[command(subcommand)]
        verb: approval::Verb,
    },
    /// Your tokens.
    Token {
        #[command(subcommand)]
        verb: token::Verb,
    },
    /// Makes a token with a kubeconfig, and keeps it.
    ///
    /// Any way in which the kubeconfig proves who you are will do: certificate, token, cloud login. It proves it
    /// to the cluster; the API learns your name from there, and no credential of the cluster leaves this machine.
    ///
    /// The API is reached by a port that is forwarded through the cluster for as long as each command runs; with
    /// --server at that address, whose certificate is checked against --ca, or else against the CA that the
    /// cluster publishes.
    Login(login::Login),
    /// Says whose token this is.
    Whoami,
    /// What `moor login` keeps.
    Config {
        #[command(subcommand)]
        verb: Option<config::Verb>,
    },
    /// Says the version of this program.
    Version,
    /// Writes what a shell needs to complete commands: `source <(moor completion bash)`.
    Completion(completion::Completion),
}

impl Command {
    /// Does it. `line` is the command line that was understood, for completion.
    pub(crate) async fn run(
        &self,
        settings: &Settings,
        line: clap::Command,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let open = async || Session::open(settings).await;
        match self {
            Self::Issue { verb } => verb.run(&open().await?, out).await,
            Self::Comment { verb } => verb.run(&open().await?, out).await,
            Self::Chat { verb } => verb.run(&open().await?, out).await,
            Self::Task { verb } => verb.run(settings, out).await,
            Self::Agent { verb } => verb.run(&open().await?, out).await,
            Self::Team { verb } => verb.run(&open().await?, out).await,
            Self::Member { verb } => verb.run(&open().await?, out).await,
            Self::Attachment { verb } => verb.run(&open().await?, out).await,
            Self::Project { verb } => verb.run(&open().await?, out).await,
            Self::Skill { verb } => verb.run(&open().await?, out).await,
            Self::Schedule { verb } => verb.run(&open().await?, out).await,
            Self::Webhook { verb } => verb.run(&open().await?, out).await,
            Self::Runtime { verb } => verb.run(&open().await?, out).await,
            Self::Repo { verb } => verb.run(settings, out).await,
            Self::Inbox { verb } => verb.run(&open().await?, out).await,
            Self::Approval { verb } => verb.run(&open().await?, out).await,
            Self::Token { verb } => verb.run(&open().await?, out).await,
            Self::Login(login) => login.run(settings, out).await,
            Self::Whoami => whoami::run(&open().await?, out).await,
            Self::Config { verb } => config::run(verb.as_ref(), settings, out),
            Self::Version => version::run(out),
            Self::Completion(completion) => completion.run(line, out),
        }
    }
}

/// Which issue.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Key of the issue, like TEAM-12. In a task's pod, without one, the issue of the task.
    key: Option<IssueKey>,
}

impl Which {
    async fn key(&self, session: &Session) -> Result<IssueKey, Failure> {
        session.issue(self.key.as_ref()).await
    }
}

/// Which part of a list.
#[derive(Debug, Args)]
pub(crate) struct Part {
    /// At most so many, up to 200.
    #[arg(long, value_name = "COUNT", value_parser = count())]
    limit: Option<u32>,
    /// Where to go on: the hint below the part before says it.
    #[arg(long)]
    cursor: Option<String>,
}

impl Part {
    fn query(&self) -> PageQuery {
        PageQuery {
            limit: self.limit,
            cursor: self.cursor.clone(),
        }
    }
}

/// A number of items that one page can hold.
fn count() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::PAGE_ITEMS))
}

/// A name of something of this kind that Kubernetes keeps: it goes into the path as it is.
fn resource_name(kind: &str, given: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=40).contains(&given.len()) && given.chars().all(fits) {
        return Ok(given.to_owned());
    }
    Err(format!(
        "a {kind}'s name has up to 40 lower-case letters, digits and hyphens; `moor {kind} list` shows them"
    ))
}

/// A status, its words joined in either way.
fn status() -> impl TypedValueParser<Value = IssueStatus> {
    let words = IssueStatus::ALL.map(|status| {
        let word = status.as_str();
        PossibleValue::new(word).alias(word.replace('_', "-"))
    });
    PossibleValuesParser::new(words)
        .try_map(|word| IssueStatus::parse(&word.replace('-', "_")).ok_or("this is no status"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_go_into_a_path() {
        for wrong in ["", "..", "a/b", "A", "a?b"] {
            assert!(resource_name("team", wrong).is_err(), "{wrong}");
        }
        assert_eq!(resource_name("team", "core-2").as_deref(), Ok("core-2"));
    }
}
