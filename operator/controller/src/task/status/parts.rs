//! Parts of a status beside the conditions.

use crds::{
    AgentTaskStatus, Answer, AttemptRecord, EvidenceStatus, FailureStatus, ModelUsage,
    ResultStatus, ResumedStatus, RetryAdvice, TaskTimes, WaitingLimit, WaitingStatus,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use protocol::{Evidence, Outcome, Resumed, Retry, TaskState, Verdict};
use store::{AttemptRow, Held, TaskRow, Waiting};

use crate::catalog::Standing;
use crate::task::observe::{References, Seen};

/// Bytes of an answer that are shown.
const SUMMARY_BYTES: usize = 4096;
/// Bytes of an evidence.
const EVIDENCE_BYTES: usize = 1024;
/// Models whose usage is shown.
const MODELS: usize = 16;

pub(super) fn attempt(row: &AttemptRow) -> AttemptRecord {
    AttemptRecord {
        number: i32::try_from(row.id.number).unwrap_or(i32::MAX),
        runtime_name: row.runtime.clone(),
        pod_uid: row.pod_uid.clone(),
        node_name: row.node.clone(),
        claimed: Time(row.claimed_at),
        started: row.started_at.map(Time),
        ended: row.ended_at.map(Time),
        reason: row.end_reason.map(|reason| format!("{reason:?}")),
    }
}

/// What came back, as the runner says it. Of a task that is over without a word of its runner nobody knows.
pub(super) fn resumed(row: &TaskRow) -> Option<ResumedStatus> {
    let over_unsaid = row.attempt > 0 && row.verdict.is_some();
    let unknown = || over_unsaid.then(|| Resumed::unknown("the runner left no result"));
    let resumed = row.resumed.clone().or_else(unknown)?;
    Some(ResumedStatus {
        volume: evidence(&resumed.volume),
        workdir: evidence(&resumed.workdir),
        session: evidence(&resumed.session),
        provider: evidence(&resumed.provider),
    })
}

fn evidence(from: &Evidence) -> EvidenceStatus {
    let answer = match from.answer {
        protocol::Answer::Yes => Answer::Yes,
        protocol::Answer::No => Answer::No,
        protocol::Answer::Unknown => Answer::Unknown,
    };
    EvidenceStatus {
        answer,
        evidence: cut(&from.evidence, EVIDENCE_BYTES),
    }
}

/// Which limit holds the task, and since when; who or how many fill it may change meanwhile.
pub(super) fn waiting(seen: &Seen, old: &AgentTaskStatus, now: Timestamp) -> Option<WaitingStatus> {
    if seen.row.state != TaskState::Queued {
        return None;
    }
    let (limit, message) = held_by(seen)?;
    let since = match &old.waiting {
        Some(old) if old.limit == limit => old.since.clone(),
        Some(_) => Time(now),
        None => Time(seen.row.created_at),
    };
    Some(WaitingStatus {
        limit,
        message,
        since,
    })
}

fn held_by(seen: &Seen) -> Option<(WaitingLimit, String)> {
    if let Some(until) = seen.row.deferred_until() {
        return Some(deferred(until));
    }
    if seen.standing == Standing::Foreign {
        return Some((
            WaitingLimit::Workspace,
            "The namespace is no workspace.".into(),
        ));
    }
    let agent = &seen.row.agent;
    match seen.references {
        References::NoAgent => {
            return Some((
                WaitingLimit::Reference,
                format!("Agent {agent} does not exist."),
            ));
        }
        References::AgentUnreadable => {
            return Some((
                WaitingLimit::Reference,
                format!("Agent {agent} cannot be read."),
            ));
        }
        References::NoRuntime => {
            return Some((
                WaitingLimit::Reference,
                format!("No Runtime of Agent {agent} exists."),
            ));
        }
        References::NoneReady => {
            return Some((
                WaitingLimit::Reference,
                format!("No Runtime of Agent {agent} is ready."),
            ));
        }
        References::NotEnforced => {
            return Some((
                WaitingLimit::Reference,
                format!("No Runtime of Agent {agent} can be held to its tools."),
            ));
        }
        References::Found => {}
    }
    match seen.waiting? {
        Waiting::SessionBusy { holder } if holder == seen.row.id => Some((
            WaitingLimit::Session,
            "The pod of the task's last attempt is not gone yet.".into(),
        )),
        Waiting::SessionBusy { holder } => Some((
            WaitingLimit::Session,
            format!("Task {holder} has the session."),
        )),
        Waiting::AgentFull { running, max } => {
            let message = format!(
                "{running} tasks of Agent {agent} have a pod; its maxConcurrentTasks is {max}."
            );
            Some((WaitingLimit::Agent, message))
        }
        Waiting::RuntimeFull { running, max } => {
            let message = format!("{running} pods of the Runtime exist; its maxPods is {max}.");
            Some((WaitingLimit::Runtime, message))
        }
        Waiting::Deferred { until } => Some(deferred(until)),
        Waiting::Held(held) => Some(held_back(held)),
        Waiting::Next => None,
    }
}

fn deferred(until: Timestamp) -> (WaitingLimit, String) {
    let message = format!("Deferred until {}.", ceiled(until));
    (WaitingLimit::StartTime, message)
}

/// By what the workspace may have, or all of them.
fn held_back(by: Held) -> (WaitingLimit, String) {
    match by {
        Held::Concurrent { max } => (
            WaitingLimit::QuotaConcurrent,
            format!(
                "{max} tasks of the workspace have a pod; the maxConcurrent of its AgentQuota is {max}."
            ),
        ),
        Held::Hour { max, until } => (
            WaitingLimit::QuotaRunsPerHour,
            format!(
                "The workspace has begun {max} runs within an hour, which is the runsPerHour of its AgentQuota; \
                 the next one may begin at {}.",
                ceiled(until)
            ),
        ),
        Held::AllPods { max } => (
            WaitingLimit::Capacity,
            format!("{max} pods exist, which is as many as all workspaces may have together."),
        ),
    }
}

/// The whole second in which it has come.
fn ceiled(at: Timestamp) -> Timestamp {
    let whole = jiff::TimestampRound::new()
        .smallest(jiff::Unit::Second)
        .mode(jiff::RoundMode::Ceil);
    at.round(whole).unwrap_or(at)
}

pub(super) fn failure(seen: &Seen, verdict: &Verdict) -> Option<FailureStatus> {
    let Outcome::Failed {
        class,
        message,
        exit_code,
        signal,
    } = &verdict.outcome
    else {
        return None;
    };
    let retry = match class.retry() {
        Retry::Never => RetryAdvice::Never,
        Retry::AfterBackoff => RetryAdvice::AfterBackoff,
        Retry::AtOnce => RetryAdvice::AtOnce,
    };
    Some(FailureStatus {
        class: class.as_str().to_owned(),
        message: seen.told(*class, message).to_owned(),
        exit_code: *exit_code,
        signal: signal.filter(|signal| (0..=128).contains(signal)),
        retry,
    })
}

pub(super) fn result(verdict: &Verdict) -> Option<ResultStatus> {
    let output = &verdict.result.as_ref()?.output;
    (!output.is_empty()).then(|| ResultStatus {
        summary: cut(output, SUMMARY_BYTES),
    })
}

pub(super) fn usage(verdict: &Verdict) -> Vec<ModelUsage> {
    let count = |tokens: u64| {
        i64::try_from(tokens)
            .unwrap_or(i64::MAX)
            .min(9_007_199_254_740_991)
    };
    let Some(result) = &verdict.result else {
        return Vec::new();
    };
    let models = result.usage.iter().take(MODELS);
    models
        .map(|(model, usage)| ModelUsage {
            model: cut(model, 200),
            input_tokens: count(usage.input),
            output_tokens: count(usage.output),
            cache_read_tokens: count(usage.cache_read),
            cache_write_tokens: count(usage.cache_write),
        })
        .collect()
}

pub(super) fn times(row: &TaskRow, attempt: Option<&AttemptRow>) -> TaskTimes {
    TaskTimes {
        queued: Some(Time(row.created_at)),
        claimed: attempt.map(|attempt| Time(attempt.claimed_at)),
        started: attempt.and_then(|attempt| attempt.started_at).map(Time),
        finished: row.verdict.as_ref().map(|verdict| Time(verdict.at)),
    }
}

fn cut(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_session_names_who_has_it_now_and_since_when_it_is_waited_for() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let task = |number| protocol::TaskId(uuid::Uuid::from_u128(number));
        let mut seen = fixtures::running();
        seen.row.state = TaskState::Queued;
        let mut told = |holder, old: &AgentTaskStatus, now| {
            seen.waiting = Some(Waiting::SessionBusy { holder });
            waiting(&seen, old, now).unwrap()
        };
        let mut old = AgentTaskStatus::default();
        old.waiting = Some(told(task(70), &old, at(1_002)));
        let next = told(task(71), &old, at(1_060));
        assert!(next.message.contains(&task(71).to_string()), "{next:?}");
        assert_eq!(next.since, Time(at(1_000)));
    }
}
