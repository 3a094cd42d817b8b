//! The API types of the cluster, group `mooring.dev`, and the YAML in which they are installed.
//!
//! Everything here is a value or a pure function: no client, no clock. [`all`] gives the definitions in the
//! form in which they are installed; `crds/yaml` holds the same, kept equal by a test.

#![expect(
    clippy::duplicated_attributes,
    reason = "printer columns have the same type more than once"
)]
#![expect(
    unreachable_pub,
    reason = "KubeSchema declares a copy of each struct inside a function"
)]

mod agent;
mod agentquota;
mod agentschedule;
mod agentsession;
mod agenttask;
mod agentteam;
mod agentwebhook;
mod assignee;
pub mod conditions;
pub mod labels;
mod loginrequest;
mod mcp;
pub mod names;
mod runtime;
mod schema;
mod shared;
mod skill;

pub use agent::{
    Access, Agent, AgentSpec, AgentStatus, Invokers, OnTimeout, TokenScope, Tools, WhileRunning,
    reason as agent_reason,
};
pub use agentquota::{
    AgentQuota, AgentQuotaSpec, AgentQuotaStatus, QUOTA_NAME, reason as quota_reason,
};
pub use agentschedule::{
    ActiveFiring, AgentSchedule, AgentScheduleSpec, AgentScheduleStatus, ConcurrencyPolicy,
    MAX_ACTIVE, ScheduledIssue, ScheduledRun, reason as schedule_reason,
};
pub use agentsession::{
    AgentSession, AgentSessionSpec, AgentSessionStatus, SessionIds, SessionProviderSession,
    SessionVolume, condition as session_condition, reason as session_reason,
};
pub use agenttask::{
    AgentTask, AgentTaskSpec, AgentTaskStatus, Answer, AttemptRecord, CauseKind, DesiredState,
    EvidenceStatus, FailureStatus, ModelUsage, PromptSource, Requester, ResultStatus,
    ResumedStatus, RetryAdvice, SessionPolicy, TaskCause, TaskSession, TaskTimes, WaitingLimit,
    WaitingStatus, condition as task_condition, reason as task_reason,
};
pub use agentteam::{AgentTeam, AgentTeamSpec, AgentTeamStatus, TeamMember, reason as team_reason};
pub use agentwebhook::{
    AgentWebhook, AgentWebhookSpec, AgentWebhookStatus, Association, GitHubIssues, PreviousKey,
    WebhookComment, WebhookIssue, condition as webhook_condition, reason as webhook_reason,
};
pub use assignee::{Assignee, AssigneeKind};
pub use loginrequest::{LoginRequest, LoginRequestSpec, nonce_hash, policy as login_policy};
pub use mcp::{
    MCP_VARIABLE, McpHeader, McpServer, McpType, mcp_references, mcp_servers, mcp_variable,
};
pub use runtime::{
    AllowedPeer, Capacity, CliFinding, CliImage, CliStatus, ConfigMapKeyRef, Defaults, Egress,
    EnvFromSource, EnvValueSource, EnvVar, Family, ImagePullPolicy, Network, PodSettings, Provider,
    Resources, Runtime, RuntimeSpec, RuntimeStatus, SecretKeyRef, Timeouts, Toleration,
    TolerationEffect, TolerationOperator, Workdir, reason as runtime_reason,
};
pub use schema::all;
pub use shared::{AccessMode, AgentRef, LocalRef, RuntimeRef, Subject, SubjectKind};
pub use skill::{Skill, SkillFiles, SkillSpec};

/// The API group of every kind here.
pub const GROUP: &str = "mooring.dev";
/// The one version that is served and stored.
pub const VERSION: &str = "v1alpha1";

/// The condition type of things that stay: True when they can be used.
pub const READY: &str = "Ready";
