//! Thirty tasks at once where five pods may be: never more than five, all end, and whoever waits says why.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Result, ensure};
use crds::{AgentQuota, AgentTask};
use e2e::objects::{at, condition, draft, is_true};
use e2e::script::Script;
use e2e::story_within;
use e2e::wait::Record;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::json;

const TASKS: usize = 30;
const PODS: usize = 5;
const LIMIT: Duration = Duration::from_secs(150);
/// What a task waits for is said after two seconds; the rest is for a machine that stalls.
const SAID: i64 = 10;

#[tokio::test]
async fn five_pods_serve_thirty_tasks_and_the_others_say_why_they_wait() -> Result<()> {
    story_within(LIMIT + LIMIT / 5, "capacity", async |workspace| {
        let (runtime, agent) = workspace.usual();
        workspace
            .prepare_with(&runtime.set("/spec/capacity/maxPods", PODS), &agent)
            .await?;
        // Room enough, but its tasks are claimed in turn then, as where workspaces share a cluster.
        workspace
            .create_object(&draft::<AgentQuota>(json!({
                "apiVersion": "mooring.dev/v1alpha1",
                "kind": "AgentQuota",
                "metadata": {"name": crds::QUOTA_NAME},
                "spec": {"maxConcurrent": TASKS},
            })))
            .await?;
        let pods: Record<Pod> = workspace.record().await?;
        let tasks: Record<AgentTask> = workspace.record().await?;
        let names: Vec<String> = (0..TASKS).map(|number| format!("task-{number}")).collect();
        let script = Script::new().answer("Done.");
        try_join_all(
            names
                .iter()
                .map(|name| workspace.start(name, name, &script)),
        )
        .await?;
        tasks
            .until("all are over", LIMIT, |seen| {
                let over: BTreeSet<_> = seen
                    .iter()
                    .filter(|seen| is_true(&seen.object, "Finished"))
                    .map(|seen| seen.object.name_any())
                    .collect();
                (over.len() == TASKS).then_some(())
            })
            .await?;

        let most = most_at_a_time(&pods);
        ensure!(most <= PODS, "{most} pods at a time");
        ensure!(
            most == PODS,
            "only {most} pods at a time: the limit was never reached, so nothing was shown"
        );
        let mut waited = 0;
        for name in &names {
            let of_task: Vec<_> = tasks
                .seen()
                .into_iter()
                .filter(|seen| &seen.object.name_any() == name)
                .collect();
            let last = &of_task[of_task.len() - 1].object;
            assert_eq!(
                condition(last, "Succeeded"),
                Some(("True".to_owned(), "Succeeded".to_owned())),
                "{name}"
            );
            if seconds_queued(last) > SAID {
                waited += 1;
                ensure!(
                    of_task
                        .iter()
                        .any(|seen| at(&seen.object, "/status/waiting/limit") == "Runtime"),
                    "{name} waited {} s without saying for what",
                    seconds_queued(last)
                );
                ensure!(
                    at(last, "/status/waiting").is_null(),
                    "{name} still says that it waits"
                );
            }
        }
        ensure!(
            waited > 0,
            "no task waited long enough to say so: nothing was shown"
        );
        Ok(())
    })
    .await
}

/// Terminating pods count: they hold their volume and their memory.
fn most_at_a_time(pods: &Record<Pod>) -> usize {
    let mut there = BTreeMap::new();
    let mut most = 0;
    for seen in pods.seen() {
        if seen.gone {
            there.remove(&seen.object.uid());
        } else {
            there.insert(seen.object.uid(), ());
        }
        most = most.max(there.len());
    }
    most
}

fn seconds_queued(task: &AgentTask) -> i64 {
    let times = task
        .status
        .as_ref()
        .and_then(|status| status.times.clone())
        .unwrap_or_default();
    match (times.queued, times.claimed) {
        (Some(queued), Some(claimed)) => claimed.0.duration_since(queued.0).as_secs(),
        (_, None) | (None, Some(_)) => 0,
    }
}
