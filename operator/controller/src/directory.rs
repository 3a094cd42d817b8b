//! Who can be woken, as the rules of waking ask for it where nobody calls: for schedules and deliveries.

use crds::{Assignee, AssigneeKind};
use kube::ResourceExt as _;
use wake::{AgentFacts, Directory, TeamFacts};

use crate::catalog::Catalog;
use crate::watch::Caches;

/// The agents and teams of one workspace.
pub(crate) struct Known<'a> {
    catalog: Catalog,
    namespace: &'a str,
}

impl<'a> Known<'a> {
    /// Looks things up in a workspace.
    pub(crate) fn new(caches: &Caches, namespace: &'a str) -> Self {
        Self {
            catalog: Catalog::new(caches.clone()),
            namespace,
        }
    }

    /// What an assignee names, where it does not exist.
    pub(crate) fn missing(&self, assignee: &Assignee) -> Option<String> {
        let name = &assignee.name;
        match assignee.kind {
            AssigneeKind::Agent => self.agent(name).is_none().then(|| format!("Agent {name}")),
            AssigneeKind::Team => self
                .team(name)
                .is_none()
                .then(|| format!("AgentTeam {name}")),
        }
    }
}

impl Directory for Known<'_> {
    fn agent(&self, name: &str) -> Option<AgentFacts> {
        let agent = self.catalog.agent(self.namespace, name)?;
        Some(AgentFacts {
            display_name: agent
                .spec
                .display_name
                .clone()
                .unwrap_or_else(|| agent.name_any()),
            access: agent.spec.access.as_ref().map(Into::into),
        })
    }

    fn team(&self, name: &str) -> Option<TeamFacts> {
        let team = self.catalog.team(self.namespace, name)?;
        Some(TeamFacts {
            leader: team.spec.leader.clone(),
        })
    }

    fn requires_originator(&self) -> bool {
        self.catalog.requires_originator(self.namespace)
    }

    fn max_queued(&self) -> Option<u32> {
        self.catalog.max_queued(self.namespace)
    }
}
