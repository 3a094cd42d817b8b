//! With two hundred finished tasks and nothing to do, the operator does nothing. Runs late in the suite, so
//! that what earlier stories left, a volume whose pod nobody saw end among it, is there and asks for nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use crds::AgentTask;
use e2e::audit::Entry;
use e2e::objects::is_true;
use e2e::script::Script;
use e2e::wait::{self, Record, USUAL};
use e2e::{objects, operator, story_within};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

const TASKS: usize = 200;
const QUIET: Duration = Duration::from_secs(60);
/// For the namespaces of the stories before to go.
const GOING: Duration = Duration::from_secs(90);

#[tokio::test]
async fn two_hundred_finished_tasks_cost_nothing() -> Result<()> {
    story_within(Duration::from_secs(300), "idle", async |workspace| {
        workspace.prepare().await?;
        // One that really ran, so that sessions, pods and volumes have been in the operator's hands too.
        workspace
            .run("ran", "ran", &Script::new().answer("Done."))
            .await?;
        let tasks: Record<AgentTask> = workspace.record().await?;
        stream::iter(1..TASKS)
            .map(|number| async move {
                let name = format!("task-{number}");
                let draft =
                    objects::task(&name, &name, &Script::new()).set("/spec/desiredState", "Cancel");
                workspace.create_object(&draft).await
            })
            .buffer_unordered(8)
            .try_collect::<Vec<_>>()
            .await?;
        tasks
            .until("all are over", USUAL, |seen| {
                let over: BTreeSet<_> = seen
                    .iter()
                    .filter(|seen| is_true(&seen.object, "Finished"))
                    .map(|seen| seen.object.uid())
                    .collect();
                (over.len() == TASKS).then_some(())
            })
            .await?;

        // What earlier stories left (namespaces that are going away) is work, too: it has to be over first.
        let namespaces = Api::<Namespace>::all(workspace.cluster.client.clone());
        wait::polled("no namespace is going away", GOING, async || {
            let all = namespaces.list(&ListParams::default()).await?;
            let mut all = all.items.iter();
            Ok(all
                .all(|one| one.metadata.deletion_timestamp.is_none())
                .then_some(()))
        })
        .await?;
        let audit = workspace.cluster.audit();
        wait::polled("five seconds without a request", USUAL, async || {
            let mark = audit.mark()?;
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok(audit
                .of_user(operator::USER, mark)?
                .iter()
                .all(is_watch)
                .then_some(()))
        })
        .await?;

        let mark = audit.mark()?;
        // Not a wait for something: the minute itself is what is measured.
        tokio::time::sleep(QUIET).await;
        let requests = audit.of_user(operator::USER, mark)?;
        let made: Vec<String> = requests
            .iter()
            .filter(|entry| !is_watch(entry))
            .map(Entry::shown)
            .collect();
        ensure!(
            made.is_empty(),
            "in {QUIET:?} the operator asked for:\n{}",
            made.join("\n")
        );
        Ok(())
    })
    .await
}

fn is_watch(entry: &Entry) -> bool {
    entry.verb == "watch"
}
