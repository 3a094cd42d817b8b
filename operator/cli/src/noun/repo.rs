//! `moor repo`: the repositories of the project that an agent works for.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use client::Caller;
use protocol::board::{Page, Repository};
use protocol::runner::WhoAmI;
use protocol::{SessionId, Subject, paths};

use crate::checkout::{self, Checkout, Place, State};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::settings::Settings;
use crate::table::Table;
use crate::text;

/// Folder of the caches beside the working directory.
const CACHES: &str = "repos";
/// The working directory beside `$HOME`.
const WORK: &str = "work";
/// Characters that the subject gives a branch's name.
const SUBJECT_CHARS: usize = 40;
/// Characters that the session gives it. The end of an id tells apart what was made in the same moment.
const SESSION_CHARS: usize = 8;
/// Bytes of what git asks a credential helper, and of one file of a Secret.
const ASKED_BYTES: u64 = 64 * 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the repositories of the issue's project.
    List,
    /// Brings a repository into the working directory, on a branch of your own.
    ///
    /// Work that is there is never touched: what is not committed or not pushed stays as it is.
    Checkout(Start),
    /// Tells git how to log in. Git itself asks this.
    #[command(hide = true)]
    Credential(Credential),
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// Name of the repository; not needed where the project has one.
    name: Option<String>,
    /// The branch on which a new one begins, instead of the repository's own.
    #[arg(long, value_name = "BRANCH")]
    from: Option<String>,
    /// The folder beside which the working directory is.
    #[arg(long, env = "HOME", hide = true)]
    home: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Credential {
    /// The repository for which the login is.
    #[arg(long)]
    url: String,
    /// Where its Secret is mounted.
    #[arg(long)]
    folder: PathBuf,
    /// What git wants: get, store or erase.
    operation: String,
}

impl Verb {
    pub(super) async fn run(
        &self,
        settings: &Settings,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        match self {
            Self::Credential(credential) => credential.run(out),
            Self::List => {
                let (_, items) = repositories(&Session::open(settings).await?).await?;
                let page = Page { items, next: None };
                out.page(&page, |each| each.name.clone(), table)
            }
            Self::Checkout(start) => start.run(&Session::open(settings).await?, out).await,
        }
    }
}

/// The agent, and what its issue's project is about.
async fn repositories(session: &Session) -> Result<(WhoAmI, Vec<Repository>), Failure> {
    let me = match session.client.caller(&session.token).await? {
        Caller::Agent(me) => me,
        Caller::Person(_) => {
            return Err(Failure::Usage(
                "this is for agents in their pods: `moor project get` says where a repository is, and git brings it"
                    .to_owned(),
            ));
        }
    };
    let board = session.board()?;
    let project = match me.subject.kind == Subject::ISSUE {
        true => board.issue(&session.issue(None).await?).await?.project,
        false => None,
    };
    let Some(project) = project else {
        return Err(Failure::Usage(
            "the issue belongs to no project, so there is no repository: a person can put it into one with `moor \
             issue edit --project`"
                .to_owned(),
        ));
    };
    Ok((me, board.project(&project).await?.repositories))
}

impl Start {
    async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        if !self.from.as_deref().is_none_or(protocol::board::is_branch) {
            return Err(Failure::Usage(
                "--from takes the name of a branch".to_owned(),
            ));
        }
        let (me, all) = repositories(session).await?;
        let repository = chosen(&all, self.name.as_deref())?;
        let root = self.home.parent().unwrap_or(Path::new("/"));
        let moor = std::env::current_exe().map_err(Failure::Runtime)?;
        let place = Place {
            caches: root.join(CACHES),
            work: root.join(WORK),
            branch: branch(&me.agent, &me.subject.name, me.session),
            author: (
                text::line(&me.display_name),
                format!("{}@{}.mooring.invalid", me.agent, me.namespace),
            ),
            moor,
            secrets: PathBuf::from(paths::GIT_SECRETS),
        };
        let done = checkout::checkout(&place, repository, self.from.as_deref()).await?;
        out.show(&done, |done| done.path.display().to_string(), describe)
    }
}

impl Credential {
    fn run(&self, out: &mut Output<'_>) -> Result<(), Failure> {
        // There is nothing to keep and nothing to forget.
        if self.operation != "get" {
            return Ok(());
        }
        let mut asked = String::new();
        std::io::stdin()
            .take(ASKED_BYTES)
            .read_to_string(&mut asked)
            .map_err(|cause| Failure::Input {
                path: PathBuf::from("standard input"),
                cause,
            })?;
        match answer(&asked, &self.url, &self.folder)? {
            Some(login) => out.print(&login),
            None => Ok(()),
        }
    }
}

/// What git is told: the login, if it asks for the server of this repository and for no other one.
fn answer(asked: &str, url: &str, folder: &Path) -> Result<Option<String>, Failure> {
    let value = |name: &str| {
        let line = |line: &str| {
            line.strip_prefix(name)?
                .strip_prefix('=')
                .map(str::to_owned)
        };
        asked.lines().find_map(line)
    };
    let server = url.split_once("://").map(|(scheme, rest)| {
        let host = rest.split('/').next().unwrap_or_default();
        (scheme.to_owned(), host.to_owned())
    });
    if server.is_none() || value("protocol").zip(value("host")) != server {
        return Ok(None);
    }
    let part = |name: &str| {
        let file = std::fs::File::open(folder.join(name)).ok()?;
        let mut content = String::new();
        file.take(ASKED_BYTES).read_to_string(&mut content).ok()?;
        let content = content.trim_end_matches(['\n', '\r']).to_owned();
        (!content.is_empty() && !content.contains(['\n', '\0'])).then_some(content)
    };
    let Some(password) = part("password") else {
        let secret = folder.file_name().unwrap_or_default().to_string_lossy();
        return Err(Failure::Git(format!(
            "the Secret {secret} is not there, or has no key `password`: a person has to make it in this namespace, of \
             the type kubernetes.io/basic-auth"
        )));
    };
    let user = part("username").unwrap_or_else(|| "git".to_owned());
    Ok(Some(format!("username={user}\npassword={password}\n")))
}

fn chosen<'a>(all: &'a [Repository], name: Option<&str>) -> Result<&'a Repository, Failure> {
    let names = || {
        let names: Vec<_> = all.iter().map(|each| each.name.as_str()).collect();
        names.join(", ")
    };
    match (name, all) {
        (_, []) => Err(Failure::Usage("the project has no repository".to_owned())),
        (Some(name), all) => all.iter().find(|each| each.name == name).ok_or_else(|| {
            Failure::Usage(format!("no repository is called {name:?}: {}", names()))
        }),
        (None, [one]) => Ok(one),
        (None, _) => Err(Failure::Usage(format!("which repository? {}", names()))),
    }
}

/// The agent's branch: by its name one sees who works on what, and two sessions never share one.
fn branch(agent: &str, subject: &str, session: SessionId) -> String {
    let mut words = String::new();
    for each in subject.chars().take(SUBJECT_CHARS) {
        if each.is_ascii_alphanumeric() {
            words.push(each.to_ascii_lowercase());
        } else if !words.ends_with('-') {
            words.push('-');
        }
    }
    let session = session.0.simple().to_string();
    let end = &session[session.len() - SESSION_CHARS..];
    format!("agent/{agent}/{}-{end}", words.trim_matches('-'))
}

fn table(repositories: &[Repository]) -> Table<3> {
    let rows = repositories.iter().map(|each| {
        [
            each.name.clone(),
            each.default_branch.clone().unwrap_or_default(),
            each.url.clone(),
        ]
    });
    Table::new(["NAME", "BRANCH", "URL"], rows)
}

fn describe(done: &Checkout) -> String {
    let branch = match done.branch.as_str() {
        "" => "no branch".to_owned(),
        branch => format!("branch {branch}"),
    };
    let state = match done.state {
        State::New => "was brought in".to_owned(),
        State::Current => "is as the server has it".to_owned(),
        State::Kept => format!(
            "was left as it is: {} uncommitted changes, {} commits that are not pushed",
            done.uncommitted, done.unpushed
        ),
    };
    text::line(&format!("{} {branch}: it {state}", done.path.display())) + "\n"
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_branch_says_who_works_on_what() {
        let session = SessionId(Uuid::from_u128(0xabcd_1234));
        for (subject, wanted) in [
            ("TEAM-12", "agent/coder/team-12-abcd1234"),
            ("a  b/../c", "agent/coder/a-b-c-abcd1234"),
            ("ü", "agent/coder/-abcd1234"),
        ] {
            let name = branch("coder", subject, session);
            assert_eq!(name, wanted);
            assert!(protocol::board::is_branch(&name), "{name}");
        }
    }

    #[test]
    fn a_login_is_told_for_its_own_server_only() {
        let folder = tempfile::tempdir().unwrap();
        let url = "https://git.example.com:8443/team/app.git";
        let ask = |protocol: &str, host: &str| {
            let asked = format!("protocol={protocol}\nhost={host}\n\n");
            answer(&asked, url, folder.path())
        };
        let missing = ask("https", "git.example.com:8443").unwrap_err();
        assert!(missing.words().contains("has no key `password`"));
        std::fs::write(folder.path().join("password"), "hunter2\n").unwrap();
        let told = |user: &str| Some(format!("username={user}\npassword=hunter2\n"));
        assert_eq!(ask("https", "git.example.com:8443").unwrap(), told("git"));
        std::fs::write(folder.path().join("username"), "bot").unwrap();
        assert_eq!(ask("https", "git.example.com:8443").unwrap(), told("bot"));
        for (protocol, host) in [
            ("http", "git.example.com:8443"),
            ("https", "git.example.com"),
            ("https", "evil.example.com"),
        ] {
            assert_eq!(ask(protocol, host).unwrap(), None, "{protocol} {host}");
        }
        // Git reads lines: a value must not bring one of its own.
        std::fs::write(folder.path().join("password"), "a\nquit=1").unwrap();
        assert!(ask("https", "git.example.com:8443").is_err());
    }

    #[test]
    fn one_repository_needs_no_name() {
        let repository = |name: &str| Repository {
            name: name.to_owned(),
            url: "https://h/x".to_owned(),
            default_branch: None,
            credentials: None,
        };
        let two = [repository("app"), repository("docs")];
        assert_eq!(chosen(&two[..1], None).unwrap().name, "app");
        assert_eq!(chosen(&two, Some("docs")).unwrap().name, "docs");
        for (all, name, wanted) in [
            (&two[..], None, "which repository? app, docs"),
            (&two[..], Some("x"), "no repository is called"),
            (&[][..], None, "has no repository"),
        ] {
            let words = chosen(all, name).unwrap_err().words();
            assert!(words.contains(wanted), "{words}");
        }
    }
}
