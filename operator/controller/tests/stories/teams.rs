//! What is said of teams, and who may ask an agent for something with kubectl.

use serde_json::{Value, json};

use crate::world::{NAMESPACE, World};

/// A team whose second member is not there.
pub(crate) fn create(world: &World) {
    world.api.create(
        "agentteams",
        json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTeam", "metadata": {"name": "core", "namespace": NAMESPACE},
            "spec": {"leader": "reviewer", "members": [{"agent": "coder", "role": "writes"}]},
        }),
    );
}

fn reason(world: &World) -> Value {
    let team = world.api.get("agentteams", NAMESPACE, "core").unwrap();
    team["status"]["conditions"][0]["reason"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_says_whether_all_of_it_is_there() {
    let world = World::new();
    create(&world);
    let operator = world.start().await;
    let says = |wanted: &'static str| {
        let world = &world;
        async move { world.until(wanted, || reason(world) == wanted).await }
    };
    says("MemberNotFound").await;
    let coder = || {
        world.api.create(
            "agents",
            json!({
                "apiVersion": "mooring.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "coder", "namespace": NAMESPACE},
                "spec": {"runtimeRefs": [{"name": "claude"}]},
            }),
        )
    };
    coder();
    says("Ready").await;
    world.api.delete("agents", NAMESPACE, "coder");
    says("MemberNotFound").await;
    world.api.delete("agents", NAMESPACE, "reviewer");
    says("LeaderNotFound").await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_wake_an_agent_does_not_get_round_it_with_kubectl() {
    let world = World::new();
    world.api.edit("agents", NAMESPACE, "reviewer", |agent| {
        agent["spec"]["access"] = json!({"owner": "ada", "invokers": {"groups": ["dev"]}})
    });
    let operator = world.start().await;
    let by = |user: &str, groups: &[&str]| json!({"requestedBy": {"user": user, "groups": groups}});
    let refused = [("eves", by("eve", &["ops"])), ("nobodys", json!({}))];
    for (name, more) in refused {
        world.task(name, name, "succeed", more);
        world
            .until(name, || {
                world.condition(name, "Accepted") == "False NotAllowed"
            })
            .await;
    }
    for (name, more) in [("adas", by("ada", &[])), ("doras", by("dora", &["dev"]))] {
        let uid = world.task(name, name, "succeed", more);
        operator.until_row(name, &uid, |_| true).await;
    }
    operator.stop().await;
}
