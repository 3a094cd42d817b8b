//! A task that takes its prompt from a `ConfigMap` waits for it, and keeps what it was.

use serde_json::{Value, json};

use crate::world::{NAMESPACE, World};

const TEXT: &str = "succeed";

fn from(key: &str) -> Value {
    json!({"prompt": null, "promptFrom": {"configMapKeyRef": {"name": "prompts", "key": key}}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_is_read_once_and_waited_for() {
    let world = World::new();
    let operator = world.start().await;
    let uid = world.task("it", "night", "", from("night"));
    world
        .until("it says what is missing", || {
            world.condition("it", "Accepted") == "False PromptNotFound"
        })
        .await;
    assert_eq!(operator.ctx.store.task_by_object(&uid).await.unwrap(), None);
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "prompts", "namespace": NAMESPACE}, "data": {"night": TEXT},
    });
    world.api.create("configmaps", map);
    // Anything that happens to the object is a look as well; else the next one is half a minute away.
    world.edit_task("it", |task| task["metadata"]["labels"] = json!({"a": "b"}));
    world
        .until("it is over", || {
            world.condition("it", "Succeeded") == "True Succeeded"
        })
        .await;
    let task = operator.ctx.store.task_by_object(&uid).await.unwrap();
    // What the map says later is for later tasks.
    world.api.edit("configmaps", NAMESPACE, "prompts", |map| {
        map["data"]["night"] = json!("another");
    });
    let kept = operator.ctx.store.prompt(task.unwrap()).await.unwrap();
    assert_eq!(kept.as_deref(), Some(TEXT));
    operator.stop().await;
}
