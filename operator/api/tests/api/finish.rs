//! The one result of an attempt.

use protocol::{FailureClass, Outcome, TaskState, Verdict, limits};
use serde_json::{Value, json};

use crate::bed::both;

pub(crate) fn result(output: &str) -> Value {
    json!({"result": {
        "outcome": {"outcome": "succeeded"},
        "output": output,
        "durationMs": 12,
        "providerSession": {"provider": "claude", "id": "s1"},
        "resumed": serde_json::to_value(protocol::Resumed::unknown("first run")).unwrap(),
        "usage": {"m": {"input": 1, "output": 2}},
        "lastSeq": 0,
    }})
}

both! {
    async fn the_first_result_decides_and_may_be_said_again(bed: Bed) {
        let attempt = bed.running("hello").await;
        let (credential, token) = (bed.credential(attempt).await, bed.token(attempt).await);
        assert_eq!(bed.post("finish", &credential, &result("done")).await.ok(), json!({"decided": true}));
        assert_eq!(bed.get("/api/v1/whoami", &token).await.status, 401);
        // The answer was lost on its way: the same words are the same result.
        bed.advance(std::time::Duration::from_secs(1));
        assert_eq!(bed.post("finish", &credential, &result("done")).await.ok(), json!({"decided": true}));
        assert_eq!(bed.post("finish", &credential, &result("other")).await.ok(), json!({"decided": false}));
        let task = bed.task(attempt.task).await;
        assert_eq!(task.state, TaskState::Finishing);
        assert_eq!(task.verdict.unwrap().result.unwrap().output, "done");
        assert_eq!(task.late_results.len(), 1);
        let pointer = bed.store.session(task.session).await.unwrap().unwrap().pointer.unwrap();
        assert_eq!(pointer.session.id, "s1");
    }

    async fn a_result_after_another_verdict_is_kept_beside_it(bed: Bed) {
        let attempt = bed.running("hello").await;
        let credential = bed.credential(attempt).await;
        let outcome = Outcome::failed(FailureClass::Cancelled, "enough");
        bed.store.verdict(attempt, Verdict { outcome: outcome.clone(), at: bed.now(), result: None }, bed.now()).await.unwrap();
        assert_eq!(bed.post("finish", &credential, &result("done")).await.ok(), json!({"decided": false}));
        let task = bed.task(attempt.task).await;
        assert_eq!(task.verdict.unwrap().outcome, outcome);
        assert_eq!(task.late_results[0].verdict.outcome, Outcome::Succeeded);
    }

    async fn a_result_is_cut_and_cleaned(bed: Bed) {
        let attempt = bed.running("hello").await;
        let (credential, token) = (bed.credential(attempt).await, bed.token(attempt).await);
        let mut given = result(&format!("{token}{}", "ä".repeat(limits::OUTPUT_BYTES)));
        given["result"]["outcome"] = json!({"outcome": "failed", "class": "CliCrashed", "message": token, "exitCode": 3});
        given["result"]["providerSession"]["id"] = "-rf".into();
        bed.post("finish", &credential, &given).await.ok();
        let verdict = bed.task(attempt.task).await.verdict.unwrap();
        let kept = verdict.result.unwrap();
        assert!(kept.output.len() <= limits::OUTPUT_BYTES && kept.output.starts_with("[redacted]ä"));
        assert_eq!(kept.provider_session, None);
        let wanted = Outcome::Failed {
            class: FailureClass::CliCrashed,
            message: "[redacted]".to_owned(),
            exit_code: Some(3),
            signal: None,
        };
        assert_eq!((verdict.outcome, kept.outcome), (wanted.clone(), wanted));
    }

    async fn a_task_that_never_started_may_fail(bed: Bed) {
        let attempt = bed.claimed("hello").await;
        let open = json!({"nonce": crate::bed::NONCE, "wireVersion": 1});
        bed.post("open", &bed.token(attempt).await, &open).await.ok();
        let mut given = result("");
        given["result"]["outcome"] = json!({"outcome": "failed", "class": "PrepareFailed", "message": "no room"});
        let credential = bed.credential(attempt).await;
        assert_eq!(bed.post("finish", &credential, &given).await.ok(), json!({"decided": true}));
        assert_eq!(bed.post("started", &credential, &json!({})).await.refusal(), (409, "wrongState".to_owned()));
    }

    async fn an_unknown_failure_class_is_refused(bed: Bed) {
        let attempt = bed.running("hello").await;
        let mut given = result("");
        given["result"]["outcome"] = json!({"outcome": "failed", "class": "BadHairDay", "message": ""});
        let refused = bed.post("finish", &bed.credential(attempt).await, &given).await;
        assert_eq!(refused.refusal(), (400, "invalidRequest".to_owned()));
        assert_eq!(bed.task(attempt.task).await.state, TaskState::Running);
    }
}
