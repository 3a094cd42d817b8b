//! A crash after each numbered write, and an error or a time-out after having done it, in the life of tasks
//! that pass all of them: everything ends as it should, and nothing is done twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use controller::KubePoint;
use controller::kube_writes::{Fault, NoFaults};
use futures::StreamExt as _;
use protocol::{FailureClass, TaskState};
use serde_json::json;
use store::WritePoint;

use crate::world::{KubeFault, NAMESPACE, Operator, World};

/// Points of the store that these tasks do not pass: the API writes them, or the first start, or they belong to a
/// pod that vanished or a task that was born in the store, which have stories of their own.
const OTHERS: &[WritePoint] = &[
    WritePoint::AdoptInstallation,
    WritePoint::Open,
    WritePoint::Started,
    WritePoint::Contact,
    WritePoint::Append,
    WritePoint::Verdict,
    WritePoint::PodAbsent,
    WritePoint::EnterMember,
    WritePoint::CreateIssue,
    WritePoint::EditIssue,
    WritePoint::ReadInbox,
    WritePoint::ArchiveInbox,
    WritePoint::ExchangeLogin,
    WritePoint::MintToken,
    WritePoint::UseToken,
    WritePoint::RevokeToken,
    WritePoint::PostComment,
    WritePoint::EditComment,
    WritePoint::DeleteComment,
    WritePoint::ResolveComment,
    WritePoint::BindObject,
    WritePoint::AskApproval,
    WritePoint::DecideApproval,
    WritePoint::SettleApproval,
    WritePoint::Steer,
    WritePoint::Steered,
    WritePoint::Subscribe,
    WritePoint::Unsubscribe,
    WritePoint::CreateProject,
    WritePoint::EditProject,
    WritePoint::DeleteProject,
    WritePoint::DetachIssues,
    WritePoint::AddAttachment,
    WritePoint::DeleteAttachment,
    WritePoint::DoAgain,
    WritePoint::PutAside,
    WritePoint::LetGoOn,
    WritePoint::BeginChat,
    WritePoint::SendChat,
    WritePoint::EditChat,
    WritePoint::AskQuickIssue,
    WritePoint::KeepText,
    WritePoint::KeepRaw,
    WritePoint::HeedSchedule,
    WritePoint::FireIssue,
    WritePoint::FireTask,
    WritePoint::FiredTaskMade,
    WritePoint::EndFiring,
    WritePoint::ForgetSchedule,
    WritePoint::TakeDelivery,
    WritePoint::Deliver,
    WritePoint::EndDelivery,
    WritePoint::Fire,
];

/// Points of the cluster that these tasks do not pass, and that have stories of their own.
const HAVE_STORIES: &[KubePoint] = &[
    KubePoint::ProbePolicy,
    KubePoint::CreateProbe,
    KubePoint::DeleteProbe,
    KubePoint::CreateTask,
    KubePoint::ScheduleStatus,
    KubePoint::CreateScheduled,
    KubePoint::CreateWebhookSecret,
    KubePoint::WebhookStatus,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_each_write_to_the_cluster() {
    let faults = [None, Some(Fault::ServerError), Some(Fault::TimeOut)];
    let cases = KubePoint::ALL
        .iter()
        .filter(|point| !HAVE_STORIES.contains(point))
        .flat_map(|point| faults.iter().map(move |fault| (*point, *fault)));
    let stories: Vec<_> = cases.map(|(point, fault)| kube(point, fault)).collect();
    futures::stream::iter(stories)
        .buffer_unordered(6)
        .collect::<Vec<()>>()
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_each_write_to_the_store() {
    let faults = [
        store::Fault::CrashAfter,
        store::Fault::ErrorAfter,
        store::Fault::ErrorBefore,
    ];
    let points = WritePoint::ALL
        .iter()
        .filter(|point| !OTHERS.contains(point) || **point == WritePoint::Verdict);
    let cases = points.flat_map(|point| faults.iter().map(move |fault| (*point, *fault)));
    let stories: Vec<_> = cases.map(|(point, fault)| in_store(point, fault)).collect();
    futures::stream::iter(stories)
        .buffer_unordered(6)
        .collect::<Vec<()>>()
        .await;
}

async fn kube(point: KubePoint, fault: Option<Fault>) {
    let world = World::new();
    if point == KubePoint::TeamStatus {
        crate::teams::create(&world);
    }
    if point == KubePoint::QuotaStatus {
        crate::shares::limit(&world, NAMESPACE, json!({"maxConcurrent": 9}));
    }
    let plan = KubeFault::once(point, fault);
    let operator = world
        .start_with(plan.clone(), store::Faults::default())
        .await;
    let case = format!("{} {fault:?}", point.as_str());
    let operator = tell(&world, operator, &case, async { plan.crashed().await }).await;
    assert!(plan.has_fired(), "{case}: this write never happened");
    operator.stop().await;
}

async fn in_store(point: WritePoint, fault: store::Fault) {
    let world = World::new();
    let faults = store::Faults::once(point, fault);
    let operator = world.start_with(Arc::new(NoFaults), faults.clone()).await;
    let case = format!("{} {fault:?}", point.as_str());
    let crashed = faults.clone();
    let operator = tell(
        &world,
        operator,
        &case,
        async move { crashed.crashed().await },
    )
    .await;
    assert!(
        faults.passed().contains(&point),
        "{case}: this write never happened"
    );
    operator.stop().await;
}

/// The story; when the operator crashes it is killed and started again, and the story goes on.
async fn tell(
    world: &World,
    operator: Operator,
    case: &str,
    crashed: impl Future<Output = ()>,
) -> Operator {
    let first = world.task("first", "hello", "succeed", json!({}));
    let waits = world.task("waits", "hello", "hang", json!({"desiredState": "Suspend"}));
    let aside = world.task("aside", "other", "hang", json!({}));
    let never = world.task("never", "third", "hang", json!({"desiredState": "Suspend"}));
    let expires = world.task(
        "expires",
        "fourth",
        "succeed",
        json!({"ttlSecondsAfterFinished": 0}),
    );
    let story = Story {
        world,
        case,
        first,
        waits,
        aside,
        never,
        expires,
    };
    // In steps, since a crash may come in the middle of any.
    let mut operator = Some(operator);
    let mut crashed = std::pin::pin!(crashed);
    let mut alive = true;
    for step in 0..Story::STEPS {
        let current = operator.take().expect("one operator runs");
        let ended = tokio::select! {
            () = story.step(step, &current) => true,
            () = &mut crashed, if alive => false,
        };
        if ended {
            operator = Some(current);
            continue;
        }
        alive = false;
        current.kill().await;
        let again = world.start().await;
        tokio::select! {
            () = story.step(step, &again) => {}
            // A pod that went unseen is fenced for a while.
            () = world.let_time_pass(&again) => {}
        }
        operator = Some(again);
    }
    let operator = operator.expect("one operator runs");
    story.check(&operator).await;
    operator
}

struct Story<'a> {
    world: &'a World,
    case: &'a str,
    first: String,
    waits: String,
    aside: String,
    never: String,
    expires: String,
}

impl Story<'_> {
    const STEPS: usize = 6;

    /// Each can be taken again after a crash in it.
    async fn step(&self, step: usize, operator: &Operator) {
        let (world, case) = (self.world, self.case);
        match step {
            0 => {
                operator
                    .until_row(case, &self.first, |row| row.state == TaskState::Finished)
                    .await;
                operator
                    .until_row(case, &self.aside, |row| row.state == TaskState::Running)
                    .await;
                // Where its pod went unseen, time has to pass before it gives its place back: later none does.
                operator
                    .until_row(case, &self.expires, |row| row.state == TaskState::Finished)
                    .await;
            }
            1 => {
                world.desire("waits", "Run");
                world.edit_task("never", |task| task["spec"]["priority"] = json!(7));
                operator
                    .until_row(case, &self.never, |row| row.priority == 7)
                    .await;
                world.desire("aside", "Suspend");
                let aside = |row: &store::TaskRow| row.state == TaskState::Suspended;
                operator.until_row(case, &self.aside, aside).await;
            }
            2 => {
                world.desire("aside", "Run");
                let again =
                    |row: &store::TaskRow| row.state == TaskState::Running && row.attempt == 2;
                operator.until_row(case, &self.aside, again).await;
            }
            3 => {
                operator
                    .until_row(case, &self.waits, |row| row.state == TaskState::Running)
                    .await;
                // The session's status is worth a write by now.
                world.pass_time(operator, 3);
                world.desire("waits", "Cancel");
                world.desire("never", "Cancel");
                world.desire("aside", "Cancel");
            }
            4 => {
                for uid in [&self.waits, &self.aside, &self.never, &self.expires] {
                    operator
                        .until_row(case, uid, |row| row.state == TaskState::Finished)
                        .await;
                }
            }
            _ => {
                let is = |name: &str, wanted: &str| world.condition(name, "Succeeded") == wanted;
                world
                    .until(case, || {
                        is("first", "True Succeeded")
                            && is("expires", "gone")
                            && ["waits", "aside", "never"]
                                .iter()
                                .all(|name| is(name, "False Cancelled"))
                    })
                    .await;
                let fenced = |session: &serde_json::Value| {
                    let conditions = session["status"]["conditions"]
                        .as_array()
                        .cloned()
                        .unwrap_or_default();
                    conditions
                        .iter()
                        .any(|one| one["type"] == "Idle" && one["status"] == "True")
                };
                world
                    .until(case, || world.api.list("agentsessions").iter().all(fenced))
                    .await;
                operator.until_idle().await;
            }
        }
    }

    async fn check(&self, operator: &Operator) {
        let (world, case) = (self.world, self.case);
        let broken = controller::check::check(&operator.ctx.store, &operator.ctx.client)
            .await
            .unwrap();
        let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
        assert!(broken.is_empty(), "{case}: {broken:#?}");
        assert!(
            world.api.list("pods").is_empty() && world.api.list("secrets").is_empty(),
            "{case}: something is left"
        );
        let made = |resource: &str| {
            let asked = world.api.asked().into_iter();
            asked
                .filter(|asked| {
                    asked.verb == "create" && asked.resource == resource && asked.code < 300
                })
                .collect::<Vec<_>>()
        };
        // first, waits, aside twice, expires: one pod and one Secret for each attempt, one claim per session.
        assert_eq!(
            (made("pods").len(), made("secrets").len()),
            (5, 5),
            "{case}"
        );
        let mut claims = BTreeMap::<String, usize>::new();
        for claim in made("persistentvolumeclaims") {
            *claims.entry(claim.name).or_default() += 1;
        }
        assert_eq!(claims.len(), 3, "{case}: {claims:?}");
        for uid in [&self.waits, &self.aside] {
            let row = operator.row(uid).await.unwrap();
            let class = row.verdict.and_then(|verdict| verdict.outcome.class());
            assert_eq!(class, Some(FailureClass::Cancelled), "{case}");
        }
        assert!(
            world
                .api
                .list("events")
                .iter()
                .all(|event| event["metadata"]["namespace"] == NAMESPACE)
        );
    }
}
