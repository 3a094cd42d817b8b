//! The promises, pure.

use std::collections::{HashMap, HashSet};

use crds::conditions::{find, is_true};
use crds::{labels, task_condition};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube::ResourceExt as _;
use protocol::{AttemptId, TaskState};
use store::TaskRow;

use super::{Listing, Rows, Violation};
use crate::network::build::BASE;
use crate::runtime::probe;
use crate::task::birth;

/// Every promise that does not hold.
pub(super) fn violations(rows: &Rows, listing: &Listing) -> Vec<Violation> {
    let mut found = Vec::new();
    pods(rows, listing, &mut found);
    walls(listing, &mut found);
    objects(rows, listing, &mut found);
    claims(listing, &mut found);
    found
}

/// The attempt that a pod's labels name.
pub(super) fn attempt_of(pod: &Pod) -> Option<AttemptId> {
    let task = pod.labels().get(labels::TASK_ID)?.parse().ok()?;
    let number = pod.labels().get(labels::ATTEMPT)?.parse().ok()?;
    Some(AttemptId { task, number })
}

/// Pods: one per session, each for the attempt that holds it, none with rights.
fn pods(rows: &Rows, listing: &Listing, found: &mut Vec<Violation>) {
    let mut sessions: HashMap<(String, String), usize> = HashMap::new();
    let held: HashSet<AttemptId> = rows
        .held
        .iter()
        .filter_map(|session| session.holder.as_ref())
        .map(|holder| holder.attempt)
        .collect();
    for pod in &listing.pods {
        let what = named(pod.namespace(), &pod.name_any());
        let mut broken = |rule| {
            found.push(Violation {
                rule,
                what: what.clone(),
            })
        };
        if pod.spec.as_ref().is_some_and(has_rights) {
            broken("an agent's pod has no Kubernetes credentials and no privileges");
        }
        // It belongs to a Runtime and to no task.
        if is_probe(pod) {
            continue;
        }
        let session = pod
            .labels()
            .get(labels::SESSION)
            .cloned()
            .unwrap_or_default();
        *sessions
            .entry((pod.namespace().unwrap_or_default(), session))
            .or_default() += 1;
        let Some(attempt) = attempt_of(pod) else {
            broken("a pod of ours names its task and attempt");
            continue;
        };
        let Some(row) = rows.attempts.get(&attempt) else {
            broken("a pod belongs to an attempt of the store");
            continue;
        };
        if !held.contains(&attempt) {
            broken("a pod's attempt holds its session until the pod is gone");
        }
        if row.ended_at.is_some() && pod.metadata.deletion_timestamp.is_none() {
            broken("the pod of an ended attempt is being deleted");
        }
        if row.pod_uid.is_some() && row.pod_uid != pod.uid() {
            broken("an attempt has one pod");
        }
    }
    for ((namespace, session), _) in sessions.into_iter().filter(|(_, pods)| *pods > 1) {
        let what = named(Some(namespace), &session);
        found.push(Violation {
            rule: "a session has one pod",
            what,
        });
    }
}

fn is_probe(pod: &Pod) -> bool {
    probe::asks_about(pod).is_some()
}

fn has_rights(spec: &PodSpec) -> bool {
    let projected = spec
        .volumes
        .iter()
        .flatten()
        .any(|volume| volume.projected.is_some());
    let free = |container: &k8s_openapi::api::core::v1::Container| {
        container.security_context.as_ref().is_none_or(|context| {
            context.allow_privilege_escalation != Some(false)
                || context.run_as_non_root != Some(true)
        })
    };
    let ours = spec
        .init_containers
        .iter()
        .flatten()
        .chain(&spec.containers);
    let ours = ours.filter(|container| {
        [
            protocol::paths::AGENT_CONTAINER,
            protocol::paths::INSTALL_CONTAINER,
            protocol::probe::CONTAINER,
        ]
        .contains(&container.name.as_str())
    });
    projected || spec.automount_service_account_token != Some(false) || ours.into_iter().any(free)
}

/// Where there is a pod there are its policies.
fn walls(listing: &Listing, found: &mut Vec<Violation>) {
    let there: HashSet<(Option<String>, String)> = listing
        .policies
        .iter()
        .map(|policy| (policy.namespace(), policy.name_any()))
        .collect();
    for pod in &listing.pods {
        // A Runtime's policy goes with the Runtime; its pods then are under the base alone, which opens less.
        let wall = if is_probe(pod) { probe::POLICY } else { BASE };
        if !there.contains(&(pod.namespace(), wall.to_owned())) {
            let what = named(pod.namespace(), &pod.name_any());
            found.push(Violation {
                rule: "a pod is under the network policies of its namespace",
                what,
            });
        }
    }
}

/// Statuses say what the store says, and an open task has its object.
fn objects(rows: &Rows, listing: &Listing, found: &mut Vec<Violation>) {
    let uids: HashSet<String> = listing
        .tasks
        .iter()
        .filter_map(kube::ResourceExt::uid)
        .collect();
    for row in rows.tasks.values() {
        let what = named(Some(row.object.namespace.clone()), &row.object.name);
        let mut broken = |rule| {
            found.push(Violation {
                rule,
                what: what.clone(),
            })
        };
        match &row.object.uid {
            Some(uid) if !row.state.has_verdict() && !uids.contains(uid) => {
                broken("a task whose object is gone is cancelled");
            }
            // While it only waits, its namespace may be no workspace.
            None if row.state.is_active() => broken("a claimed task has its object"),
            Some(_) | None => {}
        }
        if row.state == TaskState::Finished {
            let left = |attempt: &AttemptId| {
                rows.attempts
                    .get(attempt)
                    .is_some_and(|attempt| !attempt.secret_gone)
            };
            if (1..=row.attempt).any(|number| {
                left(&AttemptId {
                    task: row.id,
                    number,
                })
            }) {
                broken("nothing is left of a finished task's Secrets");
            }
        }
    }
    for object in &listing.tasks {
        let row = rows
            .by_object
            .get(&object.uid().unwrap_or_default())
            .and_then(|task| rows.tasks.get(task));
        let Some(row) = row else {
            // What names no row was made by somebody else, and is not run.
            if is_unbound(rows, object) {
                let what = named(object.namespace(), &object.name_any());
                found.push(Violation {
                    rule: "an object that was made for a task is its own",
                    what,
                });
            }
            continue;
        };
        if let Some(rule) = misreported(row, object) {
            found.push(Violation {
                rule,
                what: named(object.namespace(), &object.name_any()),
            });
        }
    }
}

/// Whether an object was made for a task that does not know it.
fn is_unbound(rows: &Rows, object: &crds::AgentTask) -> bool {
    let row = birth::named_task(object).and_then(|task| rows.tasks.get(&task));
    row.is_some_and(|row| row.object.uid.is_none() && birth::is_made_for(object, row))
}

fn misreported(row: &TaskRow, object: &crds::AgentTask) -> Option<&'static str> {
    let status = object.status.clone().unwrap_or_default();
    let conditions = &status.conditions;
    if is_true(conditions, task_condition::FINISHED) != row.state.has_verdict() {
        return Some("a status says Finished exactly when there is a verdict");
    }
    if is_true(conditions, task_condition::CREDENTIAL_ISSUED) && !row.state.is_active() {
        return Some("a status says that a credential is valid only while one is");
    }
    let verdict = row.verdict.as_ref()?;
    let said =
        find(conditions, task_condition::SUCCEEDED).map(|condition| condition.reason.as_str());
    let wanted = verdict
        .outcome
        .class()
        .map_or(crds::task_reason::SUCCEEDED, |class| class.as_str());
    (said != Some(wanted)).then_some("a status says the verdict of the store")
}

/// Nothing that deletes objects deletes work.
fn claims(listing: &Listing, found: &mut Vec<Violation>) {
    for claim in &listing.claims {
        if claim
            .owner_references()
            .iter()
            .any(|owner| owner.api_version.starts_with("mooring.dev/"))
        {
            let what = named(claim.namespace(), &claim.name_any());
            found.push(Violation {
                rule: "nobody owns a session's volume claim",
                what,
            });
        }
    }
}

fn named(namespace: Option<String>, name: &str) -> String {
    format!("{}/{name}", namespace.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use store::AttemptRow;

    use super::*;
    use crate::fixtures;

    fn pod(change: impl FnOnce(&mut serde_json::Value)) -> Pod {
        let mut pod = json!({
            "metadata": {"name": "s", "namespace": "team", "uid": "pod-uid", "labels": {
                labels::TASK_ID: "00000000-0000-0000-0000-000000000007", labels::ATTEMPT: "1",
                labels::SESSION: "s", labels::RUNTIME: "claude",
            }},
            "spec": {"automountServiceAccountToken": false, "containers": []},
        });
        change(&mut pod);
        serde_json::from_value(pod).unwrap()
    }

    fn rows(change: impl FnOnce(&mut TaskRow, &mut AttemptRow)) -> Rows {
        let mut seen = fixtures::running();
        change(&mut seen.row, &mut seen.attempts[0]);
        Rows {
            by_object: HashMap::from([("task-uid".to_owned(), seen.row.id)]),
            attempts: seen
                .attempts
                .iter()
                .map(|attempt| (attempt.id, attempt.clone()))
                .collect(),
            tasks: HashMap::from([(seen.row.id, seen.row)]),
            held: vec![seen.session],
        }
    }

    fn listing(pods: Vec<Pod>) -> Listing {
        let policy = json!({"metadata": {"name": BASE, "namespace": "team"}});
        Listing {
            tasks: vec![fixtures::task_object()],
            pods,
            claims: Vec::new(),
            policies: vec![serde_json::from_value(policy).unwrap()],
        }
    }

    fn rules(rows: &Rows, listing: &Listing) -> Vec<&'static str> {
        violations(rows, listing)
            .into_iter()
            .map(|broken| broken.rule)
            .collect()
    }

    #[test]
    fn a_running_task_breaks_nothing() {
        assert_eq!(
            rules(&rows(|_, _| {}), &listing(vec![pod(|_| {})])),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn each_promise_is_noticed_when_it_breaks() {
        let calm = || rows(|_, _| {});
        let one = |change: fn(&mut serde_json::Value)| listing(vec![pod(change)]);
        let mut unwalled = one(|_| {});
        // What its Runtime opens walls nothing in.
        unwalled.policies[0].metadata.name = Some("mooring-runtime-claude".to_owned());
        let mut objectless = one(|_| {});
        objectless.tasks.clear();
        let mut owned = one(|_| {});
        let owner = json!([{"apiVersion": "mooring.dev/v1alpha1", "kind": "AgentSession", "name": "s", "uid": "u"}]);
        let claim =
            json!({"metadata": {"name": "c", "namespace": "team", "ownerReferences": owner}});
        owned.claims.push(serde_json::from_value(claim).unwrap());
        let mut unheld = calm();
        unheld.held.clear();
        let unborn = |state| {
            let mut rows = rows(|row, _| {
                row.object.uid = None;
                row.state = state;
            });
            rows.by_object.clear();
            rows
        };
        let mut unbound = one(|_| {});
        let id = rows(|_, _| {}).tasks.into_keys().next().unwrap();
        let cause = crds::TaskCause {
            kind: crds::CauseKind::Assignment,
            issue: Some("TEAM-1".to_owned()),
            comment: None,
        };
        unbound.tasks[0].spec.cause = Some(cause);
        unbound.tasks[0]
            .labels_mut()
            .insert(labels::TASK_ID.to_owned(), id.to_string());
        let now = jiff::Timestamp::UNIX_EPOCH;
        let over = rows(|row, attempt| {
            let verdict = json!({"outcome": "succeeded", "at": now});
            row.verdict = Some(serde_json::from_value(verdict).unwrap());
            row.state = TaskState::Finished;
            attempt.ended_at = Some(now);
        });
        let cases = [
            (
                calm(),
                listing(vec![
                    pod(|_| {}),
                    pod(|pod| pod["metadata"]["name"] = json!("t")),
                ]),
                "a session has one pod",
            ),
            (
                calm(),
                one(|pod| pod["spec"]["automountServiceAccountToken"] = json!(true)),
                "an agent's pod has no Kubernetes credentials and no privileges",
            ),
            (
                calm(),
                one(|pod| pod["metadata"]["labels"][labels::ATTEMPT] = json!("2")),
                "a pod belongs to an attempt of the store",
            ),
            (
                calm(),
                one(|pod| pod["metadata"]["labels"][labels::TASK_ID] = json!("x")),
                "a pod of ours names its task and attempt",
            ),
            (
                calm(),
                one(|pod| pod["metadata"]["uid"] = json!("other")),
                "an attempt has one pod",
            ),
            (
                unheld,
                one(|_| {}),
                "a pod's attempt holds its session until the pod is gone",
            ),
            (
                rows(|_, attempt| attempt.ended_at = Some(now)),
                one(|_| {}),
                "the pod of an ended attempt is being deleted",
            ),
            (
                calm(),
                unwalled,
                "a pod is under the network policies of its namespace",
            ),
            (
                calm(),
                objectless,
                "a task whose object is gone is cancelled",
            ),
            (calm(), owned, "nobody owns a session's volume claim"),
            (
                unborn(TaskState::Running),
                one(|_| {}),
                "a claimed task has its object",
            ),
            (
                unborn(TaskState::Queued),
                unbound,
                "an object that was made for a task is its own",
            ),
            (
                over,
                listing(Vec::new()),
                "nothing is left of a finished task's Secrets",
            ),
        ];
        for (rows, listing, rule) in cases {
            let found = rules(&rows, &listing);
            assert!(found.contains(&rule), "{rule}: {found:?}");
        }
    }
}
