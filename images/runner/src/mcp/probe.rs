//! Waiting for the servers without which an agent is not started: each is greeted as its own client would.

mod http;
mod stdio;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::{At, McpServer, McpServers};
use crate::environment::Environment;
use crate::processes::Reaper;
use crate::signals::Blocked;

/// A required server is waited for so long.
pub const WAIT: Duration = Duration::from_secs(30);
/// One that does not answer is asked again after this long.
const AGAIN: Duration = Duration::from_millis(500);
/// Bytes of an answer that are looked at.
const ANSWER_BYTES: usize = 256 * 1024;
/// The version of the protocol that is offered; a server may answer another one.
const VERSION: &str = "2025-06-18";

/// What a server's program is started in.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// Its variables, before those of the server.
    pub environment: &'a Environment,
    /// Its working directory.
    pub cwd: &'a Path,
    /// Buries it.
    pub reaper: &'a Reaper,
    /// The signals that it gets back.
    pub blocked: &'a Blocked,
}

/// Why a server is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Absence {
    /// It may be later.
    NotYet(String),
    /// It will not be.
    Never(String),
}

/// Waits until every required server answers.
///
/// # Errors
/// A sentence that names the first one that does not, with what it said last.
pub async fn await_required(
    servers: &McpServers,
    room: Room<'_>,
    within: Duration,
) -> Result<(), String> {
    let required = servers.0.iter().filter(|server| server.required);
    for server in required {
        await_one(server, room, within).await.map_err(|words| {
            format!("the MCP server {}, which is required, {words}", server.name)
        })?;
    }
    Ok(())
}

async fn await_one(server: &McpServer, room: Room<'_>, within: Duration) -> Result<(), String> {
    let seconds = within.as_secs();
    let until = Instant::now() + within;
    let mut last = "it did not answer".to_owned();
    loop {
        match timeout_at(until, greet(server, room)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(Absence::Never(words))) => return Err(format!("cannot be used: {words}")),
            Ok(Err(Absence::NotYet(words))) => last = words,
            Err(_) => return Err(format!("was not there within {seconds} s: {last}")),
        }
        if Instant::now() + AGAIN >= until {
            return Err(format!("was not there within {seconds} s: {last}"));
        }
        sleep(AGAIN).await;
    }
}

async fn greet(server: &McpServer, room: Room<'_>) -> Result<(), Absence> {
    match &server.at {
        At::Program { command, args, env } => stdio::greet(command, args, env, room).await,
        At::Address { sse, url, headers } => http::greet(*sse, url, headers).await,
    }
}

/// What a client says first.
fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": VERSION, "capabilities": {},
            "clientInfo": {"name": "mooring", "version": env!("CARGO_PKG_VERSION")},
        },
    })
}

/// What a message means: an answer to the greeting, or nothing yet.
fn answer(message: &[u8]) -> Option<Result<(), Absence>> {
    let message: Value = serde_json::from_slice(message).ok()?;
    if message.get("id").and_then(Value::as_i64) != Some(1) {
        return None;
    }
    if message.get("result").is_some() {
        return Some(Ok(()));
    }
    let error = message.get("error")?;
    let words = error.get("message").and_then(Value::as_str);
    let words = words.unwrap_or("an error without words");
    Some(Err(Absence::Never(format!("it refused: {words}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_the_greeting_counts() {
        for (message, wanted) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Some(Ok(()))),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/message"}"#,
                None,
            ),
            (r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, None),
            ("Listening on stdio", None),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no licence"}}"#,
                Some(Err(Absence::Never("it refused: no licence".to_owned()))),
            ),
        ] {
            assert_eq!(answer(message.as_bytes()), wanted, "{message}");
        }
    }
}
