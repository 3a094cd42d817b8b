//! What a runner asks and tells.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use crds::AgentTask;
use protocol::runner::{
    Command, ControlQuery, ControlResponse, EventsRequest, EventsResponse, FinishRequest,
    FinishResponse, OpenRequest, OpenResponse, RawPart, StartedRequest, SteeredRequest,
    TextRequest, TextResponse,
};
use protocol::{AttemptId, Event, EventBody, Verdict, WIRE_VERSION, limits};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};
use store::{Appended, AttemptRow, Decided, Opened, TaskRow};
use tokio::time::Instant;

use crate::auth::{AgentCaller, RunnerCaller};
use crate::body::{Json, Query, json_bytes};
use crate::bound;
use crate::error::Failure;
use crate::limits::CONTACT_EVERY;
use crate::package::{self, Sources};
use crate::redact::Redactor;
use crate::state::{Inner, Shared};

/// Earlier attempts that are looked at for what became of them.
const EARLIER: u32 = 10;
/// Bytes of a nonce.
const NONCE_BYTES: usize = 32;

/// `POST open`: the package, once for each attempt. The task's token opens it; after that the runner has a
/// credential of its own, which its agent never sees.
pub(super) async fn open_package(
    caller: AgentCaller,
    State(state): State<Shared>,
    Json(request): Json<OpenRequest>,
) -> Result<Answer<OpenResponse>, Failure> {
    if request.wire_version == 0 {
        return Err(Failure::wire_version(request.wire_version));
    }
    let nonce = nonce_hash(&request.nonce)?;
    // The package first: where it cannot be made nothing has changed, and the runner asks again.
    let made = make_package(&state, caller.attempt).await?;
    let attempt = &made.attempt;
    match state
        .store
        .open_package(caller.attempt, nonce, state.now())
        .await?
    {
        Opened::First => {
            tracing::info!(task.id = %attempt.id.task, attempt = attempt.id.number, "a runner opened its package")
        }
        Opened::Again => {}
        Opened::OtherNonce => return Err(Failure::already_open()),
        Opened::WrongState => return Err(Failure::wrong_state("the attempt has ended")),
    }
    // Only now: until it is open the task takes in what comes, and nothing may fall between the two.
    let mut package = made.package;
    package.cause = super::agent::cause(&state, &made.task, &made.definition).await?;
    package.team = super::teams::led(&state, &made.task).await?;
    package.chat = state.store.chat_cause(attempt.id.task).await?;
    package.quick_issue = state.store.quick_cause(attempt.id.task).await?;
    package.repositories = super::agent::repositories(&state, &made.task, &package.subject).await?;
    let key = state.key()?;
    Ok(Answer(OpenResponse {
        wire_version: request.wire_version.min(WIRE_VERSION),
        credential: key
            .runner_credential(attempt.id, attempt.salt)
            .expose_secret()
            .to_owned(),
        mac_key: key
            .mac_key(attempt.id, attempt.salt)
            .to_wire()
            .expose_secret()
            .to_owned(),
        package,
    }))
}

/// `POST started`: from now on the task shows as running.
pub(super) async fn report_started(
    caller: RunnerCaller,
    State(state): State<Shared>,
    Json(StartedRequest {}): Json<StartedRequest>,
) -> Result<Answer<serde_json::Value>, Failure> {
    match state.store.started(caller.attempt.id, state.now()).await? {
        true => Ok(Answer(serde_json::json!({}))),
        false => Err(Failure::wrong_state("the attempt has ended")),
    }
}

/// `POST events`: also of an attempt that has ended, since what it had seen is still true.
pub(super) async fn append_events(
    caller: RunnerCaller,
    State(state): State<Shared>,
    Json(request): Json<EventsRequest>,
) -> Result<Answer<EventsResponse>, Failure> {
    let mut events = request.events;
    check_batch(&events)?;
    let attempt = caller.attempt;
    let redactor = Redactor::new(state.key()?, attempt.id, attempt.salt);
    for event in &mut events {
        redactor.event(event);
        tidy(event);
    }
    match state.store.append(attempt.id, &events, state.now()).await? {
        Appended::Taken(taken) => {
            state.metrics.events.inc_by(events.len() as u64);
            Ok(Answer(taken))
        }
        Appended::Gap { expected } => Err(Failure::event_gap(expected)),
    }
}

/// `POST texts`: the whole of what a tool gave. Redacted here as well, like what the timeline holds of it.
pub(super) async fn keep_text(
    caller: RunnerCaller,
    State(state): State<Shared>,
    Json(request): Json<TextRequest>,
) -> Result<Answer<TextResponse>, Failure> {
    let TextRequest { seq, mut text } = request;
    let attempt = caller.attempt;
    // A runner counts on without gaps, and has not more on its way than fits into its outbox.
    if seq == 0 || seq > limits::ATTEMPT_EVENTS {
        return Err(Failure::invalid(
            "events are numbered from 1, and those past the budget have no text",
        ));
    }
    Redactor::new(state.key()?, attempt.id, attempt.salt).text(&mut text);
    // PostgreSQL takes no NUL in a text.
    if text.contains('\0') {
        text = text.replace('\0', "\u{fffd}");
    }
    bound::cut(&mut text, limits::TEXT_BYTES);
    let kept = state.store.keep_text(attempt.id, seq, text).await?;
    Ok(Answer(TextResponse { kept }))
}

/// `POST raw`: a part of what the agent's program wrote. Redacted here as well.
pub(super) async fn keep_raw(
    caller: RunnerCaller,
    State(state): State<Shared>,
    Json(mut part): Json<RawPart>,
) -> Result<Answer<serde_json::Value>, Failure> {
    let attempt = caller.attempt;
    let redactor = Redactor::new(state.key()?, attempt.id, attempt.salt);
    // What follows begins where this ended, whatever is taken out of it.
    bound::cut(&mut part.text, limits::RAW_PART_BYTES);
    redactor.text(&mut part.text);
    if part.text.contains('\0') {
        part.text = part.text.replace('\0', "\u{fffd}");
    }
    state.store.keep_raw(attempt.id, part).await?;
    Ok(Answer(serde_json::json!({})))
}

/// `GET control`: commands, at once where there are some, else when there are, else none after a while.
pub(super) async fn await_commands(
    caller: RunnerCaller,
    State(state): State<Shared>,
    Query(query): Query<ControlQuery>,
) -> Result<Answer<ControlResponse>, Failure> {
    sign_of_life(&state, &caller.attempt).await?;
    let commands = held(&state, caller.attempt.id, query.after).await?;
    Ok(Answer(ControlResponse { commands }))
}

/// `POST steered`: what became of a person's remark. Redacted here as well.
pub(super) async fn report_steered(
    caller: RunnerCaller,
    State(state): State<Shared>,
    Json(request): Json<SteeredRequest>,
) -> Result<Answer<serde_json::Value>, Failure> {
    let SteeredRequest { remark, mut why } = request;
    let attempt = caller.attempt;
    if let Some(why) = &mut why {
        Redactor::new(state.key()?, attempt.id, attempt.salt).text(why);
        // PostgreSQL takes no NUL in a text.
        why.retain(|each| each != '\0');
        bound::cut(why, limits::MESSAGE_BYTES);
    }
    state
        .store
        .steered(attempt.id, remark, why.as_deref(), state.now())
        .await
        .map_err(Failure::of_write)?;
    Ok(Answer(serde_json::json!({})))
}

/// `POST finish`: the one result. Where another verdict stands it is kept beside that.
pub(super) async fn finish_attempt(
    caller: RunnerCaller,
    State(state): State<Shared>,
    Json(request): Json<FinishRequest>,
) -> Result<Answer<FinishResponse>, Failure> {
    let attempt = caller.attempt;
    let mut result = request.result;
    Redactor::new(state.key()?, attempt.id, attempt.salt).result(&mut result);
    bound::result(&mut result);
    let now = state.now();
    let told = attempt.events + attempt.left_out;
    if result.last_seq > told {
        let (missing, attempt) = (result.last_seq - told, attempt.id);
        tracing::warn!(task.id = %attempt.task, attempt.number, missing, "a result came before the last events");
    }
    let verdict = Verdict {
        outcome: result.outcome.clone(),
        at: now,
        result: Some(Box::new(result)),
    };
    let decided = state.store.verdict(attempt.id, verdict, now).await?;
    Ok(Answer(FinishResponse {
        decided: matches!(decided, Decided::First),
    }))
}

fn nonce_hash(nonce: &str) -> Result<[u8; 32], Failure> {
    let mut bytes = [0; NONCE_BYTES];
    hex::decode_to_slice(nonce, &mut bytes)
        .map_err(|_| Failure::invalid(format!("the nonce is not {NONCE_BYTES} bytes in hex")))?;
    Ok(Sha256::digest(bytes).into())
}

/// A package, and what it was made from.
struct Made {
    attempt: AttemptRow,
    task: TaskRow,
    definition: Arc<AgentTask>,
    package: protocol::Package,
}

/// The package of an attempt, from the rows and the definitions as they are now, but for what woke the agent.
async fn make_package(state: &Inner, id: AttemptId) -> Result<Made, Failure> {
    let gone = || Failure::wrong_state("the task is gone");
    let attempt = state.store.attempt(id).await?.ok_or_else(gone)?;
    let task = state.store.task(id.task).await?.ok_or_else(gone)?;
    let session = state.store.session(task.session).await?.ok_or_else(gone)?;
    let mut earlier = Vec::new();
    for number in (1..id.number).rev().take(EARLIER as usize) {
        earlier.extend(state.store.attempt(AttemptId { number, ..id }).await?);
    }
    let namespace = task.object.namespace.as_str();
    let definition = super::agent::definition(state, &task)?;
    let agent = state
        .definitions
        .agent(namespace, &task.agent)
        .ok_or_else(|| super::agent::unknown("Agent"))?;
    let runtime = state
        .definitions
        .runtime(namespace, &attempt.runtime)
        .ok_or_else(|| super::agent::unknown("Runtime"))?;
    let mut package = package::build(&Sources {
        task: &task,
        session: &session,
        attempt: &attempt,
        earlier: &earlier,
        definition: &definition,
        agent: &agent,
        runtime: &runtime,
    });
    if definition.spec.prompt_from.is_some() {
        package.prompt = state.store.prompt(id.task).await?.ok_or_else(gone)?;
    }
    Ok(Made {
        attempt,
        task,
        definition,
        package,
    })
}

fn check_batch(events: &[Event]) -> Result<(), Failure> {
    let Some(first) = events.first() else {
        return Err(Failure::invalid("the batch is empty"));
    };
    if events.len() > limits::BATCH_EVENTS {
        return Err(Failure::batch_too_large());
    }
    if first.seq == 0 {
        return Err(Failure::invalid("events are numbered from 1"));
    }
    if events
        .windows(2)
        .any(|pair| pair[0].seq.checked_add(1) != Some(pair[1].seq))
    {
        return Err(Failure::invalid("the numbers of a batch rise by one"));
    }
    for event in events {
        if json_bytes(event)? > limits::EVENT_BYTES {
            return Err(Failure::event_too_large(event.seq));
        }
    }
    Ok(())
}

/// Brings an event into the form in which it is kept.
fn tidy(event: &mut Event) {
    if let EventBody::Status { session_id, .. } = &mut event.body {
        session_id.take_if(|id| !bound::is_session_id(id));
    }
    if let EventBody::ToolResult { output, .. } = &mut event.body {
        bound::cut(output, limits::TOOL_OUTPUT_BYTES);
    }
    // Finer parts would come back different from the database.
    event.at = jiff::Timestamp::from_microsecond(event.at.as_microsecond()).unwrap_or(event.at);
}

/// Keeps the token of an attempt that is alive from running out. Not with every request: one write in a
/// while does it.
async fn sign_of_life(state: &Inner, attempt: &AttemptRow) -> Result<(), Failure> {
    let now = state.now();
    let silent = attempt
        .last_contact_at
        .map(|last| now.duration_since(last).unsigned_abs());
    if attempt.ended_at.is_none() && silent.is_none_or(|silent| silent >= CONTACT_EVERY) {
        state.store.contact(attempt.id, now).await?;
    }
    Ok(())
}

/// Waits for commands after number `after`.
async fn held(state: &Inner, attempt: AttemptId, after: u64) -> Result<Vec<Command>, Failure> {
    let _counted = Counted::new(&state.metrics.held);
    let deadline = Instant::now() + state.limits.control_hold;
    let watch = state.held.watch(attempt.task);
    loop {
        // Before the look, so that what comes between is not missed.
        let change = watch.next();
        let commands = state.store.commands(attempt, after).await?;
        if !commands.is_empty() {
            return Ok(commands);
        }
        tokio::select! {
            () = change => {}
            () = tokio::time::sleep_until(deadline) => return Ok(Vec::new()),
            () = state.shutdown.cancelled() => return Ok(Vec::new()),
        }
    }
}

/// Shows as one in a gauge as long as it lives, also when the request is dropped.
struct Counted<'a>(&'a prometheus_client::metrics::gauge::Gauge);

impl<'a> Counted<'a> {
    fn new(gauge: &'a prometheus_client::metrics::gauge::Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}
