//! Everything that can happen to a pod: each has its class, said within two seconds of the cluster knowing it, and the
//! session goes on afterwards.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use crds::{AgentTask, Runtime};
use e2e::audit::{Entry, Mark};
use e2e::objects::{condition, text};
use e2e::script::Script;
use e2e::{Workspace, node, objects, operator, story_within, wait};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use rustix::process::Signal;
use serde_json::{Value, json};

/// From the cluster's knowing to our saying.
const LIMIT: SignedDuration = SignedDuration::from_secs(2);
/// What the cases that wait for a node, a volume or an image give it.
const PATIENCE: i64 = 3;
/// An image that no node has.
const MISSING: &str = "mooring/no-such-image:none";
/// Stories of pods at a time: the machine has two cores.
const AT_A_TIME: usize = 4;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    PodDeleted,
    ImageMissing,
    RegistryAway,
    VolumeUnbindable,
    ObjectMissing,
    KeyMissing,
    Unschedulable,
    ChildOutOfMemory,
    AllOutOfMemory,
    RunnerKilled,
    CliCrashed,
}

const FAULTS: [Fault; 11] = [
    Fault::PodDeleted,
    Fault::ImageMissing,
    Fault::RegistryAway,
    Fault::VolumeUnbindable,
    Fault::ObjectMissing,
    Fault::KeyMissing,
    Fault::Unschedulable,
    Fault::ChildOutOfMemory,
    Fault::AllOutOfMemory,
    Fault::RunnerKilled,
    Fault::CliCrashed,
];

impl Fault {
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    fn class(self) -> &'static str {
        match self {
            Self::PodDeleted => "PodDeleted",
            Self::ImageMissing | Self::RegistryAway => "ImagePullFailed",
            Self::VolumeUnbindable => "VolumeNotReady",
            Self::ObjectMissing | Self::KeyMissing => "ContainerConfigInvalid",
            Self::Unschedulable => "Unschedulable",
            Self::ChildOutOfMemory | Self::AllOutOfMemory => "OOMKilled",
            Self::RunnerKilled => "RunnerCrashed",
            Self::CliCrashed => "CliCrashed",
        }
    }

    /// What is wrong with the Runtime while the fault lasts.
    fn breakage(self) -> Option<Value> {
        let reference = |key| json!({"name": "settings", "key": key});
        match self {
            Self::ImageMissing => Some(json!({"image": MISSING, "imagePullPolicy": "Never"})),
            // Nothing answers on that port.
            Self::RegistryAway => Some(json!({
                "image": format!("localhost:1/{MISSING}"), "timeouts": {"imagePullSeconds": PATIENCE},
            })),
            Self::ObjectMissing => {
                Some(json!({"pod": {"envFrom": [{"configMapRef": {"name": "missing"}}]}}))
            }
            Self::KeyMissing => Some(json!({"pod": {"env": [
                {"name": "SETTING", "valueFrom": {"configMapKeyRef": reference("missing")}},
            ]}})),
            Self::Unschedulable => Some(json!({
                "pod": {"nodeSelector": {"nowhere": "true"}}, "timeouts": {"scheduleSeconds": PATIENCE},
            })),
            Self::PodDeleted
            | Self::VolumeUnbindable
            | Self::ChildOutOfMemory
            | Self::AllOutOfMemory
            | Self::RunnerKilled
            | Self::CliCrashed => None,
        }
    }

    fn script(self) -> Script {
        let script = Script::new();
        match self {
            Self::ChildOutOfMemory => script.use_memory(512),
            // Time to stop the runner before it can see what happens to its child.
            Self::AllOutOfMemory => script.sleep(6000).use_memory(512),
            Self::CliCrashed => script.sleep(500).crash(3),
            Self::PodDeleted
            | Self::ImageMissing
            | Self::RegistryAway
            | Self::VolumeUnbindable
            | Self::ObjectMissing
            | Self::KeyMissing
            | Self::Unschedulable
            | Self::RunnerKilled => script.sleep(120_000),
        }
    }

    /// Does to the running task what this fault is about.
    async fn strike(self, workspace: &Workspace, name: &str) -> Result<()> {
        match self {
            Self::PodDeleted => {
                let task = workspace.running(name).await?;
                workspace
                    .delete_object::<Pod>(&text(&task, "/status/podName")?)
                    .await
            }
            Self::RunnerKilled => {
                let pod = running_pod(workspace, name).await?;
                node::signal(
                    &node::process(&pod, "the runner", |process| process.inner_id == 1).await?,
                    Signal::KILL,
                )
            }
            Self::AllOutOfMemory => all_out_of_memory(&running_pod(workspace, name).await?).await,
            Self::ImageMissing
            | Self::RegistryAway
            | Self::VolumeUnbindable
            | Self::ObjectMissing
            | Self::KeyMissing
            | Self::Unschedulable
            | Self::ChildOutOfMemory
            | Self::CliCrashed => Ok(()),
        }
    }

    /// The first request by which the cluster knows, and how long after it the fault is a fact.
    fn evidence(self, entry: &Entry) -> bool {
        let from_kubelet =
            entry.user.username.starts_with("system:node:") && entry.resource() == "pods/status";
        let body = entry.request_object.to_string();
        match self {
            Self::PodDeleted => {
                let by_us = entry.user.username == operator::USER;
                !by_us && entry.verb == "delete" && entry.resource() == "pods"
            }
            Self::ImageMissing => from_kubelet && body.contains("ErrImageNeverPull"),
            Self::RegistryAway => entry.verb == "create" && entry.resource() == "pods/binding",
            Self::ObjectMissing | Self::KeyMissing => {
                from_kubelet && body.contains("CreateContainerConfigError")
            }
            Self::VolumeUnbindable | Self::Unschedulable => {
                entry.verb == "create" && entry.resource() == "pods"
            }
            Self::ChildOutOfMemory
            | Self::AllOutOfMemory
            | Self::RunnerKilled
            | Self::CliCrashed => from_kubelet && agent_terminated(&entry.request_object),
        }
    }

    fn patience(self) -> SignedDuration {
        match self {
            Self::VolumeUnbindable | Self::Unschedulable | Self::RegistryAway => {
                SignedDuration::from_secs(PATIENCE)
            }
            Self::PodDeleted
            | Self::ImageMissing
            | Self::ObjectMissing
            | Self::KeyMissing
            | Self::ChildOutOfMemory
            | Self::AllOutOfMemory
            | Self::RunnerKilled
            | Self::CliCrashed => SignedDuration::ZERO,
        }
    }
}

fn agent_terminated(patch: &Value) -> bool {
    let containers = patch
        .pointer("/status/containerStatuses")
        .and_then(Value::as_array);
    containers
        .into_iter()
        .flatten()
        .any(|container| container["state"]["terminated"].is_object())
}

fn is_verdict(patch: &Value, class: &str) -> bool {
    let conditions = patch
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition["type"] == "Succeeded"
            && condition["status"] == "False"
            && condition["reason"] == class
    })
}

async fn running_pod(workspace: &Workspace, name: &str) -> Result<String> {
    let task = workspace.running(name).await?;
    workspace
        .pod_of(&task)
        .await?
        .uid()
        .context("a pod has a UID")
}

/// The kernel of this machine kills one process for want of memory; where it kills the whole group, the runner goes
/// down with its child. So the runner is stopped, and killed once the kernel has taken the child.
async fn all_out_of_memory(pod: &str) -> Result<()> {
    let runner = node::process(pod, "the runner", |process| process.inner_id == 1).await?;
    let cli = node::process(pod, "the agent's CLI", |process| process.inner_id != 1).await?;
    node::signal(&runner, Signal::STOP)?;
    wait::polled("the kernel has killed the agent", wait::USUAL, async || {
        Ok((!node::processes(pod)?.contains(&cli)).then_some(()))
    })
    .await?;
    for process in node::processes(pod)? {
        node::signal(&process, Signal::KILL)?;
    }
    Ok(())
}

/// One session: a word is remembered, a task fails, the fault is repaired, and the word is recalled.
async fn fails_and_goes_on(fault: Fault, workspace: &Workspace) -> Result<String> {
    let name = fault.name();
    let script = fault.script();
    let task = |step: &str, script: &Script| {
        objects::task(&format!("{name}-{step}"), "words", script)
            .set("/spec/agentRef/name", name.as_str())
    };
    let image = &workspace.cluster.settings.images.agent_fake;
    let mut runtime = objects::runtime(&name, image);
    if fault == Fault::VolumeUnbindable {
        runtime = runtime
            .set("/spec/workdir/storageClassName", "no-such-class")
            .set("/spec/timeouts/scheduleSeconds", PATIENCE);
    }
    workspace
        .prepare_with(&runtime, &objects::agent(&name, &name))
        .await?;
    // A session keeps the class of its volume for ever, so this one cannot be repaired.
    let goes_on = fault != Fault::VolumeUnbindable;
    let word = format!("word-of-{name}");
    if goes_on {
        let first = Script::new().remember(&word).answer("Noted.");
        let first = workspace.run_task(&task("1", &first)).await?;
        ensure!(
            objects::is_true(&first, "Succeeded"),
            "{fault:?}: {:?}",
            first.status
        );
        // Its pod has the name of the next one, and would be mistaken for it in the audit log.
        let pod = text(&first, "/status/podName")?;
        workspace.gone::<Pod>(&pod, wait::USUAL).await?;
    }
    if let Some(breakage) = fault.breakage() {
        change(workspace, &name, &breakage).await?;
    }
    let since = workspace.cluster.audit().mark()?;
    let failing = workspace.create_object(&task("2", &script)).await?;
    fault.strike(workspace, &failing.name_any()).await?;
    let failed = workspace.finished(&failing.name_any()).await?;
    let class = text(&failed, "/status/failure/class")?;
    assert_eq!(class, fault.class(), "{fault:?}: {:?}", failed.status);
    assert_eq!(
        condition(&failed, "Succeeded"),
        Some(("False".to_owned(), class.clone())),
        "{fault:?}"
    );
    if fault == Fault::RunnerKilled {
        // Nobody is left who could know, so nobody claims to.
        for part in ["volume", "workdir", "session", "provider"] {
            let answer = objects::at(&failed, &format!("/status/resumed/{part}/answer"));
            ensure!(answer == "Unknown", "{part}: {answer}");
        }
    }
    let latency = latency(fault, workspace, &failed, since).await?;
    ensure!(
        latency <= LIMIT,
        "{fault:?}: said {latency:#} after the cluster knew"
    );

    if goes_on {
        let repaired = json!({
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "pod": {"envFrom": [], "env": [], "nodeSelector": {"nowhere": null}},
            "timeouts": {"scheduleSeconds": 300, "imagePullSeconds": 600},
        });
        change(workspace, &name, &repaired).await?;
        let third = workspace
            .run_task(&task("3", &Script::new().recall()))
            .await?;
        let summary = text(&third, "/status/result/summary")?;
        ensure!(
            summary.contains(&word),
            "{fault:?}: the conversation did not go on: {:?}",
            third.status
        );
    }
    Ok(format!(
        "{:<18} {class:<24} {:>6} ms",
        format!("{fault:?}"),
        latency.as_millis()
    ))
}

async fn change(workspace: &Workspace, runtime: &str, spec: &Value) -> Result<()> {
    let patch = Patch::Merge(json!({"spec": spec}));
    workspace
        .api::<Runtime>()
        .patch(runtime, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// From the request by which the cluster knew to the one by which everybody could.
async fn latency(
    fault: Fault,
    workspace: &Workspace,
    task: &AgentTask,
    since: Mark,
) -> Result<SignedDuration> {
    let audit = workspace.cluster.audit();
    let pod = text(task, "/status/podName")?;
    let knew = audit.first(&workspace.namespace, since, "the cluster knows", |entry| {
        let name = &entry.object_ref.name;
        // A pod's name is not part of the request that creates it.
        (name == &pod || (name.is_empty() && entry.user.username == operator::USER))
            && entry.is_done()
            && fault.evidence(entry)
    });
    let said = audit.first(&workspace.namespace, since, "we say it", |entry| {
        entry.object_ref.name == task.name_any()
            && entry.user.username == operator::USER
            && entry.is_done()
            && is_verdict(&entry.request_object, fault.class())
    });
    let (knew, said) = (knew.await?, said.await?);
    Ok(said.stage_timestamp.duration_since(knew.stage_timestamp) - fault.patience())
}

#[tokio::test]
async fn every_fault_of_a_pod_is_named_at_once_and_costs_no_conversation() -> Result<()> {
    story_within(Duration::from_secs(180), "faults", async |workspace| {
        let settings: ConfigMap = serde_json::from_value(
            json!({"metadata": {"name": "settings"}, "data": {"there": "x"}}),
        )?;
        workspace
            .api()
            .create(&PostParams::default(), &settings)
            .await?;
        let mut lines: Vec<String> = stream::iter(FAULTS)
            .map(|fault| async move {
                fails_and_goes_on(fault, workspace)
                    .await
                    .with_context(|| format!("{fault:?}"))
            })
            .buffer_unordered(AT_A_TIME)
            .try_collect()
            .await?;
        lines.sort();
        println!(
            "fault              class                    knew → said\n{}",
            lines.join("\n")
        );
        Ok(())
    })
    .await
}
