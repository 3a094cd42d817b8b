//! From the start of the program to its turn: the greeting, the hooks and servers that it has, the thread, the turn.

use protocol::{FailureClass, LogLevel};
use serde_json::{Value, json};

use super::{Call, HANDSHAKE, HANDSHAKE_TIMER, ID, Run, servers};
use crate::adapter::Output;
use crate::adapters::ending::Fault;
use crate::adapters::frame::{log, running, text};
use crate::adapters::pipes::wait;

impl Run {
    /// It is there.
    pub(super) fn greeted(&mut self, result: &Value, out: &mut Vec<Output>) {
        let agent = text(result, "userAgent");
        let version = agent.split_once('/').map_or(agent, |(_, rest)| rest);
        let version = version.split(' ').next().unwrap_or_default();
        version.clone_into(&mut self.version);
        let initialized = self.rpc.notify("initialized", None);
        self.stdin.write(initialized, out);
        if self.gate.holds() {
            let params = json!({"cwds": [self.cwd]});
            self.call(Call::Hooks, "hooks/list", &params, out);
            wait(HANDSHAKE_TIMER, HANDSHAKE, out);
        } else {
            self.read_settings(out);
        }
    }

    /// The hooks that it found.
    pub(super) fn hooks_told(&mut self, result: &Value, out: &mut Vec<Output>) {
        match self.gate.settings(result) {
            Ok(hooks) => {
                self.hooks = Some(hooks);
                self.read_settings(out);
            }
            Err(fault) => self.fail(fault, out),
        }
    }

    /// What it finds by itself, where that is to be taken from it; then the thread.
    fn read_settings(&mut self, out: &mut Vec<Output>) {
        if self.servers.is_some() && self.replaces {
            let params = json!({"cwd": self.cwd, "includeLayers": false});
            self.call(Call::Settings, "config/read", &params, out);
            wait(HANDSHAKE_TIMER, HANDSHAKE, out);
        } else {
            self.open_thread(&Value::Null, out);
        }
    }

    /// A thread, or the one that is to go on. Without `cwd` and the policies a resumed one would keep its own.
    pub(super) fn open_thread(&mut self, settings: &Value, out: &mut Vec<Output>) {
        let mut params = json!({
            "cwd": self.cwd,
            // The pod is the sandbox. Under "never" our own server could not ask either.
            "approvalPolicy": if self.gate.holds() { "on-request" } else { "never" },
            "sandbox": "danger-full-access",
        });
        if let Some(model) = &self.model {
            params["model"] = json!(model);
        }
        if let Some(servers) = &self.servers {
            let found = settings.get("mcp_servers").unwrap_or(&Value::Null);
            let gate = self.gate.holds().then_some(&self.gate_server);
            params["config"]["mcp_servers"] = servers::table(servers, found, gate);
        }
        if let Some(hooks) = &self.hooks {
            params["config"]["hooks"] = hooks.clone();
        }
        let method = match &self.asked {
            Some(thread) => {
                params["threadId"] = json!(thread);
                // Else the whole history comes in one line.
                params["excludeTurns"] = json!(true);
                "thread/resume"
            }
            None => "thread/start",
        };
        self.call(Call::Thread, method, &params, out);
        wait(HANDSHAKE_TIMER, HANDSHAKE, out);
    }

    pub(super) fn opened(&mut self, result: &Value, out: &mut Vec<Output>) {
        let thread = result.get("thread").map_or("", |thread| text(thread, "id"));
        if thread.is_empty() {
            let words = format!("{} named no thread", self.name);
            let fault = Fault::new(FailureClass::CliCrashed, words);
            self.fail(fault, out);
            return;
        }
        if let Some(asked) = self.asked.as_deref().filter(|asked| *asked != thread) {
            let name = self.name;
            let words = format!("{name} opened thread {thread} where {asked} was asked for");
            self.reject(words, out);
            return;
        }
        self.thread = Some(thread.to_owned());
        self.meter.model(result);
        let title = if self.name == ID { "Codex" } else { self.name };
        let headline = format!("{title} {} with {}", self.version, text(result, "model"));
        out.push(Output::Event(log(LogLevel::Info, headline)));
        self.begin_with_servers(out);
    }

    pub(super) fn start_turn(&mut self, out: &mut Vec<Output>) {
        let mut params = json!({
            "threadId": self.thread,
            "input": [{"type": "text", "text": self.message}],
        });
        if let Some(level) = &self.thinking {
            params["effort"] = json!(level);
        }
        if let Some(tier) = &self.service_tier {
            params["serviceTier"] = json!(tier);
        }
        self.call(Call::Turn, "turn/start", &params, out);
        wait(HANDSHAKE_TIMER, HANDSHAKE, out);
    }

    /// The turn runs. Only now is the thread one that a later run can resume: before, Codex has not kept it.
    pub(super) fn began(&mut self, turn: String, out: &mut Vec<Output>) {
        if turn.is_empty() || self.turn.is_some() {
            return;
        }
        self.turn = Some(turn);
        out.push(Output::Event(running(self.thread.as_deref())));
        self.steer_early(out);
        if self.interrupted {
            self.interrupt(out);
        }
    }
}
