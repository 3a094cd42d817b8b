//! Tasks that were born in the store: each gets its object, once, whatever happens on the way.

use controller::KubePoint;
use protocol::board::{Author, AuthorKind, IssueKey, NewComment, NewIssue, Posted, WakeVerdict};
use protocol::{CommentId, FailureClass, TaskId, TaskState};
use serde_json::{Value, json};
use store::{Acting, TaskRow, WorkspaceRef, WritePoint};

use crate::node::Hold;
use crate::wherever::Story;
use crate::world::{NAMESPACE, Operator, World};

/// Every agent is there.
pub(crate) struct Everyone;

impl wake::Directory for Everyone {
    fn agent(&self, name: &str) -> Option<wake::AgentFacts> {
        let display_name = name.to_owned();
        Some(wake::AgentFacts {
            display_name,
            access: None,
        })
    }
}

/// A person of the workspace.
pub(crate) async fn person(world: &World, operator: &Operator) -> Acting {
    let home = world.api.get("namespaces", "", NAMESPACE).unwrap();
    let workspace = WorkspaceRef {
        namespace: NAMESPACE.to_owned(),
        namespace_uid: home["metadata"]["uid"].as_str().unwrap().to_owned(),
    };
    let now = operator.ctx.clock.now();
    let store = &operator.ctx.store;
    let member = store.member(&workspace, "alice", now).await.unwrap();
    Acting {
        workspace,
        author: Author {
            kind: AuthorKind::Member,
            id: member.id.to_string(),
            name: member.user.clone(),
        },
        task: None,
        user: Some(member.user),
        groups: Vec::new(),
    }
}

async fn issue(operator: &Operator, by: &Acting) -> IssueKey {
    let issue = NewIssue {
        title: "Sort the list".to_owned(),
        ..NewIssue::default()
    };
    let (store, now) = (&operator.ctx.store, operator.ctx.clock.now());
    let saved = store.create_issue(by, issue, &Everyone, now).await.unwrap();
    saved.issue.key
}

/// A comment that mentions the agent.
async fn say(
    operator: &Operator,
    by: &Acting,
    key: &IssueKey,
    parent: Option<CommentId>,
) -> Posted {
    let comment = NewComment {
        body: "[Reviewer](mention://agent/reviewer) please".to_owned(),
        parent,
        ..NewComment::default()
    };
    let (store, now) = (&operator.ctx.store, operator.ctx.clock.now());
    let posted = store.post_comment(by, key, comment, &Everyone, now);
    posted.await.unwrap()
}

fn queued(posted: &Posted) -> TaskId {
    let verdict = &posted.wakes[0].verdict;
    let WakeVerdict::Queued { task: Some(task) } = verdict else {
        panic!("not queued: {verdict:?}")
    };
    *task
}

/// A person mentions the agent on a new issue.
pub(crate) async fn mention(world: &World, operator: &Operator) -> TaskId {
    let by = person(world, operator).await;
    let key = issue(operator, &by).await;
    queued(&say(operator, &by, &key, None).await)
}

async fn row(operator: &Operator, task: TaskId) -> TaskRow {
    operator.ctx.store.task(task).await.unwrap().unwrap()
}

pub(crate) async fn until(
    operator: &Operator,
    what: &str,
    task: TaskId,
    is_so: impl Fn(&TaskRow) -> bool,
) -> TaskRow {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let row = row(operator, task).await;
        if is_so(&row) {
            return row;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "never: {what}: {row:#?}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

/// How many `AgentTask`s were made by the operator.
pub(crate) fn made(world: &World) -> usize {
    let asked = world.api.asked();
    asked
        .iter()
        .filter(|asked| {
            asked.verb == "create" && asked.resource == "agenttasks" && asked.code < 300
        })
        .count()
}

fn label(world: &World, labels: Value) {
    world.api.edit("namespaces", "", NAMESPACE, |namespace| {
        namespace["metadata"]["labels"] = labels;
    });
}

pub(crate) fn object(world: &World, name: &str) -> Option<Value> {
    world.api.get("agenttasks", NAMESPACE, name)
}

pub(crate) async fn calm(operator: &Operator, case: &str) {
    operator.until_idle().await;
    let broken = controller::check::check(&operator.ctx.store, &operator.ctx.client).await;
    let broken: Vec<String> = broken.unwrap().iter().map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{case}: {broken:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mention_becomes_an_object_that_says_why() {
    let world = World::new();
    let operator = world.start().await;
    let task = mention(&world, &operator).await;
    let row = until(&operator, "it is over", task, |row| {
        row.state == TaskState::Finished
    })
    .await;
    world
        .until("it says so", || {
            world.condition(&row.object.name, "Succeeded") == "True Succeeded"
        })
        .await;
    let object = object(&world, &row.object.name).unwrap();
    let id = task.to_string();
    assert_eq!(
        row.object.name,
        format!("reviewer-{}", &id[id.len() - 12..])
    );
    assert_eq!(
        object["metadata"]["labels"]["mooring.dev/task-id"],
        json!(id)
    );
    assert_eq!(object["metadata"]["ownerReferences"], Value::Null);
    assert_eq!(object["spec"]["cause"], object["status"]["cause"]);
    let mut spec = object["spec"].clone();
    assert!(spec["cause"]["comment"].is_string(), "{spec}");
    spec["cause"]["comment"] = json!("[comment]");
    insta::assert_yaml_snapshot!("born_spec", spec);
    let session = world.api.list("agentsessions")[0].clone();
    assert_eq!(
        session["spec"]["subject"],
        json!({"kind": "Issue", "name": "TEAM-1"})
    );
    calm(&operator, "a mention").await;
    assert_eq!(made(&world), 1);
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_secrets_of_the_issues_repositories_are_in_the_pod_and_no_other_ones() {
    let world = World::new();
    world.orders.hold(Hold::Open);
    let operator = world.start().await;
    let by = person(&world, &operator).await;
    let (store, now) = (&operator.ctx.store, operator.ctx.clock.now());
    let project = serde_json::from_value(json!({"name": "app", "title": "x", "repositories": [
        {"name": "app", "url": "https://h/app", "credentials": "git-app"},
        {"name": "docs", "url": "https://h/docs", "credentials": "git-app"},
        {"name": "open", "url": "https://h/open"},
    ]}));
    store
        .create_project(&by, project.unwrap(), now)
        .await
        .unwrap();
    for (project, wanted) in [(Some("app"), 1), (None, 0)] {
        let new = NewIssue {
            title: "Sort the list".to_owned(),
            project: project.map(str::to_owned),
            ..NewIssue::default()
        };
        let saved = store.create_issue(&by, new, &Everyone, now).await.unwrap();
        let task = queued(&say(&operator, &by, &saved.issue.key, None).await);
        let row = until(&operator, "it is claimed", task, |row| {
            row.state == TaskState::Claimed && row.object.uid.is_some()
        })
        .await;
        let pod = || {
            let label = json!(row.id.to_string());
            let pods = world.api.list("pods");
            pods.into_iter()
                .find(|pod| pod["metadata"]["labels"]["mooring.dev/task-id"] == label)
        };
        world.until("its pod is there", || pod().is_some()).await;
        let volumes = pod().unwrap()["spec"]["volumes"]
            .as_array()
            .unwrap()
            .clone();
        let git: Vec<_> = volumes
            .iter()
            .filter_map(|volume| volume["secret"]["secretName"].as_str())
            .filter(|name| name.starts_with("git-"))
            .collect();
        assert_eq!(git, vec!["git-app"; wanted]);
    }
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_comment_that_is_taken_in_shows_in_the_status() {
    let world = World::new();
    world.orders.hold(Hold::Open);
    let operator = world.start().await;
    let by = person(&world, &operator).await;
    let key = issue(&operator, &by).await;
    let first = say(&operator, &by, &key, None).await;
    let row = until(&operator, "it is claimed", queued(&first), |row| {
        row.state == TaskState::Claimed && row.object.uid.is_some()
    })
    .await;
    let second = say(&operator, &by, &key, Some(first.comment.id)).await;
    let coalesced = WakeVerdict::Coalesced { task: row.id };
    assert_eq!(second.wakes[0].verdict, coalesced);
    world.pass_time(&operator, 3);
    let shown = |part: &str| {
        let object = object(&world, &row.object.name).unwrap();
        object[part]["cause"]["comment"].clone()
    };
    world
        .until("the status says so", || {
            shown("status") == json!(second.comment.id)
        })
        .await;
    assert_eq!(shown("spec"), json!(first.comment.id));
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_made_once_wherever_the_operator_dies() {
    let story = Story {
        declare: |_| {},
        work: answered,
        check: made_once,
    };
    story
        .tell(&[KubePoint::CreateTask], &[WritePoint::BindObject])
        .await;
}

/// A mention is answered, by whichever operator.
async fn answered(world: &World, operator: &Operator, case: &str) {
    let task = match asked_before(world, operator).await {
        Some(task) => task,
        None => mention(world, operator).await,
    };
    is_answered(world, operator, task, case).await;
}

/// For which task an operator that died was asked.
async fn asked_before(world: &World, operator: &Operator) -> Option<TaskId> {
    let open = operator.ctx.store.open_tasks(None, 1).await.unwrap();
    if let Some(task) = open.first() {
        return Some(*task);
    }
    let made = world.api.list("agenttasks").pop()?;
    let id = made["metadata"]["labels"]["mooring.dev/task-id"].as_str()?;
    id.parse().ok()
}

async fn is_answered(world: &World, operator: &Operator, task: TaskId, case: &str) {
    let row = until(operator, case, task, |row| row.state == TaskState::Finished).await;
    world
        .until(case, || {
            world.condition(&row.object.name, "Succeeded") == "True Succeeded"
        })
        .await;
}

async fn made_once(world: &World, _: &Operator, case: &str) {
    let there = world.api.list("agenttasks").len();
    assert_eq!((made(world), there), (1, 1), "{case}");
}

/// The task ends well, with one object.
async fn ends(world: &World, operator: &Operator, task: TaskId, case: &str) {
    is_answered(world, operator, task, case).await;
    calm(operator, case).await;
    made_once(world, operator, case).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_makes_with_a_cause_is_not_run() {
    let world = World::new();
    let operator = world.start().await;
    let task = mention(&world, &operator).await;
    let row = until(&operator, "it is over", task, |row| {
        row.state == TaskState::Finished
    })
    .await;
    let original = object(&world, &row.object.name).unwrap();
    let forge = |name: &str, labels: Value| {
        world.api.create(
            "agenttasks",
            json!({
                "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTask",
                "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}, "spec": original["spec"],
            }),
        )
    };
    forge("unnamed", json!({}));
    forge(
        "unknown",
        json!({"mooring.dev/task-id": "00000000-0000-4000-8000-000000000001"}),
    );
    forge("copy", original["metadata"]["labels"].clone());
    world.api.delete("agenttasks", NAMESPACE, &row.object.name);
    operator.until_idle().await;
    forge(&row.object.name, original["metadata"]["labels"].clone());
    for name in ["unnamed", "unknown", "copy", row.object.name.as_str()] {
        world
            .until(name, || {
                world.condition(name, "Accepted") == "False NotFromStore"
            })
            .await;
    }
    calm(&operator, "forged").await;
    let open = operator.ctx.store.open_tasks(None, 10).await.unwrap();
    assert_eq!(open, []);
    insta::assert_yaml_snapshot!(
        "not_from_store",
        object(&world, "unnamed").unwrap()["status"]
    );
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_somebody_took_is_waited_for() {
    let world = World::new();
    label(&world, json!({}));
    let operator = world.start().await;
    let task = mention(&world, &operator).await;
    let name = row(&operator, task).await.object.name;
    world.task(&name, "another", "hang", json!({}));
    label(&world, json!({"mooring.dev/workspace": "enabled"}));
    let tried = |asked: &crate::apiserver::Asked| {
        asked.verb == "create" && asked.resource == "agenttasks" && asked.code == 409
    };
    world
        .until("it was tried", || world.api.asked().iter().any(tried))
        .await;
    assert_eq!(row(&operator, task).await.object.uid, None);
    world.api.delete("agenttasks", NAMESPACE, &name);
    until(&operator, "it is over", task, |row| {
        row.state == TaskState::Finished
    })
    .await;
    calm(&operator, "a taken name").await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_cluster_refuses_for_good_ends_and_says_why() {
    let world = World::new();
    world.api.refuse(
        "agenttasks",
        403,
        "exceeded quota: q, requested: count/agenttasks.mooring.dev=1",
    );
    let operator = world.start().await;
    let task = mention(&world, &operator).await;
    let row = until(&operator, "it is over", task, |row| {
        row.state == TaskState::Finished
    })
    .await;
    let class = row.verdict.and_then(|verdict| verdict.outcome.class());
    assert_eq!(class, Some(FailureClass::QuotaExceeded));
    calm(&operator, "refused").await;
    assert_eq!(world.api.list("agenttasks"), Vec::<Value>::new());
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_over_before_it_has_an_object_gets_none() {
    let world = World::new();
    label(&world, json!({}));
    let operator = world.start().await;
    let cancelled = mention(&world, &operator).await;
    let waits = mention(&world, &operator).await;
    operator.until_idle().await;
    assert_eq!(
        world.api.asked(),
        [],
        "a namespace without the label is never touched"
    );
    let verdict = protocol::Verdict {
        outcome: protocol::Outcome::failed(FailureClass::Cancelled, "a person cancelled it"),
        at: operator.ctx.clock.now(),
        result: None,
    };
    let now = operator.ctx.clock.now();
    assert!(
        operator
            .ctx
            .store
            .end_unclaimed(cancelled, verdict, now)
            .await
            .unwrap()
    );
    label(&world, json!({"mooring.dev/workspace": "enabled"}));
    until(&operator, "the other runs", waits, |row| {
        row.state == TaskState::Finished
    })
    .await;
    calm(&operator, "a cancelled one").await;
    assert_eq!(made(&world), 1);
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_its_object_cancels_it() {
    let world = World::new();
    world.orders.hold(Hold::Finish);
    let operator = world.start().await;
    let task = mention(&world, &operator).await;
    let row = until(&operator, "it runs", task, |row| {
        row.state == TaskState::Running
    })
    .await;
    world.api.delete("agenttasks", NAMESPACE, &row.object.name);
    let row = until(&operator, "it is over", task, |row| {
        row.state == TaskState::Finished
    })
    .await;
    let class = row.verdict.and_then(|verdict| verdict.outcome.class());
    assert_eq!(class, Some(FailureClass::Cancelled));
    calm(&operator, "deleted").await;
    assert_eq!(made(&world), 1, "it is not made again");
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_put_aside_stays_aside_until_they_let_it_go_on() {
    let world = World::new();
    world.orders.hold(Hold::Open);
    let operator = world.start().await;
    let task = mention(&world, &operator).await;
    let row = until(&operator, "it is claimed", task, |row| {
        row.state == TaskState::Claimed && row.object.uid.is_some()
    })
    .await;
    let (store, now) = (&operator.ctx.store, operator.ctx.clock.now());
    store.put_aside(task, now).await.unwrap();
    world
        .until("it says so", || {
            world.condition(&row.object.name, "Succeeded") == "Unknown Suspended"
                && world.api.list("pods").is_empty()
        })
        .await;
    calm(&operator, "put aside").await;
    let aside = until(&operator, "it stays", task, |_| true).await;
    assert_eq!((aside.state, aside.held), (TaskState::Suspended, true));
    // The object is not the one who says it, so nothing is written that Git or a person would have to undo.
    let object = object(&world, &row.object.name).unwrap();
    assert_eq!(object["spec"]["desiredState"], "Run");
    world.orders.hold(Hold::Nothing);
    store.let_go_on(task, now).await.unwrap();
    ends(&world, &operator, task, "it goes on").await;
    operator.stop().await;
}
