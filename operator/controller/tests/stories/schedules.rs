//! Schedules: each time begins once, whatever happens on the way, and waits for, joins or replaces what goes on.

use controller::{Clock as _, Key, KubePoint};
use protocol::board::{AuthorKind, Issue, IssueQuery, IssueStatus};
use serde_json::{Value, json};
use store::{WorkspaceRef, WritePoint};

use crate::born::calm;
use crate::wherever::Story;
use crate::world::{NAMESPACE, Operator, World};

const HOUR: u64 = 3600;

/// An hourly schedule; the world's clock begins at three.
fn schedule(world: &World, name: &str, more: Value) {
    let mut spec = json!({"schedule": "@hourly"});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    world.api.create(
        "agentschedules",
        json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentSchedule",
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec,
        }),
    );
}

fn run(prompt: &str) -> Value {
    json!({"agentRef": {"name": "reviewer"}, "prompt": prompt})
}

fn issue() -> Value {
    json!({"title": "Log of {date} {time}", "assignee": {"name": "reviewer"}})
}

/// Time passes, and the schedule is looked at.
fn pass_time(world: &World, operator: &Operator, name: &str, seconds: u64) {
    world.clock.advance(std::time::Duration::from_secs(seconds));
    look(operator, name);
}

/// What waits in the queue has none of the time limits that a run has, and these hours come all at once.
fn claim_nothing(world: &World) {
    world.api.edit("runtimes", NAMESPACE, "claude", |runtime| {
        runtime["spec"]["capacity"]["maxPods"] = json!(0);
    });
}

fn look(operator: &Operator, name: &str) {
    operator.ctx.queue.add(Key::Schedule {
        namespace: NAMESPACE.to_owned(),
        name: name.to_owned(),
    });
}

fn status(world: &World, name: &str) -> Value {
    let object = world.api.get("agentschedules", NAMESPACE, name).unwrap();
    object["status"].clone()
}

/// `Ready` of a schedule, as `status reason`.
fn ready(world: &World, name: &str) -> String {
    let ready = &status(world, name)["conditions"][0];
    let word = |key: &str| ready[key].as_str().unwrap_or_default().to_owned();
    format!("{} {}", word("status"), word("reason"))
}

/// Tasks of a schedule with the time that each was made for, by time.
fn tasks(world: &World) -> Vec<(String, Value)> {
    let mut tasks: Vec<_> = world
        .api
        .list("agenttasks")
        .into_iter()
        .map(|task| {
            let at = &task["metadata"]["annotations"]["mooring.dev/schedule-time"];
            (at.as_str().unwrap_or_default().to_owned(), task)
        })
        .collect();
    tasks.sort_by(|one, other| one.0.cmp(&other.0));
    tasks
}

fn times(world: &World) -> Vec<String> {
    tasks(world).into_iter().map(|(at, _)| at).collect()
}

async fn issues(world: &World, operator: &Operator) -> Vec<Issue> {
    let home = world.api.get("namespaces", "", NAMESPACE).unwrap();
    let workspace = WorkspaceRef {
        namespace: NAMESPACE.to_owned(),
        namespace_uid: home["metadata"]["uid"].as_str().unwrap().to_owned(),
    };
    let store = &operator.ctx.store;
    let page = store.issues(&workspace, &IssueQuery::default()).await;
    page.unwrap().items
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_makes_an_issue_whose_agent_is_woken() {
    let world = World::new();
    schedule(
        &world,
        "nightly",
        json!({"createIssue": issue(), "timeZone": "Europe/Berlin"}),
    );
    let operator = world.start().await;
    world
        .until("it is ready", || ready(&world, "nightly") == "True Ready")
        .await;
    assert_eq!(
        status(&world, "nightly")["nextScheduleTime"],
        "2026-11-30T04:00:00Z"
    );
    pass_time(&world, &operator, "nightly", HOUR);
    let done = || {
        tasks(&world)
            .iter()
            .any(|(_, task)| task["status"]["times"]["finished"].is_string())
    };
    world.until("its agent has done its work", done).await;
    world
        .until("nothing of it goes on", || {
            status(&world, "nightly")["active"].is_null()
        })
        .await;
    let made = issues(&world, &operator).await;
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].title, "Log of 2026-11-30 05:00");
    assert_eq!(
        (made[0].creator.kind, made[0].creator.name.as_str()),
        (AuthorKind::System, "schedule nightly")
    );
    let seen = status(&world, "nightly");
    assert_eq!(
        (&seen["lastScheduleTime"], &seen["nextScheduleTime"]),
        (
            &json!("2026-11-30T04:00:00Z"),
            &json!("2026-11-30T05:00:00Z")
        )
    );

    calm(&operator, "one time").await;
    world.api.forget_asked();
    look(&operator, "nightly");
    calm(&operator, "nothing to do").await;
    let asked: Vec<_> = world
        .api
        .asked()
        .iter()
        .map(ToString::to_string)
        .filter(|asked| !asked.starts_with("get"))
        .collect();
    assert_eq!(asked, Vec::<String>::new());
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_runs_a_task_on_the_schedules_own_subject() {
    let world = World::new();
    schedule(&world, "nightly", json!({"run": run("succeed")}));
    let operator = world.start().await;
    world
        .until("it is ready", || ready(&world, "nightly") == "True Ready")
        .await;
    for (hour, wanted) in ["2026-11-30T04:00:00Z", "2026-11-30T05:00:00Z"]
        .into_iter()
        .enumerate()
    {
        pass_time(&world, &operator, "nightly", HOUR);
        let over = || {
            let tasks = tasks(&world);
            tasks.len() == hour + 1
                && tasks
                    .iter()
                    .all(|(_, task)| task["status"]["times"]["finished"].is_string())
        };
        world.until(wanted, over).await;
        world
            .until("it is known", || {
                status(&world, "nightly")["active"].is_null()
            })
            .await;
    }
    assert_eq!(
        times(&world),
        ["2026-11-30T04:00:00Z", "2026-11-30T05:00:00Z"]
    );
    let (_, task) = tasks(&world).remove(0);
    assert_eq!(
        task["spec"]["subject"],
        json!({"kind": "Key", "name": "nightly"})
    );
    assert_eq!(
        task["metadata"]["labels"]["mooring.dev/schedule"],
        "nightly"
    );
    // Both turns are of one session.
    assert_eq!(world.api.list("agentsessions").len(), 1);
    calm(&operator, "two times").await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_time_begins_once_wherever_the_operator_dies() {
    let story = Story {
        declare: |world| {
            schedule(world, "tasks", json!({"run": run("succeed")}));
            schedule(world, "talks", json!({"createIssue": issue()}));
        },
        work: one_time,
        check: begun_once,
    };
    let in_cluster = [KubePoint::CreateScheduled, KubePoint::ScheduleStatus];
    let in_store = [
        WritePoint::HeedSchedule,
        WritePoint::FireIssue,
        WritePoint::FireTask,
        WritePoint::FiredTaskMade,
        WritePoint::EndFiring,
    ];
    story.tell(&in_cluster, &in_store).await;
}

async fn begun_once(world: &World, operator: &Operator, case: &str) {
    let asked = world.api.asked().into_iter();
    let made = asked.filter(|asked| {
        asked.verb == "create" && asked.resource == "agenttasks" && asked.code < 300
    });
    let issues = issues(world, operator).await.len();
    assert_eq!(
        (made.count(), times(world).len(), issues),
        (2, 2, 1),
        "{case}"
    );
}

/// One time of both schedules.
async fn one_time(world: &World, operator: &Operator, case: &str) {
    for name in ["tasks", "talks"] {
        world
            .until(case, || ready(world, name) == "True Ready")
            .await;
    }
    if world.clock.now() < "2026-11-30T04:00:00Z".parse().unwrap() {
        world.clock.advance(std::time::Duration::from_secs(HOUR));
    }
    for name in ["tasks", "talks"] {
        look(operator, name);
        let over = || {
            let seen = status(world, name);
            seen["lastScheduleTime"] == "2026-11-30T04:00:00Z" && seen["active"].is_null()
        };
        world.until(case, over).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_on_is_waited_for() {
    let world = World::new();
    schedule(&world, "nightly", json!({"run": run("hang")}));
    claim_nothing(&world);
    let operator = world.start().await;
    world
        .until("it is ready", || ready(&world, "nightly") == "True Ready")
        .await;
    pass_time(&world, &operator, "nightly", HOUR);
    world.until("it began", || times(&world).len() == 1).await;
    pass_time(&world, &operator, "nightly", 3 * HOUR);
    world
        .until("it waits", || {
            ready(&world, "nightly") == "True EarlierGoesOn"
        })
        .await;
    assert_eq!(times(&world), ["2026-11-30T04:00:00Z"]);
    // Its end is heard of without anybody asking; of three that waited the last begins.
    let (_, task) = tasks(&world).remove(0);
    world.desire(task["metadata"]["name"].as_str().unwrap(), "Cancel");
    world
        .until("the last begins", || {
            times(&world) == ["2026-11-30T04:00:00Z", "2026-11-30T07:00:00Z"]
        })
        .await;
    calm(&operator, "it waited").await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_on_is_replaced() {
    let world = World::new();
    schedule(
        &world,
        "tasks",
        json!({"run": run("hang"), "concurrencyPolicy": "Replace"}),
    );
    schedule(
        &world,
        "talks",
        json!({"createIssue": issue(), "concurrencyPolicy": "Replace"}),
    );
    claim_nothing(&world);
    let operator = world.start().await;
    for name in ["tasks", "talks"] {
        world
            .until("it is ready", || ready(&world, name) == "True Ready")
            .await;
        look(&operator, name);
    }
    world.clock.advance(std::time::Duration::from_secs(HOUR));
    for name in ["tasks", "talks"] {
        look(&operator, name);
        world
            .until("it began", || {
                status(&world, name)["active"]
                    .as_array()
                    .is_some_and(|all| all.len() == 1)
            })
            .await;
    }
    world
        .until("both are there", || times(&world).len() == 2)
        .await;
    world.clock.advance(std::time::Duration::from_secs(HOUR));
    for name in ["tasks", "talks"] {
        look(&operator, name);
        let next = || status(&world, name)["lastScheduleTime"] == "2026-11-30T05:00:00Z";
        world.until("the next began", next).await;
    }
    let of_schedule = || -> Vec<String> {
        times(&world)
            .into_iter()
            .filter(|at| !at.is_empty())
            .collect()
    };
    world
        .until("the earlier one is gone", || {
            of_schedule() == ["2026-11-30T05:00:00Z"]
        })
        .await;
    let mut stand: Vec<_> = issues(&world, &operator)
        .await
        .into_iter()
        .map(|issue| issue.status)
        .collect();
    stand.reverse();
    assert_eq!(stand, [IssueStatus::Cancelled, IssueStatus::Todo]);
    calm(&operator, "replaced").await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_at_work_is_replaced() {
    let world = World::new();
    let replaces = json!({"run": run("hang"), "concurrencyPolicy": "Replace"});
    schedule(&world, "tasks", replaces);
    let operator = world.start().await;
    world
        .until("it is ready", || ready(&world, "tasks") == "True Ready")
        .await;
    pass_time(&world, &operator, "tasks", HOUR);
    // What is claimed and not yet at work would be judged by the hour that passes.
    let at_work = || {
        let all = world.api.list("agenttasks");
        let name = all
            .first()
            .and_then(|task| task["metadata"]["name"].as_str());
        name.is_some_and(|name| world.condition(name, "Succeeded") == "Unknown Running")
    };
    world.until("it is at work", at_work).await;
    operator.until_idle().await;
    pass_time(&world, &operator, "tasks", HOUR);
    world
        .until("the next has its place", || {
            times(&world) == ["2026-11-30T05:00:00Z"]
        })
        .await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_keeps_it_from_beginning_is_said_and_heard() {
    let world = World::new();
    schedule(
        &world,
        "nobody",
        json!({"run": {"agentRef": {"name": "ghost"}, "prompt": "succeed"}}),
    );
    schedule(
        &world,
        "late",
        json!({"run": run("succeed"), "startingDeadlineSeconds": 60}),
    );
    schedule(
        &world,
        "never",
        json!({"schedule": "0 0 30 2 *", "run": run("succeed")}),
    );
    schedule(
        &world,
        "nowhere",
        json!({"timeZone": "Mars/Olympus", "run": run("succeed")}),
    );
    schedule(
        &world,
        "wrong",
        json!({"schedule": "61 * * * *", "run": run("succeed")}),
    );
    schedule(
        &world,
        "aside",
        json!({"suspend": true, "run": run("succeed")}),
    );
    let operator = world.start().await;
    for (name, wanted) in [
        ("nobody", "False AgentNotFound"),
        ("late", "True Ready"),
        ("never", "False NeverDue"),
        ("nowhere", "False TimeZoneUnknown"),
        ("wrong", "False ScheduleInvalid"),
        ("aside", "False Suspended"),
    ] {
        world.until(wanted, || ready(&world, name) == wanted).await;
    }
    world
        .clock
        .advance(std::time::Duration::from_secs(HOUR + 61));
    for name in ["nobody", "late", "aside"] {
        look(&operator, name);
    }
    world
        .until("it was missed", || {
            status(&world, "late")["lastMissedTime"] == "2026-11-30T04:00:00Z"
        })
        .await;
    operator.until_idle().await;
    assert_eq!(times(&world), Vec::<String>::new());
    // Nothing of what came while it was suspended is made up for.
    world.api.edit("agentschedules", NAMESPACE, "aside", |one| {
        one["spec"]["suspend"] = json!(false)
    });
    world
        .until("it goes on", || ready(&world, "aside") == "True Ready")
        .await;
    operator.until_idle().await;
    assert_eq!(times(&world), Vec::<String>::new());
    // Who was missing comes: nobody has to ask.
    world.api.create("agents", json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "ghost", "namespace": NAMESPACE},
        "spec": {"runtimeRefs": [{"name": "claude"}], "instructions": "Haunt."},
    }));
    world
        .until("it begins", || times(&world) == ["2026-11-30T04:00:00Z"])
        .await;
    world.api.delete("agentschedules", NAMESPACE, "nobody");
    calm(&operator, "it is deleted").await;
    assert_eq!(
        times(&world),
        ["2026-11-30T04:00:00Z"],
        "what it began goes on"
    );
    operator.stop().await;
}
