//! Agent: a persona that people talk to.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EnvFromSource, EnvVar, LocalRef, McpServer, RuntimeRef};

mod access;
mod tools;

pub use access::{Access, Invokers};
pub use tools::{OnTimeout, Tools};

/// A persona that people talk to: what it is told, which Runtimes it may use, how much it may do at once.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "Agent",
    plural = "agents",
    namespaced,
    status = "AgentStatus",
    shortname = "ag",
    category = "mooring",
    derive = "PartialEq",
    doc = "Agent is a persona that people talk to: what it is told, which Runtimes it may use, how much it may do at once.",
    printcolumn(name = "Called", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Runtime", type_ = "string", json_path = ".spec.runtimeRefs[0].name"),
    printcolumn(name = "Model", type_ = "string", json_path = ".spec.model"),
    printcolumn(name = "Max", type_ = "integer", json_path = ".spec.maxConcurrentTasks"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')")
        .message("Agent names are at most 40 lower-case letters, digits and hyphens: choose a shorter or simpler name, displayName is free"),
)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    /// displayName is what people call the agent. Without one it is called by its name.
    #[schemars(length(min = 1, max = 100))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// description says what the agent is good at, for those who look for whom to ask.
    #[schemars(length(min = 1, max = 500))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// instructions are told to the agent at the start of each conversation, at most 65536 bytes of UTF-8.
    #[schemars(length(max = 65536))]
    #[x_kube(validation = Rule::new("bytes(self).size() <= 65536")
        .message("instructions are longer than 65536 bytes of UTF-8: shorten them, or put them into a file of the image"))]
    #[serde(default)]
    pub instructions: String,
    /// runtimeRefs are the Runtimes that may run the agent, in the order in which they are tried.
    #[schemars(length(min = 1, max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub runtime_refs: Vec<RuntimeRef>,
    /// model is the model that the provider is asked for. Without one the Runtime's is, else the provider decides.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// thinkingLevel is how much the model thinks, in the words of the coding agent. Without one the Runtime's is asked for.
    #[schemars(
        length(min = 1, max = 64),
        regex(pattern = "^[A-Za-z0-9][-_.A-Za-z0-9]*$")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// serviceTier is the tier of the provider's service, in the words of the coding agent, where it knows such.
    #[schemars(
        length(min = 1, max = 64),
        regex(pattern = "^[A-Za-z0-9][-_.A-Za-z0-9]*$")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// maxTurns is how often the model is asked in one task at most. Without one nobody counts.
    #[schemars(range(min = 1, max = 10_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<i32>,
    /// args stand after those of the Runtime on the coding agent's command line. What Mooring sets itself is left out.
    #[schemars(length(max = 64), inner(length(max = 4096)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default)]
    pub args: Vec<String>,
    /// env are variables of the agent's container, in the place of the Runtime's of the same name. Secrets come by reference.
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[serde(default)]
    pub env: Vec<EnvVar>,
    /// envFrom are whole ConfigMaps and Secrets as variables, after those of the Runtime. Those of env and of Mooring win.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default)]
    pub env_from: Vec<EnvFromSource>,
    /// mcpServers are tools that the agent is given beside those of the Runtime. With a list here or there, even an empty one, the agent has these alone, where its coding agent can be held to that.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<McpServer>>,
    /// skills are the Skills that the agent can load, by name.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[serde(default)]
    pub skills: Vec<LocalRef>,
    /// maxConcurrentTasks is how many tasks of the agent may have a pod at a time. With 0 its tasks wait.
    #[schemars(range(min = 0, max = 1000))]
    #[serde(default = "max_concurrent_tasks")]
    pub max_concurrent_tasks: i32,
    /// tools are what the agent may use, and for what a person is asked. Without it everything that its coding agent has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Tools>,
    /// whileRunning is what becomes of a person's comment in the thread that the agent is working on.
    #[serde(default)]
    pub while_running: WhileRunning,
    /// access says who may wake the agent. Without it everybody may who may comment in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// tokenScope is which issues the agent can read and write while it works on one of them.
    #[serde(default)]
    pub token_scope: TokenScope,
}

/// Which issues the token of an agent's task opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TokenScope {
    /// The issue that the task is about, and the parts of it.
    #[default]
    Issue,
    /// All issues of the project that the task's issue belongs to.
    Project,
    /// All issues of the workspace.
    Workspace,
}

/// What becomes of a person's comment in the thread that an agent is working on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhileRunning {
    /// A task waits with it until the agent has ended its turn. Others in the thread join it.
    #[default]
    Queue,
    /// The agent is told while it works, where its coding agent takes that. Else as with Queue.
    Steer,
}

/// What the operator has found out about an Agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    /// observedGeneration is the metadata.generation that this status was computed from.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// conditions are what is known; Ready says whether tasks can run.
    #[schemars(schema_with = "crate::conditions::list_schema")]
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// Reasons of an Agent's `Ready`.
pub mod reason {
    /// At least one of its Runtimes is ready.
    pub const READY: &str = "Ready";
    /// None of its Runtimes exists. Create one, or correct `runtimeRefs`.
    pub const RUNTIME_NOT_FOUND: &str = "RuntimeNotFound";
    /// Its Runtimes exist, but none is ready. Their own conditions say why.
    pub const RUNTIME_NOT_READY: &str = "RuntimeNotReady";
    /// It names Skills that do not exist. Create them, or correct `skills`.
    pub const SKILL_NOT_FOUND: &str = "SkillNotFound";
    /// It is given MCP servers, and the provider of one of its Runtimes can be given none. Take `mcpServers` out, or
    /// choose another Runtime.
    pub const MCP_NOT_SUPPORTED: &str = "McpNotSupported";
    /// It says which tools it may use, and the coding agent of none of its ready Runtimes can be held to that. Take `tools`
    /// out, or choose another Runtime; the page on runtimes says what each of them can do.
    pub const TOOLS_NOT_ENFORCED: &str = "ToolsNotEnforced";
    /// The namespace lacks the label `mooring.dev/workspace: enabled`.
    pub const NOT_A_WORKSPACE: &str = "NotAWorkspace";
}

fn max_concurrent_tasks() -> i32 {
    6
}
