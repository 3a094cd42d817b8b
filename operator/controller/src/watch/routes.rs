//! From changes to keys. Nothing is decided here: a key only says that someone should look.

use crds::{
    Agent, AgentQuota, AgentSchedule, AgentTask, AgentTeam, AgentWebhook, Runtime, Skill, labels,
};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::ResourceExt as _;
use protocol::TaskId;

use super::{NamespaceMeta, Seen};
use crate::context::{Context, Key};
use crate::runtime::probe;
use crate::task::failure;
use crate::{catalog, node, schedule, team, webhook};

pub(super) fn task(ctx: &Context, seen: &Seen<AgentTask>) {
    let (Seen::There(task, _) | Seen::Gone(task) | Seen::Missed(task)) = seen else {
        return;
    };
    ctx.queue.add(object_key(task));
}

/// The key under which an object is entered, or found to be gone.
pub(crate) fn object_key(task: &AgentTask) -> Key {
    Key::Object {
        namespace: task.namespace().unwrap_or_default(),
        name: task.name_any(),
        uid: task.uid().unwrap_or_default(),
    }
}

pub(super) fn agent(ctx: &Context, seen: &Seen<Agent>) {
    let (Seen::There(agent, _) | Seen::Gone(agent) | Seen::Missed(agent)) = seen else {
        return;
    };
    let namespace = agent.namespace().unwrap_or_default();
    // Whether it is there, and no more, is what its teams say of it, and what a schedule waits for.
    if !matches!(seen, Seen::There(_, Some(_))) {
        schedule::look_at_all(ctx, &namespace);
        webhook::look_at_all(ctx, &namespace);
        for name in team::with_agent(ctx, &namespace, &agent.name_any()) {
            ctx.queue.add(Key::Team {
                namespace: namespace.clone(),
                name,
            });
        }
    }
    ctx.queue.add(Key::Agent {
        namespace,
        name: agent.name_any(),
    });
}

pub(super) fn team(ctx: &Context, seen: &Seen<AgentTeam>) {
    let (Seen::There(team, _) | Seen::Gone(team) | Seen::Missed(team)) = seen else {
        return;
    };
    ctx.queue.add(Key::Team {
        namespace: team.namespace().unwrap_or_default(),
        name: team.name_any(),
    });
}

pub(super) fn schedule(ctx: &Context, seen: &Seen<AgentSchedule>) {
    if let Seen::There(one, _) | Seen::Gone(one) | Seen::Missed(one) = seen {
        ctx.queue.add(schedule::key(one));
    }
}

pub(super) fn webhook(ctx: &Context, seen: &Seen<AgentWebhook>) {
    if let Seen::There(one, _) | Seen::Gone(one) | Seen::Missed(one) = seen {
        ctx.queue.add(webhook::key(one));
    }
}

pub(super) fn runtime(ctx: &Context, seen: &Seen<Runtime>) {
    let (Seen::There(runtime, _) | Seen::Gone(runtime) | Seen::Missed(runtime)) = seen else {
        return;
    };
    ctx.queue.add(Key::Runtime {
        namespace: runtime.namespace().unwrap_or_default(),
        name: runtime.name_any(),
    });
}

/// Agents that name it say whether it is there.
pub(super) fn skill(ctx: &Context, seen: &Seen<Skill>) {
    let (Seen::There(skill, _) | Seen::Gone(skill) | Seen::Missed(skill)) = seen else {
        return;
    };
    let (namespace, name) = (skill.namespace().unwrap_or_default(), skill.name_any());
    for agent in ctx.caches.agents.in_namespace(&namespace) {
        if agent.spec.skills.iter().any(|named| named.name == name) {
            ctx.queue.add(Key::Agent {
                namespace: namespace.clone(),
                name: agent.name_any(),
            });
        }
    }
}

/// What a workspace may have is asked at each claim, so all that waits there is looked at when it changes.
pub(super) fn quota(ctx: &Context, seen: &Seen<AgentQuota>) {
    let (quota, is_same) = match seen {
        Seen::There(quota, old) => {
            let is_same = old.as_ref().is_some_and(|old| old.spec == quota.spec);
            (quota, is_same)
        }
        Seen::Gone(quota) | Seen::Missed(quota) => (quota, false),
        Seen::Listed => return,
    };
    let namespace = quota.namespace().unwrap_or_default();
    if !is_same {
        ctx.queue.add(Key::Quota(namespace.clone()));
        ctx.queue.add(Key::Namespace(namespace));
    }
}

pub(super) fn pod(ctx: &Context, seen: &Seen<Pod>) {
    let pod = match seen {
        Seen::There(pod, _) => pod,
        Seen::Gone(pod) | Seen::Missed(pod) => {
            if is_last_sight(seen) {
                ctx.memory.bury(std::sync::Arc::clone(pod));
            }
            let blocked = ctx
                .memory
                .unblock(&pod.namespace().unwrap_or_default(), &pod.name_any());
            if let Some(task) = blocked {
                ctx.look_at(task);
            }
            pod
        }
        Seen::Listed => return,
    };
    if let Some(asked) = probe::asks_about(pod) {
        ctx.queue.add(asked);
    }
    if let Some(task) = task_of(pod) {
        probe::notice(ctx, pod);
        ctx.look_at(task);
    }
}

/// Whether what was seen of a pod that is gone tells how it ended. Of one whose going nobody saw only an end
/// does: what had no node, or a node and no end, may have got both since.
fn is_last_sight(seen: &Seen<Pod>) -> bool {
    match seen {
        Seen::Gone(_) => true,
        Seen::Missed(pod) => failure::is_dead(pod),
        Seen::There(..) | Seen::Listed => false,
    }
}

/// The task that a pod's label names.
fn task_of(pod: &Pod) -> Option<TaskId> {
    pod.labels().get(labels::TASK_ID)?.parse().ok()
}

/// A policy of ours was changed or removed by someone: its Runtime's pass puts it right.
pub(super) fn policy(ctx: &Context, seen: &Seen<NetworkPolicy>) {
    let (Seen::There(policy, _) | Seen::Gone(policy) | Seen::Missed(policy)) = seen else {
        return;
    };
    let namespace = policy.namespace().unwrap_or_default();
    for runtime in ctx.caches.runtimes.in_namespace(&namespace) {
        ctx.queue.add(Key::Runtime {
            namespace: namespace.clone(),
            name: runtime.name_any(),
        });
    }
}

/// Tasks on a node are looked at when its health changes; it is written far more often.
pub(super) fn node(ctx: &Context, seen: &Seen<Node>) {
    let node = match seen {
        Seen::There(node, old) => {
            if old
                .as_ref()
                .is_some_and(|old| node::health(old) == node::health(node))
            {
                return;
            }
            node
        }
        Seen::Gone(node) | Seen::Missed(node) => node,
        Seen::Listed => return,
    };
    let name = node.name_any();
    for pod in ctx.caches.pods.all() {
        let is_there = pod
            .spec
            .as_ref()
            .is_some_and(|spec| spec.node_name.as_ref() == Some(&name));
        if is_there && let Some(task) = task_of(&pod) {
            ctx.look_at(task);
        }
    }
}

pub(super) fn namespace(ctx: &Context, seen: &Seen<NamespaceMeta>) {
    let namespace = match seen {
        Seen::There(namespace, old) => {
            let new = catalog::standing(namespace);
            if old
                .as_ref()
                .is_some_and(|old| catalog::standing(old) == new)
            {
                return;
            }
            namespace
        }
        Seen::Gone(namespace) | Seen::Missed(namespace) => namespace,
        Seen::Listed => return,
    };
    ctx.queue.add(Key::Namespace(namespace.name_any()));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_pod_whose_going_nobody_saw_only_an_end_is_believed() {
        let pod = |status| {
            let pod = json!({"metadata": {}, "spec": {"containers": []}, "status": status});
            Arc::new(serde_json::from_value::<Pod>(pod).unwrap())
        };
        let unbound = pod(json!({"phase": "Pending"}));
        let dead = pod(json!({"phase": "Succeeded"}));
        assert!(is_last_sight(&Seen::Gone(Arc::clone(&unbound))));
        assert!(!is_last_sight(&Seen::Missed(unbound)));
        assert!(is_last_sight(&Seen::Missed(dead)));
    }
}
