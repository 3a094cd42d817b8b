//! The third part of the story: agents that ask each other, parts that make a whole, and work that nobody asks for:
//! by the clock, and from another system.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use protocol::webhook;
use serde_json::Value;

use super::Teller;
use super::api::Api;
use super::objects::{Objects, condition, text};
use super::talk::{Person, follow};

/// The agent that is woken by all of this, and the one that it asks.
const LEADER: &str = "reviewer";
const COLLEAGUE: &str = "painter";

/// Tells it.
pub(super) fn tell(
    teller: &Teller,
    objects: &Objects<'_>,
    person: &Person,
    examples: &Path,
) -> Result<()> {
    let example = |file: &str| {
        let path = examples.join(file);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    teller.title("A team: its leader is woken, asks a colleague, and hears of it")?;
    objects.apply(&example("colleagues.yaml")?)?;
    objects.until("the team is ready", |objects| {
        let team = objects.find("agentteam", "yard")?;
        Ok(team.filter(|team| condition(team, "Ready").0 == "True"))
    })?;
    team(teller, objects, person, &example("team.md")?)?;
    teller.title("Parts of an issue: the last that is done wakes who has the whole")?;
    parts(teller, objects, person, &example("part.md")?)?;
    teller.title("Work that nobody asks for: a schedule and a webhook")?;
    objects.apply(&example("doors.yaml")?)?;
    alarm(teller, objects)?;
    rounds(teller, objects)
}

fn team(teller: &Teller, objects: &Objects<'_>, person: &Person, words: &str) -> Result<()> {
    let made = person.ask(&["issue", "create", "--title", "Paint the boat"])?;
    let key = text(&made, "/issue/key").to_owned();
    let body = words.replace("${ISSUE}", &key);
    let posted = person.ask(&["comment", "add", &key, "--body", &body])?;
    follow(teller, objects, &posted)?;
    for (agent, run) in [(COLLEAGUE, 1), (LEADER, 2)] {
        let task = over(objects, agent, &key, run)?;
        let name = text(&task, "/metadata/name");
        teller.tell(&format!("AgentTask {name} of {agent} is over"))?;
    }
    person.show(teller, &key)
}

fn parts(teller: &Teller, objects: &Objects<'_>, person: &Person, words: &str) -> Result<()> {
    let whole = person.ask(&["issue", "create", "--title", "Dry the basement"])?;
    let whole = text(&whole, "/issue/key").to_owned();
    person.ask(&["issue", "assign", &whole, "--to", LEADER, "--no-start"])?;
    let part = [
        "issue",
        "create",
        "--title",
        "Buy a pump",
        "--parent",
        &whole,
    ];
    let part = person.ask(&part)?;
    let part = text(&part, "/issue/key").to_owned();
    teller.tell(&format!("issue {whole} has a part, {part}"))?;
    let body = format!("[Painter](mention://agent/{COLLEAGUE})\n\n{words}");
    let posted = person.ask(&["comment", "add", &part, "--body", &body])?;
    follow(teller, objects, &posted)?;
    let task = over(objects, LEADER, &whole, 1)?;
    teller.tell(&format!(
        "{part} is done, and so {LEADER} was woken on {whole}, by {}",
        text(&task, "/spec/cause/kind")
    ))
}

/// Another system sends something, and sends it again since it did not hear the answer.
fn alarm(teller: &Teller, objects: &Objects<'_>) -> Result<()> {
    let webhook = objects.until("the webhook is ready", |objects| {
        let webhook = objects.find("agentwebhook", "alarms")?;
        Ok(webhook.filter(|webhook| condition(webhook, "Ready").0 == "True"))
    })?;
    let key = objects.secret(text(&webhook, "/status/secretName"), "key")?;
    let api = Api::published(objects)?;
    let path = text(&webhook, "/status/path");
    let body = r#"{"alert": {"id": "7", "name": "water in the hold", "at": "noon"}}"#;
    let now = now()?;
    let headers = [
        format!("{}: alarm-7", webhook::DELIVERY),
        format!("{}: {now}", webhook::TIMESTAMP),
        format!(
            "{}: {}",
            webhook::SIGNATURE,
            webhook::signature(&key.into(), now, "alarm-7", body.as_bytes())
        ),
    ];
    for _ in 0..2 {
        let answer = api.post(path, &headers, body)?;
        teller.tell(&format!("a signed delivery: {answer}"))?;
    }
    let task = assigned(objects, COLLEAGUE)?;
    let issue = text(&task, "/spec/cause/issue");
    teller.tell(&format!(
        "it became issue {issue}, once; {COLLEAGUE} has worked at it"
    ))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a delivery is signed with the time at which it is sent"
)]
fn now() -> Result<i64> {
    Ok(SystemTime::now()
        .duration_since(UNIX_EPOCH)?
        .as_secs()
        .try_into()?)
}

/// The clock begins an issue, at the next full minute.
fn rounds(teller: &Teller, objects: &Objects<'_>) -> Result<()> {
    let schedule = objects.until("the schedule's time has come", |objects| {
        let schedule = objects.find("agentschedule", "rounds")?;
        Ok(schedule.filter(|schedule| !text(schedule, "/status/lastScheduleTime").is_empty()))
    })?;
    let time = text(&schedule, "/status/lastScheduleTime");
    teller.tell(&format!("the schedule's time came: {time}"))?;
    let task = assigned(objects, LEADER)?;
    let issue = text(&task, "/spec/cause/issue");
    teller.tell(&format!("it made issue {issue}; {LEADER} has worked at it"))?;
    objects.patch("agentschedule", "rounds", r#"{"spec": {"suspend": true}}"#)
}

/// The task that an agent was given by an issue being its own from the start.
fn assigned(objects: &Objects<'_>, agent: &str) -> Result<Value> {
    finished(objects, agent, 1, |task| {
        text(task, "/spec/cause/kind") == "Assignment"
    })
}

/// The end of the n-th task of an agent on an issue.
fn over(objects: &Objects<'_>, agent: &str, issue: &str, number: usize) -> Result<Value> {
    finished(objects, agent, number, |task| {
        text(task, "/spec/cause/issue") == issue
    })
}

fn finished(
    objects: &Objects<'_>,
    agent: &str,
    number: usize,
    is_it: impl Fn(&Value) -> bool,
) -> Result<Value> {
    let what = format!("{agent} has finished its task");
    let task = objects.until(&what, |objects| {
        let tasks = objects.list("agenttasks")?.into_iter();
        let ours = tasks.filter(|task| text(task, "/spec/agentRef/name") == agent && is_it(task));
        let mut over = ours.filter(|task| condition(task, "Finished").0 == "True");
        Ok(over.nth(number - 1))
    })?;
    let (succeeded, reason) = condition(&task, "Succeeded");
    ensure!(succeeded == "True", "the task of {agent} failed: {reason}");
    Ok(task)
}
