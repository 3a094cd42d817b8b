//! The calls of a client, one after the other.

use std::io;

use serde_json::{Value, json};

use super::agents::{Agent, Steer};
use super::turn::Turn;
use crate::input::{Incoming, Input};
use crate::store::Conversation;
use crate::{complain, setting, write};

/// Code of a method that is not served.
const UNKNOWN_METHOD: i64 = -32601;
/// What session/new is refused with before a login.
const NO_LOGIN: (i64, &str) = (-32000, "Authentication required");

/// An agent that serves its client.
pub(super) struct Server<'a> {
    pub(super) agent: &'a Agent,
    pub(super) input: Input,
    initialized: bool,
    logged_in: bool,
    /// Options that were set.
    set: Vec<(String, String)>,
    conversation: Option<Conversation>,
    closed: bool,
}

/// A refusal: its code and its words.
pub(super) type Refused = (i64, String);

/// Serves until the client goes. Gives the exit code.
pub(crate) fn run(agent: &Agent, arguments: &[String]) -> io::Result<u8> {
    if arguments == ["--version"] {
        crate::line(agent.version)?;
        return Ok(0);
    }
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    if !words.starts_with(agent.first) || !words.ends_with(agent.last) {
        complain(&format!("error: unexpected arguments {words:?}"))?;
        return Ok(2);
    }
    let mut server = Server {
        agent,
        input: Input::read(),
        initialized: false,
        logged_in: agent.login.is_none(),
        set: Vec::new(),
        conversation: None,
        closed: false,
    };
    loop {
        match server.input.next()? {
            Incoming::Frame(frame) => {
                if let Some(code) = server.call(&frame)? {
                    return Ok(code);
                }
            }
            Incoming::End if agent.ends || (agent.closes && server.closed) => return Ok(0),
            Incoming::End | Incoming::Nothing => loop {
                std::thread::park();
            },
        }
    }
}

pub(super) fn answer(id: &Value, result: Result<Value, Refused>) -> io::Result<()> {
    match result {
        Ok(result) => write(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err((code, words)) => {
            write(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}}))
        }
    }
}

fn refused<T>((code, words): (i64, &str)) -> Result<T, Refused> {
    Err((code, words.to_owned()))
}

impl Server<'_> {
    /// One call. Gives an exit code where it ends the process.
    fn call(&mut self, frame: &Value) -> io::Result<Option<u8>> {
        let id = &frame["id"];
        let params = &frame["params"];
        let method = frame["method"].as_str().unwrap_or_default();
        if id.is_null() {
            return Ok(None);
        }
        if method != "initialize" && !self.initialized {
            // Some die of a call that comes too early.
            complain("panic: not initialized")?;
            return Ok(Some(101));
        }
        if method == "session/prompt" {
            let Some(conversation) = &self.conversation else {
                answer(id, refused((-32602, "session not found")))?;
                return Ok(None);
            };
            if let Some((option, _)) = self.missing() {
                let words = format!("the option {option} was not set");
                answer(id, Err((-32603, words)))?;
                return Ok(None);
            }
            let mut turn = Turn::new(self.agent, &self.input, conversation, id);
            return turn.play(params);
        }
        let result = match method {
            "initialize" => Ok(self.initialize()),
            "authenticate" => self.log_in(params),
            "session/new" => self.new_session(params)?,
            "session/set_model" if self.agent.models => Ok(json!({})),
            "session/set_config_option" if !self.agent.needs.is_empty() => {
                let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
                self.set.push((text("configId"), text("value")));
                Ok(json!({}))
            }
            "session/close" if self.agent.closes => {
                self.closed = true;
                Ok(json!({}))
            }
            _ if method == self.agent.goes_on => self.go_on(params)?,
            other => Err((UNKNOWN_METHOD, format!("Method not found: {other}"))),
        };
        answer(id, result)?;
        Ok(None)
    }

    fn missing(&self) -> Option<&'static (&'static str, &'static str)> {
        let is_set = |wanted: &(&str, &str)| {
            let mut set = self.set.iter();
            set.any(|(id, value)| (id.as_str(), value.as_str()) == *wanted)
        };
        self.agent.needs.iter().find(|wanted| !is_set(wanted))
    }

    fn initialize(&mut self) -> Value {
        self.initialized = true;
        let agent = self.agent;
        let mut capabilities = json!({
            "loadSession": agent.goes_on == "session/load",
            "sessionCapabilities": {},
            "mcpCapabilities": {"http": true, "sse": agent.name != "reasonix"},
        });
        if agent.goes_on == "session/resume" {
            capabilities["sessionCapabilities"]["resume"] = json!({});
        }
        if agent.steer == Steer::Named {
            capabilities["_meta"] =
                json!({"reasonix.io": {"sessionSteer": {"method": "_reasonix.io/session/steer"}}});
        }
        let logins: Vec<_> = agent
            .login
            .iter()
            .map(|id| json!({"id": id, "name": id}))
            .collect();
        json!({
            "protocolVersion": 1, "agentInfo": {"name": agent.name, "version": agent.version},
            "agentCapabilities": capabilities, "authMethods": logins,
        })
    }

    fn log_in(&mut self, params: &Value) -> Result<Value, Refused> {
        if params["methodId"].as_str() != self.agent.login || params["_meta"]["headless"] != true {
            return refused((-32602, "no such way to log in"));
        }
        if setting("FAKE_NO_LOGIN").is_some() {
            return refused(NO_LOGIN);
        }
        self.logged_in = true;
        Ok(json!({}))
    }

    fn new_session(&mut self, params: &Value) -> io::Result<Result<Value, Refused>> {
        if !self.logged_in || (self.agent.login.is_none() && setting("FAKE_NO_LOGIN").is_some()) {
            return Ok(refused(NO_LOGIN));
        }
        if params["cwd"].as_str().is_none_or(str::is_empty) {
            return Ok(refused((-32602, "cwd is missing")));
        }
        let id = format!("session-{}", uuid::Uuid::now_v7());
        self.conversation = Conversation::open(self.agent.name, None, &id)?;
        let mut session = self.session();
        session["sessionId"] = json!(id);
        Ok(Ok(session))
    }

    /// What is said of a session beside its id.
    fn session(&self) -> Value {
        let mut session = json!({});
        if self.agent.models {
            session["models"] = json!({
                "currentModelId": "usual",
                "availableModels": [{"modelId": "usual", "name": "Usual"}, {"modelId": "fake-model", "name": "Fake"}],
            });
        }
        let options: Vec<_> = self
            .agent
            .needs
            .iter()
            .map(|(id, value)| {
                json!({"id": id, "category": id, "currentValue": "default", "options": [{"value": "default"}, {"value": value}]})
            })
            .collect();
        if !options.is_empty() {
            session["configOptions"] = json!(options);
        }
        session
    }

    fn go_on(&mut self, params: &Value) -> io::Result<Result<Value, Refused>> {
        if !self.logged_in {
            return Ok(refused(NO_LOGIN));
        }
        let id = params["sessionId"].as_str().unwrap_or_default();
        if self.is_held()? {
            let words = match self.agent.name {
                "reasonix" => (
                    -32600,
                    "the session is in use; close the other Reasonix first",
                ),
                "zeroclaw" => (-32002, "busy"),
                _ => (-32603, "session is held by another process"),
            };
            return Ok(refused(words));
        }
        self.conversation = Conversation::open(self.agent.name, Some(id), "")?;
        match (&self.conversation, self.agent.unknown) {
            (Some(conversation), _) => {
                self.tell_again(conversation)?;
                Ok(Ok(self.loaded()))
            }
            (None, Some((code, words))) => Ok(Err((code, format!("{words}{id}")))),
            (None, None) => {
                self.conversation = Conversation::open(self.agent.name, None, id)?;
                Ok(Ok(self.loaded()))
            }
        }
    }

    /// The same of one that goes on; some say nothing of it then.
    fn loaded(&self) -> Value {
        if self.agent.name == "qwenpaw" {
            return json!({});
        }
        self.session()
    }

    /// How often it is still held is written into a file by a test.
    fn is_held(&self) -> io::Result<bool> {
        let Some(file) = setting("FAKE_HELD") else {
            return Ok(false);
        };
        let times: u32 = std::fs::read_to_string(&file)?
            .trim()
            .parse()
            .unwrap_or_default();
        std::fs::write(&file, times.saturating_sub(1).to_string())?;
        Ok(times > 0)
    }

    /// A session that is loaded tells its history.
    fn tell_again(&self, conversation: &Conversation) -> io::Result<()> {
        if self.agent.goes_on != "session/load" {
            return Ok(());
        }
        for words in &conversation.earlier {
            write(
                &json!({"jsonrpc": "2.0", "method": "session/update", "params": {
                    "sessionId": conversation.id,
                    "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": format!("history: {words}")}},
                }}),
            )?;
        }
        Ok(())
    }
}
