//! Work that no comment asks for: a schedule makes an issue at its time, and another system's signed delivery makes one, once.
//! Both wake the agent that is given the issue.

use std::time::Duration;

use anyhow::{Context as _, Result};
use crds::{AgentSchedule, AgentTask, AgentWebhook, CauseKind};
use e2e::objects::draft;
use e2e::script::Script;
use e2e::token::{self, ApiClient};
use e2e::wait::{self, Record, USUAL};
use e2e::{objects, story};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::PostParams;
use secrecy::SecretString;
use serde_json::json;

/// A schedule of every minute, and the time of a task.
const MINUTE: Duration = Duration::from_secs(120);
const BODY: &str = r#"{"alert": {"id": "7", "name": "water in the hold"}}"#;

#[tokio::test]
async fn a_schedule_and_a_webhook_make_issues_that_wake_their_agent() -> Result<()> {
    story("ways-in", async |workspace| {
        workspace.prepare().await?;
        let tasks = workspace.record::<AgentTask>().await?;
        workspace
            .create_object(&draft::<AgentSchedule>(json!({
                "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentSchedule", "metadata": {"name": "rounds"},
                "spec": {
                    "schedule": "* * * * *",
                    "createIssue": {"title": "Make the rounds, {time}", "assignee": {"name": objects::AGENT}},
                },
            })))
            .await?;
        workspace
            .create_object(&draft::<AgentWebhook>(json!({
                "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentWebhook", "metadata": {"name": "alarms"},
                "spec": {"issue": {
                    "title": "Alarm: {/alert/name}", "reference": "{/alert/id}", "assignee": {"name": objects::AGENT},
                }},
            })))
            .await?;
        let is_ready = |webhook: Option<&AgentWebhook>| {
            let webhook = webhook.filter(|webhook| objects::is_true(*webhook, "Ready"))?;
            let status = webhook.status.as_ref()?;
            Some((status.path.clone()?, status.secret_name.clone()?))
        };
        let webhooks = workspace.api::<AgentWebhook>();
        let (path, secret) = wait::object(&webhooks, "alarms", "is ready", USUAL, is_ready).await?;
        let secret = workspace.api::<Secret>().get(&secret).await?;
        let key = SecretString::from(String::from_utf8(token::entry(&secret, "key")?)?);
        let api = ApiClient::published(&workspace.cluster).await?;
        let now = now();
        assert_eq!(api.deliver(&path, &"mrw_wrong".into(), ("one", now), BODY).await?, 401);
        for _ in 0..3 {
            assert_eq!(api.deliver(&path, &key, ("one", now), BODY).await?, 202);
        }
        let alarm = assigned(&tasks, 1, USUAL).await?;
        let rounds = assigned(&tasks, 2, MINUTE).await?;
        for task in [&alarm, &rounds] {
            assert!(objects::is_true(task, "Succeeded"), "{:?}", task.status);
        }
        let schedule = workspace.api::<AgentSchedule>().get("rounds").await?;
        let status = schedule.status.context("the schedule has a status")?;
        assert!(status.last_schedule_time < status.next_schedule_time, "{status:?}");
        let webhook = webhooks.get("alarms").await?;
        assert!(objects::is_true(&webhook, "Delivered"), "{:?}", webhook.status);
        // Sent three times, it is one issue: nothing else woke the agent until the schedule did.
        let causes = [&alarm, &rounds].map(|task| task.spec.cause.as_ref().and_then(|cause| cause.issue.clone()));
        assert_ne!(causes[0], causes[1]);
        Ok(())
    })
    .await
}

#[expect(
    clippy::disallowed_methods,
    reason = "a delivery is signed with the time at which it is sent"
)]
fn now() -> i64 {
    Timestamp::now().as_second()
}

#[tokio::test]
async fn a_task_takes_its_prompt_from_a_config_map() -> Result<()> {
    story("prompt", async |workspace| {
        workspace.prepare().await?;
        let words: ConfigMap = serde_json::from_value(json!({
            "metadata": {"name": "words"}, "data": {"prompt": Script::new().answer("As it is written.").prompt()},
        }))?;
        let maps = workspace.api::<ConfigMap>();
        maps.create(&PostParams::default(), &words).await?;
        let task = draft::<AgentTask>(json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": "AgentTask", "metadata": {"name": "written"},
            "spec": {
                "agentRef": {"name": objects::AGENT},
                "subject": {"kind": "Key", "name": "written"},
                "promptFrom": {"configMapKeyRef": {"name": "words", "key": "prompt"}},
            },
        }));
        let task = workspace.run_task(&task).await?;
        assert!(objects::is_true(&task, "Succeeded"), "{:?}", task.status);
        assert_eq!(objects::text(&task, "/status/result/summary")?, "As it is written.");
        Ok(())
    })
    .await
}

/// The `number`th task that the agent was given with an issue, once it is over.
async fn assigned(tasks: &Record<AgentTask>, number: usize, within: Duration) -> Result<AgentTask> {
    let is_it = |task: &AgentTask| {
        let cause = task.spec.cause.as_ref();
        cause.is_some_and(|cause| cause.kind == CauseKind::Assignment)
    };
    tasks.over("assignment", within, number, is_it).await
}
