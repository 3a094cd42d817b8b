//! What a workspace may have, as who writes there is told.

use serde_json::{Value, json};

use crate::bed::both;
use crate::board::Voice;

fn waking(agent: &str) -> Value {
    json!({"body": format!("[{agent}](mention://agent/{agent}) please")})
}

both! {
    async fn a_full_queue_is_told_before_and_after_a_write(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let (first, second) = (ada.issue("x").await, ada.issue("y").await);
        *bed.cluster.max_queued.lock().unwrap() = Some(1);
        let posted = ada.post(&format!("/issues/{first}/comments"), &waking("reviewer")).await.ok();
        assert_eq!(posted["wakes"][0]["outcome"], "queued", "{posted}");
        for path in ["comments/preview", "comments"] {
            let answer = ada.post(&format!("/issues/{second}/{path}"), &waking("reviewer")).await.ok();
            let wake = &answer["wakes"][0];
            assert_eq!((&wake["outcome"], &wake["reason"]), (&json!("blocked"), &json!("queueFull")), "{answer}");
        }
        // What does nothing but wake an agent is refused as a whole.
        let quick = ada.post("/quick-issues", &json!({"agent": "reviewer", "text": "hello"})).await;
        assert_eq!(quick.refusal(), (409, "wrongState".to_owned()));
        *bed.cluster.max_queued.lock().unwrap() = None;
        let posted = ada.post(&format!("/issues/{second}/comments"), &waking("reviewer")).await.ok();
        assert_eq!(posted["wakes"][0]["outcome"], "queued", "{posted}");
    }

    async fn what_a_task_waits_for_has_a_word(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let task = bed.enter("x").await;
        let name = bed.task(task).await.object.name;
        for (limit, word) in [
            ("QuotaConcurrent", "quotaConcurrent"),
            ("QuotaRunsPerHour", "quotaRunsPerHour"),
            ("Capacity", "capacity"),
        ] {
            // As the controller writes it.
            let mut object = bed.cluster.tasks.lock().unwrap()[&name].as_ref().clone();
            let waiting = json!({"limit": limit, "message": "", "since": "2027-01-15T08:00:00Z"});
            object.status = Some(serde_json::from_value(json!({"waiting": waiting})).unwrap());
            bed.cluster.tasks.lock().unwrap().insert(name.clone(), std::sync::Arc::new(object));
            assert_eq!(ada.get(&format!("/tasks/{task}")).await.ok()["waitsFor"], word);
        }
    }
}
