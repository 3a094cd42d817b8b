//! Teams, and who may wake an agent.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::bed::{Bed, NAMESPACE_UID, both};
use crate::board::{Voice, claim, items, said, text};
use crate::woken::{give_object, open};

fn agent(more: Value) -> Value {
    let mut spec = json!({"runtimeRefs": [{"name": "claude"}]});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    spec
}

/// The team `core`: `reviewer` leads `coder`; a third is not there.
fn core(bed: &Bed) {
    bed.define_another(
        "coder",
        &agent(json!({"displayName": "The Coder", "description": "Rust"})),
    );
    bed.define_team("core", &json!({
        "displayName": "The Core", "description": "All of it.", "leader": "reviewer", "instructions": "Be quick.",
        "members": [{"agent": "coder", "role": "writes"}, {"agent": "gone", "role": "is not there"}],
    }));
}

fn mention(of: &str) -> Value {
    json!({"body": format!("[x](mention://{of}) please")})
}

both! {
    async fn a_team_is_shown_with_those_who_are_there(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        core(&bed);
        bed.define_team("docs", &json!({"leader": "nobody", "members": [{"agent": "coder", "role": "r"}]}));
        let card = json!({
            "name": "core", "displayName": "The Core", "description": "All of it.", "leader": "reviewer", "ready": false,
        });
        let listed = ada.get("/teams?limit=1").await.ok();
        assert_eq!((items(&listed), &listed["next"]), (vec![card.clone()], &json!("core")));
        let rest = ada.get("/teams?limit=1&cursor=core").await.ok();
        assert_eq!((&items(&rest)[0]["name"], &rest["next"]), (&json!("docs"), &Value::Null));
        assert_eq!(ada.get("/teams?cursor=a%20b").await.refusal().0, 400);
        let mut wanted = card;
        wanted["instructions"] = json!("Be quick.");
        wanted["members"] =
            json!([{"agent": "coder", "displayName": "The Coder", "role": "writes", "description": "Rust"}]);
        assert_eq!(ada.get("/teams/core").await.ok(), wanted);
        for unknown in ["nope", "coder", "a%ffb"] {
            assert_eq!(ada.get(&format!("/teams/{unknown}")).await.refusal().0, 404, "{unknown}");
        }
    }

    async fn a_mention_of_a_team_wakes_its_leader_who_is_told_of_it(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        core(&bed);
        let issue = ada.issue("The leak").await;
        let path = format!("/issues/{issue}/comments");
        let both = json!({"body": "[c](mention://squad/core) and [r](mention://agent/reviewer)"});
        let foreseen = ada.post(&format!("{path}/preview"), &both).await.ok();
        let recipient = json!({"kind": "team", "id": "core"});
        assert_eq!(
            foreseen["wakes"],
            json!([{"recipient": recipient, "executes": "reviewer", "outcome": "queued"}])
        );
        let posted = ada.post(&path, &both).await.ok();
        assert_eq!(posted["wakes"].as_array().unwrap().len(), 1);
        assert_eq!(
            (&posted["wakes"][0]["recipient"], &posted["wakes"][0]["executes"]),
            (&recipient, &json!("reviewer"))
        );
        let task = text(&posted["wakes"][0]["task"]).parse().unwrap();
        give_object(&bed, task, &issue, &posted["comment"]["id"]).await;
        let attempt = claim(&bed, NAMESPACE_UID, task).await;
        let package = open(&bed, attempt).await;
        let member = json!({"agent": "coder", "displayName": "The Coder", "role": "writes", "description": "Rust"});
        assert_eq!(package["team"], json!({
            "name": "core", "displayName": "The Core", "instructions": "Be quick.", "members": [member],
        }));
        // Who does not lead it any more is not told to.
        bed.define_team("core", &json!({"leader": "coder", "members": [{"agent": "reviewer", "role": "r"}]}));
        assert_eq!(open(&bed, attempt).await["team"], Value::Null);
    }

    async fn an_agent_that_one_may_not_wake_is_like_one_that_is_not_there(bed: Bed) {
        let (ada, eve) = (Voice::person(&bed, "ada").await, Voice::person(&bed, "eve").await);
        core(&bed);
        bed.define_agent(&agent(json!({"access": {"owner": "ada"}})));
        let issue = ada.issue("The leak").await;
        let path = format!("/issues/{issue}/comments");
        for (who, of, wanted) in [
            (&ada, "agent/reviewer", "queued"),
            (&ada, "team/core", "queued"),
            (&eve, "agent/reviewer", "notAvailable"),
            (&eve, "agent/gone", "notAvailable"),
            (&eve, "team/core", "notAvailable"),
            (&eve, "team/gone", "notAvailable"),
            (&eve, "agent/coder", "queued"),
        ] {
            let foreseen = who.post(&format!("{path}/preview"), &mention(of)).await.ok();
            let posted = who.post(&path, &mention(of)).await.ok();
            for told in [&foreseen["wakes"][0], &posted["wakes"][0]] {
                let how = told["reason"].as_str().unwrap_or_else(|| told["outcome"].as_str().unwrap());
                assert_eq!(how, wanted, "{of}");
                if wanted == "notAvailable" {
                    assert_eq!(told["executes"], Value::Null, "{of}");
                }
            }
        }
        let give = |kind: &str, id: &str| json!({"assignee": {"kind": kind, "id": id}});
        let path = format!("/issues/{issue}");
        let refused = said(&eve.patch(&path, &give("agent", "reviewer")).await);
        let unknown = said(&eve.patch(&path, &give("agent", "gone")).await);
        assert_eq!((refused.0, refused.2.replace("reviewer", "gone")), (404, unknown.2));
        assert_eq!(eve.patch(&path, &give("team", "core")).await.refusal().0, 404);
        ada.patch(&path, &give("team", "core")).await.ok();
    }

    async fn a_workspace_may_want_a_person_behind_every_run(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        bed.cluster.requires_originator.store(true, Ordering::Release);
        let issue = ada.issue("The leak").await;
        let posted = ada.post(&format!("/issues/{issue}/comments"), &mention("agent/reviewer")).await.ok();
        assert_eq!(posted["wakes"][0]["outcome"], "queued");
    }
}
