//! Keys of labels and annotations, and the names under which fields are written.

/// On a namespace, with [`ENABLED`]: it is a workspace. Other namespaces are never touched.
pub const WORKSPACE: &str = "mooring.dev/workspace";
/// The value of [`WORKSPACE`].
pub const ENABLED: &str = "enabled";

/// On a namespace that is a workspace, with [`TRUE`]: an agent is woken only where a person is at the top of the
/// chain of causes.
pub const REQUIRE_ORIGINATOR: &str = "mooring.dev/require-originator";
/// The value of [`REQUIRE_ORIGINATOR`].
pub const TRUE: &str = "true";

/// The task's id of the store, a `UUIDv7`.
pub const TASK_ID: &str = "mooring.dev/task-id";
/// The attempt's number.
pub const ATTEMPT: &str = "mooring.dev/attempt";
/// Name of the AgentSession.
pub const SESSION: &str = "mooring.dev/session";
/// Name of the Agent.
pub const AGENT: &str = "mooring.dev/agent";
/// Name of the Runtime.
pub const RUNTIME: &str = "mooring.dev/runtime";
/// Name of the `AgentWebhook` that a Secret holds the key of.
pub const WEBHOOK: &str = "mooring.dev/webhook";
/// Name of the `AgentSchedule` that an AgentTask was made for.
pub const SCHEDULE: &str = "mooring.dev/schedule";
/// When an AgentTask of a schedule was due, as the schedule says it; an annotation.
pub const SCHEDULE_TIME: &str = "mooring.dev/schedule-time";
/// The installation that made an object; others leave it alone.
pub const INSTALLATION: &str = "mooring.dev/installation";

/// Kubernetes' own label for who manages an object, with [`MANAGER`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`].
pub const MANAGER: &str = "mooring";
/// Kubernetes' own label for the role of an object.
pub const COMPONENT: &str = "app.kubernetes.io/component";
/// The value of [`COMPONENT`] on a task's pod.
pub const RUNNER: &str = "runner";
/// The value of [`COMPONENT`] on a pod that asks the program of a Runtime for its version.
pub const PROBE: &str = "probe";
/// On a pod that asks a program: what of its Runtime the answer is for; an annotation.
pub const PROBED: &str = "mooring.dev/probed";

/// On a volume claim: which generation of the session's volume it is.
pub const GENERATION: &str = "mooring.dev/generation";

/// Field manager of the task reconciler.
pub const TASK_MANAGER: &str = "mooring-task";
/// Field manager of the session reconciler.
pub const SESSION_MANAGER: &str = "mooring-session";
/// Field manager of the Runtime reconciler.
pub const RUNTIME_MANAGER: &str = "mooring-runtime";
/// Field manager of the Agent reconciler.
pub const AGENT_MANAGER: &str = "mooring-agent";
/// Field manager of the `AgentQuota` reconciler.
pub const QUOTA_MANAGER: &str = "mooring-quota";
/// Field manager of the AgentTeam reconciler.
pub const TEAM_MANAGER: &str = "mooring-team";
/// Field manager of the reconciler of webhooks.
pub const WEBHOOK_MANAGER: &str = "mooring-webhook";
/// Field manager of the reconciler of schedules.
pub const SCHEDULE_MANAGER: &str = "mooring-schedule";
