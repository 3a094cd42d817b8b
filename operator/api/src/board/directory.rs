//! Who can be woken: the Agents of a workspace, as the rules of waking ask for them.

use protocol::programs::{self, Version};

use super::plain;
use crate::package;
use crate::state::Definitions;

/// The Agents of one workspace.
pub(crate) struct Recipients<'a> {
    definitions: &'a dyn Definitions,
    namespace: &'a str,
}

impl<'a> Recipients<'a> {
    /// Looks things up in a workspace.
    pub(crate) fn new(definitions: &'a dyn Definitions, namespace: &'a str) -> Self {
        Self {
            definitions,
            namespace,
        }
    }
}

impl wake::Directory for Recipients<'_> {
    fn agent(&self, name: &str) -> Option<wake::AgentFacts> {
        let agent = self.definitions.agent(self.namespace, name)?;
        Some(wake::AgentFacts {
            display_name: plain(package::display_name(&agent)),
            access: agent.spec.access.as_ref().map(Into::into),
        })
    }

    fn team(&self, name: &str) -> Option<wake::TeamFacts> {
        let team = self.definitions.team(self.namespace, name)?;
        Some(wake::TeamFacts {
            leader: team.spec.leader.clone(),
        })
    }

    fn steers(&self, agent: &str) -> bool {
        let agent = self.definitions.agent(self.namespace, agent);
        agent.is_some_and(|agent| agent.spec.while_running == crds::WhileRunning::Steer)
    }

    fn version(&self, runtime: &str) -> Option<Version> {
        let runtime = self.definitions.runtime(self.namespace, runtime)?;
        runtime.cli_version().and_then(programs::version_in)
    }

    fn requires_originator(&self) -> bool {
        self.definitions.requires_originator(self.namespace)
    }

    fn max_queued(&self) -> Option<u32> {
        self.definitions.max_queued(self.namespace)
    }
}
