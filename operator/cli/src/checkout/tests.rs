//! On real repositories, with the program git.

use std::process::Command;

use super::*;

/// A server's repository with one commit on `main`, and a pod's folders.
struct Bed {
    root: tempfile::TempDir,
    repository: Repository,
}

fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=ada", "-c", "user.email=ada@example.com"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Bed {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["server.git", "desk"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        let bed = Self {
            repository: Repository {
                name: "app".into(),
                url: format!("file://{}", root.path().join("server.git").display()),
                default_branch: Some("main".into()),
                credentials: None,
            },
            root,
        };
        git(
            &bed.server(),
            &["init", "--quiet", "--bare", "--initial-branch=main"],
        );
        let desk = bed.desk();
        git(&desk, &["init", "--quiet", "--initial-branch=main"]);
        git(&desk, &["remote", "add", "origin", &bed.repository.url]);
        bed.upstream("README", "one");
        bed
    }

    fn server(&self) -> PathBuf {
        self.root.path().join("server.git")
    }

    fn desk(&self) -> PathBuf {
        self.root.path().join("desk")
    }

    fn tree(&self) -> PathBuf {
        self.root.path().join("work/app")
    }

    /// Somebody else pushes to `main`.
    fn upstream(&self, file: &str, content: &str) {
        let desk = self.desk();
        fs::write(desk.join(file), content).unwrap();
        git(&desk, &["add", "--force", "."]);
        git(&desk, &["commit", "--quiet", "-m", file]);
        git(&desk, &["push", "--quiet", "origin", "main"]);
    }

    fn place(&self) -> Place {
        Place {
            caches: self.root.path().join("repos"),
            work: self.root.path().join("work"),
            branch: "agent/coder/team-1-00000007".into(),
            author: ("Coder".into(), "coder@team.mooring.invalid".into()),
            moor: "/opt/mooring/bin/moor".into(),
            secrets: self.root.path().join("secrets"),
        }
    }

    async fn checkout(&self) -> Checkout {
        checkout(&self.place(), &self.repository, None)
            .await
            .unwrap()
    }

    async fn refused(&self, from: Option<&str>) -> String {
        let refused = checkout(&self.place(), &self.repository, from).await;
        refused.unwrap_err().words()
    }

    /// The agent commits.
    fn commit(&self, file: &str) {
        let tree = self.tree();
        fs::write(tree.join(file), "work").unwrap();
        git(&tree, &["add", file]);
        git(&tree, &["commit", "--quiet", "-m", file]);
    }
}

#[tokio::test]
async fn a_repository_is_brought_in_on_a_branch_of_its_own() {
    let bed = Bed::new();
    let done = bed.checkout().await;
    let wanted = Checkout {
        repository: "app".into(),
        path: bed.tree(),
        branch: "agent/coder/team-1-00000007".into(),
        state: State::New,
        uncommitted: 0,
        unpushed: 0,
    };
    assert_eq!(done, wanted);
    assert_eq!(
        fs::read_to_string(bed.tree().join("README")).unwrap(),
        "one"
    );
    // A plain push goes to the branch of the same name, under the agent's name.
    let tree = bed.tree();
    fs::write(tree.join("new"), "x").unwrap();
    let plain = |words: &[&str]| {
        let ran = Command::new("git")
            .args(words)
            .current_dir(&tree)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    plain(&["add", "new"]);
    plain(&["commit", "--quiet", "-m", "new"]);
    plain(&["push", "--quiet"]);
    let shown = git(
        &bed.server(),
        &["log", "-1", "--format=%an %ae", &done.branch],
    );
    assert_eq!(shown, "Coder coder@team.mooring.invalid");
}

#[tokio::test]
async fn without_work_in_it_a_checkout_goes_forward() {
    let bed = Bed::new();
    bed.checkout().await;
    bed.upstream("README", "two");
    assert_eq!(bed.checkout().await.state, State::Current);
    assert_eq!(
        fs::read_to_string(bed.tree().join("README")).unwrap(),
        "two"
    );
}

#[tokio::test]
async fn uncommitted_and_untracked_work_stays() {
    let bed = Bed::new();
    bed.checkout().await;
    fs::write(bed.tree().join("README"), "mine").unwrap();
    fs::write(bed.tree().join("notes"), "mine too").unwrap();
    bed.upstream("README", "two");
    let done = bed.checkout().await;
    assert_eq!(
        (done.state, done.uncommitted, done.unpushed),
        (State::Kept, 2, 0)
    );
    assert_eq!(
        fs::read_to_string(bed.tree().join("README")).unwrap(),
        "mine"
    );
    assert_eq!(
        fs::read_to_string(bed.tree().join("notes")).unwrap(),
        "mine too"
    );
}

#[tokio::test]
async fn an_ignored_file_is_not_overwritten_by_what_comes() {
    let bed = Bed::new();
    bed.upstream(".gitignore", "secret\n");
    bed.checkout().await;
    fs::write(bed.tree().join("secret"), "mine").unwrap();
    bed.upstream("secret", "theirs");
    assert_eq!(bed.checkout().await.state, State::Kept);
    assert_eq!(
        fs::read_to_string(bed.tree().join("secret")).unwrap(),
        "mine"
    );
}

#[tokio::test]
async fn commits_that_are_not_pushed_stay() {
    let bed = Bed::new();
    let branch = bed.checkout().await.branch;
    bed.commit("work");
    bed.upstream("README", "two");
    let done = bed.checkout().await;
    assert_eq!(
        (done.state, done.uncommitted, done.unpushed),
        (State::Kept, 0, 1)
    );
    // Also when the folder is gone: they are on the branch.
    fs::remove_dir_all(bed.tree()).unwrap();
    let done = bed.checkout().await;
    assert_eq!(
        (done.state, done.branch, done.unpushed),
        (State::New, branch, 1)
    );
    assert!(bed.tree().join("work").exists());
}

#[tokio::test]
async fn a_branch_that_the_agent_chose_stays() {
    let bed = Bed::new();
    bed.checkout().await;
    git(&bed.tree(), &["switch", "--quiet", "-c", "mine"]);
    bed.upstream("README", "two");
    let done = bed.checkout().await;
    assert_eq!((done.state, done.branch.as_str()), (State::Kept, "mine"));
    git(&bed.tree(), &["switch", "--quiet", "--detach"]);
    assert_eq!(bed.checkout().await.branch, "");
    assert_eq!(
        fs::read_to_string(bed.tree().join("README")).unwrap(),
        "one"
    );
}

#[tokio::test]
async fn on_a_new_volume_the_pushed_branch_goes_on() {
    let bed = Bed::new();
    bed.checkout().await;
    bed.commit("work");
    git(&bed.tree(), &["push", "--quiet"]);
    for folder in ["repos", "work"] {
        fs::remove_dir_all(bed.root.path().join(folder)).unwrap();
    }
    let done = bed.checkout().await;
    assert_eq!((done.state, done.unpushed), (State::New, 0));
    assert!(bed.tree().join("work").exists());
}

#[tokio::test]
async fn what_is_in_the_way_stays() {
    let bed = Bed::new();
    fs::create_dir_all(bed.tree()).unwrap();
    fs::write(bed.tree().join("mine"), "x").unwrap();
    assert!(bed.refused(None).await.contains("it was not touched"));
    // A repository of another origin, too, and a folder within one.
    git(&bed.tree(), &["init", "--quiet"]);
    assert!(bed.refused(None).await.contains("it was not touched"));
    assert_eq!(fs::read_to_string(bed.tree().join("mine")).unwrap(), "x");
    fs::remove_dir_all(bed.tree()).unwrap();
    std::os::unix::fs::symlink("/nowhere", bed.tree()).unwrap();
    assert!(bed.refused(None).await.contains("it was not touched"));
    fs::remove_file(bed.tree()).unwrap();
    fs::write(bed.tree(), "x").unwrap();
    assert!(bed.refused(None).await.contains("it was not touched"));
    fs::remove_file(bed.tree()).unwrap();
    fs::create_dir(bed.tree()).unwrap();
    assert_eq!(bed.checkout().await.state, State::New);
}

#[tokio::test]
async fn a_start_that_broke_off_is_made_again() {
    let bed = Bed::new();
    let half = bed.root.path().join("repos/app.new");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("HEAD"), "junk").unwrap();
    assert_eq!(bed.checkout().await.state, State::New);
    assert!(!half.exists());
}

#[tokio::test]
async fn a_server_that_is_away_costs_nothing() {
    let bed = Bed::new();
    bed.checkout().await;
    bed.commit("work");
    fs::rename(bed.server(), bed.root.path().join("away")).unwrap();
    let words = bed.refused(None).await;
    assert!(words.starts_with("git fetch:"), "{words}");
    assert!(bed.tree().join("work").exists());
}

#[tokio::test]
async fn a_branch_begins_where_it_is_told() {
    let bed = Bed::new();
    git(&bed.desk(), &["switch", "--quiet", "-c", "old"]);
    git(&bed.desk(), &["push", "--quiet", "origin", "old"]);
    git(&bed.desk(), &["switch", "--quiet", "main"]);
    bed.upstream("README", "two");
    let words = bed.refused(Some("nothing")).await;
    assert!(words.contains("has no branch"), "{words}");
    checkout(&bed.place(), &bed.repository, Some("old"))
        .await
        .unwrap();
    assert_eq!(
        fs::read_to_string(bed.tree().join("README")).unwrap(),
        "one"
    );
}

#[tokio::test]
async fn without_a_default_branch_it_is_that_of_the_server() {
    let mut bed = Bed::new();
    bed.repository.default_branch = None;
    assert_eq!(bed.checkout().await.state, State::New);
    assert!(bed.tree().join("README").exists());
}

#[tokio::test]
async fn an_address_that_is_a_command_is_none() {
    let mut bed = Bed::new();
    let proof = bed.root.path().join("proof");
    bed.repository.url = format!("ext::touch {}", proof.display());
    bed.refused(None).await;
    assert!(!proof.exists());
}

/// What git says that it would log in with.
fn login(cache: &Path, url: &str) -> String {
    let (protocol, rest) = url.split_once("://").unwrap();
    let host = rest.split('/').next().unwrap();
    let mut child = Command::new("git")
        .args(["credential", "fill"])
        .current_dir(cache)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ASKPASS", "/bin/false")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let asked = format!("protocol={protocol}\nhost={host}\npath=team/app.git\n\n");
    let mut input = child.stdin.take().unwrap();
    io::Write::write_all(&mut input, asked.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn git_asks_us_for_the_login_and_keeps_none() {
    let bed = Bed::new();
    let cache = bed.root.path().join("cache.git");
    fs::create_dir(&cache).unwrap();
    git(&cache, &["init", "--quiet", "--bare"]);
    // A stand-in that answers, and writes down with which words it was called.
    let moor = bed.root.path().join("mo'or");
    let called = bed.root.path().join("called");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{}'\necho username=bot\necho password=hunter2\n",
        called.display()
    );
    fs::write(&moor, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&moor, mode).unwrap();
    let url = "https://git.example.com/team/app.git";
    let repository = Repository {
        url: url.into(),
        credentials: Some("git-app".into()),
        ..bed.repository.clone()
    };
    let place = Place {
        moor,
        ..bed.place()
    };
    for _ in 0..2 {
        configure(&place, &repository, &Git::at(&cache))
            .await
            .unwrap();
    }
    assert!(login(&cache, url).contains("password=hunter2"));
    let said = fs::read_to_string(&called).unwrap();
    let folder = place.secrets.join("git-app");
    let wanted = format!(
        "repo credential --url {url} --folder {} get\n",
        folder.display()
    );
    assert_eq!(said, wanted);
    assert!(!login(&cache, "https://evil.example.com/team/app.git").contains("hunter2"));
    let kept = fs::read_to_string(cache.join("config")).unwrap();
    assert!(!kept.contains("hunter2"), "{kept}");
    // Taken away from the project it is gone from here.
    let bare = Repository {
        credentials: None,
        ..repository
    };
    configure(&place, &bare, &Git::at(&cache)).await.unwrap();
    assert!(!login(&cache, url).contains("hunter2"));
}

#[tokio::test]
async fn a_key_is_used_from_where_it_is_mounted() {
    let bed = Bed::new();
    let cache = bed.root.path().join("cache.git");
    fs::create_dir(&cache).unwrap();
    git(&cache, &["init", "--quiet", "--bare"]);
    let repository = Repository {
        url: "ssh://git@git.example.com/app.git".into(),
        credentials: Some("git-app".into()),
        ..bed.repository.clone()
    };
    configure(&bed.place(), &repository, &Git::at(&cache))
        .await
        .unwrap();
    let command = git(&cache, &["config", "core.sshCommand"]);
    let key = bed.root.path().join("secrets/git-app/ssh-privatekey");
    assert!(
        command.contains(&format!("-i '{}'", key.display())),
        "{command}"
    );
    assert!(command.contains("StrictHostKeyChecking=yes"));
}
