//! Definitions as the watch caches hold them: which namespaces are workspaces, which Runtimes an Agent may
//! use, and what the API asks for when it builds a package.

use std::sync::Arc;

use crds::{Agent, AgentTask, Provider, Runtime, labels};
use kube::ResourceExt as _;
use protocol::providers;

use crate::watch::{Caches, NamespaceMeta};

/// True when the runner has an adapter for the provider.
#[must_use]
pub fn is_supported(provider: Provider) -> bool {
    providers::DRIVEN.contains(&provider.as_str())
}

/// What a namespace is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Labelled: a tenant.
    Workspace,
    /// Not labelled: never touched, except that runs which are there finish.
    Foreign,
    /// Being deleted, or gone.
    Going,
}

/// What a namespace is to us.
#[must_use]
pub fn standing(namespace: &NamespaceMeta) -> Standing {
    if namespace.metadata.deletion_timestamp.is_some() {
        return Standing::Going;
    }
    match namespace.labels().get(labels::WORKSPACE) {
        Some(value) if value == labels::ENABLED => Standing::Workspace,
        Some(_) | None => Standing::Foreign,
    }
}

/// Lookups in the watch caches: synchronous and cheap.
#[derive(Clone)]
pub struct Catalog(Caches);

impl Catalog {
    /// Looks things up in these caches.
    #[must_use]
    pub fn new(caches: Caches) -> Self {
        Self(caches)
    }

    /// True once namespaces and all that the API is asked about were listed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let Caches {
            tasks,
            agents,
            runtimes,
            namespaces,
            ..
        } = &self.0;
        tasks.is_ready() && agents.is_ready() && runtimes.is_ready() && namespaces.is_ready()
    }

    /// An AgentTask.
    #[must_use]
    pub fn task(&self, namespace: &str, name: &str) -> Option<Arc<AgentTask>> {
        self.0.tasks.get(namespace, name)
    }

    /// An Agent.
    #[must_use]
    pub fn agent(&self, namespace: &str, name: &str) -> Option<Arc<Agent>> {
        self.0.agents.get(namespace, name)
    }

    /// A Runtime.
    #[must_use]
    pub fn runtime(&self, namespace: &str, name: &str) -> Option<Arc<Runtime>> {
        self.0.runtimes.get(namespace, name)
    }

    /// What the namespace of this name and UID is to us.
    #[must_use]
    pub fn standing(&self, namespace: &str, uid: &str) -> Standing {
        match self.0.namespaces.get("", namespace) {
            Some(found) if found.uid().as_deref() == Some(uid) => standing(&found),
            Some(_) | None => Standing::Going,
        }
    }

    /// UID of a namespace that is a workspace.
    #[must_use]
    pub fn workspace_uid(&self, namespace: &str) -> Option<String> {
        let found = self.0.namespaces.get("", namespace)?;
        (standing(&found) == Standing::Workspace)
            .then(|| found.uid())
            .flatten()
    }

    /// Agents of a namespace by name, `most` of them that come after `after`.
    #[must_use]
    pub fn agents_after(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Agent>> {
        let mut agents = self.0.agents.in_namespace(namespace);
        agents.retain(|agent| agent.metadata.name.as_deref() > Some(after));
        agents.sort_unstable_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        agents.truncate(most);
        agents
    }

    /// Agents that name this Runtime.
    #[must_use]
    pub fn agents_of(&self, namespace: &str, runtime: &str) -> Vec<Arc<Agent>> {
        let uses = |agent: &Arc<Agent>| {
            agent
                .spec
                .runtime_refs
                .iter()
                .any(|reference| reference.name == runtime)
        };
        self.0
            .agents
            .in_namespace(namespace)
            .into_iter()
            .filter(uses)
            .collect()
    }

    /// The Runtimes of an Agent that exist, in its order.
    #[must_use]
    pub fn runtimes_of(&self, namespace: &str, agent: &Agent) -> Vec<Arc<Runtime>> {
        let names = agent.spec.runtime_refs.iter();
        names
            .filter_map(|reference| self.runtime(namespace, &reference.name))
            .collect()
    }
}

/// True when pods of this Runtime can be made, as far as its spec says.
#[must_use]
pub fn is_usable(runtime: &Runtime) -> bool {
    runtime.metadata.deletion_timestamp.is_none() && is_supported(runtime.spec.provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_follow_each_other_by_name() {
        let caches = Caches::default();
        for (namespace, name) in [("a", "one"), ("a", "two"), ("a", "three"), ("b", "four")] {
            let agent = serde_json::json!({
                "apiVersion": "mooring.dev/v1alpha1", "kind": "Agent",
                "metadata": {"name": name, "namespace": namespace, "uid": name},
                "spec": {"runtimeRefs": [{"name": "r"}]},
            });
            caches
                .agents
                .observe(serde_json::from_value(agent).unwrap());
        }
        let catalog = Catalog::new(caches);
        let names = |after: &str, most: usize| -> Vec<String> {
            let agents = catalog.agents_after("a", after, most);
            agents.iter().map(|agent| agent.name_any()).collect()
        };
        assert_eq!(names("", 2), ["one", "three"]);
        assert_eq!(names("three", 2), ["two"]);
        assert_eq!(names("", 9), ["one", "three", "two"]);
        assert!(names("two", 9).is_empty());
    }

    #[test]
    fn every_agent_that_is_driven_can_be_named_by_a_runtime() {
        let named = Provider::ALL
            .iter()
            .filter(|provider| is_supported(**provider));
        assert_eq!(named.count(), providers::DRIVEN.len());
    }
}
