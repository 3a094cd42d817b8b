//! `moor task logs`, `messages` and `watch`: three ways to read what happens in a task.

use clap::Args;
use client::Follow;
use protocol::board::{RawQuery, RunView, TimelineItem};
use protocol::{EventBody, TaskId, limits};
use serde::Serialize;

use super::follow::{Reader, part, until_over};
use super::show;
use super::steps::Steps;
use crate::failure::Failure;
use crate::noun::{count, run};
use crate::output::{Form, Output};
use crate::session::Session;
use crate::settings::Settings;
use crate::text;

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// Id of the task.
    id: TaskId,
    /// Only what follows this position.
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    after: u64,
    /// At most so many events, up to 200.
    #[arg(long, value_name = "COUNT", value_parser = count(), conflicts_with = "follow")]
    limit: Option<u32>,
    /// Goes on until the task is over, also after a lost connection.
    #[arg(long, short)]
    follow: bool,
    /// What the agent's program wrote, word for word but for secrets: the last 4 MiB of it.
    #[arg(long, conflicts_with_all = ["after", "limit", "follow"])]
    raw: bool,
    /// Of this attempt; without one of the last.
    #[arg(long, value_name = "NUMBER", requires = "raw", value_parser = clap::value_parser!(u32).range(1..))]
    attempt: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Messages {
    /// Id of the task.
    id: TaskId,
    /// Only what follows this position.
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    after: u64,
    /// At most so many events, up to 200.
    #[arg(long, value_name = "COUNT", value_parser = count())]
    limit: Option<u32>,
    /// The whole text of the event at this position, and nothing else.
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(u64).range(1..),
        conflicts_with_all = ["after", "limit"])]
    full: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Id of the task.
    id: TaskId,
    /// Only what follows this position.
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    after: u64,
}

/// Every event by itself.
struct Events;

impl Reader for Events {
    fn take(&mut self, part: &[TimelineItem], out: &mut Output<'_>) -> Result<(), Failure> {
        for item in part {
            out.item(item, |item| item.position.to_string(), show::event)?;
        }
        Ok(())
    }
}

/// Steps for people; programs get every event by itself.
struct Transcript {
    task: TaskId,
    steps: Steps,
}

impl Reader for Transcript {
    fn take(&mut self, part: &[TimelineItem], out: &mut Output<'_>) -> Result<(), Failure> {
        let shown = self.steps.shown(part, self.task, out.style);
        if out.quiet || out.form != Form::Human {
            return Events.take(part, out);
        }
        out.print(&shown)
    }
}

impl Logs {
    pub(super) async fn run(
        &self,
        settings: &Settings,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        if self.follow {
            let follow = Follow::new(self.id, self.after);
            return until_over(follow, settings, &mut Events, out)
                .await
                .map(drop);
        }
        let session = Session::open(settings).await?;
        if self.raw {
            return raw(&session, self.id, self.attempt, out).await;
        }
        let limit = self.limit.unwrap_or(limits::PAGE_ITEMS);
        let (part, more) = part(&session, self.id, self.after, limit).await?;
        Events.take(&part, out)?;
        hint("logs", self.id, &part, more, out)
    }
}

impl Messages {
    pub(super) async fn run(
        &self,
        settings: &Settings,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let session = Session::open(settings).await?;
        if let Some(position) = self.full {
            return full(&session, self.id, position, out).await;
        }
        let limit = self.limit.unwrap_or(limits::PAGE_ITEMS);
        let (part, more) = part(&session, self.id, self.after, limit).await?;
        transcript(self.id).take(&part, out)?;
        hint("messages", self.id, &part, more, out)
    }
}

impl Watch {
    /// Ends well only when the task does.
    pub(super) async fn run(
        &self,
        settings: &Settings,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let mut reader = transcript(self.id);
        let follow = Follow::new(self.id, self.after);
        let run = until_over(follow, settings, &mut reader, out).await?;
        let style = out.style;
        out.item(
            &run,
            |run| run.id.to_string(),
            |ended| {
                let mut result = text::line(&run::result(ended));
                if let Some(message) = ended.message.as_ref().filter(|words| !words.is_empty()) {
                    result += &format!(": {}", text::line(message));
                }
                let result = if ended.succeeded == Some(true) {
                    style.strong(&result)
                } else {
                    style.bad(&result)
                };
                format!("{result}{}, {}\n", took(ended), reader.steps.sum())
            },
        )?;
        match run.succeeded {
            Some(true) => Ok(()),
            Some(false) | None => Err(Failure::DidNotSucceed),
        }
    }
}

fn transcript(task: TaskId) -> Transcript {
    Transcript {
        task,
        steps: Steps::default(),
    }
}

/// From its creation to its end.
fn took(run: &RunView) -> String {
    let Some(finished) = run.finished else {
        return String::new();
    };
    let seconds = finished.duration_since(run.created).as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!(" after {seconds} s"),
        (0, _) => format!(" after {minutes} min {seconds} s"),
        (_, _) => format!(" after {hours} h {minutes} min"),
    }
}

fn hint(
    verb: &str,
    task: TaskId,
    part: &[TimelineItem],
    more: bool,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    match part.last() {
        Some(last) if more => out.note(&format!(
            "there is more: moor task {verb} {task} --after {}",
            last.position
        )),
        Some(_) | None => Ok(()),
    }
}

/// The whole text of an event.
#[derive(Serialize)]
struct Whole {
    position: u64,
    text: String,
}

/// One text, as long as it is.
async fn full(
    session: &Session,
    task: TaskId,
    position: u64,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let (part, _) = part(session, task, position - 1, 1).await?;
    let Some(item) = part.into_iter().find(|item| item.position == position) else {
        return Err(Failure::Usage(format!(
            "task {task} has no event at position {position} yet: `moor task logs {task}` shows those that it has"
        )));
    };
    let words = match (&item.body, item.full_bytes) {
        (EventBody::ToolResult { .. }, Some(_)) => session.board()?.text(task, position).await?,
        (body, _) => words(body),
    };
    let whole = Whole {
        position,
        text: words,
    };
    out.show(
        &whole,
        |whole| whole.position.to_string(),
        |whole| text::block(whole.text.trim_end()) + "\n",
    )
}

/// What the agent's program wrote, part by part: as much as there is, and no more of it at once than a part.
async fn raw(
    session: &Session,
    task: TaskId,
    attempt: Option<u32>,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let mut asked = RawQuery { attempt, from: 0 };
    let mut end = 0;
    loop {
        let log = session.board()?.raw(task, &asked).await?;
        for part in &log.parts {
            if part.start > end {
                out.note(&format!(
                    "{} bytes before this were not kept",
                    part.start - end
                ))?;
            }
            end = part.start.saturating_add(part.text.len() as u64);
            out.item(
                part,
                |part| part.start.to_string(),
                |part| text::block(&part.text),
            )?;
        }
        let Some(next) = log.next.filter(|next| *next > asked.from) else {
            if end == 0 {
                out.note(&format!(
                    "attempt {} has written nothing so far",
                    log.attempt
                ))?;
            }
            return Ok(());
        };
        asked = RawQuery {
            attempt: Some(log.attempt),
            from: next,
        };
    }
}

/// What an event holds, as it is.
fn words(body: &EventBody) -> String {
    match body {
        EventBody::Text { content }
        | EventBody::Thinking { content }
        | EventBody::Error { content }
        | EventBody::Log { content, .. } => content.clone(),
        EventBody::ToolUse { input, .. } => format!("{input:#}"),
        EventBody::ToolResult { output, .. } => output.clone(),
        EventBody::Status { status, .. } => status.clone(),
    }
}
