//! Uninstalling Mooring costs no work: definitions, tasks, claims and the store stay, and what is installed again goes on.

use std::time::Duration;

use anyhow::{Result, ensure};
use crds::AgentTask;
use e2e::objects::{is_true, text};
use e2e::operator::NAMESPACE;
use e2e::script::Script;
use e2e::{install, story_within};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

#[tokio::test]
async fn what_is_uninstalled_and_installed_again_goes_on() -> Result<()> {
    story_within(Duration::from_secs(150), "chart", async |workspace| {
        workspace.prepare().await?;
        let script = Script::new().remember("anchor").answer("Noted.");
        let first = workspace.run("first", "chart", &script).await?;
        ensure!(is_true(&first, "Succeeded"), "{:?}", first.status);
        let claim = workspace.claim_of(&first).await?;
        // Else the operator would not have seen the pod end, and the next task would wait for a minute.
        workspace.conversation_of(&first).await?;

        install::remove(&workspace.cluster).await?;
        let uninstalled = what_stays(&workspace.cluster, workspace, &first, &claim).await;
        // Whatever was seen: the other stories need their operator back.
        install::again(&workspace.cluster).await?;
        uninstalled?;

        let second = workspace
            .run("second", "chart", &Script::new().recall())
            .await?;
        ensure!(is_true(&second, "Succeeded"), "{:?}", second.status);
        assert_eq!(text(&second, "/status/result/summary")?, "anchor");
        assert_eq!(workspace.claim_of(&second).await?.uid(), claim.uid());
        Ok(())
    })
    .await
}

async fn what_stays(
    cluster: &e2e::Cluster,
    workspace: &e2e::Workspace,
    task: &AgentTask,
    claim: &PersistentVolumeClaim,
) -> Result<()> {
    let list = ListParams::default();
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    assert_eq!(
        deployments.list(&list).await?.items.len(),
        0,
        "the operator is still there"
    );
    let stays: AgentTask = workspace.api().get(&task.name_any()).await?;
    assert_eq!(stays.uid(), task.uid());
    let stays: PersistentVolumeClaim = workspace.api().get(&claim.name_any()).await?;
    assert_eq!(stays.uid(), claim.uid());
    let stores: Api<PersistentVolumeClaim> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let stores = stores.list(&list).await?;
    ensure!(stores.items.len() == 1, "the store's volume is gone");
    Ok(())
}
