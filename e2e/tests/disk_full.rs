//! An agent that fills the disk: a session's volume on a real file system of 48 MiB. The task says what happened and what to
//! do, other sessions notice nothing, nothing is left of it, and the next task of the session works once there is room.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use crds::AgentTask;
use e2e::objects::{condition, text};
use e2e::script::Script;
use e2e::wait::USUAL;
use e2e::{Workspace, node, objects, store, story};
use k8s_openapi::api::core::v1::{Node, PersistentVolume};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

/// The Runtime and Agent whose sessions lie on the small disk.
const SMALL: &str = "small";
/// The label by which a volume is bound to nodes.
const HOSTNAME: &str = "kubernetes.io/hostname";
/// What the agent fills it with.
const FILLER: &str = "work/filler";

/// A disk of its own: a file that is mounted. Goes with the story, whatever becomes of that.
struct Disk {
    folder: PathBuf,
}

impl Disk {
    fn make(name: &str) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("mooring-{name}"));
        let disk = Self { folder };
        let (image, mounted) = (disk.image(), disk.mounted());
        fs::create_dir_all(&mounted)?;
        fs::File::create(&image)?.set_len(48 << 20)?;
        let image = image.display().to_string();
        done(Command::new("mkfs.ext4").args(["-q", "-m", "0", "-O", "^has_journal", &image]))?;
        let ext4 = Command::new("mount")
            .args(["-o", "loop", &image])
            .arg(&mounted)
            .output()?;
        // A kernel without loop devices has at least memory.
        if !ext4.status.success() {
            let why = String::from_utf8_lossy(&ext4.stderr);
            writeln!(
                io::stdout(),
                "a disk in memory, since none can be mounted: {why}"
            )?;
            let mut memory = Command::new("mount");
            memory.args(["-t", "tmpfs", "-o", "size=48m", "none"]);
            done(memory.arg(&mounted))?;
        }
        Ok(disk)
    }

    fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    fn mounted(&self) -> PathBuf {
        self.folder.join("volume")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, since the kubelet may have it mounted for a moment longer. What fails here was not made.
        drop(
            Command::new("umount")
                .arg("-l")
                .arg(self.mounted())
                .output(),
        );
        drop(fs::remove_dir_all(&self.folder));
    }
}

fn done(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {words}");
    Ok(())
}

/// Makes the cluster know the disk, under this name, and Runtime and Agent that use it.
async fn offer(workspace: &Workspace, disk: &Path, name: &str) -> Result<()> {
    let client = workspace.cluster.client.clone();
    let nodes = Api::<Node>::all(client.clone());
    let nodes = nodes.list(&ListParams::default()).await?;
    // They share this machine's folders.
    let names = nodes.iter().filter_map(|node| node.labels().get(HOSTNAME));
    let names: Vec<_> = names.collect();
    let class: StorageClass = serde_json::from_value(json!({
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }))?;
    let volume: PersistentVolume = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "40Mi"},
            "accessModes": ["ReadWriteOncePod"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": name,
            "local": {"path": disk},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": HOSTNAME, "operator": "In", "values": names}]}]}},
        },
    }))?;
    let post = PostParams::default();
    Api::all(client.clone()).create(&post, &class).await?;
    Api::all(client).create(&post, &volume).await?;
    let image = &workspace.cluster.settings.images.agent_fake;
    let runtime = objects::runtime(SMALL, image)
        .set("/spec/workdir/size", "40Mi")
        .set("/spec/workdir/storageClassName", name);
    workspace
        .prepare_with(&runtime, &objects::agent(SMALL, SMALL))
        .await
}

async fn withdraw(workspace: &Workspace, name: &str) -> Result<()> {
    let client = workspace.cluster.client.clone();
    let delete = DeleteParams::background();
    let volumes = Api::<PersistentVolume>::all(client.clone());
    volumes.delete(name, &delete).await?;
    let classes = Api::<StorageClass>::all(client);
    classes.delete(name, &delete).await?;
    Ok(())
}

async fn run(workspace: &Workspace, name: &str, script: &Script) -> Result<AgentTask> {
    let task = objects::task(name, "disk", script).set("/spec/agentRef/name", SMALL);
    workspace.run_task(&task).await
}

/// The disk is full, it is said so, and nothing of it is left.
async fn is_full(workspace: &Workspace, task: &AgentTask) -> Result<()> {
    let verdict = condition(task, "Succeeded");
    let wanted = Some(("False".to_owned(), "VolumeFull".to_owned()));
    ensure!(verdict == wanted, "{verdict:?}: {:?}", task.status);
    let message = text(task, "/status/failure/message")?;
    ensure!(
        message.contains("the session's volume is full (")
            && message.contains("enlarge the volume's claim"),
        "{message}"
    );
    let pod = text(task, "/status/attempts/0/podUid")?;
    node::nothing_runs(&pod, USUAL).await?;
    let shown = serde_json::to_string(&task.status)?;
    let timeline = timeline(workspace, task).await?;
    ensure!(
        !(shown + &timeline).contains("mrt_"),
        "the token: {timeline}"
    );
    Ok(())
}

async fn timeline(workspace: &Workspace, task: &AgentTask) -> Result<String> {
    let id = store::task_id(&text(task, "/status/taskId")?)?;
    let events = workspace.store().await?.timeline(id).await?;
    let events: Vec<_> = events.into_iter().map(|stored| stored.event).collect();
    Ok(serde_json::to_string(&events)?)
}

fn recalled(task: &AgentTask) -> Result<()> {
    let said = text(task, "/status/result/summary").unwrap_or_default();
    ensure!(said == "lantern", "{said:?}: {:?}", task.status);
    Ok(())
}

async fn fills_it(workspace: &Workspace, disk: &Path) -> Result<()> {
    // More than what is left of the last block of the conversation's file, which counts as taken.
    let long = "x".repeat(8192);
    // No more than so much, should the disk not be where it ought to be.
    let fill = |script: Script| {
        // Where a large piece does not fit, many small ones do.
        let filled = script.run(
            "head -c 64M /dev/zero > filler; dd if=/dev/zero bs=1k count=4096 >> filler; echo filled",
        );
        filled.answer(&long)
    };
    let filled = fill(Script::new().remember("lantern"));
    let filled = run(workspace, "filled", &filled).await?;
    is_full(workspace, &filled).await?;
    let bytes = fs::metadata(disk.join(FILLER))?.len();
    ensure!(bytes > 16 << 20, "it was filled otherwise: {bytes} bytes");

    // Somebody else's session is none of its business.
    let done = Script::new().answer("Done.");
    let other = workspace.run("other", "words", &done).await?;
    ensure!(objects::is_true(&other, "Succeeded"), "{:?}", other.status);

    // What was kept for this day is enough for a turn that makes room.
    let room = Script::new().run("rm filler").recall();
    recalled(&run(workspace, "makes-room", &room).await?)?;
    ensure!(!disk.join(FILLER).exists(), "the agent has not deleted it");

    // And again; now a person makes room, on the disk itself.
    is_full(
        workspace,
        &run(workspace, "again", &fill(Script::new())).await?,
    )
    .await?;
    fs::remove_file(disk.join(FILLER)).context("make room")?;
    recalled(&run(workspace, "goes-on", &Script::new().recall()).await?)
}

#[tokio::test]
async fn a_full_disk_is_named_and_the_session_goes_on_once_there_is_room() -> Result<()> {
    story("disk-full", async |workspace| {
        let disk = Disk::make(&workspace.namespace)?;
        let name = format!("disk-of-{}", workspace.namespace);
        workspace.prepare().await?;
        let told = match offer(workspace, &disk.mounted(), &name).await {
            Ok(()) => fills_it(workspace, &disk.mounted()).await,
            Err(error) => Err(error),
        };
        // A volume that is in use stays until its claim has gone with the namespace.
        let withdrawn = withdraw(workspace, &name).await;
        told.and(withdrawn)
    })
    .await
}
