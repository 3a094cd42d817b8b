//! Deleting things: nothing hangs, no work is lost, and what was missed while the operator was away is made good.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use crds::{Agent, AgentTask, Runtime};
use e2e::objects::{condition, text};
use e2e::script::Script;
use e2e::wait::USUAL;
use e2e::{Workspace, node, objects, store, story, story_within, wait};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, Pod};
use kube::api::DeleteParams;
use kube::{Api, ResourceExt as _};

/// A deletion that takes longer hangs: the grace period, and what garbage collection needs.
const LIMIT: Duration = Duration::from_secs(15);

/// Leaves a mark on the volume, and then works on.
fn marking() -> Script {
    Script::new()
        .run("echo kept > /workspace/work/mark")
        .sleep(120_000)
}

fn for_agent(name: &str, agent: &str, script: &Script) -> objects::Draft<AgentTask> {
    objects::task(name, name, script).set("/spec/agentRef/name", agent)
}

/// A running task with a mark on its volume.
struct Marked {
    task: AgentTask,
    pod: Pod,
    claim: PersistentVolumeClaim,
    folder: std::path::PathBuf,
}

impl Marked {
    async fn start(workspace: &Workspace, name: &str, agent: &str) -> Result<Self> {
        workspace
            .create_object(&for_agent(name, agent, &marking()))
            .await?;
        let task = workspace.running(name).await?;
        let (pod, claim) = (
            workspace.pod_of(&task).await?,
            workspace.claim_of(&task).await?,
        );
        let folder = workspace.folder_of(&task).await?;
        wait::polled("the mark is on the volume", USUAL, async || {
            Ok(has_mark(&folder).then_some(()))
        })
        .await?;
        Ok(Self {
            task,
            pod,
            claim,
            folder,
        })
    }

    /// Fails unless its pod goes and its work stays.
    async fn pod_goes_and_work_stays(&self, workspace: &Workspace) -> Result<()> {
        workspace.gone::<Pod>(&self.pod.name_any(), LIMIT).await?;
        node::nothing_runs(&self.pod.uid().unwrap_or_default(), LIMIT).await?;
        let claim = workspace
            .api::<PersistentVolumeClaim>()
            .get(&self.claim.name_any())
            .await?;
        assert_eq!(claim.uid(), self.claim.uid());
        ensure!(
            claim.metadata.deletion_timestamp.is_none(),
            "the claim is being deleted"
        );
        ensure!(has_mark(&self.folder), "the work is gone");
        Ok(())
    }
}

fn has_mark(folder: &Path) -> bool {
    fs::read_to_string(folder.join("work/mark")).is_ok_and(|mark| mark == "kept\n")
}

async fn task_deleted(workspace: &Workspace) -> Result<()> {
    let marked = Marked::start(workspace, "task", objects::AGENT).await?;
    workspace.delete_object::<AgentTask>("task").await?;
    workspace.gone::<AgentTask>("task", LIMIT).await?;
    marked.pod_goes_and_work_stays(workspace).await
}

async fn agent_deleted(workspace: &Workspace) -> Result<()> {
    workspace
        .create_object(&objects::agent("leaver", objects::RUNTIME))
        .await?;
    let marked = Marked::start(workspace, "agent", "leaver").await?;
    workspace.delete_object::<Agent>("leaver").await?;
    workspace.gone::<Agent>("leaver", LIMIT).await?;
    let over = workspace.finished("agent").await?;
    assert_eq!(
        condition(&over, "Succeeded"),
        Some(("False".to_owned(), "AgentDeleted".to_owned()))
    );
    marked.pod_goes_and_work_stays(workspace).await
}

async fn runtime_deleted(workspace: &Workspace) -> Result<()> {
    let image = &workspace.cluster.settings.images.agent_fake;
    workspace
        .prepare_with(
            &objects::runtime("short", image),
            &objects::agent("short", "short"),
        )
        .await?;
    let script = Script::new()
        .run("echo kept > /workspace/work/mark")
        .sleep(2500)
        .answer("Done.");
    workspace
        .create_object(&for_agent("runtime", "short", &script))
        .await?;
    workspace.running("runtime").await?;
    workspace.delete_object::<Runtime>("short").await?;
    workspace.gone::<Runtime>("short", LIMIT).await?;
    let over = workspace.finished("runtime").await?;
    assert_eq!(
        condition(&over, "Succeeded"),
        Some(("True".to_owned(), "Succeeded".to_owned())),
        "a run is left alone"
    );
    ensure!(
        has_mark(&workspace.folder_of(&over).await?),
        "the work is gone"
    );
    Ok(())
}

/// A finished task goes when its time is over; what GitOps then makes again is not run again.
async fn time_over(workspace: &Workspace) -> Result<()> {
    let draft = objects::task("short-lived", "short-lived", &Script::new())
        .set("/spec/ttlSecondsAfterFinished", 1);
    let done = workspace.run_task(&draft).await?;
    ensure!(objects::is_true(&done, "Succeeded"), "{:?}", done.status);
    workspace.gone::<AgentTask>("short-lived", LIMIT).await?;
    workspace.create_object(&draft).await?;
    let refused = Some(("False".to_owned(), "AlreadyRan".to_owned()));
    workspace
        .task("short-lived", "is not run again", USUAL, |task| {
            condition(task, "Accepted") == refused
        })
        .await
        .map(drop)
}

#[tokio::test]
async fn nothing_hangs_and_no_work_is_lost() -> Result<()> {
    story("delete", async |workspace| {
        workspace.prepare().await?;
        tokio::try_join!(
            task_deleted(workspace),
            agent_deleted(workspace),
            runtime_deleted(workspace),
            time_over(workspace),
            namespace_deleted(workspace),
        )?;
        Ok(())
    })
    .await
}

/// A second workspace that goes away in the middle of a run.
async fn namespace_with_a_run(workspace: &Workspace) -> Result<Workspace> {
    let other = Workspace::create(&workspace.cluster, "going").await?;
    other.prepare().await?;
    other.start("task", "going", &marking()).await?;
    other.running("task").await?;
    Ok(other)
}

async fn namespace_deleted(workspace: &Workspace) -> Result<()> {
    namespace_goes(&namespace_with_a_run(workspace).await?).await
}

async fn namespace_goes(workspace: &Workspace) -> Result<()> {
    let namespaces = Api::<Namespace>::all(workspace.cluster.client.clone());
    namespaces
        .delete(&workspace.namespace, &DeleteParams::default())
        .await?;
    let gone = |namespace: Option<&Namespace>| namespace.is_none().then_some(());
    wait::object(&namespaces, &workspace.namespace, "is gone", USUAL, gone).await
}

#[tokio::test]
async fn deletions_while_the_operator_is_away_are_made_good() -> Result<()> {
    story("delete-away", async |workspace| {
        workspace.prepare().await?;
        workspace
            .create_object(&objects::agent("leaver", objects::RUNTIME))
            .await?;
        let (deleted, orphaned, other) = tokio::try_join!(
            Marked::start(workspace, "task", objects::AGENT),
            Marked::start(workspace, "agent", "leaver"),
            namespace_with_a_run(workspace),
        )?;

        workspace.operator().away().await?;
        workspace.delete_object::<AgentTask>("task").await?;
        workspace.gone::<AgentTask>("task", LIMIT).await?;
        workspace.delete_object::<Agent>("leaver").await?;
        workspace.gone::<Agent>("leaver", LIMIT).await?;
        workspace.delete_object::<Runtime>(objects::RUNTIME).await?;
        workspace.gone::<Runtime>(objects::RUNTIME, LIMIT).await?;
        namespace_goes(&other).await?;
        workspace.operator().back().await?;

        deleted.pod_goes_and_work_stays(workspace).await?;
        orphaned.pod_goes_and_work_stays(workspace).await?;
        let over = workspace.finished(&orphaned.task.name_any()).await?;
        assert_eq!(text(&over, "/status/failure/class")?, "AgentDeleted");
        Ok(())
    })
    .await
}

/// The operator's file, with a second name that keeps it when the first is deleted.
struct KeptFile {
    file: std::path::PathBuf,
    kept: std::path::PathBuf,
}

impl KeptFile {
    async fn delete(workspace: &Workspace) -> Result<Self> {
        let folder = store::folder(&workspace.cluster).await?;
        let (file, kept) = (folder.join(store::FILE), folder.join("kept"));
        fs::hard_link(&file, &kept).context("keep the file")?;
        fs::remove_file(&file)?;
        Ok(Self { file, kept })
    }

    fn restore(&self) -> Result<()> {
        Ok(fs::rename(&self.kept, &self.file)?)
    }
}

#[tokio::test]
async fn a_deleted_store_makes_the_operator_read_only_and_touches_no_volume() -> Result<()> {
    story_within(Duration::from_secs(150), "store-lost", async |workspace| {
        workspace.prepare().await?;
        let marked = Marked::start(workspace, "task", objects::AGENT).await?;
        let kept = KeptFile::delete(workspace).await?;
        let told = match lost_store_is_said(workspace, &marked).await {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(workspace.operator().log().await?)),
        };
        // Whatever was seen: the other stories need their operator back.
        workspace.operator().away().await?;
        kept.restore()?;
        workspace.operator().back().await?;
        told?;
        workspace
            .patch_task("task", serde_json::json!({"desiredState": "Cancel"}))
            .await?;
        workspace.finished("task").await?;
        workspace.finished("new").await?;
        marked.pod_goes_and_work_stays(workspace).await
    })
    .await
}

async fn lost_store_is_said(workspace: &Workspace, marked: &Marked) -> Result<()> {
    let since = workspace.cluster.audit().mark()?;
    workspace
        .start("new", "new", &Script::new().answer("Done."))
        .await?;
    wait::polled("the operator says that it only reads", USUAL, async || {
        let log = workspace.operator().log().await?;
        Ok(log.contains("nothing is written any more").then_some(()))
    })
    .await?;
    let pods = Api::<Pod>::namespaced(workspace.cluster.client.clone(), e2e::operator::NAMESPACE);
    let operator = workspace.operator().pod().await?.name_any();
    wait::object(
        &pods,
        &operator,
        "is not ready",
        USUAL,
        |pod: Option<&Pod>| {
            let conditions = pod?.status.as_ref()?.conditions.as_ref()?;
            conditions
                .iter()
                .any(|condition| condition.type_ == "Ready" && condition.status == "False")
                .then_some(())
        },
    )
    .await?;
    ensure!(has_mark(&marked.folder), "the work is gone");
    let entries = workspace
        .cluster
        .audit()
        .of_namespace(&workspace.namespace, since)?;
    let deleted: Vec<_> = entries
        .iter()
        .filter(|entry| {
            entry.user.username == e2e::operator::USER && entry.verb.starts_with("delete")
        })
        .map(e2e::audit::Entry::shown)
        .collect();
    ensure!(
        deleted.is_empty(),
        "it deleted without a store:\n{}",
        deleted.join("\n")
    );
    ensure!(
        !node::processes(&marked.pod.uid().unwrap_or_default())?.is_empty(),
        "the run was touched"
    );
    Ok(())
}
