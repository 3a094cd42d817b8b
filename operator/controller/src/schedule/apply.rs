//! The writes of a schedule's pass.

use std::collections::BTreeMap;

use crds::{
    AgentSchedule, AgentTask, AgentTaskSpec, Assignee, AssigneeKind, ScheduledIssue, ScheduledRun,
    Subject, SubjectKind, labels, names, schedule_reason as reason,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use protocol::board::{
    IssueEdit, IssueKey, IssueStatus, NewIssue, Recipient, RecipientKind, SavedIssue, WakeVerdict,
};
use protocol::{AttemptId, FailureClass, IssueId, Outcome, TaskId, Verdict};
use store::{Acting, Fired, ScheduleRef};

use super::decide::Step;
use super::observe::Seen;
use super::times::Times;
use crate::context::Context;
use crate::directory::Known;
use crate::error::Error;
use crate::events::Grade;
use crate::kube_reads;
use crate::kube_writes::KubePoint;
use crate::task::apply;
use crate::task::build::TTL_SECONDS;
use crate::watch;

/// What a step led to.
pub(super) enum Next {
    /// Look again.
    Again,
    /// A time was passed over.
    Missed(Timestamp),
    /// A time could not begin, and trying again alone does not help.
    Refused(String),
}

/// Takes a step.
pub(super) async fn step(
    ctx: &Context,
    schedule: &AgentSchedule,
    seen: &Seen,
    step: Step,
    now: Timestamp,
) -> Result<Next, Error> {
    let (on, rule) = (&seen.on, &seen.facts.rule);
    match step {
        Step::Heed(since) => ctx.store.heed_schedule(on, rule, since).await?,
        Step::Miss(at) => {
            ctx.store.heed_schedule(on, rule, at).await?;
            let note = format!("{at} did not begin within startingDeadlineSeconds");
            let grade = Grade::Warning;
            ctx.events.record(schedule, grade, reason::MISSED, note);
            return Ok(Next::Missed(at));
        }
        Step::Replace => replace(ctx, seen, now).await?,
        Step::Begin(at) => return begin(ctx, schedule, seen, at, now).await,
    }
    Ok(Next::Again)
}

async fn begin(
    ctx: &Context,
    schedule: &AgentSchedule,
    seen: &Seen,
    at: Timestamp,
    now: Timestamp,
) -> Result<Next, Error> {
    let (on, spec) = (&seen.on, &schedule.spec);
    if let Some(run) = &spec.run {
        let name = names::fired_task_name(&on.name, &on.uid, &at.to_string());
        if ctx.store.fire_task(on, at, &name).await? {
            make_task(ctx, on, run, (&name, at)).await?;
            ctx.store.fired_task_made(on, at).await?;
        }
        return Ok(Next::Again);
    }
    let (Some(issue), Some(times)) = (&spec.create_issue, &seen.facts.times) else {
        return Ok(Next::Refused(
            "it has neither createIssue nor run".to_owned(),
        ));
    };
    let new = new_issue(issue, times, at);
    let known = Known::new(&ctx.caches, &on.workspace.namespace);
    let fired = ctx
        .store
        .fire_issue(on, at, (&acting(on), new), &known, now)
        .await;
    match fired {
        Ok(saved) => {
            tell_blocked(ctx, schedule, saved.as_ref());
            Ok(Next::Again)
        }
        Err(error @ (store::Error::Missing { .. } | store::Error::Invalid { .. })) => {
            Ok(Next::Refused(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// An issue whose agent was not woken stands there for nobody: a person should know.
fn tell_blocked(ctx: &Context, schedule: &AgentSchedule, saved: Option<&SavedIssue>) {
    if let Some(saved) = saved {
        for wake in &saved.wakes {
            if let WakeVerdict::Blocked { reason: why } = &wake.verdict {
                let key = &saved.issue.key;
                let note = format!(
                    "{key} was made, but {} was not woken: {why:?}",
                    wake.recipient
                );
                let grade = Grade::Warning;
                ctx.events.record(schedule, grade, reason::NOT_WOKEN, note);
            }
        }
    }
}

fn new_issue(issue: &ScheduledIssue, times: &Times, at: Timestamp) -> NewIssue {
    NewIssue {
        title: times.spell(&issue.title, at),
        description: times.spell(&issue.description, at),
        priority: issue.priority,
        assignee: issue.assignee.as_ref().map(recipient),
        ..NewIssue::default()
    }
}

/// An assignee as the store knows it.
pub(crate) fn recipient(assignee: &Assignee) -> Recipient {
    Recipient {
        kind: match assignee.kind {
            AssigneeKind::Agent => RecipientKind::Agent,
            AssigneeKind::Team => RecipientKind::Team,
        },
        id: assignee.name.clone(),
    }
}

/// The schedule as who writes.
fn acting(on: &ScheduleRef) -> Acting {
    Acting::mooring(&on.workspace, "schedule", &on.name)
}

/// Makes the AgentTask of a time, unless it is there.
pub(super) async fn make_task(
    ctx: &Context,
    on: &ScheduleRef,
    run: &ScheduledRun,
    (name, at): (&str, Timestamp),
) -> Result<(), Error> {
    let namespace = &on.workspace.namespace;
    let wanted = task(ctx, on, run, (name, at));
    let made = ctx
        .writes
        .create(KubePoint::CreateScheduled, namespace, &wanted)
        .await;
    let made = match made {
        Ok(made) => made,
        Err(error) if error.is_already_exists() => {
            let what = "an AgentTask whose name was taken";
            let there: AgentTask = kube_reads::get(&ctx.client, what, namespace, name)
                .await?
                .ok_or(Error::GoneAgain { what })?;
            if there.labels().get(labels::SCHEDULE) != Some(&on.name) {
                return Err(Error::NameTaken {
                    namespace: namespace.clone(),
                    name: name.to_owned(),
                });
            }
            there
        }
        Err(error) => return Err(error.into()),
    };
    // Nobody else tells of it: the watch leaves out what is known already.
    let made = ctx.caches.tasks.observe(made);
    ctx.queue.add(watch::object_key(&made));
    Ok(())
}

fn task(
    ctx: &Context,
    on: &ScheduleRef,
    run: &ScheduledRun,
    (name, at): (&str, Timestamp),
) -> AgentTask {
    let all = [
        (labels::MANAGED_BY, labels::MANAGER.to_owned()),
        (labels::INSTALLATION, ctx.settings.installation.to_string()),
        (labels::AGENT, run.agent_ref.name.clone()),
        (labels::SCHEDULE, on.name.clone()),
    ];
    let owned = |(key, value): (&str, String)| (key.to_owned(), value);
    let annotations = [(labels::SCHEDULE_TIME, at.to_string())];
    let spec = AgentTaskSpec {
        agent_ref: run.agent_ref.clone(),
        subject: Subject {
            kind: SubjectKind::Key,
            name: run.subject.clone().unwrap_or_else(|| on.name.clone()),
        },
        prompt: Some(run.prompt.clone()),
        cause: None,
        prompt_from: None,
        requested_by: None,
        model: None,
        max_turns: None,
        start_after: None,
        session: crds::TaskSession::default(),
        priority: 0,
        deadline_seconds: run.deadline_seconds,
        ttl_seconds_after_finished: Some(TTL_SECONDS),
        desired_state: crds::DesiredState::Run,
    };
    let mut task = AgentTask::new(name, spec);
    task.metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(on.workspace.namespace.clone()),
        labels: Some(all.map(owned).into_iter().collect::<BTreeMap<_, _>>()),
        annotations: Some(annotations.map(owned).into_iter().collect()),
        ..ObjectMeta::default()
    };
    task
}

/// Ends what goes on. What is cancelled twice is cancelled once.
async fn replace(ctx: &Context, seen: &Seen, now: Timestamp) -> Result<(), Error> {
    let on = &seen.on;
    let going = seen.facts.row.iter().flat_map(|row| &row.going);
    for firing in going {
        match &firing.what {
            Fired::Issue(issue, key) => drop_issue(ctx, on, (*issue, key), now).await?,
            Fired::Task { name, .. } => delete_task(ctx, &on.workspace.namespace, name).await?,
        }
        ctx.store.end_firing(on, firing.at).await?;
    }
    Ok(())
}

/// An AgentTask that is gone is a cancelled one; the store keeps its history.
async fn delete_task(ctx: &Context, namespace: &str, name: &str) -> Result<(), Error> {
    let task = ctx.caches.tasks.get(namespace, name);
    let Some(uid) = task.and_then(|task| task.uid()) else {
        return Ok(());
    };
    apply::delete(ctx, (namespace, name), Some(&uid)).await
}

async fn drop_issue(
    ctx: &Context,
    on: &ScheduleRef,
    (issue, key): (IssueId, &IssueKey),
    now: Timestamp,
) -> Result<(), Error> {
    let known = Known::new(&ctx.caches, &on.workspace.namespace);
    let edit = IssueEdit {
        status: Some(IssueStatus::Cancelled),
        ..IssueEdit::default()
    };
    ctx.store
        .edit_issue(&acting(on), key, edit, &known, now)
        .await?;
    for task in ctx.store.open_tasks_of_issue(issue).await? {
        cancel(
            ctx,
            task,
            &format!("replaced by the next time of schedule {}", on.name),
            now,
        )
        .await?;
    }
    Ok(())
}

/// Gives a task its verdict; whoever hears of it clears away what there is.
async fn cancel(ctx: &Context, task: TaskId, why: &str, now: Timestamp) -> Result<(), Error> {
    let Some(row) = ctx.store.task(task).await? else {
        return Ok(());
    };
    if row.state.has_verdict() {
        return Ok(());
    }
    let verdict = Verdict {
        outcome: Outcome::failed(FailureClass::Cancelled, why),
        at: now,
        result: None,
    };
    if row.state.is_active() {
        let number = row.attempt;
        ctx.store
            .verdict(AttemptId { task, number }, verdict, now)
            .await?;
    } else {
        ctx.store.end_unclaimed(task, verdict, now).await?;
    }
    Ok(())
}
