//! Definitions as the watch caches hold them: which namespaces are workspaces, which Runtimes an Agent may
//! use, and what the API asks for when it builds a package.

use std::sync::Arc;

use crds::{
    Agent, AgentQuota, AgentSchedule, AgentTask, AgentTeam, AgentWebhook, QUOTA_NAME, Runtime,
    RuntimeSpec, Skill, labels,
};
use kube::{Resource, ResourceExt as _};
use protocol::providers;

use crate::quota;
use crate::runtime::probe;
use crate::watch::{Caches, NamespaceMeta};

/// True when the runner has an adapter for what the Runtime names.
#[must_use]
pub fn is_supported(spec: &RuntimeSpec) -> bool {
    providers::facts(spec.driver()).is_some()
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
            teams,
            runtimes,
            quotas,
            webhooks,
            schedules,
            namespaces,
            ..
        } = &self.0;
        tasks.is_ready()
            && agents.is_ready()
            && teams.is_ready()
            && runtimes.is_ready()
            && quotas.is_ready()
            && webhooks.is_ready()
            && schedules.is_ready()
            && namespaces.is_ready()
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

    /// An AgentTeam.
    #[must_use]
    pub fn team(&self, namespace: &str, name: &str) -> Option<Arc<AgentTeam>> {
        self.0.teams.get(namespace, name)
    }

    /// Each AgentTeam of a namespace by name, `most` of them that come after `after`.
    #[must_use]
    pub fn teams_after(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<AgentTeam>> {
        by_name(self.0.teams.in_namespace(namespace), after, most)
    }

    /// Whether a workspace wakes agents only where a person is at the top of the chain of causes.
    #[must_use]
    pub fn requires_originator(&self, namespace: &str) -> bool {
        let found = self.0.namespaces.get("", namespace);
        found.is_some_and(|found| {
            let set = found.annotations().get(labels::REQUIRE_ORIGINATOR);
            set.is_some_and(|value| value == labels::TRUE)
        })
    }

    /// A Runtime.
    #[must_use]
    pub fn runtime(&self, namespace: &str, name: &str) -> Option<Arc<Runtime>> {
        self.0.runtimes.get(namespace, name)
    }

    /// An `AgentWebhook`.
    #[must_use]
    pub fn webhook(&self, namespace: &str, name: &str) -> Option<Arc<AgentWebhook>> {
        self.0.webhooks.get(namespace, name)
    }

    /// `AgentWebhooks` of a namespace by name, `most` of them that come after `after`.
    #[must_use]
    pub fn webhooks_after(
        &self,
        namespace: &str,
        after: &str,
        most: usize,
    ) -> Vec<Arc<AgentWebhook>> {
        by_name(self.0.webhooks.in_namespace(namespace), after, most)
    }

    /// An `AgentSchedule`.
    #[must_use]
    pub fn schedule(&self, namespace: &str, name: &str) -> Option<Arc<AgentSchedule>> {
        self.0.schedules.get(namespace, name)
    }

    /// `AgentSchedules` of a namespace by name, `most` of them that come after `after`.
    #[must_use]
    pub fn schedules_after(
        &self,
        namespace: &str,
        after: &str,
        most: usize,
    ) -> Vec<Arc<AgentSchedule>> {
        by_name(self.0.schedules.in_namespace(namespace), after, most)
    }

    /// Runtimes of a namespace by name, `most` of them that come after `after`.
    #[must_use]
    pub fn runtimes_after(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Runtime>> {
        by_name(self.0.runtimes.in_namespace(namespace), after, most)
    }

    /// A Skill.
    #[must_use]
    pub fn skill(&self, namespace: &str, name: &str) -> Option<Arc<Skill>> {
        self.0.skills.get(namespace, name)
    }

    /// Skills of a namespace by name, `most` of them that come after `after`.
    #[must_use]
    pub fn skills_after(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Skill>> {
        by_name(self.0.skills.in_namespace(namespace), after, most)
    }

    /// The Skills of an Agent that exist.
    #[must_use]
    pub fn skills_of(&self, namespace: &str, agent: &Agent) -> Vec<Arc<Skill>> {
        let names = agent.spec.skills.iter();
        names
            .filter_map(|named| self.skill(namespace, &named.name))
            .collect()
    }

    /// What the namespace of this name and UID is to us.
    #[must_use]
    pub fn standing(&self, namespace: &str, uid: &str) -> Standing {
        match self.0.namespaces.get("", namespace) {
            Some(found) if found.uid().as_deref() == Some(uid) => standing(&found),
            Some(_) | None => Standing::Going,
        }
    }

    /// Tasks that may wait in a workspace; none for no limit.
    #[must_use]
    pub fn max_queued(&self, namespace: &str) -> Option<u32> {
        quota::max_queued(self.quota(namespace).as_deref())
    }

    /// The AgentQuota of a namespace.
    #[must_use]
    pub fn quota(&self, namespace: &str) -> Option<Arc<AgentQuota>> {
        self.0.quotas.get(namespace, QUOTA_NAME)
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
        by_name(self.0.agents.in_namespace(namespace), after, most)
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

/// Those that come after a name, by name, `most` of them.
fn by_name<K: Resource>(mut all: Vec<Arc<K>>, after: &str, most: usize) -> Vec<Arc<K>> {
    all.retain(|each| each.meta().name.as_deref() > Some(after));
    all.sort_unstable_by(|one, other| one.meta().name.cmp(&other.meta().name));
    all.truncate(most);
    all
}

/// True when pods of this Runtime can be made, as far as its spec says, and its program is not known to be unusable.
#[must_use]
pub fn is_usable(runtime: &Runtime) -> bool {
    runtime.metadata.deletion_timestamp.is_none()
        && is_supported(&runtime.spec)
        && !probe::is_hopeless(runtime)
}

/// True when an agent can run there: the Runtime is usable, and its coding agent can be held to the Agent's tools.
#[must_use]
pub fn can_run(agent: &Agent, runtime: &Runtime) -> bool {
    is_usable(runtime) && is_enforced(agent, runtime)
}

/// True when a Runtime's coding agent can do what the Agent says about tools. Who says nothing asks nothing of it.
#[must_use]
pub fn is_enforced(agent: &Agent, runtime: &Runtime) -> bool {
    not_enforced(agent, runtime).is_empty()
}

/// What of the Agent's tools the Runtime's coding agent cannot be held to, in words for people.
#[must_use]
pub fn not_enforced(agent: &Agent, runtime: &Runtime) -> Vec<String> {
    let Some(tools) = &agent.spec.tools else {
        return Vec::new();
    };
    let can = providers::facts(runtime.spec.driver())
        .map_or(providers::ToolSupport::NONE, |facts| facts.tools);
    can.lacks(&tools.allow, &tools.deny, &tools.require_approval)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crds::{Family, Provider};

    use super::*;
    use crate::fixtures;

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
        let families = [
            Family::StreamJson,
            Family::AppServer,
            Family::Rpc,
            Family::JsonLines,
            Family::Acp,
        ];
        let known = Provider::ALL.iter().map(|provider| (*provider, None));
        let others = families.map(|family| (Provider::Custom, Some(family)));
        let driven = known.chain(others).map(|(provider, family)| {
            let mut spec = fixtures::runtime("any").spec;
            (spec.provider, spec.family) = (provider, family);
            is_supported(&spec).then(|| spec.driver())
        });
        let named: BTreeSet<_> = driven.flatten().collect();
        assert_eq!(named, providers::ids().into_iter().collect());
    }

    #[test]
    fn what_of_its_tools_an_agent_is_not_held_to_is_named() {
        let agent: Agent = serde_json::from_value(serde_json::json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "a", "namespace": "a"},
            "spec": {
                "runtimeRefs": [{"name": "r"}],
                "tools": {"deny": ["Bash(x:*)", "Edit"], "requireApproval": ["Write"]},
            },
        }))
        .unwrap();
        for (provider, wanted) in [
            (Provider::Claude, ""),
            (Provider::Codex, ""),
            (
                Provider::Copilot,
                "deny of more than a tool's name (Bash(x:*)), requireApproval",
            ),
            (Provider::Acp, "deny, requireApproval"),
        ] {
            let mut runtime = fixtures::runtime("r");
            runtime.spec.provider = provider;
            assert_eq!(not_enforced(&agent, &runtime).join(", "), wanted);
            assert_eq!(is_enforced(&agent, &runtime), wanted.is_empty());
        }
    }
}
