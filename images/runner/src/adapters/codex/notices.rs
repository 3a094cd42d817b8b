//! What Codex says without being asked. Nested agents have threads of their own, and a resumed thread tells of
//! turns of the past: only what belongs to our turn counts.

use std::time::Duration;

use protocol::{EventBody, LogLevel};
use serde_json::Value;

use super::items::is_use;
use super::{Call, REST_TIMER, Run, verdict, wait};
use crate::adapter::{Activity, Output};
use crate::adapters::ending::Fault;
use crate::adapters::frame::{log, text};

/// `turn/completed` follows the thread's rest within this time.
const REST: Duration = Duration::from_secs(1);

impl Run {
    /// Something was said.
    pub(super) fn notice(
        &mut self,
        method: &str,
        params: &Value,
        line: &str,
        out: &mut Vec<Output>,
    ) {
        let thread = params.get("threadId").and_then(Value::as_str);
        let foreign = thread.is_some_and(|thread| Some(thread) != self.thread.as_deref());
        let turn = params.get("turn").unwrap_or(&Value::Null);
        let turn_id = match text(params, "turnId") {
            "" => text(turn, "id"),
            id => id,
        };
        let ours = !foreign && self.turn.as_deref() == Some(turn_id);
        let item = params.get("item").unwrap_or(&Value::Null);
        if ours && let Some(fault) = self.passed_by(method, params, item) {
            self.fail(fault, out);
            return;
        }
        let mut events = Vec::new();
        if ours && method.starts_with("item/") {
            out.push(Output::Activity(Activity::Frame));
        }
        match method {
            "turn/started" if !foreign && self.rpc.waits(Call::Turn) => {
                self.began(turn_id.to_owned(), out);
            }
            "turn/completed" if ours => {
                let judgement = verdict::judge(turn, self.items.answer(), self.interrupted);
                self.judged(judgement, out);
            }
            "item/started" if ours => {
                self.steered(item, out);
                self.items.started(item, &mut events);
            }
            "item/completed" if ours => self.items.completed(item, &mut events),
            "item/agentMessage/delta"
            | "item/reasoning/textDelta"
            | "item/reasoning/summaryTextDelta"
            | "item/reasoning/summaryPartAdded"
                if ours =>
            {
                self.items.delta(method, params, &mut events);
            }
            "mcpServer/startupStatus/updated" => self.server_told(params, out),
            "thread/tokenUsage/updated" if !foreign => {
                let usage = params.get("tokenUsage").unwrap_or(&Value::Null);
                self.meter.told(usage, ours);
                if ours {
                    out.push(Output::Activity(Activity::ModelTurn));
                }
            }
            "thread/status/changed" => {
                if !foreign && self.turn.is_some() && rests(params) {
                    wait(REST_TIMER, REST, out);
                }
            }
            "error" if ours => self.error(params, &mut events, out),
            "warning" | "configWarning" | "deprecationNotice" if !foreign => {
                let words = match text(params, "message") {
                    "" => text(params, "summary"),
                    message => message,
                };
                events.push(log(LogLevel::Info, words));
            }
            // Of other threads and turns, or signs of life of what comes whole later.
            _ if foreign || method.starts_with("item/") || method.starts_with("turn/") => {}
            "thread/started"
            | "thread/tokenUsage/updated"
            | "account/rateLimits/updated"
            | "remoteControl/status/changed"
            | "hook/started"
            | "hook/completed"
            | "serverRequest/resolved" => {}
            _ => events.push(log(LogLevel::Debug, line)),
        }
        out.extend(events.into_iter().map(Output::Event));
    }

    /// The end of the run, when a tool is used that nobody has looked at. What an interrupt ended is told in any way.
    fn passed_by(&mut self, method: &str, params: &Value, item: &Value) -> Option<Fault> {
        if self.interrupted {
            return None;
        }
        match method {
            "hook/completed" => self.gate.hook_ended(params),
            "item/started" if is_use(item) => self.gate.passed_by(item, false),
            "item/completed" if is_use(item) => self.gate.passed_by(item, true),
            "item/commandExecution/terminalInteraction" => self.gate.typed(params),
            _ => None,
        }
    }

    fn error(&mut self, params: &Value, events: &mut Vec<EventBody>, out: &mut Vec<Output>) {
        let fault = verdict::fault(params.get("error").unwrap_or(&Value::Null));
        let retries = params.get("willRetry").and_then(Value::as_bool) == Some(true);
        if retries {
            out.push(Output::Activity(Activity::Retrying(fault.class)));
            events.push(log(LogLevel::Warn, fault.message));
        } else {
            events.push(EventBody::Error {
                content: fault.message.clone(),
            });
            self.fault = Some(fault);
        }
    }
}

/// True for the status of a thread in which nothing happens.
fn rests(params: &Value) -> bool {
    let status = params
        .get("status")
        .map_or("", |status| text(status, "type"));
    matches!(status, "idle" | "systemError")
}
