//! The operator is away for a minute during one run and at the end of another: no event is lost or doubled, and both
//! tasks end right.

use std::time::Duration;

use anyhow::{Result, ensure};
use crds::AgentTask;
use e2e::objects::{condition, text};
use e2e::script::{Script, check_flood};
use e2e::wait::USUAL;
use e2e::{Workspace, store, story_within};
use protocol::EventBody;

const AWAY: Duration = Duration::from_secs(60);
const EVENTS: u64 = 300;

/// Fails unless the timeline holds every word of the flood once and in order, at positions without gaps.
async fn nothing_lost_or_doubled(workspace: &Workspace, task: &AgentTask) -> Result<()> {
    assert_eq!(
        condition(task, "Succeeded"),
        Some(("True".to_owned(), "Succeeded".to_owned()))
    );
    let id = store::task_id(&text(task, "/status/taskId")?)?;
    let timeline = workspace.store().await?.timeline(id).await?;
    for (stored, number) in timeline.iter().zip(1..) {
        ensure!(
            stored.position == number,
            "position {} where {number} belongs",
            stored.position
        );
        ensure!(
            stored.attempt == 1,
            "an event of attempt {}",
            stored.attempt
        );
        ensure!(
            stored.event.seq == number,
            "event {} where {number} belongs",
            stored.event.seq
        );
    }
    let said: String = timeline
        .into_iter()
        .filter_map(|stored| match stored.event.body {
            EventBody::Text { content } | EventBody::Thinking { content } => Some(content),
            EventBody::ToolUse { .. }
            | EventBody::ToolResult { .. }
            | EventBody::Status { .. }
            | EventBody::Error { .. }
            | EventBody::Log { .. } => None,
        })
        .collect();
    check_flood(&said, EVENTS)
}

#[tokio::test]
async fn a_minute_without_the_operator_loses_nothing() -> Result<()> {
    story_within(Duration::from_secs(180), "away", async |workspace| {
        workspace.prepare().await?;
        // One flood spans the whole absence, one ends in the middle of it.
        let long = (AWAY.as_millis() as u64 + 15_000) / EVENTS;
        workspace
            .start("long", "long", &Script::new().flood(EVENTS, long))
            .await?;
        workspace
            .start(
                "short",
                "short",
                &Script::new().flood(EVENTS, 20_000 / EVENTS),
            )
            .await?;
        workspace.running("long").await?;
        workspace.running("short").await?;

        workspace.operator().away().await?;
        // Not a wait for something: the minute itself is the story.
        tokio::time::sleep(AWAY).await;
        workspace.operator().back().await?;

        let short = workspace.finished("short").await?;
        nothing_lost_or_doubled(workspace, &short).await?;
        let long = workspace.finished_within("long", USUAL).await?;
        nothing_lost_or_doubled(workspace, &long).await
    })
    .await
}
