//! The controller's watch caches, as the API asks for them.

use std::sync::Arc;

use controller::Catalog;
use crds::{Agent, AgentSchedule, AgentTask, AgentTeam, AgentWebhook, Runtime, Skill};

/// Lookups in the watch caches.
pub(crate) struct Cached(pub(crate) Catalog);

impl api::Definitions for Cached {
    fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    fn task(&self, namespace: &str, name: &str) -> Option<Arc<AgentTask>> {
        self.0.task(namespace, name)
    }

    fn agent(&self, namespace: &str, name: &str) -> Option<Arc<Agent>> {
        self.0.agent(namespace, name)
    }

    fn runtime(&self, namespace: &str, name: &str) -> Option<Arc<Runtime>> {
        self.0.runtime(namespace, name)
    }

    fn agents(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Agent>> {
        self.0.agents_after(namespace, after, most)
    }

    fn team(&self, namespace: &str, name: &str) -> Option<Arc<AgentTeam>> {
        self.0.team(namespace, name)
    }

    fn teams(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<AgentTeam>> {
        self.0.teams_after(namespace, after, most)
    }

    fn requires_originator(&self, namespace: &str) -> bool {
        self.0.requires_originator(namespace)
    }

    fn max_queued(&self, namespace: &str) -> Option<u32> {
        self.0.max_queued(namespace)
    }

    fn skill(&self, namespace: &str, name: &str) -> Option<Arc<Skill>> {
        self.0.skill(namespace, name)
    }

    fn skills(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Skill>> {
        self.0.skills_after(namespace, after, most)
    }

    fn webhook(&self, namespace: &str, name: &str) -> Option<Arc<AgentWebhook>> {
        self.0.webhook(namespace, name)
    }

    fn webhooks(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<AgentWebhook>> {
        self.0.webhooks_after(namespace, after, most)
    }

    fn schedule(&self, namespace: &str, name: &str) -> Option<Arc<AgentSchedule>> {
        self.0.schedule(namespace, name)
    }

    fn schedules(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<AgentSchedule>> {
        self.0.schedules_after(namespace, after, most)
    }

    fn runtimes(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Runtime>> {
        self.0.runtimes_after(namespace, after, most)
    }

    fn workspace(&self, namespace: &str) -> Option<String> {
        self.0.workspace_uid(namespace)
    }
}

/// Where nothing is watched: the operator only reads, and serves no package.
pub(crate) struct Nothing;

impl api::Definitions for Nothing {
    fn is_complete(&self) -> bool {
        false
    }

    fn task(&self, _namespace: &str, _name: &str) -> Option<Arc<AgentTask>> {
        None
    }

    fn agent(&self, _namespace: &str, _name: &str) -> Option<Arc<Agent>> {
        None
    }

    fn runtime(&self, _namespace: &str, _name: &str) -> Option<Arc<Runtime>> {
        None
    }

    fn agents(&self, _namespace: &str, _after: &str, _most: usize) -> Vec<Arc<Agent>> {
        Vec::new()
    }

    fn team(&self, _namespace: &str, _name: &str) -> Option<Arc<AgentTeam>> {
        None
    }

    fn teams(&self, _namespace: &str, _after: &str, _most: usize) -> Vec<Arc<AgentTeam>> {
        Vec::new()
    }

    fn requires_originator(&self, _namespace: &str) -> bool {
        true
    }

    fn max_queued(&self, _namespace: &str) -> Option<u32> {
        None
    }

    fn skill(&self, _namespace: &str, _name: &str) -> Option<Arc<Skill>> {
        None
    }

    fn skills(&self, _namespace: &str, _after: &str, _most: usize) -> Vec<Arc<Skill>> {
        Vec::new()
    }

    fn webhook(&self, _namespace: &str, _name: &str) -> Option<Arc<AgentWebhook>> {
        None
    }

    fn webhooks(&self, _namespace: &str, _after: &str, _most: usize) -> Vec<Arc<AgentWebhook>> {
        Vec::new()
    }

    fn schedule(&self, _namespace: &str, _name: &str) -> Option<Arc<AgentSchedule>> {
        None
    }

    fn schedules(&self, _namespace: &str, _after: &str, _most: usize) -> Vec<Arc<AgentSchedule>> {
        Vec::new()
    }

    fn runtimes(&self, _namespace: &str, _after: &str, _most: usize) -> Vec<Arc<Runtime>> {
        Vec::new()
    }

    fn workspace(&self, _namespace: &str) -> Option<String> {
        None
    }
}
