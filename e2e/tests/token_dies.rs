//! A task's token works while its task does, and on every way out it is dead and its Secret gone. A client with a copy
//! of the token asks all the time.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use crds::AgentTask;
use e2e::objects::{condition, text};
use e2e::script::Script;
use e2e::token::{self, ApiClient, Poller};
use e2e::wait::{Record, USUAL};
use e2e::{Workspace, objects, story};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Namespace, Pod, Secret};
use kube::api::DeleteParams;
use kube::{Api, ResourceExt as _};
use serde_json::json;

/// How long Secret and token may outlive the end that everybody can read.
const LIMIT: Duration = Duration::from_secs(2);

/// Long enough for a pod to start while five others do.
const DEADLINE: u64 = 30;

/// One way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Success,
    Failure,
    Cancel,
    Deadline,
    PodDeleted,
    TaskDeleted,
    NamespaceDeleted,
}

impl Ending {
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// What the agent does: it is at work long enough to be asked about, and then ends or is ended.
    fn script(self) -> Script {
        let script = Script::new().run("moor whoami");
        match self {
            Self::Success => script.wait().answer("Done."),
            Self::Failure => script.wait().crash(3),
            Self::Cancel
            | Self::Deadline
            | Self::PodDeleted
            | Self::TaskDeleted
            | Self::NamespaceDeleted => script.sleep(120_000),
        }
    }

    /// The reason of the verdict; `None` where the object that would say it is gone.
    fn reason(self) -> Option<&'static str> {
        match self {
            Self::Success => Some("Succeeded"),
            Self::Failure => Some("CliCrashed"),
            Self::Cancel => Some("Cancelled"),
            Self::Deadline => Some("DeadlineExceeded"),
            Self::PodDeleted => Some("PodDeleted"),
            Self::TaskDeleted | Self::NamespaceDeleted => None,
        }
    }

    async fn bring(self, workspace: &Workspace, task: &AgentTask) -> Result<()> {
        match self {
            Self::Success | Self::Failure => workspace.let_go_on(task).await,
            // This comes by itself.
            Self::Deadline => Ok(()),
            Self::Cancel => workspace
                .patch_task(&task.name_any(), json!({"desiredState": "Cancel"}))
                .await
                .map(drop),
            Self::PodDeleted => {
                workspace
                    .delete_object::<Pod>(&text(task, "/status/podName")?)
                    .await
            }
            Self::TaskDeleted => workspace.delete_object::<AgentTask>(&task.name_any()).await,
            Self::NamespaceDeleted => {
                let namespaces = Api::<Namespace>::all(workspace.cluster.client.clone());
                Ok(namespaces
                    .delete(&workspace.namespace, &DeleteParams::default())
                    .await
                    .map(drop)?)
            }
        }
    }
}

/// What is watched in a namespace.
struct Watched {
    tasks: Record<AgentTask>,
    secrets: Record<Secret>,
}

impl Watched {
    async fn start(workspace: &Workspace) -> Result<Self> {
        Ok(Self {
            tasks: workspace.record().await?,
            secrets: workspace.record().await?,
        })
    }
}

async fn token_is_dead_after(
    ending: Ending,
    workspace: &Workspace,
    watched: &Watched,
) -> Result<()> {
    let mut draft = objects::task(&ending.name(), &ending.name(), &ending.script());
    if ending == Ending::Deadline {
        draft = draft.set("/spec/deadlineSeconds", DEADLINE);
    }
    let task = workspace.create_object(&draft).await?;
    let uid = task.uid().context("an object has a UID")?;
    let secret = token::secret_of(&watched.secrets, &uid).await?;
    let task = workspace.running(&task.name_any()).await?;
    let pod = workspace.pod_of(&task).await?;
    let api = ApiClient::from_pod(&workspace.cluster, &pod, &secret).await?;
    let poller = Poller::start(api, token::token(&secret)?);
    poller
        .answer(200, Instant::now())
        .await
        .context("the token does not work while the task runs")?;

    let brought = Instant::now();
    ending.bring(workspace, &task).await?;
    let over = watched
        .tasks
        .first("the end can be read", USUAL, |seen| {
            seen.object.uid() == Some(uid.clone()) && (seen.gone || has_verdict(&seen.object))
        })
        .await?;
    // Where the task's object goes too, whoever was faster wrote last: the operator, or the deletion.
    if let Some(reason) = ending.reason() {
        let verdict = condition(&over.object, "Succeeded").map(|(_, reason)| reason);
        assert_eq!(verdict.as_deref(), Some(reason), "{ending:?}");
    }
    // The object's own deletion is known to us before the operator knows it; a status it has written itself.
    let dead_from = if over.gone {
        over.at.max(brought) + LIMIT
    } else {
        over.at
    };
    let refused = poller.answer(401, over.at).await?;
    ensure!(
        refused.asked <= over.at + LIMIT,
        "{ending:?}: refused {:?} after the end",
        refused.asked - over.at
    );
    let secret_gone = watched
        .secrets
        .first("the Secret is gone", USUAL, |seen| {
            seen.gone && seen.object.uid() == secret.uid()
        })
        .await?;
    let lag = secret_gone.at.saturating_duration_since(over.at);
    ensure!(
        lag <= LIMIT,
        "{ending:?}: the Secret is gone {lag:?} after the end"
    );
    poller.answer(401, Instant::now()).await?;
    for answer in poller
        .answers()
        .iter()
        .filter(|answer| answer.asked >= dead_from)
    {
        let code = answer.code.unwrap_or_default();
        ensure!(
            !(200..300).contains(&code),
            "{ending:?}: {code}, {:?} after the end",
            answer.asked - over.at
        );
    }
    Ok(())
}

fn has_verdict(task: &AgentTask) -> bool {
    condition(task, "Succeeded").is_some_and(|(status, _)| status != "Unknown")
}

/// In a namespace of its own.
async fn with_its_namespace(workspace: &Workspace) -> Result<()> {
    let going = Workspace::create(&workspace.cluster, "token-ns").await?;
    going.prepare().await?;
    let watched = Watched::start(&going).await?;
    Box::pin(token_is_dead_after(
        Ending::NamespaceDeleted,
        &going,
        &watched,
    ))
    .await
}

#[tokio::test]
async fn a_token_dies_with_its_task_whichever_way_it_ends() -> Result<()> {
    story("token", async |workspace| {
        workspace.prepare().await?;
        let watched = Watched::start(workspace).await?;
        let endings = [
            Ending::Success,
            Ending::Failure,
            Ending::Cancel,
            Ending::Deadline,
            Ending::PodDeleted,
            Ending::TaskDeleted,
        ];
        let endings = endings.map(|ending| token_is_dead_after(ending, workspace, &watched));
        tokio::try_join!(try_join_all(endings), with_its_namespace(workspace))?;
        Ok(())
    })
    .await
}
