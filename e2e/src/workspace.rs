//! The namespace of one test.

use std::time::Duration;

use anyhow::{Context as _, Result};
use crds::{Agent, AgentSession, AgentTask, Runtime};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt as _};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::objects::{self, Draft};
use crate::operator::Operator;
use crate::script::{GO_ON, Script};
use crate::store::StoreReader;
use crate::wait::{self, Record, USUAL, Watchable};

/// Marks the namespaces of tests, so that the next run can remove what a failed one left.
pub(crate) const MARK: &str = "mooring.dev/e2e";

/// A namespace that is a workspace of Mooring, with the strictest Pod Security level.
pub struct Workspace {
    /// Where it is.
    pub cluster: Cluster,
    /// Its name.
    pub namespace: String,
}

impl Workspace {
    /// Makes a new one.
    ///
    /// # Errors
    /// When the apiserver refuses it.
    pub async fn create(cluster: &Cluster, story: &str) -> Result<Self> {
        let workspace = (crds::labels::WORKSPACE, crds::labels::ENABLED);
        Self::labelled(cluster, story, &[workspace]).await
    }

    /// Makes a namespace that is no workspace, so that an operator leaves everything in it alone.
    ///
    /// # Errors
    /// When the apiserver refuses it.
    pub async fn untouched(cluster: &Cluster, story: &str) -> Result<Self> {
        Self::labelled(cluster, story, &[]).await
    }

    async fn labelled(cluster: &Cluster, story: &str, more: &[(&str, &str)]) -> Result<Self> {
        let mut namespace: Namespace = serde_json::from_value(json!({
            "metadata": {
                "generateName": format!("e2e-{story}-"),
                "labels": {
                    MARK: "test",
                    "pod-security.kubernetes.io/enforce": "restricted",
                },
            },
        }))?;
        let more = more
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        namespace.labels_mut().extend(more);
        let made = Api::<Namespace>::all(cluster.client.clone())
            .create(&PostParams::default(), &namespace)
            .await?;
        Ok(Self {
            cluster: cluster.clone(),
            namespace: made.name_any(),
        })
    }

    /// Removes it with all that is in it, without waiting for the end of that.
    ///
    /// # Errors
    /// When the apiserver refuses it.
    pub async fn delete(&self) -> Result<()> {
        let namespaces = Api::<Namespace>::all(self.cluster.client.clone());
        match namespaces
            .delete(&self.namespace, &DeleteParams::default())
            .await
        {
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {
                Ok(())
            }
            other => other
                .map(drop)
                .with_context(|| format!("delete {}", self.namespace)),
        }
    }

    /// The objects of one kind in it.
    #[must_use]
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType: Default>,
    {
        Api::namespaced(self.cluster.client.clone(), &self.namespace)
    }

    /// kubectl as the administrator, in this namespace.
    #[must_use]
    pub fn kubectl(&self) -> std::process::Command {
        let mut kubectl = self.cluster.kubectl();
        kubectl.arg(format!("--namespace={}", self.namespace));
        kubectl
    }

    /// Writes a file for kubectl to read, and returns its path.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn file(&self, name: &str, content: &str) -> Result<String> {
        let folder = crate::settings::checkout()
            .join("target/e2e")
            .join(&self.namespace);
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(name);
        std::fs::write(&path, content)?;
        Ok(path.display().to_string())
    }

    /// The operator.
    #[must_use]
    pub fn operator(&self) -> Operator {
        Operator::new(&self.cluster)
    }

    /// The store as the operator has it now.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn store(&self) -> Result<StoreReader> {
        StoreReader::open(&self.cluster).await
    }

    /// Starts to write down what happens to the objects of one kind.
    ///
    /// # Errors
    /// When they cannot be watched.
    pub async fn record<K>(&self) -> Result<Record<K>>
    where
        K: Watchable + Resource<Scope = NamespaceResourceScope>,
    {
        Record::start(self.api()).await
    }

    /// Makes an object.
    ///
    /// # Errors
    /// When it is not of its type, or the apiserver refuses it.
    pub async fn create_object<K>(&self, draft: &Draft<K>) -> Result<K>
    where
        K: Watchable + Resource<Scope = NamespaceResourceScope>,
    {
        let object = draft.object()?;
        Box::pin(self.api().create(&PostParams::default(), &object))
            .await
            .with_context(|| format!("create {}", draft.value()))
    }

    /// The Runtime and Agent that most stories use.
    #[must_use]
    pub fn usual(&self) -> (Draft<Runtime>, Draft<Agent>) {
        let image = &self.cluster.settings.images.agent_fake;
        (
            objects::runtime(objects::RUNTIME, image),
            objects::agent(objects::AGENT, objects::RUNTIME),
        )
    }

    /// Makes the usual Runtime and Agent.
    ///
    /// # Errors
    /// As [`Workspace::create_object`].
    pub async fn prepare(&self) -> Result<()> {
        let (runtime, agent) = self.usual();
        self.prepare_with(&runtime, &agent).await
    }

    /// Makes a Runtime and an Agent.
    ///
    /// # Errors
    /// As [`Workspace::create_object`].
    pub async fn prepare_with(&self, runtime: &Draft<Runtime>, agent: &Draft<Agent>) -> Result<()> {
        self.create_object(runtime).await?;
        self.create_object(agent).await?;
        Ok(())
    }

    /// Makes a task of the usual Agent.
    ///
    /// # Errors
    /// As [`Workspace::create_object`].
    pub async fn start(&self, name: &str, subject: &str, script: &Script) -> Result<AgentTask> {
        self.create_object(&objects::task(name, subject, script))
            .await
    }

    /// Makes a task and waits for its end.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn run(&self, name: &str, subject: &str, script: &Script) -> Result<AgentTask> {
        self.run_task(&objects::task(name, subject, script)).await
    }

    /// Makes a task and waits for its end.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn run_task(&self, task: &Draft<AgentTask>) -> Result<AgentTask> {
        let task = self.create_object(task).await?;
        self.finished(&task.name_any()).await
    }

    /// Waits for the end of a task, however it ends.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn finished(&self, name: &str) -> Result<AgentTask> {
        self.finished_within(name, USUAL).await
    }

    /// Waits for the end of a task, however it ends.
    ///
    /// # Errors
    /// When it does not end in time.
    pub async fn finished_within(&self, name: &str, limit: Duration) -> Result<AgentTask> {
        self.task(name, "is finished", limit, |task| {
            objects::is_true(task, "Finished")
        })
        .await
    }

    /// Waits until a task's agent runs.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn running(&self, name: &str) -> Result<AgentTask> {
        self.task(name, "runs", USUAL, |task| {
            objects::at(task, "/status/times/started").is_string()
        })
        .await
    }

    /// Waits until a task is as `wanted`.
    ///
    /// # Errors
    /// When that does not happen in time.
    pub async fn task(
        &self,
        name: &str,
        what: &str,
        limit: Duration,
        wanted: impl Fn(&AgentTask) -> bool,
    ) -> Result<AgentTask> {
        wait::object(&self.api(), name, what, limit, |task| {
            task.filter(|task| wanted(task)).cloned()
        })
        .await
    }

    /// Merges something into a task's spec.
    ///
    /// # Errors
    /// When the apiserver refuses it.
    pub async fn patch_task(&self, name: &str, spec: Value) -> Result<AgentTask> {
        let patch = Patch::Merge(json!({"spec": spec}));
        Ok(self
            .api()
            .patch(name, &PatchParams::default(), &patch)
            .await?)
    }

    /// Deletes an object of one kind at once.
    ///
    /// # Errors
    /// When there is none.
    pub async fn delete_object<K>(&self, name: &str) -> Result<()>
    where
        K: Watchable + Resource<Scope = NamespaceResourceScope>,
    {
        self.api::<K>()
            .delete(name, &DeleteParams::background())
            .await?;
        Ok(())
    }

    /// Waits until there is no object of this name.
    ///
    /// # Errors
    /// When it stays.
    pub async fn gone<K>(&self, name: &str, limit: Duration) -> Result<()>
    where
        K: Watchable + Resource<Scope = NamespaceResourceScope>,
    {
        wait::object(&self.api::<K>(), name, "is gone", limit, |object| {
            object.is_none().then_some(())
        })
        .await
    }

    /// The pod of a task that has one.
    ///
    /// # Errors
    /// When it has none.
    pub async fn pod_of(&self, task: &AgentTask) -> Result<Pod> {
        let name = objects::text(task, "/status/podName")?;
        wait::object(
            &self.api(),
            &name,
            "is there",
            USUAL,
            |pod: Option<&Pod>| pod.cloned(),
        )
        .await
    }

    /// The session of a task.
    ///
    /// # Errors
    /// When it has none.
    pub async fn session_of(&self, task: &AgentTask) -> Result<AgentSession> {
        Ok(self
            .api()
            .get(&objects::text(task, "/status/sessionName")?)
            .await?)
    }

    /// The provider's id of the conversation of a task that has ended. The session says it once its pod is gone.
    ///
    /// # Errors
    /// When it is never said.
    pub async fn conversation_of(&self, task: &AgentTask) -> Result<String> {
        let name = objects::text(task, "/status/sessionName")?;
        // The session is told once after a turn. Until then it is idle as after the turn before.
        let times = task
            .status
            .as_ref()
            .and_then(|status| status.times.as_ref());
        let finished = times
            .and_then(|times| times.finished.as_ref())
            .context("the task is not finished")?
            .0
            .as_second();
        let told = |session: Option<&AgentSession>| {
            session
                .filter(|session| {
                    let used = session
                        .status
                        .as_ref()
                        .and_then(|status| status.last_used_time.as_ref());
                    objects::is_true(*session, "Idle")
                        && used.is_some_and(|used| used.0.as_second() >= finished)
                })
                .cloned()
        };
        let session =
            wait::object(&self.api(), &name, "is idle after the turn", USUAL, told).await?;
        objects::text(&session, "/status/providerSession/id")
    }

    /// The volume claim of a task's session.
    ///
    /// # Errors
    /// When there is none.
    pub async fn claim_of(&self, task: &AgentTask) -> Result<PersistentVolumeClaim> {
        let session = self.session_of(task).await?;
        Ok(self
            .api()
            .get(&objects::text(&session, "/status/claimName")?)
            .await?)
    }

    /// Lets a task's script go on that waits ([`crate::script::Script::wait`]).
    ///
    /// # Errors
    /// When its volume cannot be written to.
    pub async fn let_go_on(&self, task: &AgentTask) -> Result<()> {
        let file = self.folder_of(task).await?.join("work").join(GO_ON);
        tokio::fs::write(&file, "").await.context("let it go on")
    }

    /// The folder of a task's volume on this machine.
    ///
    /// # Errors
    /// When it has none.
    pub async fn folder_of(&self, task: &AgentTask) -> Result<std::path::PathBuf> {
        let claim = self.claim_of(task).await?;
        let volume = claim
            .spec
            .and_then(|spec| spec.volume_name)
            .context("the claim is not bound")?;
        crate::store::volume_folder(&self.cluster, &volume).await
    }
}
