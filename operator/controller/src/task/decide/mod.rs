//! From what was seen to what is to be done: no I/O, no clock, no randomness.
//!
//! [`step`] says which step of the task's life comes next, one at a time; after it everything is read again.
//! When there is none, [`plan`] says which objects and which status follow from where the task stands.
//!
//! # What stops a task
//!
//! | | queued | claimed, preparing, running | finishing |
//! | --- | --- | --- | --- |
//! | `desiredState: Suspend` | suspended, no pod, no token | suspended; attempt ended, token dead, pod cleared; Run queues it again | stays: the verdict stands |
//! | `desiredState: Cancel` | finished, `Cancelled` | finishing, `Cancelled`; token dead, pod cleared | stays |
//! | deadline | finished, `DeadlineExceeded` | finishing, `DeadlineExceeded`; token dead, pod cleared | stays |
//! | AgentTask deleted | finished, `Cancelled` | finishing, `Cancelled`; token dead, pod cleared | stays |
//! | Agent deleted | waits, Accepted=False `AgentNotFound` | finishing, `AgentDeleted`; token dead, pod cleared | stays |
//! | namespace deleted | finished, `Cancelled` | finishing, `Cancelled`; token dead, pod goes with the namespace | stays |
//!
//! "Finishing" becomes finished when the pod is dead and gone. A namespace that loses its label finishes its
//! runs and claims nothing.

mod clear;
mod deferred;
mod fence;
mod stop;

use std::time::Duration;

use crds::{AgentSessionStatus, AgentTaskStatus};
use jiff::Timestamp;
use protocol::{AttemptId, FailureClass, Outcome, TaskState, Verdict, limits};
use store::AttemptRow;

use super::failure::{self, Judgement, Progress};
use super::observe::{Object, Seen, had_pod};
use super::{session_status, status};
use crate::catalog::Standing;

pub use clear::{Deletion, PodDeletion};
pub use fence::{Fence, fence};

use self::clear::clear_away;

/// A step of a task's life, which the store takes in one transaction; of one that was born there also the
/// making of its object.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Its object is made.
    Make,
    /// The object that was made for it becomes its own.
    Bind,
    /// Its priority was changed.
    SetPriority(i32),
    /// It is put aside.
    Suspend,
    /// It goes on.
    Resume,
    /// The time for which it has waited has come.
    Fire,
    /// It ends without a live attempt.
    End(Verdict),
    /// Its live attempt has a verdict.
    Decide(AttemptId, Verdict),
    /// What an ended attempt's runner left is kept beside the verdict.
    Attach(AttemptId, Verdict),
}

/// What follows from where a task stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Objects of the live attempt are to be made.
    pub bring_up: Option<AttemptId>,
    /// What is known of its pod is to be recorded: attempt, UID, node.
    pub record: Option<(AttemptId, String, Option<String>)>,
    /// Since when the pod of this attempt is absent is to be noted; `None` when it was seen again.
    pub absent: Option<(AttemptId, Option<Timestamp>)>,
    /// The token of this attempt, which no runner has used yet, is to live on.
    pub keep_token: Option<AttemptId>,
    /// The status to be written.
    pub status: Option<Box<AgentTaskStatus>>,
    /// The Secrets of these attempts are to be deleted.
    pub secrets: Vec<AttemptId>,
    /// A pod is to be deleted.
    pub pod: Option<PodDeletion>,
    /// This attempt lets go of the session, once all the above is done.
    pub release: Option<AttemptId>,
    /// The session's status to be written, after a release as it will be then.
    pub session_status: Option<Box<AgentSessionStatus>>,
    /// The object's time to live is over.
    pub expire: bool,
    /// The lanes of its Agent may have something to claim.
    pub claim: bool,
    /// When to look again if nothing changes.
    pub look_at: Option<Timestamp>,
}

/// The next step of the task's life, if it is time for one.
#[must_use]
pub fn step(seen: &Seen, now: Timestamp) -> Option<Step> {
    if let Object::Unreadable = seen.object {
        return None;
    }
    stop::step(seen, now)
        .or_else(|| judge(seen, now))
        .or_else(|| attach(seen, now))
        .or_else(|| birth(seen))
        .or_else(|| deferred::step(seen, now))
}

/// A task that was born in the store gets its object, unless it was over before that. In a namespace that lost
/// its label nothing is made for what only waits.
fn birth(seen: &Seen) -> Option<Step> {
    let state = seen.row.state;
    match &seen.object {
        Object::ToBind(_) => Some(Step::Bind),
        Object::ToMake => {
            let wanted = match seen.standing {
                Standing::Workspace => !state.has_verdict(),
                Standing::Foreign => state.is_active(),
                Standing::Going => false,
            };
            wanted.then_some(Step::Make)
        }
        Object::There(_) | Object::Gone | Object::Unreadable => None,
    }
}

/// The verdict that the pod of the live attempt shows.
fn judge(seen: &Seen, now: Timestamp) -> Option<Step> {
    let attempt = seen.live()?;
    let verdict = |outcome| {
        Some(Step::Decide(
            attempt.id,
            Verdict {
                outcome,
                at: now,
                result: None,
            },
        ))
    };
    if let Some(pod) = seen.pod_of(attempt.id) {
        if let Some(verdict) = left_behind(seen, attempt, now) {
            return Some(Step::Decide(attempt.id, verdict));
        }
        return match look(seen, attempt, pod, now) {
            Judgement::Failed(outcome) => verdict(outcome),
            Judgement::Fine { .. } => None,
        };
    }
    if !had_pod(attempt) {
        return never_made(seen, attempt, now).and_then(verdict);
    }
    // The pod was there and is not.
    let last = seen.last_sight.as_deref();
    if let Some(result) = last.and_then(|pod| result_of(seen, attempt, pod)) {
        return Some(Step::Decide(attempt.id, Verdict { at: now, ..result }));
    }
    verdict(failure::vanished(last, seen.node))
}

/// An attempt whose pod cannot be made does not hold its places for ever.
fn never_made(seen: &Seen, attempt: &AttemptRow, now: Timestamp) -> Option<Outcome> {
    let until = failure::after(attempt.claimed_at, seen.limits().schedule);
    let message = match &seen.pod {
        Some(_) => "the pod could not be made within scheduleSeconds: another pod has its name",
        None => "the pod could not be made within scheduleSeconds; the operator's log says why",
    };
    (now >= until).then(|| Outcome::failed(FailureClass::ClaimExpired, message))
}

fn look(
    seen: &Seen,
    attempt: &AttemptRow,
    pod: &k8s_openapi::api::core::v1::Pod,
    now: Timestamp,
) -> Judgement {
    let progress = Progress {
        opened_at: attempt.opened_at,
        started_at: attempt.started_at,
        last_contact_at: attempt.last_contact_at,
        node: seen.node,
    };
    failure::judge(pod, &progress, &seen.limits(), now)
}

/// The result that the runner left in the termination message, when its call never came through.
fn left_behind(seen: &Seen, attempt: &AttemptRow, now: Timestamp) -> Option<Verdict> {
    let pod = seen.pod_of(attempt.id)?;
    let verdict = result_of(seen, attempt, pod)?;
    Some(Verdict { at: now, ..verdict })
}

fn result_of(
    seen: &Seen,
    attempt: &AttemptRow,
    pod: &k8s_openapi::api::core::v1::Pod,
) -> Option<Verdict> {
    let message = failure::termination_message(pod)?;
    let result = seen.sealed.as_ref()?.open(attempt.id, message)?;
    let mut outcome = result.outcome.clone();
    // One process of several was killed for its memory: the runner lived to tell, the kubelet tells why.
    if let (Outcome::Failed { class, .. }, true) = (&mut outcome, failure::was_out_of_memory(pod))
        && *class == FailureClass::CliCrashed
    {
        *class = FailureClass::OOMKilled;
    }
    Some(Verdict {
        outcome,
        at: seen.row.created_at,
        result: Some(Box::new(result)),
    })
}

/// A result that came too late to decide is kept all the same.
fn attach(seen: &Seen, now: Timestamp) -> Option<Step> {
    let attempt = seen.ending()?;
    let has_result = |verdict: &Verdict| verdict.result.is_some();
    let late = &seen.row.late_results;
    let known = late.iter().any(|late| late.attempt == attempt.id.number)
        || seen.row.verdict.as_ref().is_some_and(has_result);
    if known || late.len() >= store::LATE_RESULTS {
        return None;
    }
    let pod = seen.pod_of(attempt.id).or(seen.last_sight.as_ref())?;
    let verdict = result_of(seen, attempt, pod)?;
    Some(Step::Attach(attempt.id, Verdict { at: now, ..verdict }))
}

/// What follows from where the task stands.
#[must_use]
pub fn plan(seen: &Seen, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    if let Object::Unreadable = seen.object {
        // What an attempt has left does not depend on it.
        clear_away(seen, now, &mut plan);
        return plan;
    }
    match seen.row.state {
        TaskState::Claimed | TaskState::Preparing | TaskState::Running => {
            work(seen, now, &mut plan)
        }
        TaskState::Queued | TaskState::Suspended | TaskState::Finishing | TaskState::Finished => {}
    }
    clear_away(seen, now, &mut plan);
    if let Some(at) = deferred::look_at(seen, now) {
        sooner(&mut plan.look_at, at);
    } else if seen.row.state == TaskState::Queued {
        plan.claim = true;
        let waited = now.duration_since(status::phase_start(&seen.row, None));
        let pause = Duration::try_from(waited).unwrap_or_default() / 2;
        sooner(
            &mut plan.look_at,
            failure::after(
                now,
                pause.clamp(Duration::from_secs(2), Duration::from_secs(60)),
            ),
        );
    }
    let is_active = seen.row.state.is_active();
    if let Some(deadline) = seen
        .row
        .deadline_at
        .filter(|_| is_active || seen.row.state == TaskState::Queued)
    {
        sooner(&mut plan.look_at, deadline);
    }
    statuses(seen, now, &mut plan);
    expire(seen, now, &mut plan);
    plan
}

/// A live attempt gets its pod, and its pod is recorded and watched.
fn work(seen: &Seen, now: Timestamp, plan: &mut Plan) {
    let Some(attempt) = seen.live() else { return };
    keep_token(seen, attempt, now, plan);
    match seen.pod_of(attempt.id) {
        None => {
            plan.bring_up = Some(attempt.id);
            sooner(
                &mut plan.look_at,
                failure::after(attempt.claimed_at, seen.limits().schedule),
            );
        }
        Some(pod) => {
            let (id, uid, node) = sight(attempt, pod);
            if attempt.pod_uid.as_ref() != Some(&uid) || (node.is_some() && attempt.node != node) {
                plan.record = Some((id, uid, node));
            }
            if let Judgement::Fine {
                look_at: Some(at), ..
            } = look(seen, attempt, pod, now)
            {
                sooner(&mut plan.look_at, at);
            }
        }
    }
}

/// What is recorded of a pod that is seen.
fn sight(
    attempt: &AttemptRow,
    pod: &k8s_openapi::api::core::v1::Pod,
) -> (AttemptId, String, Option<String>) {
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    (attempt.id, uid, node)
}

/// A token lives by signs of life. Before its runner can give any, the pod's own way to its start, which is
/// bounded by the Runtime's times, stands for them: an image may take longer than a token lives.
fn keep_token(seen: &Seen, attempt: &AttemptRow, now: Timestamp, plan: &mut Plan) {
    if seen.row.state != TaskState::Claimed {
        return;
    }
    let at = failure::after(
        attempt.last_contact_at.unwrap_or(attempt.claimed_at),
        limits::TOKEN_LIFE / 3,
    );
    if now >= at {
        plan.keep_token = Some(attempt.id);
        sooner(
            &mut plan.look_at,
            failure::after(now, limits::TOKEN_LIFE / 3),
        );
    } else {
        sooner(&mut plan.look_at, at);
    }
}

fn statuses(seen: &Seen, now: Timestamp, plan: &mut Plan) {
    if let Some(object) = seen.object.get() {
        let old = object.status.clone().unwrap_or_default();
        let settled = status::is_settled(&seen.row, seen.attempt(), now);
        if settled {
            let mut new = status::status(seen, &old, now);
            if let Some((attempt, uid, node)) = &plan.record {
                status::record(&mut new, *attempt, uid, node.as_deref());
            }
            plan.status = status::differs(seen.row.state, &old, &new).then(|| Box::new(new));
        } else {
            sooner(
                &mut plan.look_at,
                status::settles_at(&seen.row, seen.attempt()),
            );
        }
    }
    let released = plan.release.is_some();
    if let Some(due) = session_status::due(seen, released).filter(|due| now < *due) {
        sooner(&mut plan.look_at, due);
    }
    plan.session_status = session_status::wanted(seen, released, now).map(Box::new);
}

fn expire(seen: &Seen, now: Timestamp, plan: &mut Plan) {
    let Some(object) = seen.object.get() else {
        return;
    };
    let Some(ttl) = object.spec.ttl_seconds_after_finished else {
        return;
    };
    let Some(closed) = seen.row.closed_at else {
        return;
    };
    let at = failure::after(closed, Duration::from_secs(u64::try_from(ttl).unwrap_or(0)));
    plan.expire = now >= at;
    if !plan.expire {
        sooner(&mut plan.look_at, at);
    }
}

fn sooner(look_at: &mut Option<Timestamp>, at: Timestamp) {
    *look_at = Some(look_at.map_or(at, |earlier| earlier.min(at)));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use protocol::{InstallationKey, ProviderSession, Resumed, TaskResult, TerminationMessage};
    use secrecy::ExposeSecret as _;
    use serde_json::json;

    use super::super::observe::Sealed;
    use super::*;
    use crate::fixtures;

    /// The attempt ended at 2000, with its pod still there.
    fn ended() -> Seen {
        let mut seen = fixtures::running();
        seen.row.state = TaskState::Finishing;
        seen.attempts[0].ended_at = Timestamp::from_second(2_000).ok();
        let id = seen.row.id.to_string();
        let pod = json!({
            "metadata": {"uid": "pod-uid", "labels": {(crds::labels::TASK_ID): id, (crds::labels::ATTEMPT): "1"}},
            "spec": {"nodeName": "node-1", "containers": []},
        });
        seen.pod = serde_json::from_value(pod).map(Arc::new).ok();
        seen
    }

    fn gone(uid: &str, how: Deletion) -> PodDeletion {
        let uid = uid.to_owned();
        PodDeletion { uid, how }
    }

    #[test]
    fn a_dead_pod_goes_at_once_when_somebody_waits_for_its_session() {
        let at = Timestamp::from_second(2_100).unwrap();
        let mut seen = ended();
        seen.pod_deletion = Some(Deletion::End);
        seen.session.waits = true;
        assert_eq!(plan(&seen, at).pod, None, "it may still run");
        let dead = json!({"phase": "Succeeded"});
        Arc::make_mut(seen.pod.as_mut().unwrap()).status = serde_json::from_value(dead).unwrap();
        let remove = gone("pod-uid", Deletion::Remove);
        assert_eq!(plan(&seen, at).pod, Some(remove));
        seen.pod_deletion = Some(Deletion::Remove);
        assert_eq!(plan(&seen, at).pod, None, "once is enough");
        (seen.pod_deletion, seen.session.waits) = (Some(Deletion::End), false);
        assert_eq!(plan(&seen, at).pod, None, "nobody waits");
    }

    #[test]
    fn what_an_unreadable_object_leaves_is_cleared_away() {
        let mut seen = ended();
        seen.object = Object::Unreadable;
        let plan = plan(&seen, Timestamp::from_second(2_000).unwrap());
        assert_eq!(plan.secrets, [seen.attempts[0].id]);
        assert_eq!(plan.pod, Some(gone("pod-uid", Deletion::End)));
        assert_eq!((plan.status, plan.expire), (None, false));
    }

    #[test]
    fn a_pod_that_is_to_go_is_looked_at_even_if_nothing_tells_of_its_end() {
        let mut seen = ended();
        seen.pod_deletion = Some(Deletion::End);
        let plan = plan(&seen, Timestamp::from_second(2_100).unwrap());
        assert_eq!((plan.pod, plan.release), (None, None));
        assert_eq!(plan.look_at, Timestamp::from_second(2_130).ok());
    }

    #[test]
    fn a_result_left_in_the_pod_is_cleaned_and_brought_to_size() {
        let key = InstallationKey::new([7; 32]);
        let mut seen = fixtures::running();
        let attempt = seen.attempts[0].clone();
        let token = key.task_token(attempt.id, attempt.salt);
        let token = token.expose_secret();
        // A runner of ours leaves nothing like it.
        let result = TaskResult {
            outcome: Outcome::failed(FailureClass::CliCrashed, format!("it said {token}")),
            output: format!("{token}!"),
            duration_ms: 1,
            provider_session: Some(ProviderSession {
                provider: "claude".to_owned(),
                id: "--dangerous".to_owned(),
            }),
            retired_sessions: ["-p", "one", ""].map(str::to_owned).into(),
            resumed: Resumed::unknown("a test"),
            usage: std::collections::BTreeMap::new(),
            last_seq: 0,
        };
        let message = TerminationMessage {
            attempt: attempt.id,
            result,
        };
        let message = message
            .seal(&key.mac_key(attempt.id, attempt.salt))
            .unwrap();
        assert!(message.contains(token));
        let mut pod = (*ended().pod.unwrap()).clone();
        let state = json!({"terminated": {"exitCode": 1, "message": message}});
        let agent = json!({"name": "agent", "image": "x", "imageID": "x", "ready": false, "restartCount": 0, "state": state});
        let status = json!({"phase": "Failed", "containerStatuses": [agent]});
        pod.status = serde_json::from_value(status).unwrap();
        seen.pod = Some(Arc::new(pod));
        seen.sealed = Some(Sealed::new(&key, &attempt));
        let now = Timestamp::from_second(2_000).unwrap();
        let Some(Step::Decide(_, verdict)) = step(&seen, now) else {
            panic!("no verdict")
        };
        let wanted = Outcome::failed(FailureClass::CliCrashed, "it said [redacted]");
        assert_eq!(verdict.outcome, wanted);
        let result = verdict.result.unwrap();
        assert_eq!(
            (result.outcome, result.output.as_str()),
            (wanted, "[redacted]!")
        );
        assert_eq!(result.provider_session, None);
        assert_eq!(result.retired_sessions, ["one"]);
        // Of another attempt it is nobody's result.
        seen.row.attempt = 2;
        seen.attempts[0].id.number = 2;
        assert_eq!(
            result_of(&seen, &seen.attempts[0], seen.pod.as_ref().unwrap()),
            None
        );
    }

    #[test]
    fn the_pod_of_a_turn_that_ended_before_it_was_seen_is_recorded_before_it_goes() {
        let mut seen = ended();
        let now = Timestamp::from_second(2_000).unwrap();
        assert_eq!(plan(&seen, now).record, None);
        let id = seen.attempts[0].id;
        seen.attempts[0].pod_uid = None;
        let plan = plan(&seen, now);
        let wanted = (id, "pod-uid".to_owned(), Some("node-1".to_owned()));
        assert_eq!(plan.record, Some(wanted));
        assert_eq!(plan.pod, Some(gone("pod-uid", Deletion::End)));
    }

    #[test]
    fn what_a_pass_records_of_a_pod_is_in_the_status_that_it_writes() {
        let mut seen = ended();
        seen.row.state = TaskState::Running;
        (seen.attempts[0].ended_at, seen.attempts[0].node) = (None, None);
        seen.attempts[0].pod_uid = None;
        let plan = plan(&seen, Timestamp::from_second(2_000).unwrap());
        let told = plan.status.unwrap().attempts.remove(0);
        let told = (told.pod_uid.as_deref(), told.node_name.as_deref());
        assert_eq!(told, (Some("pod-uid"), Some("node-1")));
    }

    #[test]
    fn an_absence_is_noted_once_and_forgotten_when_the_pod_is_seen_again() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut seen = ended();
        let id = seen.attempts[0].id;
        assert_eq!(plan(&seen, at(2_100)).absent, None);
        let pod = seen.pod.take();
        assert_eq!(plan(&seen, at(2_100)).absent, Some((id, Some(at(2_100)))));
        seen.attempts[0].pod_absent_since = Some(at(2_100));
        assert_eq!(plan(&seen, at(2_101)).absent, None);
        seen.pod = pod;
        assert_eq!(plan(&seen, at(2_102)).absent, Some((id, None)));
    }

    #[test]
    fn a_task_of_the_store_gets_its_object_while_that_matters() {
        use TaskState::{Finished, Queued, Running};
        let at = Timestamp::from_second(1_001).unwrap();
        let cases = [
            (Standing::Workspace, Queued, true),
            (Standing::Workspace, Running, true),
            (Standing::Workspace, Finished, false),
            (Standing::Foreign, Queued, false),
            (Standing::Foreign, Running, true),
        ];
        for (standing, state, wanted) in cases {
            let mut seen = fixtures::running();
            seen.attempts[0].pod_uid = None;
            seen.attempts[0].opened_at = None;
            seen.object = Object::ToMake;
            seen.standing = standing;
            seen.row.state = state;
            let wanted = wanted.then_some(Step::Make);
            assert_eq!(step(&seen, at), wanted, "{standing:?} {state:?}");
        }
        let mut seen = fixtures::running();
        seen.row.state = Finished;
        seen.object = Object::ToBind(Arc::new(fixtures::task_object()));
        assert_eq!(step(&seen, at), Some(Step::Bind));
        // What cannot be made does not hold its places for ever.
        seen = fixtures::running();
        seen.attempts[0].pod_uid = None;
        seen.attempts[0].opened_at = None;
        seen.object = Object::ToMake;
        let late = Timestamp::from_second(9_000).unwrap();
        assert!(matches!(step(&seen, late), Some(Step::Decide(..))));
    }

    #[test]
    fn a_fence_is_looked_at_before_its_time_is_up_since_its_node_may_go() {
        let mut seen = ended();
        seen.pod = None;
        seen.runtime = None;
        seen.attempts[0].pod_absent_since = Timestamp::from_second(2_100).ok();
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(plan(&seen, at(2_100)).look_at, Some(at(2_130)));
        // The longest grace of 600 s and the margin of 60 s.
        assert_eq!(plan(&seen, at(2_750)).look_at, Some(at(2_760)));
        assert!(plan(&seen, at(2_760)).release.is_some());
    }
}
