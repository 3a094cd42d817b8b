//! What the cluster defines, as a test says.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use api::Definitions;
use crds::{Agent, AgentSchedule, AgentTask, AgentTeam, AgentWebhook, Runtime, Skill};

use crate::bed::{NAMESPACE, NAMESPACE_UID};

/// Objects of the one workspace, by name.
type Objects<K> = Mutex<BTreeMap<String, Arc<K>>>;

/// What there is.
#[derive(Default)]
pub(crate) struct Cluster {
    pub(crate) tasks: Objects<AgentTask>,
    pub(crate) agents: Objects<Agent>,
    pub(crate) runtimes: Objects<Runtime>,
    pub(crate) teams: Objects<AgentTeam>,
    pub(crate) skills: Objects<Skill>,
    pub(crate) webhooks: Objects<AgentWebhook>,
    pub(crate) schedules: Objects<AgentSchedule>,
    pub(crate) requires_originator: AtomicBool,
    pub(crate) max_queued: Mutex<Option<u32>>,
    pub(crate) is_being_listed: AtomicBool,
}

impl Definitions for Cluster {
    fn is_complete(&self) -> bool {
        !self.is_being_listed.load(Ordering::Acquire)
    }

    fn task(&self, namespace: &str, name: &str) -> Option<Arc<AgentTask>> {
        named(&self.tasks, namespace, name)
    }

    fn agent(&self, namespace: &str, name: &str) -> Option<Arc<Agent>> {
        named(&self.agents, namespace, name)
    }

    fn runtime(&self, namespace: &str, name: &str) -> Option<Arc<Runtime>> {
        named(&self.runtimes, namespace, name)
    }

    fn agents(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Agent>> {
        page(&self.agents, namespace, after, most)
    }

    fn team(&self, namespace: &str, name: &str) -> Option<Arc<AgentTeam>> {
        named(&self.teams, namespace, name)
    }

    fn teams(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<AgentTeam>> {
        page(&self.teams, namespace, after, most)
    }

    fn requires_originator(&self, _namespace: &str) -> bool {
        self.requires_originator.load(Ordering::Acquire)
    }

    fn max_queued(&self, namespace: &str) -> Option<u32> {
        let most = *self.max_queued.lock().unwrap();
        most.filter(|_| namespace == NAMESPACE)
    }

    fn skill(&self, namespace: &str, name: &str) -> Option<Arc<Skill>> {
        named(&self.skills, namespace, name)
    }

    fn skills(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Skill>> {
        page(&self.skills, namespace, after, most)
    }

    fn webhook(&self, namespace: &str, name: &str) -> Option<Arc<AgentWebhook>> {
        named(&self.webhooks, namespace, name)
    }

    fn webhooks(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<AgentWebhook>> {
        page(&self.webhooks, namespace, after, most)
    }

    fn schedule(&self, namespace: &str, name: &str) -> Option<Arc<AgentSchedule>> {
        named(&self.schedules, namespace, name)
    }

    fn schedules(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<AgentSchedule>> {
        page(&self.schedules, namespace, after, most)
    }

    fn runtimes(&self, namespace: &str, after: &str, most: usize) -> Vec<Arc<Runtime>> {
        page(&self.runtimes, namespace, after, most)
    }

    fn workspace(&self, namespace: &str) -> Option<String> {
        (namespace == NAMESPACE).then(|| NAMESPACE_UID.to_owned())
    }
}

fn named<K>(objects: &Objects<K>, namespace: &str, name: &str) -> Option<Arc<K>> {
    let objects = objects.lock().unwrap();
    objects
        .get(name)
        .filter(|_| namespace == NAMESPACE)
        .cloned()
}

fn page<K>(objects: &Objects<K>, namespace: &str, after: &str, most: usize) -> Vec<Arc<K>> {
    let objects = objects.lock().unwrap();
    let there = objects
        .iter()
        .filter(|(name, _)| namespace == NAMESPACE && name.as_str() > after);
    there
        .take(most)
        .map(|(_, object)| Arc::clone(object))
        .collect()
}
