//! The controller's watch caches, as the API asks for them.

use std::sync::Arc;

use controller::Catalog;
use crds::{Agent, AgentTask, Runtime};

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

    fn workspace(&self, _namespace: &str) -> Option<String> {
        None
    }
}
