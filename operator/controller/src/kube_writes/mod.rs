//! The one way by which anything is written to the cluster.
//!
//! Every write has a number and a deadline, and passes a place where tests make it crash or fail after it
//! was done. The client must be built with `default_retry = false`: a write that is repeated behind our back
//! cannot be reasoned about.

mod fault;

use std::sync::Arc;
use std::time::Duration;

use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use fault::{Fault, FaultPlan, NoFaults};

use crate::read_only::ReadOnly;

/// How long one write may take. The apiserver gives up after 60 s; a pass gives up earlier, since the next
/// one finds out what was done.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(10);

macro_rules! points {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Every write that the controller does to the cluster. The order is that of a task's life.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum KubePoint {
            $($(#[doc = $doc])+ $name,)+
        }

        impl KubePoint {
            /// Every point.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The word used in logs and metrics.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }
        }
    };
}

points! {
    /// Status of a Runtime.
    RuntimeStatus,
    /// Status of an Agent.
    AgentStatus,
    /// Status of an `AgentQuota`.
    QuotaStatus,
    /// Status of an AgentTeam.
    TeamStatus,
    /// The policy that every pod of a namespace is under.
    BasePolicy,
    /// The policy with a Runtime's list.
    RuntimePolicy,
    /// The policy that every pod of a namespace is under that asks a program for its version.
    ProbePolicy,
    /// A pod that asks the program of a Runtime for its version.
    CreateProbe,
    /// One that has answered.
    DeleteProbe,
    /// Status of an `AgentSchedule`.
    ScheduleStatus,
    /// The Secret of a webhook's key.
    CreateWebhookSecret,
    /// Status of an `AgentWebhook`.
    WebhookStatus,
    /// The AgentTask of a schedule's time.
    CreateScheduled,
    /// The AgentTask of a task that was born in the store.
    CreateTask,
    /// The `AgentSession` of a first turn.
    CreateSession,
    /// The volume claim of a session's generation.
    CreateClaim,
    /// The Secret of an attempt.
    CreateSecret,
    /// The pod of an attempt.
    CreatePod,
    /// Status of an AgentTask.
    TaskStatus,
    /// The Secret of an attempt that has ended.
    DeleteSecret,
    /// The pod of an attempt that has ended.
    DeletePod,
    /// Status of an `AgentSession`.
    SessionStatus,
    /// An AgentTask past its ttl.
    DeleteTask,
    /// A Kubernetes Event.
    CreateEvent,
}

/// Why a write is not known to have happened as wanted.
#[derive(Debug, thiserror::Error)]
#[error("{} failed", point.as_str())]
pub struct WriteError {
    /// Which write.
    pub point: KubePoint,
    /// Why.
    #[source]
    pub cause: WriteCause,
}

/// What became of a write.
#[derive(Debug, thiserror::Error)]
pub enum WriteCause {
    /// It was not asked for: nothing may be written any more.
    #[error("nothing is written any more: {0}")]
    ReadOnly(String),
    /// The apiserver refused it.
    #[error("the apiserver refused it")]
    Refused(#[source] Box<kube::core::Status>),
    /// Nobody knows whether it was done.
    #[error("no answer")]
    NoAnswer(#[source] Box<kube::Error>),
    /// Nobody knows whether it was done.
    #[error("no answer within {WRITE_DEADLINE:?}")]
    TimedOut,
}

impl WriteError {
    /// The apiserver's words where it refused.
    #[must_use]
    pub fn refusal(&self) -> Option<&kube::core::Status> {
        match &self.cause {
            WriteCause::Refused(status) => Some(status),
            WriteCause::ReadOnly(_) | WriteCause::NoAnswer(_) | WriteCause::TimedOut => None,
        }
    }

    /// True when an object of that name is there already.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.refusal()
            .is_some_and(kube::core::Status::is_already_exists)
    }

    /// True when there is no such object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.refusal().is_some_and(kube::core::Status::is_not_found)
    }

    /// True when a precondition did not hold: it is another object by now.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.refusal()
            .is_some_and(|status| status.is_conflict() && !status.is_already_exists())
    }
}

/// The seam.
#[derive(Clone)]
pub struct KubeWrites {
    client: Client,
    read_only: ReadOnly,
    faults: Arc<dyn FaultPlan>,
}

impl KubeWrites {
    /// Writes through `client`.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::with_faults(client, Arc::new(NoFaults))
    }

    /// Writes through `client`, with faults where a test wants them.
    #[must_use]
    pub fn with_faults(client: Client, faults: Arc<dyn FaultPlan>) -> Self {
        Self {
            client,
            read_only: ReadOnly::default(),
            faults,
        }
    }

    /// Whether anything may be written through it. Once set, a pass that has begun writes no more either.
    #[must_use]
    pub fn read_only(&self) -> &ReadOnly {
        &self.read_only
    }

    /// Creates an object that never changes.
    ///
    /// # Errors
    /// [`WriteError`], also when it is there already.
    pub async fn create<K>(
        &self,
        point: KubePoint,
        namespace: &str,
        object: &K,
    ) -> Result<K, WriteError>
    where
        K: Namespaced,
    {
        let api = Api::<K>::namespaced(self.client.clone(), namespace);
        self.through(point, async {
            api.create(&PostParams::default(), object).await
        })
        .await
    }

    /// Forced server-side apply, for what may change. Call it only on difference.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn apply<K>(
        &self,
        point: KubePoint,
        manager: &str,
        object: &K,
    ) -> Result<K, WriteError>
    where
        K: Namespaced,
    {
        let meta = object.meta();
        let namespace = meta.namespace.clone().unwrap_or_default();
        let name = meta.name.clone().unwrap_or_default();
        let api = Api::<K>::namespaced(self.client.clone(), &namespace);
        let params = PatchParams::apply(manager).force();
        self.through(point, async {
            api.patch(&name, &params, &Patch::Apply(object)).await
        })
        .await
    }

    /// Merges `patch` into the status of the object with this name **and** UID.
    ///
    /// # Errors
    /// [`WriteError`], also when it is another object by now.
    pub async fn patch_status<K>(
        &self,
        point: KubePoint,
        manager: &str,
        target: &ObjectMeta,
        status: serde_json::Value,
    ) -> Result<K, WriteError>
    where
        K: Namespaced,
    {
        let namespace = target.namespace.clone().unwrap_or_default();
        let name = target.name.clone().unwrap_or_default();
        let api = Api::<K>::namespaced(self.client.clone(), &namespace);
        let body = serde_json::json!({"metadata": {"uid": target.uid}, "status": status});
        let params = PatchParams {
            field_manager: Some(manager.to_owned()),
            ..PatchParams::default()
        };
        self.through(point, async {
            api.patch_status(&name, &params, &Patch::Merge(&body)).await
        })
        .await
    }

    /// Deletes the object with this name and, where it is known, this UID.
    ///
    /// # Errors
    /// [`WriteError`], also when there is none.
    pub async fn delete<K>(&self, point: KubePoint, target: &Target<'_>) -> Result<(), WriteError>
    where
        K: Namespaced,
    {
        let api = Api::<K>::namespaced(self.client.clone(), target.namespace);
        let preconditions = target.uid.map(|uid| Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        });
        let params = DeleteParams {
            grace_period_seconds: target.grace_seconds,
            preconditions,
            ..DeleteParams::default()
        };
        self.through(point, async {
            api.delete(target.name, &params).await.map(|_| ())
        })
        .await
    }

    async fn through<T>(
        &self,
        point: KubePoint,
        write: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        self.faults.before(point).await;
        if let Some(why) = self.read_only.why() {
            let cause = WriteCause::ReadOnly(why);
            return Err(WriteError { point, cause });
        }
        let answer = tokio::time::timeout(WRITE_DEADLINE, write).await;
        let fault = self.faults.after(point).await;
        tracing::debug!(
            write = point.as_str(),
            done = matches!(answer, Ok(Ok(_))),
            "wrote to the cluster"
        );
        let cause = match (fault, answer) {
            (Fault::None, Ok(Ok(value))) => return Ok(value),
            (Fault::None, Ok(Err(kube::Error::Api(status)))) => WriteCause::Refused(status),
            (Fault::None, Ok(Err(error))) => WriteCause::NoAnswer(Box::new(error)),
            (Fault::None, Err(_)) | (Fault::TimeOut, _) => WriteCause::TimedOut,
            (Fault::ServerError, _) => WriteCause::Refused(Box::new(fault::server_error())),
        };
        Err(WriteError { point, cause })
    }
}

/// What is to be deleted.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its UID, so that a later object of the same name is left alone.
    pub uid: Option<&'a str>,
    /// Seconds from the polite signal to the kill.
    pub grace_seconds: Option<u32>,
}

/// A kind that the seam can write: it lives in a namespace.
pub trait Namespaced:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Serialize
    + DeserializeOwned
    + Clone
    + std::fmt::Debug
    + Send
    + Sync
{
}

impl<K> Namespaced for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Serialize
        + DeserializeOwned
        + Clone
        + std::fmt::Debug
        + Send
        + Sync
{
}
