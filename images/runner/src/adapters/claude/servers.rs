//! MCP servers without which the turn does not begin: the message waits until Claude Code says that it has them.

use std::collections::BTreeSet;
use std::time::Duration;

use protocol::{FailureClass, limits};
use serde_json::{Value, json};

use super::Run;
use crate::adapter::{Launch, Output, TimerId};
use crate::adapters::ending::Fault;
use crate::adapters::frame::{cut, list, text};
use crate::adapters::pipes::wait;
use crate::adapters::stream_json::control;
use crate::mcp::{McpServers, WAIT};

/// They are asked for again after this long.
const AGAIN: Duration = Duration::from_millis(500);
/// Time to ask again.
pub(super) const AGAIN_TIMER: TimerId = TimerId(1);
/// They were waited for long enough.
pub(super) const LATE_TIMER: TimerId = TimerId(2);
/// The id of our question.
const STATUS: &str = "mcp-status";

/// What waits for which servers.
#[derive(Default)]
pub(super) struct Servers {
    awaited: BTreeSet<String>,
    message: Option<Vec<u8>>,
}

impl Servers {
    pub(super) fn new(launch: &Launch) -> Self {
        let required = launch.mcp.iter().flat_map(McpServers::required);
        let awaited: BTreeSet<_> = required.map(str::to_owned).collect();
        Self {
            message: (!awaited.is_empty()).then(|| control::user_message(&launch.message)),
            awaited,
        }
    }
}

/// True when the message must not follow the first frame at once.
pub(super) fn holds_message(launch: &Launch) -> bool {
    launch
        .mcp
        .iter()
        .flat_map(McpServers::required)
        .next()
        .is_some()
}

impl Run {
    /// Asks for the first time.
    pub(super) fn await_servers(&mut self, out: &mut Vec<Output>) {
        if self.servers.message.is_some() {
            wait(LATE_TIMER, WAIT, out);
            self.ask_servers(out);
        }
    }

    /// Asks how far they are.
    pub(super) fn ask_servers(&mut self, out: &mut Vec<Output>) {
        if self.servers.message.is_some() {
            let question = control::request(STATUS, &json!({"subtype": "mcp_status"}));
            self.stdin.write(question, out);
        }
    }

    /// Takes the answer, if it is one.
    pub(super) fn servers_told(&mut self, frame: &Value, out: &mut Vec<Output>) -> bool {
        let response = frame.get("response").unwrap_or(&Value::Null);
        if text(response, "request_id") != STATUS {
            return false;
        }
        if text(response, "subtype") == "error" {
            // One that cannot say it: the runner has greeted them already.
            self.servers.awaited.clear();
        }
        let told = response.get("response").unwrap_or(&Value::Null);
        for server in list(told, "mcpServers") {
            let name = text(server, "name");
            match text(server, "status") {
                "connected" => {
                    self.servers.awaited.remove(name);
                }
                "pending" => {}
                status if self.servers.awaited.contains(name) => {
                    let words = format!(
                        "the MCP server {name}, which is required, cannot be used ({status}): {}",
                        text(server, "error")
                    );
                    self.lack_server(words, out);
                    return true;
                }
                _ => {}
            }
        }
        if !self.servers.awaited.is_empty() {
            wait(AGAIN_TIMER, AGAIN, out);
        } else if let Some(message) = self.servers.message.take()
            && !self.interrupted
        {
            self.stdin.write(message, out);
        }
        true
    }

    /// They are not there in time.
    pub(super) fn servers_late(&mut self, out: &mut Vec<Output>) {
        let Some(name) = self.servers.awaited.first() else {
            return;
        };
        let seconds = WAIT.as_secs();
        let words =
            format!("the MCP server {name}, which is required, was not there within {seconds} s");
        self.lack_server(words, out);
    }

    fn lack_server(&mut self, words: String, out: &mut Vec<Output>) {
        let words = cut(words, limits::MESSAGE_BYTES);
        self.judgement = Some(Err(Fault::new(FailureClass::PrepareFailed, words)));
        self.finish(None, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::CLAUDE;
    use super::*;
    use crate::adapter::{Adapter, Input, Provider as _};
    use crate::testing::{launch, mcp_servers};

    fn given() -> Launch {
        Launch {
            mcp: Some(mcp_servers()),
            ..launch()
        }
    }

    fn told(adapter: &mut dyn Adapter, status: &str) -> Vec<Output> {
        let frame = json!({"type": "control_response", "response": {"subtype": "success", "request_id": STATUS,
            "response": {"mcpServers": [{"name": "files", "status": status, "error": "no such file"}, {"name": "web", "status": "failed"}]}}});
        let mut out = Vec::new();
        adapter.handle(Input::Stdout(frame.to_string().as_bytes()), &mut out);
        out
    }

    fn written(out: &[Output]) -> String {
        let bytes = out.iter().filter_map(|output| match output {
            Output::Write(bytes) => Some(String::from_utf8_lossy(bytes)),
            Output::Event(_)
            | Output::CloseStdin
            | Output::SetTimer { .. }
            | Output::Steered { .. }
            | Output::Ask { .. }
            | Output::Withdrawn { .. }
            | Output::Run { .. }
            | Output::EndProcesses { .. }
            | Output::Activity(_)
            | Output::Done(_) => None,
        });
        bytes.collect()
    }

    #[test]
    fn the_message_waits_for_what_is_required_and_for_nothing_else() {
        let (line, mut adapter) = CLAUDE.launch(&given());
        assert!(!String::from_utf8_lossy(&line.stdin).contains("\"user\""));
        let mut out = Vec::new();
        adapter.handle(Input::Started, &mut out);
        assert!(written(&out).contains("mcp_status"));

        let out = told(adapter.as_mut(), "pending");
        assert!(
            matches!(
                out[..],
                [Output::SetTimer {
                    id: AGAIN_TIMER,
                    ..
                }]
            ),
            "{out:?}"
        );
        assert!(written(&told(adapter.as_mut(), "connected")).contains("please"));
        assert_eq!(told(adapter.as_mut(), "connected"), [], "once");

        // Nobody waits for what nobody requires.
        let mut servers = mcp_servers();
        servers.0[0].required = false;
        let free = Launch {
            mcp: Some(servers),
            ..launch()
        };
        let (line, _) = CLAUDE.launch(&free);
        assert!(String::from_utf8_lossy(&line.stdin).contains("please"));
    }

    #[test]
    fn without_it_the_turn_does_not_begin() {
        for late in [false, true] {
            let (_, mut adapter) = CLAUDE.launch(&given());
            let mut out = Vec::new();
            adapter.handle(Input::Started, &mut out);
            if late {
                adapter.handle(Input::Timer(LATE_TIMER), &mut out);
            } else {
                out = told(adapter.as_mut(), "failed");
            }
            let Some(Output::Done(result)) = out.last() else {
                panic!("{out:?}");
            };
            assert_eq!(result.outcome.class(), Some(FailureClass::PrepareFailed));
            assert!(format!("{:?}", result.outcome).contains("server files"));
        }
    }
}
