//! The conversation comes back, with the real Claude Code: a stand-in of our own would prove nothing about user ids,
//! home, a read-only root, or how it finds its sessions. Its model plays a script, in a pod of its own.

use anyhow::{Context as _, Result, ensure};
use e2e::objects::{at, text};
use e2e::script::Script;
use e2e::wait::{self, USUAL};
use e2e::{Workspace, objects, story};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Service};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

const PORT: u16 = 8080;
/// What the agent's skill says that it is good for.
const SKILL: &str = "How to speak with people politely, 7c41d0.";

/// The scripted model, outside of the workspace: nothing may connect into that.
struct Model {
    namespace: String,
    pod_address: String,
    service_address: String,
}

impl Model {
    async fn start(workspace: &Workspace, image: &str) -> Result<Self> {
        let client = workspace.cluster.client.clone();
        let namespace: Namespace = serde_json::from_value(json!({
            "metadata": {"generateName": "e2e-model-", "labels": {
                "mooring.dev/e2e": "test", "pod-security.kubernetes.io/enforce": "restricted",
            }},
        }))?;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let namespace = namespaces
            .create(&PostParams::default(), &namespace)
            .await?
            .name_any();
        let (pods, services) = (
            Api::namespaced(client.clone(), &namespace),
            Api::namespaced(client.clone(), &namespace),
        );
        let scenarios: ConfigMap = serde_json::from_value(json!({
            "metadata": {"name": "scenarios"},
            "data": {"scenarios.json": include_str!("scenarios.json")},
        }))?;
        Api::namespaced(client, &namespace)
            .create(&PostParams::default(), &scenarios)
            .await?;
        let pod: Pod = serde_json::from_value(model_pod(image))?;
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": "model"},
            "spec": {"selector": {"app": "model"}, "ports": [{"port": PORT}]},
        }))?;
        pods.create(&PostParams::default(), &pod).await?;
        let service: Service = services.create(&PostParams::default(), &service).await?;
        let pod_address = wait::object(&pods, "model", "is ready", USUAL, |pod: Option<&Pod>| {
            let status = pod?.status.as_ref()?;
            let ready = status
                .conditions
                .iter()
                .flatten()
                .any(|one| one.type_ == "Ready" && one.status == "True");
            ready.then(|| status.pod_ip.clone()).flatten()
        });
        let pod_address = pod_address.await?;
        let service_address = service
            .spec
            .and_then(|spec| spec.cluster_ip)
            .context("a Service has an address")?;
        Ok(Self {
            namespace,
            pod_address,
            service_address,
        })
    }

    /// Every request that the CLI has made so far.
    async fn requests(&self) -> Result<Vec<Value>> {
        let url = format!("http://{}:{PORT}/__log", self.pod_address);
        Ok(reqwest::get(url).await?.error_for_status()?.json().await?)
    }

    async fn stop(&self, workspace: &Workspace) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(workspace.cluster.client.clone());
        namespaces
            .delete(&self.namespace, &DeleteParams::default())
            .await?;
        Ok(())
    }
}

fn model_pod(image: &str) -> Value {
    json!({
        "metadata": {"name": "model", "labels": {"app": "model"}},
        "spec": {
            "automountServiceAccountToken": false,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "model",
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "args": ["--scenarios", "/scenarios/scenarios.json"],
                "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
                "securityContext": {
                    "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "scenarios", "mountPath": "/scenarios"}],
            }],
            "volumes": [{"name": "scenarios", "configMap": {"name": "scenarios"}}],
        },
    })
}

/// The Runtime of the real CLI: it may connect to its model and to nothing else.
fn runtime(image: &str, model: &Model) -> objects::Draft<crds::Runtime> {
    let address = format!("http://model.{}.svc.cluster.local:{PORT}", model.namespace);
    objects::runtime("claude", image)
        .set("/spec/pod/resources/limits/memory", "1Gi")
        .set("/spec/workdir/size", "256Mi")
        .set(
            "/spec/network/allow",
            json!([
                {"cidr": format!("{}/32", model.pod_address), "port": PORT},
                {"cidr": format!("{}/32", model.service_address), "port": PORT},
            ]),
        )
        .set(
            "/spec/pod/env",
            json!([
                {"name": "ANTHROPIC_BASE_URL", "value": address},
                {"name": "ANTHROPIC_API_KEY", "value": "scripted"},
                {"name": "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "value": "1"},
            ]),
        )
}

/// A Skill, and the ConfigMap that it is made of.
async fn give_skill(workspace: &Workspace) -> Result<()> {
    let text = format!("---\nname: manners\ndescription: {SKILL}\n---\nSay please.\n");
    let files: ConfigMap = serde_json::from_value(json!({
        "metadata": {"name": "manners"}, "data": {"SKILL.md": text},
    }))?;
    let skill: crds::Skill = serde_json::from_value(json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Skill", "metadata": {"name": "manners"},
        "spec": {"description": "How we speak.", "files": [{"configMap": {"name": "manners"}}]},
    }))?;
    let post = PostParams::default();
    workspace.api::<ConfigMap>().create(&post, &files).await?;
    workspace.api::<crds::Skill>().create(&post, &skill).await?;
    Ok(())
}

fn holds(requests: &[Value], word: &str) -> bool {
    requests
        .iter()
        .any(|request| request["body"].to_string().contains(word))
}

#[tokio::test]
async fn claude_code_goes_on_with_its_conversation_in_a_new_pod() -> Result<()> {
    story("claude", async |workspace| {
        let images = &workspace.cluster.settings.images;
        let (Some(claude), Some(model)) = (&images.agent_claude, &images.scripted_model) else {
            println!("skipped: no image of Claude Code or of its scripted model");
            return Ok(());
        };
        let model = Box::pin(Model::start(workspace, model)).await?;
        give_skill(workspace).await?;
        workspace
            .prepare_with(
                &runtime(claude, &model),
                &objects::agent(objects::AGENT, "claude")
                    .set("/spec/skills", json!([{"name": "manners"}])),
            )
            .await?;
        let word = "w4f1b7c09e2";
        let task = |name: &str, prompt: &str| {
            objects::task(name, "claude", &Script::new()).set("/spec/prompt", prompt)
        };

        let first = task(
            "first",
            &format!("[scenario:note] Remember the word {word}."),
        );
        let first = workspace.run_task(&first).await?;
        ensure!(objects::is_true(&first, "Succeeded"), "{:?}", first.status);
        assert_eq!(text(&first, "/status/result/summary")?, "Noted.");
        let before = model.requests().await?;
        ensure!(holds(&before, word), "the model never got the prompt");
        ensure!(
            holds(&before, SKILL),
            "the model never heard of the agent's skill"
        );

        let second = workspace
            .run_task(&task(
                "second",
                "[scenario:shell] Where are you, and what was the word?",
            ))
            .await?;
        ensure!(
            objects::is_true(&second, "Succeeded"),
            "{:?}",
            second.status
        );
        assert_eq!(
            text(&second, "/status/result/summary")?,
            "That was the place."
        );
        let asked = model.requests().await?.split_off(before.len());
        ensure!(
            holds(&asked, word),
            "the earlier turn is not in what the model was asked: the conversation did not go on"
        );
        ensure!(
            holds(&asked, "/workspace/work"),
            "the tool did not run in the working directory"
        );

        assert_eq!(
            workspace.conversation_of(&second).await?,
            workspace.conversation_of(&first).await?
        );
        assert_ne!(
            at(&first, "/status/attempts/0/podUid"),
            at(&second, "/status/attempts/0/podUid")
        );
        for part in ["volume", "workdir", "session", "provider"] {
            assert_eq!(
                text(&second, &format!("/status/resumed/{part}/answer"))?,
                "Yes",
                "{part}"
            );
        }
        ensure!(
            !at(&second, "/status/usage").is_null(),
            "nothing is known of what it cost"
        );
        model.stop(workspace).await
    })
    .await
}
