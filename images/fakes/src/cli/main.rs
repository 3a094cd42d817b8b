//! `mooring-fake-cli NAME …`: stands in for the command line NAME of an agent whose real program cannot be had. It is
//! written from the description of that program's protocol, not from the adapter: what the description does not
//! know of is refused.

mod acp;
mod antigravity;
mod app_server;
mod arguments;
mod cursor;
mod dsh;
mod input;
mod opencode;
mod play;
mod rpc;
mod store;

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use serde_json::Value;

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let name = given.next().unwrap_or_default();
    let given: Vec<String> = given.collect();
    let ended = match name.as_str() {
        "antigravity" => antigravity::run(&given),
        "app-server" => app_server::run(&given),
        "codearts" => opencode::run(&opencode::CODEARTS, &given),
        "cursor" => cursor::run(&given),
        "dsh" => dsh::run(&given),
        "deveco" => opencode::run(&opencode::DEVECO, &given),
        "json-lines" => opencode::run(&opencode::ANY, &given),
        "opencode" => second_opencode(&given),
        "rpc" => rpc::run(&given),
        _ => match acp::AGENTS.iter().find(|agent| agent.name == name) {
            Some(agent) => acp::run(agent, &given),
            None => complain(&format!("there is no {name:?} here")).map(|()| 2),
        },
    };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Stderr may be what failed.
            let _ = complain(&format!("mooring-fake-cli: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// opencode's second version, which is called in more than one way.
fn second_opencode(given: &[String]) -> io::Result<u8> {
    match given {
        [first, session] if first == "service" => opencode::serve(session),
        [first, call @ ..] if first == "api" => opencode::api(call),
        _ => opencode::run(&opencode::SECOND, given),
    }
}

/// A line on stderr.
fn complain(words: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    writeln!(stderr, "{words}")
}

/// A frame on stdout.
fn write(frame: &Value) -> io::Result<()> {
    line(&frame.to_string())
}

/// A line on stdout.
fn line(words: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{words}")?;
    stdout.flush()
}

/// Everything on stdin, to its end.
fn stdin() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a stand-in reads what the real program reads"
)]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
