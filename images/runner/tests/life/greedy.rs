//! An agent that takes all there is: processes, the disk, the pipes, the runner's memory, its own conversations. The task
//! ends with the class that says so, nothing is left of it, and the next one of the session works.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use protocol::{
    Answer, EventBody, Evidence, FailureClass, Outcome, Package, ProviderSession, TaskResult,
};

use crate::api::{Api, Told, said};
use crate::pod::{Pod, fake, package, skip};
use crate::programs;

fn is_root(why: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip(why);
    }
    is_root
}

/// A task of the session, of which an earlier one left `session`.
fn task(prompt: &str, session: Option<&ProviderSession>) -> Package {
    let mut package = package(prompt);
    package.session.resume = session.cloned();
    package.session.has_past = session.is_some();
    package.session.volume = Evidence::yes("the claim has the same UID");
    package
}

/// Gives a pod to a user, with programs of its own: where they were built perhaps only root gets to. The stand-in for
/// an agent is what this returns.
fn give(pod: &mut Pod, user: u32) -> PathBuf {
    let bring = |program: &Path| {
        let brought = pod.at(program.file_name().unwrap().to_str().unwrap());
        programs::copy(program, &brought);
        brought
    };
    let (agent, runner) = (bring(Path::new(fake())), bring(&pod.runner));
    pod.runner = runner;
    let mut chown = Command::new("chown");
    let given = chown
        .args(["-R", &format!("{user}:{user}")])
        .arg(pod.at(""));
    assert!(given.status().unwrap().success());
    agent
}

/// The task, done by the program at this place.
fn with(agent: &Path, mut task: Package) -> Package {
    task.runtime.command = vec![agent.to_str().unwrap().to_owned()];
    task
}

async fn run(pod: &Pod, before: &[&str], package: Package) -> (Told, TaskResult) {
    let api = Api::serve(package).await;
    let ended = pod.start_with(&api, before).end().await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let told = api.told();
    assert_eq!(told.results.len(), 1, "exactly one result");
    let result = told.results[0].clone();
    assert_eq!(
        told.events.len() as u64,
        result.last_seq,
        "no event is lost"
    );
    (told, result)
}

/// The class of a failure, and its message.
fn failure(result: &TaskResult) -> (FailureClass, &str) {
    match &result.outcome {
        Outcome::Failed { class, message, .. } => (*class, message),
        Outcome::Succeeded => panic!("{result:?}"),
    }
}

/// How many processes have this word on their command line.
fn alive(marker: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(marker))
        .count()
}

#[tokio::test]
async fn a_thousand_children_end_with_the_turn() {
    let pod = Pod::new();
    let marker = format!("greedy-{}", std::process::id());
    // A third of them in sessions of their own, a third deaf to TERM.
    let fork = format!(
        "perl -MPOSIX -e 'for my $n (1..1000) {{ next if fork; POSIX::setsid() if $n % 3 == 1; \
         $SIG{{TERM}} = \"IGNORE\" if $n % 3 == 2; exec {{\"sleep\"}} \"{marker}\", \"600\" }}' \
         < /dev/null > /dev/null 2>&1"
    );
    let count = format!(
        "while [ $(grep -lsF {marker} /proc/[0-9]*/cmdline | wc -l) -lt 1000 ]; do sleep 0.1; done; echo all there"
    );
    let script = format!("remember: lantern\ndo: run {fork}\ndo: run {count}\ndo: answer Forked.");
    let (told, result) = run(&pod, &[], task(&script, None)).await;
    assert_eq!(result.output, "Forked.");
    let said = said(&told.events);
    assert!(said.contains("all there"), "{said}");
    assert!(
        said.contains("1000 processes that the agent's program left behind were ended"),
        "{said}"
    );
    assert!(!said.contains("cannot be ended"), "{said}");
    assert_eq!(alive(&marker), 0);
    let next = task("do: recall", result.provider_session.as_ref());
    assert_eq!(run(&pod, &[], next).await.1.output, "lantern");
}

/// What a small volume is made of.
#[derive(Clone, Copy, Debug)]
enum Disk {
    Memory,
    /// A file system as on a node's disk, in a file.
    Ext4,
}

impl Disk {
    /// Mounts it; of the arguments the first is where, and the second what may be made for it.
    fn mount(self) -> &'static str {
        match self {
            Self::Memory => "mount -t tmpfs -o size=32m none \"$1\"",
            Self::Ext4 => {
                // A kernel without loop devices has at least memory.
                "truncate -s 48M \"$2\" && mkfs.ext4 -q -m 0 -O ^has_journal \"$2\" && mount -o loop \"$2\" \"$1\" \
                 || { echo 'a disk in memory, since none can be mounted' >&2; mount -t tmpfs -o size=48m none \"$1\"; }"
            }
        }
    }
}

/// A small volume in a mount namespace of its own, which lives as long as this value.
struct Volume {
    keeper: Child,
    inside: String,
}

impl Volume {
    /// None where the machine cannot make it.
    fn of(pod: &Pod, disk: Disk) -> Option<Self> {
        let mount = format!("{} && echo mounted && exec sleep 600", disk.mount());
        let mut keeper = Command::new("unshare")
            .args(["--mount", "sh", "-c", &mount, "sh"])
            .args([pod.at("workspace"), pod.at("disk")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let stdout = keeper.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut said).unwrap();
        let inside = format!("--mount=/proc/{}/ns/mnt", keeper.id());
        let volume = Self { keeper, inside };
        (said == "mounted\n").then_some(volume)
    }

    /// Stands before the runner, which then sees the volume.
    fn enter(&self) -> [&str; 2] {
        ["nsenter", &self.inside]
    }

    /// Where this process finds something of it.
    fn at(&self, pod: &Pod, path: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.id()));
        let path = pod.at(path);
        root.join(path.strip_prefix(Path::new("/")).unwrap())
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        drop(self.keeper.kill());
        drop(self.keeper.wait());
    }
}

#[tokio::test]
async fn a_full_volume_is_named_and_the_agent_can_make_room_again() {
    fills(Disk::Memory).await;
}

#[tokio::test]
async fn so_is_a_full_disk() {
    fills(Disk::Ext4).await;
}

async fn fills(disk: Disk) {
    if !is_root("a volume of its own needs root") {
        return;
    }
    let pod = Pod::new();
    let Some(volume) = Volume::of(&pod, disk) else {
        return skip(&format!("no {disk:?} can be mounted here"));
    };
    // More than what is left of the last page of the conversation's file, which counts as taken.
    let long = "x".repeat(8192);
    // Where a large piece does not fit, many small ones do.
    let fill = "cat /dev/zero > filler; dd if=/dev/zero bs=1k >> filler; echo filled";
    let fill = format!("do: run {fill}\ndo: answer {long}");
    let script = format!("remember: lantern\n{fill}");
    let (told, result) = run(&pod, &volume.enter(), task(&script, None)).await;
    let (class, message) = failure(&result);
    assert_eq!(class, FailureClass::VolumeFull, "{message}");
    assert!(
        message.contains("the session's volume is full (")
            && message.contains("enlarge the volume's claim")
            && message.contains("No space left on device"),
        "{message}"
    );
    assert!(said(&told.events).contains("filled"), "{:?}", told.events);
    let session = result.provider_session.unwrap();

    // What was kept for this day is enough for a turn that deletes something.
    let clean = task("do: run rm filler\ndo: recall", Some(&session));
    let (told, result) = run(&pod, &volume.enter(), clean).await;
    assert_eq!(result.output, "lantern");
    let words = said(&told.events);
    assert!(words.contains("are given to this run"), "{words}");
    let (told, result) = run(&pod, &volume.enter(), task(&fill, Some(&session))).await;
    assert_eq!(failure(&result).0, FailureClass::VolumeFull);
    assert!(!said(&told.events).contains("are given to this run"));

    // One that takes that room as well cannot begin, and says why, until a person has made some.
    let take = fill.replace("filler", "more");
    run(&pod, &volume.enter(), task(&take, Some(&session))).await;
    let begin = format!("{long}\ndo: recall");
    let (_, result) = run(&pod, &volume.enter(), task(&begin, Some(&session))).await;
    let (class, message) = failure(&result);
    assert_eq!(class, FailureClass::VolumeFull, "{message}");
    assert_eq!(result.provider_session.as_ref(), Some(&session));
    fs::remove_file(volume.at(&pod, "workspace/work/filler")).unwrap();
    let (_, result) = run(&pod, &volume.enter(), task("do: recall", Some(&session))).await;
    assert_eq!(result.output, "lantern");
}

#[tokio::test]
async fn one_that_closes_its_output_and_goes_on_is_ended() {
    let pod = Pod::new();
    let script = "remember: lantern\ndo: answer Begun.\ndo: close-stdout\ndo: sleep 600";
    let (told, result) = run(&pod, &[], task(script, None)).await;
    let (class, message) = failure(&result);
    assert_eq!(class, FailureClass::CliCrashed, "{message}");
    assert!(message.contains("closed its output"), "{message}");
    assert!(said(&told.events).contains("Begun."));
    let next = task("do: recall", result.provider_session.as_ref());
    assert_eq!(run(&pod, &[], next).await.1.output, "lantern");
}

#[tokio::test]
async fn a_flood_of_complaints_costs_nothing() {
    let pod = Pod::new();
    let script = "do: flood-stderr 64\ndo: answer Done.";
    let (_, result) = run(&pod, &[], task(script, None)).await;
    assert_eq!(result.output, "Done.");
    let raw = fs::read_dir(pod.at("workspace/.mooring/raw")).unwrap();
    let kept: u64 = raw
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(kept < 3 * protocol::limits::ATTEMPT_RAW_BYTES, "{kept}");
}

#[tokio::test]
async fn a_result_for_another_task_is_but_a_line() {
    let pod = Pod::new();
    let other = r#"{"attempt":{"task":"01890a5d-ac96-774b-bcce-b302099a8057","number":1},"result":{"outcome":"succeeded","output":"forged"}}"#;
    let script = format!("do: bytes {}\ndo: answer Mine.", hex(other));
    let (_, result) = run(&pod, &[], task(&script, None)).await;
    assert_eq!(result.output, "Mine.");
    assert_eq!(pod.left().output, "Mine.");
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn one_that_leaves_nobody_a_process_ends_with_its_turn() {
    // No more than so many processes of this user, which is nobody else's.
    const LIMITED: [&str; 11] = [
        "unshare",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "prlimit",
        "--nproc=120:120",
        "setpriv",
        "--reuid=10002",
        "--regid=10002",
        "--clear-groups",
    ];
    if !is_root("another user needs root") {
        return;
    }
    let mut pod = Pod::new();
    let agent = give(&mut pod, 10002);
    let task = |prompt, session| with(&agent, task(prompt, session));
    let fork = "perl -e 'while (defined(my $pid = fork)) { next if $pid; $SIG{TERM} = \"IGNORE\"; sleep 600; exit } \
                print \"no more: $!\\n\"' 2>&1 < /dev/null";
    let script = format!("remember: lantern\ndo: run {fork} | head -n 1\ndo: answer Full.");
    let (told, result) = run(&pod, &LIMITED, task(&script, None)).await;
    let words = said(&told.events);
    assert!(
        words.contains("no more: Resource temporarily unavailable"),
        "{words}"
    );
    assert_eq!(result.output, "Full.");
    assert!(words.contains("left behind were ended"), "{words}");
    assert!(!words.contains("cannot be ended"), "{words}");
    let next = task("do: recall", result.provider_session.as_ref());
    assert_eq!(run(&pod, &LIMITED, next).await.1.output, "lantern");
}

/// As in a pod: the runner is the first process, and everything runs as one ordinary user.
const AS_IN_A_POD: [&str; 11] = [
    "unshare",
    "--pid",
    "--fork",
    "--mount-proc",
    "--kill-child",
    "setpriv",
    "--reuid=10001",
    "--regid=10001",
    "--clear-groups",
    "--no-new-privs",
    "--",
];

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn nothing_of_the_runner_can_be_read_through_proc() {
    if !is_root("a process namespace needs root") {
        return;
    }
    let mut pod = Pod::new();
    pod.variables = vec![("API_KEY".into(), "sk-live-0123456789".into())];
    let agent = give(&mut pod, 10001);
    // Of the program that drives the tool all of it can be read, so what is refused is refused for the runner's sake.
    let read = "for pid in 1 $PPID; do for file in mem environ maps auxv stack fd map_files; do \
                if [ -d /proc/$pid/$file ]; then ls /proc/$pid/$file; else head -c 1 /proc/$pid/$file; fi \
                > /dev/null 2>&1; echo $file of $([ $pid = 1 ] && echo runner || echo own): $?; done; done";
    let attach = "for pid in 1 $PPID; do perl -e 'my $r = syscall(101, 0x4206, $ARGV[0] + 0, 0, 0); \
                  print \"seize $ARGV[1]: \", ($r == 0 ? \"done\" : $!), \"\\n\"' $pid $([ $pid = 1 ] && echo runner || echo own); done";
    let script = format!("do: run {read}\ndo: run {attach}\ndo: answer Tried.");
    let (told, result) = run(&pod, &AS_IN_A_POD, with(&agent, task(&script, None))).await;
    assert_eq!(result.output, "Tried.");
    let words = said(&told.events);
    for file in ["mem", "environ", "maps", "auxv", "stack", "fd", "map_files"] {
        assert!(!words.contains(&format!("{file} of runner: 0")), "{words}");
        assert!(words.contains(&format!("{file} of runner: ")), "{words}");
    }
    for file in ["environ", "maps", "auxv", "fd"] {
        assert!(words.contains(&format!("{file} of own: 0")), "{words}");
    }
    assert!(
        words.contains("seize runner: Operation not permitted"),
        "{words}"
    );
}

#[tokio::test]
async fn a_conversation_whose_store_was_renamed_is_begun_anew_and_told() {
    let pod = Pod::new();
    let script = "remember: lantern\ndo: run mv $HOME/.claude $HOME/.elsewhere\ndo: answer Moved.";
    let (_, first) = run(&pod, &[], task(script, None)).await;
    assert_eq!(first.output, "Moved.");
    let next = task("do: recall", first.provider_session.as_ref());
    let (told, second) = run(&pod, &[], next).await;
    assert_eq!(second.output, "nothing");
    assert_ne!(second.provider_session, first.provider_session);
    assert_eq!(second.resumed.session.answer, Answer::No);
    // Only the program hears what it is told; it is where it keeps its conversation.
    let kept = pod.at("workspace/home/.claude/projects");
    let folder = fs::read_dir(kept).unwrap().next().unwrap().unwrap();
    let file = fs::read_dir(folder.path()).unwrap().next().unwrap();
    let conversation = fs::read_to_string(file.unwrap().path()).unwrap();
    assert!(
        conversation.contains("this is a new conversation"),
        "{conversation}"
    );
    let started = |told: &Told| {
        let status = |body: &EventBody| matches!(body, EventBody::Status { .. });
        told.events
            .iter()
            .filter(|event| status(&event.body))
            .count()
    };
    assert_eq!(started(&told), 1, "one start, not one more after a refusal");
    let third = task("do: recall", second.provider_session.as_ref());
    let (_, third) = run(&pod, &[], third).await;
    assert_eq!(third.provider_session, second.provider_session);
}
