//! A repository of the project in the agent's working directory: one bare cache on the volume, one worktree on the
//! agent's own branch.
//!
//! Work that is there is never touched: what is uncommitted, untracked, ignored or not pushed stays as it is, and the
//! answer says so. Only a worktree in which there is nothing of that goes forward to what the server has.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use protocol::board::Repository;
use serde::Serialize;

use crate::failure::Failure;
use crate::git::Git;

/// Where and as what a repository is brought in.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Folder of the bare caches.
    pub(crate) caches: PathBuf,
    /// Folder of the worktrees.
    pub(crate) work: PathBuf,
    /// The agent's branch.
    pub(crate) branch: String,
    /// Whose commits they are, where nothing else was said.
    pub(crate) author: (String, String),
    /// This program, as git calls it for credentials.
    pub(crate) moor: PathBuf,
    /// Where the Secrets of repositories are mounted.
    pub(crate) secrets: PathBuf,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum State {
    /// It was not there: the branch was begun, or taken from the server.
    New,
    /// Nothing was in the way, and it is as the server has it.
    Current,
    /// There is work in it, so it was left as it is.
    Kept,
}

/// A repository that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Checkout {
    /// Its name in the project.
    pub(crate) repository: String,
    /// The worktree.
    pub(crate) path: PathBuf,
    /// The branch that is checked out; empty where none is.
    pub(crate) branch: String,
    /// What became of it.
    pub(crate) state: State,
    /// Files with changes that are in no commit.
    pub(crate) uncommitted: usize,
    /// Commits that no branch of the server has.
    pub(crate) unpushed: usize,
}

/// Brings a repository in. `from` is the branch on which a new one begins.
pub(crate) async fn checkout(
    place: &Place,
    repository: &Repository,
    from: Option<&str>,
) -> Result<Checkout, Failure> {
    let cache = place.caches.join(format!("{}.git", repository.name));
    let tree = place.work.join(&repository.name);
    for folder in [&place.caches, &place.work] {
        fs::create_dir_all(folder).map_err(|cause| failed(folder, cause))?;
    }
    // Agents start several commands at once.
    let _turn = turn(&place.caches.join(format!("{}.lock", repository.name)))?;
    ready(place, repository, &cache).await?;
    let git = Git::at(&cache);
    let state = match is_there(&cache, &tree).await? {
        true => go_on(place, repository, &tree).await?,
        false => {
            begin(place, repository, &git, &tree, from).await?;
            State::New
        }
    };
    let work = Work::of(&Git::at(&tree)).await?;
    Ok(Checkout {
        repository: repository.name.clone(),
        path: tree,
        branch: work.branch.unwrap_or_default(),
        state,
        uncommitted: work.uncommitted,
        unpushed: work.unpushed,
    })
}

/// Held while it lives.
fn turn(path: &Path) -> Result<File, Failure> {
    let open = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path);
    let file = open.map_err(|cause| failed(path, cause))?;
    file.lock().map_err(|cause| failed(path, cause))?;
    Ok(file)
}

/// Makes the cache, or brings it up to date. One that is only half there is made again beside.
async fn ready(place: &Place, repository: &Repository, cache: &Path) -> Result<(), Failure> {
    if cache.exists() {
        let git = Git::at(cache);
        configure(place, repository, &git).await?;
        return fetch(&git).await;
    }
    let beside = place.caches.join(format!("{}.new", repository.name));
    if beside.exists() {
        fs::remove_dir_all(&beside).map_err(|cause| failed(&beside, cause))?;
    }
    let folder = beside.as_os_str().to_owned();
    let init = [
        "init".into(),
        "--quiet".into(),
        "--bare".into(),
        "--".into(),
        folder,
    ];
    Git::at(&place.caches).run(&init).await?;
    let git = Git::at(&beside);
    configure(place, repository, &git).await?;
    fetch(&git).await?;
    fs::rename(&beside, cache).map_err(|cause| failed(cache, cause))
}

async fn fetch(git: &Git) -> Result<(), Failure> {
    let words = ["fetch", "--quiet", "--prune", "origin"];
    git.run(&words).await.map(drop)
}

/// Says where the repository is and who vouches for us there. What is written here is no secret.
async fn configure(place: &Place, repository: &Repository, git: &Git) -> Result<(), Failure> {
    let url = repository.url.as_str();
    let set =
        async |key: &str, value: &str| git.run(&["config", "--replace-all", key, value]).await;
    set("remote.origin.url", url).await?;
    set("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*").await?;
    let (name, address) = &place.author;
    for (key, value) in [
        ("user.name", name.as_str()),
        ("user.email", address),
        ("push.default", "current"),
        ("push.autoSetupRemote", "true"),
    ] {
        // The agent may have said something else.
        if git
            .ask(&["config", "--local", "--get", key])
            .await?
            .is_none()
        {
            set(key, value).await?;
        }
    }
    let helper = format!("credential.{url}.helper");
    let Some(secret) = &repository.credentials else {
        for key in [&*helper, "core.sshCommand"] {
            git.ask(&["config", "--local", "--unset-all", key]).await?;
        }
        return Ok(());
    };
    let folder = place.secrets.join(secret);
    if url.starts_with("ssh:") {
        set("core.sshCommand", &ssh(&folder)).await?;
    } else {
        // The empty one ends the list of those that an image may bring along.
        set("credential.helper", "").await?;
        let moor = quoted(&place.moor);
        let value = format!(
            "!{moor} repo credential --url {} --folder {}",
            quoted(Path::new(url)),
            quoted(&folder)
        );
        set(&helper, &value).await?;
    }
    Ok(())
}

/// The keys of a Secret of the type `kubernetes.io/ssh-auth`. A host that is not known there is not believed.
fn ssh(folder: &Path) -> String {
    let key = quoted(&folder.join("ssh-privatekey"));
    let hosts = quoted(&folder.join("known_hosts"));
    format!(
        "ssh -i {key} -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile={hosts}"
    )
}

/// A word as a shell takes it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// Whether the worktree is there. Whatever else is in its place stays.
async fn is_there(cache: &Path, tree: &Path) -> Result<bool, Failure> {
    let in_the_way = || {
        Failure::Git(format!(
            "{} is there and is no checkout of this repository: it was not touched; move it away, or work in it",
            tree.display()
        ))
    };
    let mut entries = match fs::read_dir(tree) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match tree.symlink_metadata() {
                // A link that leads nowhere.
                Ok(_) => Err(in_the_way()),
                Err(_) => Ok(false),
            };
        }
        Err(_) => return Err(in_the_way()),
    };
    let is_link = tree
        .symlink_metadata()
        .is_ok_and(|found| found.is_symlink());
    if is_link {
        return Err(in_the_way());
    }
    if entries.next().is_none() {
        return Ok(false);
    }
    let words = [
        "rev-parse",
        "--path-format=absolute",
        "--git-common-dir",
        "--show-toplevel",
    ];
    let said = Git::at(tree).ask(&words).await?.unwrap_or_default();
    let is = |said: Option<&str>, wanted: &Path| {
        let real = |path: &Path| path.canonicalize().ok();
        said.and_then(|said| real(Path::new(said)))
            .is_some_and(|said| real(wanted) == Some(said))
    };
    let mut lines = said.lines();
    // Its top too: a folder within another repository answers for that one.
    let is_ours = is(lines.next(), cache) && is(lines.next(), tree);
    is_ours.then_some(true).ok_or_else(in_the_way)
}

/// Makes the worktree: on the branch that is there from before, here or on the server, else on a new one.
async fn begin(
    place: &Place,
    repository: &Repository,
    git: &Git,
    tree: &Path,
    from: Option<&str>,
) -> Result<(), Failure> {
    // A worktree whose folder was removed is still remembered; its commits are on its branch.
    git.run(&["worktree", "prune"]).await?;
    let branch = &place.branch;
    let add = async |words: &[&str]| {
        let mut all: Vec<&OsStr> = ["worktree", "add", "--quiet"].map(OsStr::new).to_vec();
        let (options, start) = words.split_at(words.len() - 1);
        all.extend(options.iter().map(OsStr::new));
        all.push(tree.as_os_str());
        all.extend(start.iter().map(OsStr::new));
        git.run(&all).await.map(drop)
    };
    if has(git, &format!("refs/heads/{branch}")).await? {
        return add(&[branch.as_str()]).await;
    }
    if has(git, &format!("refs/remotes/origin/{branch}")).await? {
        return add(&["-b", branch, &format!("origin/{branch}")]).await;
    }
    let base = base(repository, git, from).await?;
    add(&["--no-track", "-b", branch, &base]).await
}

/// Where a new branch begins.
async fn base(repository: &Repository, git: &Git, from: Option<&str>) -> Result<String, Failure> {
    let named = match from.or(repository.default_branch.as_deref()) {
        Some(named) => named.to_owned(),
        None => {
            let said = git
                .run(&["ls-remote", "--symref", "origin", "HEAD"])
                .await?;
            let head = said.lines().find_map(|line| {
                let name = line.strip_prefix("ref: refs/heads/")?;
                Some(name.split_whitespace().next()?.to_owned())
            });
            head.ok_or_else(|| {
                Failure::Git(format!(
                    "the server does not say which branch of {} is its own: name one with --from",
                    repository.name
                ))
            })?
        }
    };
    if has(git, &format!("refs/remotes/origin/{named}")).await? {
        return Ok(format!("refs/remotes/origin/{named}"));
    }
    Err(Failure::Git(format!(
        "{} has no branch {named:?}; if it is empty, somebody has to push a first commit",
        repository.name
    )))
}

/// What to do with a worktree that is there: forward if there is nothing of one's own in it, else nothing.
async fn go_on(place: &Place, repository: &Repository, tree: &Path) -> Result<State, Failure> {
    let git = Git::at(tree);
    let work = Work::of(&git).await?;
    let is_clean = work.uncommitted == 0 && work.unpushed == 0;
    if !is_clean || work.branch.as_deref() != Some(&*place.branch) {
        return Ok(State::Kept);
    }
    let pushed = format!("refs/remotes/origin/{}", place.branch);
    let upstream = match has(&git, &pushed).await? {
        true => pushed,
        false => base(repository, &git, None).await?,
    };
    // Ignored files are somebody's work as well.
    let words = [
        "merge",
        "--quiet",
        "--ff-only",
        "--no-overwrite-ignore",
        &upstream,
    ];
    Ok(match git.ask(&words).await? {
        Some(_) => State::Current,
        None => State::Kept,
    })
}

async fn has(git: &Git, name: &str) -> Result<bool, Failure> {
    let found = git.ask(&["show-ref", "--verify", "--quiet", name]).await?;
    Ok(found.is_some())
}

/// What is in a worktree.
struct Work {
    branch: Option<String>,
    uncommitted: usize,
    unpushed: usize,
}

impl Work {
    async fn of(git: &Git) -> Result<Self, Failure> {
        let changes = git.run(&["status", "--porcelain"]).await?;
        let words = ["rev-list", "--count", "HEAD", "--not", "--remotes=origin"];
        let unpushed = git.run(&words).await?;
        Ok(Self {
            branch: git
                .ask(&["symbolic-ref", "--quiet", "--short", "HEAD"])
                .await?,
            uncommitted: changes.lines().count(),
            unpushed: unpushed.parse().map_err(|_| {
                Failure::Git(format!(
                    "git counts commits in a way of its own: {unpushed}"
                ))
            })?,
        })
    }
}

fn failed(path: &Path, cause: io::Error) -> Failure {
    Failure::Output {
        path: path.to_owned(),
        cause,
    }
}

#[cfg(test)]
mod tests;
