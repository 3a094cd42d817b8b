//! All reads of one pass.
//!
//! What the caches hold is read before the store, so that the row is at least as new
//! as the pod it is compared with: a pod that ended after its verdict is never taken for one without.

use std::sync::Arc;
use std::time::Duration;

use crds::names::{SessionName, session_name};
use crds::{Agent, AgentSession, AgentTask, CauseKind, Runtime, Subject, SubjectKind, TaskCause};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;
use protocol::board;
use protocol::redact::Redactor;
use protocol::{
    AttemptId, FailureClass, InstallationKey, MacKey, TaskId, TaskResult, TaskState,
    TerminationMessage, bound,
};
use store::{AttemptRow, SessionRow, TaskRow, Waiting};

use super::decide::Deletion;
use super::failure::{self, Limits, NodeHealth};
use super::{birth, intake};
use crate::catalog::{Catalog, Standing, can_run, is_usable};
use crate::context::Context;
use crate::directory::Known;
use crate::error::Error;
use crate::{claimer, kube_reads, node};

/// Attempts shown in a status.
const ATTEMPTS_SHOWN: u32 = 10;
/// The longest `graceSeconds` that a Runtime can have.
const LONGEST_GRACE: Duration = Duration::from_secs(600);

/// The object of a task.
#[derive(Clone, Debug)]
pub enum Object {
    /// It is there.
    There(Arc<AgentTask>),
    /// It was deleted.
    Gone,
    /// It is there, but cannot be read; nothing is decided by it.
    Unreadable,
    /// The task was born in the store, and nobody has made it yet.
    ToMake,
    /// The task was born in the store and this was made for it, but the store does not know that yet.
    ToBind(Arc<AgentTask>),
}

impl Object {
    /// The object, if it can be read.
    #[must_use]
    pub fn get(&self) -> Option<&Arc<AgentTask>> {
        match self {
            Self::There(task) => Some(task),
            Self::Gone | Self::Unreadable | Self::ToMake | Self::ToBind(_) => None,
        }
    }
}

/// Whether what a task names is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum References {
    /// Everything.
    Found,
    /// No Agent.
    NoAgent,
    /// There is an Agent, but it cannot be read; nothing is ended by it.
    AgentUnreadable,
    /// None of the Agent's Runtimes.
    NoRuntime,
    /// None of them is ready.
    NoneReady,
    /// None that is ready can be held to the Agent's list of tools.
    NotEnforced,
}

/// Everything that one pass knows.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The task.
    pub row: TaskRow,
    /// Its last attempts, oldest first, at most ten.
    pub attempts: Vec<AttemptRow>,
    /// Its session.
    pub session: SessionRow,
    /// Name of the session and of its pod.
    pub session_name: SessionName,
    /// Its object.
    pub object: Object,
    /// What woke its agent, as the store has it now.
    pub cause: Option<TaskCause>,
    /// What its namespace is to us.
    pub standing: Standing,
    /// Its Agent.
    pub agent: Option<Arc<Agent>>,
    /// Whether what it names is there.
    pub references: References,
    /// False when who asked for it may not wake its Agent, which is there.
    pub may_ask: bool,
    /// The Runtime of its last attempt.
    pub runtime: Option<Arc<Runtime>>,
    /// The pod with the session's name, whosever it is.
    pub pod: Option<Arc<Pod>>,
    /// Which deletion of that pod was accepted last; the watch may not have told of it yet.
    pub pod_deletion: Option<Deletion>,
    /// What was last seen of the attempt's pod, when its object is gone.
    pub last_sight: Option<Arc<Pod>>,
    /// How the node of the attempt's pod is.
    pub node: NodeHealth,
    /// Nodes on which the attempt's pod may be or have been.
    pub nodes: Vec<Arc<Node>>,
    /// The `AgentSession`.
    pub session_object: Option<Arc<AgentSession>>,
    /// Tools for which it waits for a person's decision.
    pub awaited_tools: Vec<String>,
    /// Which limit holds it, if it is queued and was asked.
    pub waiting: Option<Waiting>,
    /// What opens a result that the last attempt's runner left in its pod, where there may be one.
    pub sealed: Option<Sealed>,
}

impl Seen {
    /// What its conversation is about.
    #[must_use]
    pub fn subject(&self) -> Subject {
        let subject = &self.session.key.subject;
        Subject {
            kind: SubjectKind::parse(&subject.kind).unwrap_or(SubjectKind::Key),
            name: subject.name.clone(),
        }
    }

    /// True for what one person and an agent have between them: whoever looks at objects is not that one, and what an
    /// agent answers, or fails with, may tell of it.
    #[must_use]
    pub fn is_private(&self) -> bool {
        match SubjectKind::parse(&self.session.key.subject.kind) {
            Some(SubjectKind::Chat | SubjectKind::QuickIssue) => true,
            Some(SubjectKind::Issue | SubjectKind::Key) | None => false,
        }
    }

    /// What is told of a failure in the cluster.
    #[must_use]
    pub fn told<'a>(&self, class: FailureClass, message: &'a str) -> &'a str {
        if self.is_private() {
            return class.explanation();
        }
        message
    }

    /// The last attempt.
    #[must_use]
    pub fn attempt(&self) -> Option<&AttemptRow> {
        self.attempts.last()
    }

    /// The last attempt, while it may run.
    #[must_use]
    pub fn live(&self) -> Option<&AttemptRow> {
        self.attempt()
            .filter(|attempt| self.row.state.is_active() && attempt.ended_at.is_none())
    }

    /// The last attempt, when it has ended and still holds the session.
    #[must_use]
    pub fn ending(&self) -> Option<&AttemptRow> {
        self.attempt()
            .filter(|attempt| attempt.ended_at.is_some() && self.session.is_held_by(attempt.id))
    }

    /// The pod, if it is that of this attempt.
    #[must_use]
    pub fn pod_of(&self, attempt: AttemptId) -> Option<&Arc<Pod>> {
        self.pod.as_ref().filter(|pod| is_pod_of(pod, attempt))
    }

    /// From the polite signal to the kill, of the last attempt's pod; the longest there is where nobody knows.
    #[must_use]
    pub fn grace(&self) -> Duration {
        let spec = |pod: &Arc<Pod>| {
            pod.spec
                .as_ref()
                .and_then(|spec| spec.termination_grace_period_seconds)
        };
        let own = self
            .last_sight
            .as_ref()
            .and_then(spec)
            .and_then(|seconds| u64::try_from(seconds).ok());
        let now = self.runtime.is_some().then(|| self.limits().grace);
        own.map(Duration::from_secs)
            .or(now)
            .unwrap_or(LONGEST_GRACE)
    }

    /// Times allowed. Deleting a Runtime leaves its runs alone: then a pod's own backstop bounds every part.
    #[must_use]
    pub fn limits(&self) -> Limits {
        if let Some(runtime) = &self.runtime {
            return limits(runtime.spec.timeouts);
        }
        let usual = limits(crds::Timeouts::default());
        let spec = self.pod.as_ref().and_then(|pod| pod.spec.as_ref());
        let backstop = spec.and_then(|spec| spec.active_deadline_seconds);
        match backstop
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map(Duration::from_secs)
        {
            Some(all) => Limits {
                schedule: all,
                image_pull: all,
                prepare: all,
                task: all,
                ..usual
            },
            None => usual,
        }
    }
}

/// The times of a Runtime.
#[must_use]
pub fn limits(timeouts: crds::Timeouts) -> Limits {
    let seconds = |seconds: i32| Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Limits {
        schedule: seconds(timeouts.schedule_seconds),
        image_pull: seconds(timeouts.image_pull_seconds),
        prepare: seconds(timeouts.prepare_seconds),
        task: seconds(timeouts.task_seconds),
        grace: seconds(timeouts.grace_seconds),
    }
}

/// What opens the result that a runner left in its pod, and takes out what no result may hold.
#[derive(Clone, Debug)]
pub struct Sealed {
    key: MacKey,
    redactor: Redactor,
}

impl Sealed {
    /// For one attempt.
    #[must_use]
    pub fn new(key: &InstallationKey, attempt: &AttemptRow) -> Self {
        Self {
            key: key.mac_key(attempt.id, attempt.salt),
            redactor: Redactor::new(key, attempt.id, attempt.salt),
        }
    }

    /// The result of this attempt in a message, cleaned and cut to size as if the runner's call had come
    /// through; `None` for what its runner did not write.
    #[must_use]
    pub fn open(&self, attempt: AttemptId, message: &str) -> Option<TaskResult> {
        let TerminationMessage {
            attempt: writer,
            mut result,
        } = TerminationMessage::open(&self.key, message).ok()?;
        self.redactor.result(&mut result);
        bound::result(&mut result);
        (writer == attempt).then_some(result)
    }
}

/// True when the labels of a pod name this attempt.
#[must_use]
pub fn is_pod_of(pod: &Pod, attempt: AttemptId) -> bool {
    let label = |key| pod.labels().get(key).map(String::as_str);
    label(crds::labels::TASK_ID) == Some(attempt.task.to_string().as_str())
        && label(crds::labels::ATTEMPT) == Some(attempt.number.to_string().as_str())
}

/// True when a pod of this attempt is known to have been made.
///
/// It was recorded, or a runner opened the package: that tells of a pod whose making pass died before it could
/// record it, and which then vanished.
#[must_use]
pub fn had_pod(attempt: &AttemptRow) -> bool {
    attempt.pod_uid.is_some() || attempt.opened_at.is_some()
}

/// Reads everything about a task; `None` when the store does not know it.
///
/// # Errors
/// [`Error::Store`], [`Error::Read`], [`Error::Name`].
pub async fn observe(ctx: &Context, task: TaskId, now: Timestamp) -> Result<Option<Seen>, Error> {
    // Names and places never change, so this first look at the row serves to find what the caches hold.
    let Some(found) = ctx.store.task(task).await? else {
        return Ok(None);
    };
    let Some(session) = ctx.store.session(found.session).await? else {
        return Ok(None);
    };
    let namespace = &found.object.namespace;
    let subject = &session.key.subject;
    let session_name = session_name(
        &found.agent,
        &subject.kind,
        &subject.name,
        &found.object.namespace_uid,
    )?;
    let pod = ctx.caches.pods.get(namespace, session_name.as_str());
    let object = object(ctx, &found);
    let catalog = Catalog::new(ctx.caches.clone());
    let standing = catalog.standing(namespace, &found.object.namespace_uid);
    let agent = catalog.agent(namespace, &found.agent);
    let references = match &agent {
        None if ctx.caches.agents.is_unreadable(namespace, &found.agent) => {
            References::AgentUnreadable
        }
        None | Some(_) => references(&catalog, namespace, agent.as_deref()),
    };
    // What was woken was asked when it was.
    let may_ask = found.was_born_here()
        || object
            .get()
            .is_none_or(|object| intake::may_ask(&Known::new(&ctx.caches, namespace), object));

    let Some(row) = ctx.store.task(task).await? else {
        return Ok(None);
    };
    let Some(session) = ctx.store.session(row.session).await? else {
        return Ok(None);
    };
    let cause = cause(ctx, &row, &session).await?;
    let attempts = attempts(ctx, &row).await?;
    let last = attempts.last();
    let runtime = last.and_then(|attempt| catalog.runtime(namespace, &attempt.runtime));
    let waiting = waiting(ctx, &row, agent.as_deref(), standing, now).await?;
    let awaited_tools = awaited_tools(ctx, &row).await?;
    let mut seen = Seen {
        sealed: None,
        last_sight: last.and_then(|attempt| ctx.memory.last_sight(attempt.pod_uid.as_deref()?)),
        session_object: ctx.caches.sessions.get(namespace, session_name.as_str()),
        node: NodeHealth::None,
        nodes: Vec::new(),
        pod_deletion: pod
            .as_ref()
            .and_then(|pod| ctx.memory.deletion(&pod.uid()?)),
        attempts,
        session,
        session_name,
        object,
        cause,
        standing,
        agent,
        references,
        may_ask,
        runtime,
        pod,
        awaited_tools,
        waiting,
        row,
    };
    look_for_pod(ctx, &mut seen).await?;
    seen.sealed = sealed(ctx, &seen);
    Ok(Some(seen))
}

/// What a person is to decide on.
async fn awaited_tools(ctx: &Context, row: &TaskRow) -> Result<Vec<String>, Error> {
    match row.state {
        TaskState::Running => Ok(ctx.store.awaited_tools(row.id).await?),
        TaskState::Queued
        | TaskState::Claimed
        | TaskState::Preparing
        | TaskState::Suspended
        | TaskState::Finishing
        | TaskState::Finished => Ok(Vec::new()),
    }
}

/// What opens a message, where there is one: most passes see none and need no searcher.
fn sealed(ctx: &Context, seen: &Seen) -> Option<Sealed> {
    let attempt = seen.attempt()?;
    let has_message = |pod: &Arc<Pod>| failure::termination_message(pod).is_some();
    let mut pods = [&seen.pod, &seen.last_sight].into_iter().flatten();
    pods.any(has_message)
        .then(|| Sealed::new(&ctx.key, attempt))
}

/// What the caches do not say about the pod of an attempt that holds the session.
async fn look_for_pod(ctx: &Context, seen: &mut Seen) -> Result<(), Error> {
    let Some(attempt) = seen.live().or(seen.ending()).cloned() else {
        return Ok(());
    };
    if seen.pod_of(attempt.id).is_none() && must_ask(seen, &attempt) {
        seen.pod = ask_for_pod(ctx, &seen.row.object.namespace, seen.session_name.as_str()).await?;
    }
    let pod_node = |pod: &Arc<Pod>| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let seen_pod = seen.pod_of(attempt.id).or(seen.last_sight.as_ref());
    let name = seen_pod.and_then(pod_node).or(attempt.node.clone());
    seen.node = node::named(ctx, name.as_deref());
    seen.nodes = node::candidates(ctx, name.as_deref());
    Ok(())
}

/// Whether the cache's word that there is no pod is not enough: it is about to be acted upon for good.
fn must_ask(seen: &Seen, attempt: &AttemptRow) -> bool {
    // Only an end is final: for the watch a pod that lost our label is gone as well.
    let known_dead = seen.last_sight.as_deref().is_some_and(failure::is_dead);
    match (attempt.ended_at.is_some(), had_pod(attempt)) {
        // A verdict would follow from its absence.
        (false, true) => !known_dead,
        // It is made anyway; the name refuses a second one.
        (false, false) => false,
        // The holder would be released. A pod may have been made without our hearing of it.
        // Once the apiserver has said that it is gone it stays gone, however long the fence is closed.
        (true, _) => {
            !known_dead
                && seen.row.state != TaskState::Finished
                && attempt.pod_absent_since.is_none()
        }
    }
}

async fn ask_for_pod(
    ctx: &Context,
    namespace: &str,
    name: &str,
) -> Result<Option<Arc<Pod>>, Error> {
    let found = kube_reads::get::<Pod>(&ctx.client, "a pod", namespace, name).await?;
    Ok(found.map(|pod| {
        let ours = pod
            .labels()
            .get(crds::labels::MANAGED_BY)
            .is_some_and(|by| by == crds::labels::MANAGER);
        if ours {
            ctx.caches.pods.observe(pod)
        } else {
            Arc::new(pod)
        }
    }))
}

fn object(ctx: &Context, row: &TaskRow) -> Object {
    let (namespace, name) = (&row.object.namespace, &row.object.name);
    let found = ctx.caches.tasks.get(namespace, name);
    if found.is_none() && ctx.caches.tasks.is_unreadable(namespace, name) {
        return Object::Unreadable;
    }
    match (&row.object.uid, found) {
        (Some(uid), Some(task)) if task.uid().as_ref() == Some(uid) => Object::There(task),
        (Some(_), _) => Object::Gone,
        (None, Some(task)) if birth::is_made_for(&task, row) => Object::ToBind(task),
        // Where another one has the name, the apiserver will say so.
        (None, _) => Object::ToMake,
    }
}

/// What woke the agent of a task that was born in the store.
async fn cause(
    ctx: &Context,
    row: &TaskRow,
    session: &SessionRow,
) -> Result<Option<TaskCause>, Error> {
    let subject = &session.key.subject;
    let without_issue = |kind| {
        Some(TaskCause {
            kind,
            issue: None,
            comment: None,
        })
    };
    match SubjectKind::parse(&subject.kind) {
        Some(SubjectKind::Chat) => return Ok(without_issue(CauseKind::Chat)),
        Some(SubjectKind::QuickIssue) => return Ok(without_issue(CauseKind::QuickIssue)),
        Some(SubjectKind::Key) | None => return Ok(None),
        Some(SubjectKind::Issue) => {}
    }
    let woken = ctx.store.woken_by(row.id).await?;
    Ok(woken.map(|(kind, comment)| TaskCause {
        kind: match kind {
            board::CauseKind::Comment => CauseKind::Comment,
            board::CauseKind::Assignment => CauseKind::Assignment,
            board::CauseKind::Children => CauseKind::Children,
            board::CauseKind::Chat => CauseKind::Chat,
            board::CauseKind::QuickIssue => CauseKind::QuickIssue,
        },
        issue: Some(subject.name.clone()),
        comment: comment.map(|comment| comment.to_string()),
    }))
}

fn references(catalog: &Catalog, namespace: &str, agent: Option<&Agent>) -> References {
    let Some(agent) = agent else {
        return References::NoAgent;
    };
    let runtimes = catalog.runtimes_of(namespace, agent);
    if runtimes.is_empty() {
        References::NoRuntime
    } else if !runtimes.iter().any(|runtime| is_usable(runtime)) {
        References::NoneReady
    } else if runtimes.iter().any(|runtime| can_run(agent, runtime)) {
        References::Found
    } else {
        References::NotEnforced
    }
}

async fn attempts(ctx: &Context, row: &TaskRow) -> Result<Vec<AttemptRow>, Error> {
    let first = row.attempt.saturating_sub(ATTEMPTS_SHOWN - 1).max(1);
    let mut attempts = Vec::new();
    for number in first..=row.attempt {
        attempts.extend(
            ctx.store
                .attempt(AttemptId {
                    task: row.id,
                    number,
                })
                .await?,
        );
    }
    Ok(attempts)
}

/// Which limit holds a queued task: that of the first lane that could take it.
async fn waiting(
    ctx: &Context,
    row: &TaskRow,
    agent: Option<&Agent>,
    standing: Standing,
    now: Timestamp,
) -> Result<Option<Waiting>, Error> {
    let is_waiting = row.state == TaskState::Queued && standing == Standing::Workspace;
    let Some(agent) = agent.filter(|_| is_waiting && super::status::is_settled(row, None, now))
    else {
        return Ok(None);
    };
    for runtime in Catalog::new(ctx.caches.clone()).runtimes_of(&row.object.namespace, agent) {
        if let Some(lane) = claimer::lane(ctx, &runtime)
            && let Some(waiting) = ctx.store.waiting(row.id, &lane, now).await?
        {
            return Ok(Some(waiting));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::fixtures;

    #[test]
    fn before_a_pod_is_given_up_the_apiserver_is_asked() {
        let pod = |status| {
            let pod = json!({"metadata": {}, "spec": {"nodeName": "node-1", "containers": []}, "status": status});
            Some(serde_json::from_value::<super::Pod>(pod).unwrap().into())
        };
        let (runs, dead) = (json!({"phase": "Running"}), json!({"phase": "Failed"}));
        let mut seen = fixtures::running();
        let mut attempt = seen.attempts[0].clone();
        // Nobody recorded the pod whose runner opened the package.
        attempt.pod_uid = None;
        assert!(super::must_ask(&seen, &attempt));
        attempt.opened_at = None;
        assert!(!super::must_ask(&seen, &attempt));
        attempt.clone_from(&seen.attempts[0]);
        // A pod that lost its label is gone for the watch, and goes on.
        seen.last_sight = pod(runs);
        assert!(super::must_ask(&seen, &attempt));
        seen.row.state = super::TaskState::Finishing;
        let mut ended = attempt;
        ended.ended_at = Some(ended.claimed_at);
        assert!(super::must_ask(&seen, &ended));
        // One answer is enough: an idle cluster with a closed fence is not asked every half minute.
        ended.pod_absent_since = ended.ended_at;
        assert!(!super::must_ask(&seen, &ended));
        ended.pod_absent_since = None;
        seen.last_sight = pod(dead);
        assert!(!super::must_ask(&seen, &ended));
    }

    #[test]
    fn without_its_runtime_a_run_has_the_time_of_its_backstop() {
        let mut seen = fixtures::running();
        assert_eq!(seen.limits().task.as_secs(), 7200);
        let pod =
            json!({"metadata": {}, "spec": {"activeDeadlineSeconds": 99_999, "containers": []}});
        seen.pod = Some(serde_json::from_value::<super::Pod>(pod).unwrap().into());
        seen.runtime = None;
        assert_eq!(
            (
                seen.limits().task.as_secs(),
                seen.limits().prepare.as_secs()
            ),
            (99_999, 99_999)
        );
    }
}
