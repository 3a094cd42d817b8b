//! What a schedule says of itself.

use crds::conditions::{self as merge, Status, Wanted};
use crds::{
    ActiveFiring, AgentSchedule, AgentScheduleStatus, MAX_ACTIVE, READY, labels,
    schedule_reason as reason,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use store::{Fired, Firing};

use super::decide;
use super::observe::Seen;
use super::times::Fault;
use crate::context::Context;
use crate::error::Error;
use crate::kube_writes::KubePoint;
use crate::patch;

/// What this pass did that cannot be seen afterwards.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// A time that was passed over.
    pub(super) missed: Option<Timestamp>,
    /// Why a time could not begin.
    pub(super) refused: Option<String>,
}

/// Writes the status, where it says something else; says whether it did.
pub(super) async fn write(
    ctx: &Context,
    schedule: &AgentSchedule,
    seen: &Seen,
    told: &Told,
    now: Timestamp,
) -> Result<bool, Error> {
    let old = schedule.status.clone().unwrap_or_default();
    let new = status(schedule, seen, told, &old, now);
    let Some(patch) = patch::status_patch(&old, &new) else {
        return Ok(false);
    };
    let (manager, meta) = (labels::SCHEDULE_MANAGER, &schedule.metadata);
    let written = ctx
        .writes
        .patch_status::<AgentSchedule>(KubePoint::ScheduleStatus, manager, meta, patch)
        .await;
    match written {
        Ok(written) => {
            ctx.caches.schedules.observe(written);
            Ok(true)
        }
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn status(
    schedule: &AgentSchedule,
    seen: &Seen,
    told: &Told,
    old: &AgentScheduleStatus,
    now: Timestamp,
) -> AgentScheduleStatus {
    let generation = schedule.metadata.generation;
    let row = seen.facts.row.as_ref();
    let going = row.map(|row| row.going.as_slice()).unwrap_or_default();
    let wanted = ready(schedule, seen, told, now);
    AgentScheduleStatus {
        observed_generation: generation,
        conditions: merge::merge(&old.conditions, vec![wanted], generation, now),
        last_schedule_time: row.and_then(|row| row.last_fired).map(Time),
        next_schedule_time: decide::upcoming(&seen.facts, now).map(Time),
        last_missed_time: told
            .missed
            .map(Time)
            .or_else(|| old.last_missed_time.clone()),
        active: going.iter().take(MAX_ACTIVE).map(active).collect(),
    }
}

fn active(firing: &Firing) -> ActiveFiring {
    let (issue, task) = match &firing.what {
        Fired::Issue(_, key) => (Some(key.to_string()), None),
        Fired::Task { name, .. } => (None, Some(name.clone())),
    };
    ActiveFiring {
        schedule_time: Time(firing.at),
        issue,
        task,
    }
}

fn ready(schedule: &AgentSchedule, seen: &Seen, told: &Told, now: Timestamp) -> Wanted {
    let want = |status, reason, message: String| Wanted {
        kind: READY,
        status,
        reason,
        message,
    };
    let no = Status::False;
    match &seen.fault {
        Some(Fault::Schedule(why)) => {
            let message = format!("{:?} is no schedule: {why}", schedule.spec.schedule);
            return want(no, reason::SCHEDULE_INVALID, message);
        }
        Some(Fault::Zone) => {
            let zone = &schedule.spec.time_zone;
            let message = format!(
                "There is no time zone {zone}. Take a name of the IANA database, for example Europe/Berlin."
            );
            return want(no, reason::TIME_ZONE_UNKNOWN, message);
        }
        None => {}
    }
    if schedule.spec.suspend {
        return want(
            no,
            reason::SUSPENDED,
            "No time begins while suspend is set.".to_owned(),
        );
    }
    if decide::upcoming(&seen.facts, now).is_none() {
        let message = format!("{:?} names no time that comes.", schedule.spec.schedule);
        return want(no, reason::NEVER_DUE, message);
    }
    if let Some(missing) = &seen.missing {
        let message = format!("There is no {missing}. Create it, or correct the name.");
        return want(no, reason::AGENT_NOT_FOUND, message);
    }
    if let Some(why) = &told.refused {
        let message = format!("The time that is due could not begin: {why}");
        return want(no, reason::NOT_BEGUN, message);
    }
    match decide::due(&seen.facts, now) {
        Some(due) => {
            let message = format!("{due} waits for the end of an earlier time.");
            want(Status::True, reason::EARLIER_GOES_ON, message)
        }
        None => want(Status::True, reason::READY, String::new()),
    }
}
