//! Projects: issues that belong together, and the repositories that they are about.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Author;
use crate::limits;

/// A project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// What issues call it, for ever: see [`is_project_name`].
    pub name: String,
    /// One line.
    pub title: String,
    /// Markdown.
    pub description: String,
    /// What its issues are about, each under a name of its own.
    pub repositories: Vec<Repository>,
    /// Who made it.
    pub creator: Author,
    /// Rises with every change.
    pub revision: u32,
    /// When it was made.
    pub created: Timestamp,
    /// When it was last changed.
    pub updated: Timestamp,
}

/// A Git repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Repository {
    /// What its folder is called: see [`is_project_name`].
    pub name: String,
    /// `https://` or `ssh://`, without a password.
    pub url: String,
    /// Where work begins. Absent: where the remote's HEAD is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
    /// Name of a Secret of the workspace, which is mounted into the pods of agents that work for the project. It
    /// begins with [`SECRET_PREFIX`], so that nobody can have another one mounted by naming it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
}

/// How the names of Secrets begin that a repository may name.
pub const SECRET_PREFIX: &str = "git-";
/// Bytes of the name of a project or repository.
const NAME_BYTES: usize = 40;
/// Bytes of a Secret's name; longer ones no volume could be called after.
const SECRET_BYTES: usize = 63;
/// Bytes of the address of a repository.
const URL_BYTES: usize = 500;
/// Bytes of the name of a branch.
const BRANCH_BYTES: usize = 200;

/// `POST projects`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewProject {
    /// What issues call it; it never changes.
    pub name: String,
    /// One line, not empty.
    pub title: String,
    /// Markdown.
    #[serde(default)]
    pub description: String,
    /// What its issues are about.
    #[serde(default)]
    pub repositories: Vec<Repository>,
}

/// Query of `DELETE projects/{name}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectEnd {
    /// True takes issues that belong to it out of it before. Otherwise it stays as long as there are any.
    #[serde(default)]
    pub detach: bool,
}

/// `PATCH projects/{name}`. What is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectEdit {
    /// The revision that was read; 409 when it is not the present one. Absent: whatever stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// One line, not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// All of them: those that are not in the list are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repositories: Option<Vec<Repository>>,
}

/// True for lower-case letters, digits and hyphens between them, at most 40: what can stand in a path and be the
/// name of a folder.
#[must_use]
pub fn is_project_name(name: &str) -> bool {
    name.len() <= NAME_BYTES && is_label(name)
}

/// What is wrong with the repositories of a project.
///
/// # Errors
/// The first thing that is, in words for who wrote it.
pub fn check_repositories(all: &[Repository]) -> Result<(), String> {
    if all.len() > limits::REPOSITORIES {
        return Err(format!(
            "there are {} of them, and a project has at most {}",
            all.len(),
            limits::REPOSITORIES
        ));
    }
    for (at, repository) in all.iter().enumerate() {
        let name = &repository.name;
        if !is_project_name(name) {
            return Err(
                "a repository is called by at most 40 lower-case letters, digits and hyphens"
                    .to_owned(),
            );
        }
        if all[..at].iter().any(|earlier| earlier.name == *name) {
            return Err(format!("two of them are called {name}"));
        }
        repository.check().map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

impl Repository {
    fn check(&self) -> Result<(), &'static str> {
        check_url(&self.url)?;
        if !self.default_branch.as_deref().is_none_or(is_branch) {
            return Err("its default branch is no name of a branch");
        }
        let is_secret = |name: &str| {
            name.len() <= SECRET_BYTES && name.starts_with(SECRET_PREFIX) && is_label(name)
        };
        if !self.credentials.as_deref().is_none_or(is_secret) {
            return Err(
                "credentials is the name of a Secret, and begins with `git-`: only Secrets that are meant for it are \
                 mounted into an agent's pod",
            );
        }
        Ok(())
    }
}

/// Git takes many things for an address, of which some are commands.
fn check_url(url: &str) -> Result<(), &'static str> {
    const SHAPE: &str = "its url is https://HOST/PATH or ssh://USER@HOST/PATH";
    let (scheme, rest) = url.split_once("://").ok_or(SHAPE)?;
    let plain = |each: u8| each.is_ascii_graphic() && !b"\"'\\`<>^{|}".contains(&each);
    if url.len() > URL_BYTES || !url.bytes().all(plain) || !matches!(scheme, "https" | "ssh") {
        return Err(SHAPE);
    }
    let (host, path) = rest.split_once('/').ok_or(SHAPE)?;
    let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
    if user.contains(':') || (scheme == "https" && !user.is_empty()) {
        return Err("its url holds a login: put that into a Secret, and name it as credentials");
    }
    // What begins with a hyphen a program may take for an option.
    let is_sound = |part: &str| !part.is_empty() && !part.starts_with('-');
    let user_is_sound = user.is_empty() || is_sound(user);
    if !is_sound(host) || !is_sound(path) || !user_is_sound || url.contains(['?', '#']) {
        return Err(SHAPE);
    }
    Ok(())
}

/// As `git check-ref-format --branch` has it, and somewhat narrower.
#[must_use]
pub fn is_branch(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && !part.ends_with(".lock")
    };
    let plain = |each: u8| each.is_ascii_alphanumeric() || b"-_./+#=,".contains(&each);
    name.len() <= BRANCH_BYTES
        && name.bytes().all(plain)
        && !name.starts_with('-')
        && !name.contains("..")
        && name.split('/').all(part)
}

fn is_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
        && bytes.first().copied().is_some_and(inner)
        && bytes.last().copied().is_some_and(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(name: &str, url: &str) -> Repository {
        Repository {
            name: name.to_owned(),
            url: url.to_owned(),
            default_branch: None,
            credentials: None,
        }
    }

    #[test]
    fn addresses_are_those_of_git_servers_and_nothing_else() {
        for good in [
            "https://git.example.com/team/app.git",
            "https://git.example.com:8443/app",
            "ssh://git@git.example.com:22/team/app.git",
            "ssh://git.example.com/app",
        ] {
            assert_eq!(
                check_repositories(&[repository("app", good)]),
                Ok(()),
                "{good}"
            );
        }
        for bad in [
            "",
            "git@git.example.com:team/app.git",
            "http://git.example.com/app",
            "file:///etc",
            "ext::sh -c id",
            "https://me:secret@git.example.com/app",
            "https://token@git.example.com/app",
            "ssh://me:secret@git.example.com/app",
            "ssh://-oProxyCommand=id/app",
            "ssh://-x@host/app",
            "https://git.example.com",
            "https://git.example.com/",
            "https:///app",
            "https://git.example.com/a b",
            "https://git.example.com/a\u{1b}[2J",
            "https://git.example.com/ä",
            "https://git.example.com/app?x",
            &format!("https://h/{}", "a".repeat(URL_BYTES)),
        ] {
            assert!(
                check_repositories(&[repository("app", bad)]).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn repositories_are_few_and_each_has_its_own_name() {
        let url = "https://h/x";
        let many = |count: usize| -> Vec<_> {
            (0..count)
                .map(|at| repository(&format!("r{at}"), url))
                .collect()
        };
        assert_eq!(check_repositories(&many(limits::REPOSITORIES)), Ok(()));
        assert!(check_repositories(&many(limits::REPOSITORIES + 1)).is_err());
        assert!(check_repositories(&[repository("a", url), repository("a", url)]).is_err());
        for bad in ["", "A", "-a", "a-", "a/b", "..", "a.git", &"a".repeat(41)] {
            assert!(
                check_repositories(&[repository(bad, url)]).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn only_secrets_that_are_meant_for_it_are_named() {
        let named = |credentials: &str| Repository {
            credentials: Some(credentials.to_owned()),
            ..repository("app", "https://h/x")
        };
        assert_eq!(check_repositories(&[named("git-app")]), Ok(()));
        for bad in ["", "git-", "database", "xgit-app", "git-A", "git-a/b"] {
            assert!(check_repositories(&[named(bad)]).is_err(), "{bad}");
        }
    }

    #[test]
    fn branches() {
        for good in ["main", "release/1.x", "agent/reviewer/team-1", "a#1"] {
            assert!(is_branch(good), "{good}");
        }
        for bad in [
            "", "-x", "a..b", "a/", "/a", "a//b", ".a", "a.lock", "a b", "a~1", "a:b", "@{u}", "ä",
        ] {
            assert!(!is_branch(bad), "{bad}");
        }
    }
}
