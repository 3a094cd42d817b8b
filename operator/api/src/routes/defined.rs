//! What the platform's people define in the cluster, for people to look at: schedules, webhooks, runtimes.

use axum::Json as Answer;
use axum::extract::{RawPathParams, State};
use crds::{
    AgentSchedule, AgentWebhook, Assignee, AssigneeKind, ConcurrencyPolicy, Runtime, conditions,
    webhook_condition,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt as _;
use protocol::board::{
    DeliveryView, Makes, Page, RuntimeCard, ScheduleCard, ScheduleTime, ScheduleView, Standing,
    WebhookCard,
};

use crate::board::{
    BoardCaller, GetRuntimes, GetSchedules, GetWebhooks, ListRuntimes, ListSchedules, ListWebhooks,
    PageQuery, limit, named_page, path_part, plain,
};
use crate::body::Query;
use crate::error::Failure;
use crate::state::Shared;

/// `GET schedules`: by name. A cursor is the last name of the page before.
pub(super) async fn list_schedules(
    caller: BoardCaller<ListSchedules>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<ScheduleCard>>, Failure> {
    let namespace = &caller.workspace().namespace;
    let find = |after: &str, most| state.definitions.schedules(namespace, after, most);
    named_page(&query, find, schedule_card).map(Answer)
}

/// `GET schedules/{name}`.
pub(super) async fn get_schedule(
    caller: BoardCaller<GetSchedules>,
    State(state): State<Shared>,
    path: RawPathParams,
) -> Result<Answer<ScheduleView>, Failure> {
    let namespace = &caller.workspace().namespace;
    let name = path_part(&path, "name")?;
    let schedule = state.definitions.schedule(namespace, name);
    let schedule = schedule.ok_or_else(Failure::not_found)?;
    Ok(Answer(schedule_view(&schedule)))
}

/// `GET webhooks`: by name. A cursor is the last name of the page before.
pub(super) async fn list_webhooks(
    caller: BoardCaller<ListWebhooks>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<WebhookCard>>, Failure> {
    let namespace = &caller.workspace().namespace;
    let find = |after: &str, most| state.definitions.webhooks(namespace, after, most);
    named_page(&query, find, webhook_card).map(Answer)
}

/// `GET webhooks/{name}`.
pub(super) async fn get_webhook(
    caller: BoardCaller<GetWebhooks>,
    State(state): State<Shared>,
    path: RawPathParams,
) -> Result<Answer<WebhookCard>, Failure> {
    let namespace = &caller.workspace().namespace;
    let name = path_part(&path, "name")?;
    let webhook = state.definitions.webhook(namespace, name);
    let webhook = webhook.ok_or_else(Failure::not_found)?;
    Ok(Answer(webhook_card(&webhook)))
}

/// `GET webhooks/{name}/deliveries`: newest first.
pub(super) async fn list_deliveries(
    caller: BoardCaller<GetWebhooks>,
    State(state): State<Shared>,
    path: RawPathParams,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<DeliveryView>>, Failure> {
    let workspace = caller.workspace();
    let name = path_part(&path, "name")?;
    let webhook = state.definitions.webhook(&workspace.namespace, name);
    webhook.ok_or_else(Failure::not_found)?;
    let (most, from) = (limit(query.limit)?, query.cursor.as_deref());
    let mut page = state.store.deliveries(workspace, name, most, from).await?;
    for delivery in &mut page.items {
        // Others' words, from outside.
        for text in [
            &mut delivery.delivery,
            &mut delivery.event,
            &mut delivery.remark,
        ] {
            *text = plain(std::mem::take(text));
        }
    }
    Ok(Answer(page))
}

/// `GET runtimes`: by name. A cursor is the last name of the page before.
pub(super) async fn list_runtimes(
    caller: BoardCaller<ListRuntimes>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<RuntimeCard>>, Failure> {
    let namespace = &caller.workspace().namespace;
    let find = |after: &str, most| state.definitions.runtimes(namespace, after, most);
    named_page(&query, find, runtime_card).map(Answer)
}

/// `GET runtimes/{name}`.
pub(super) async fn get_runtime(
    caller: BoardCaller<GetRuntimes>,
    State(state): State<Shared>,
    path: RawPathParams,
) -> Result<Answer<RuntimeCard>, Failure> {
    let namespace = &caller.workspace().namespace;
    let name = path_part(&path, "name")?;
    let runtime = state.definitions.runtime(namespace, name);
    let runtime = runtime.ok_or_else(Failure::not_found)?;
    Ok(Answer(runtime_card(&runtime)))
}

fn schedule_card(schedule: &AgentSchedule) -> ScheduleCard {
    let (spec, status) = (&schedule.spec, schedule.status.as_ref());
    ScheduleCard {
        name: schedule.name_any(),
        schedule: spec.schedule.clone(),
        time_zone: spec.time_zone.clone(),
        suspended: spec.suspend,
        makes: made_by(schedule).0,
        standing: standing(status.map(|status| &status.conditions[..]), crds::READY),
        last: status.and_then(|status| Some(status.last_schedule_time.as_ref()?.0)),
        next: status.and_then(|status| Some(status.next_schedule_time.as_ref()?.0)),
    }
}

fn schedule_view(schedule: &AgentSchedule) -> ScheduleView {
    let (spec, status) = (&schedule.spec, schedule.status.as_ref());
    let active = status.iter().flat_map(|status| &status.active);
    ScheduleView {
        card: schedule_card(schedule),
        concurrency_policy: match spec.concurrency_policy {
            ConcurrencyPolicy::Allow => "Allow",
            ConcurrencyPolicy::Forbid => "Forbid",
            ConcurrencyPolicy::Replace => "Replace",
        }
        .to_owned(),
        starting_deadline_seconds: spec
            .starting_deadline_seconds
            .and_then(|seconds| u32::try_from(seconds).ok()),
        last_missed: status.and_then(|status| Some(status.last_missed_time.as_ref()?.0)),
        going_on: active
            .map(|firing| ScheduleTime {
                at: firing.schedule_time.0,
                issue: firing.issue.clone(),
                task: firing.task.clone(),
            })
            .collect(),
        text: made_by(schedule).1,
    }
}

/// What a schedule makes, and the text of it. It has one of both, says its CRD.
fn made_by(schedule: &AgentSchedule) -> (Makes, String) {
    match (&schedule.spec.create_issue, &schedule.spec.run) {
        (Some(issue), _) => (
            Makes::Issue {
                title: plain(issue.title.clone()),
                assignee: issue.assignee.as_ref().map(assignee),
            },
            issue.description.clone(),
        ),
        (None, run) => {
            let subject = run.as_ref().and_then(|run| run.subject.clone());
            let made = Makes::Task {
                agent: run
                    .as_ref()
                    .map(|run| run.agent_ref.name.clone())
                    .unwrap_or_default(),
                subject: plain(subject.unwrap_or_else(|| schedule.name_any())),
            };
            let prompt = run.as_ref().map(|run| run.prompt.clone());
            (made, prompt.unwrap_or_default())
        }
    }
}

fn webhook_card(webhook: &AgentWebhook) -> WebhookCard {
    let (spec, status) = (&webhook.spec, webhook.status.as_ref());
    let makes = if let Some(issue) = &spec.issue {
        Makes::Issue {
            title: plain(issue.title.clone()),
            assignee: issue.assignee.as_ref().map(assignee),
        }
    } else if let Some(issues) = &spec.git_hub {
        Makes::GitHub {
            label: plain(issues.label.clone()),
            assignee: issues.assignee.as_ref().map(assignee),
        }
    } else {
        Makes::Comment {}
    };
    let known = status.map(|status| &status.conditions[..]);
    WebhookCard {
        name: webhook.name_any(),
        suspended: spec.suspend,
        makes,
        path: status.and_then(|status| status.path.clone()),
        secret: status.and_then(|status| status.secret_name.clone()),
        standing: standing(known, crds::READY),
        delivered: standing(known, webhook_condition::DELIVERED),
    }
}

fn runtime_card(runtime: &Runtime) -> RuntimeCard {
    let (spec, status) = (&runtime.spec, runtime.status.as_ref());
    let cli = status.and_then(|status| status.cli.as_ref());
    let names = |names: &[String]| names.iter().cloned().map(plain).collect();
    RuntimeCard {
        name: runtime.name_any(),
        provider: spec.driver().to_owned(),
        image: plain(spec.image.clone()),
        model: spec.defaults.model.clone().map(plain),
        max_pods: u32::try_from(spec.capacity.max_pods).ok(),
        version: cli.and_then(|cli| cli.version.clone()).map(plain),
        models: cli.map(|cli| names(&cli.models)).unwrap_or_default(),
        models_left_out: cli
            .and_then(|cli| u32::try_from(cli.models_left_out).ok())
            .unwrap_or_default(),
        thinking_levels: cli
            .map(|cli| names(&cli.thinking_levels))
            .unwrap_or_default(),
        standing: standing(status.map(|status| &status.conditions[..]), crds::READY),
    }
}

fn assignee(assignee: &Assignee) -> String {
    let kind = match assignee.kind {
        AssigneeKind::Agent => "agent",
        AssigneeKind::Team => "team",
    };
    format!("{kind}:{}", assignee.name)
}

/// What a condition says. One that is not there yet says nothing.
fn standing(known: Option<&[Condition]>, kind: &str) -> Standing {
    let found = conditions::find(known.unwrap_or_default(), kind);
    found.map_or_else(Standing::default, |found| Standing {
        ready: found.status == "True",
        reason: Some(found.reason.clone()),
        message: Some(plain(found.message.clone())).filter(|message| !message.is_empty()),
    })
}
