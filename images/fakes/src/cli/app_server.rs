//! Any agent behind an app-server, as its protocol is described: JSON-RPC without its version's field, one object a line.

use std::io;

use serde_json::{Value, json};

use crate::arguments::{Given, Known};
use crate::input::{Incoming, Input};
use crate::play::{Voice, play};
use crate::store::Conversation;
use crate::{complain, write};

const KNOWN: Known = Known {
    values: &["--listen"],
    switches: &[],
};
const TURN: &str = "turn-1";

struct Server {
    thread: Option<Conversation>,
    initialized: bool,
}

struct Talker {
    thread: String,
    items: u32,
}

pub(crate) fn run(arguments: &[String]) -> io::Result<u8> {
    let given = match Given::read(&KNOWN, arguments) {
        Ok(given) => given,
        Err(words) => return complain(&format!("error: {words}")).map(|()| 2),
    };
    if given.words != ["app-server"] || given.value("--listen") != Some("stdio://") {
        return complain("this stand-in is an app-server on stdio alone").map(|()| 2);
    }
    let mut server = Server {
        thread: None,
        initialized: false,
    };
    let input = Input::read();
    loop {
        match input.next()? {
            Incoming::Frame(frame) => server.call(&frame)?,
            Incoming::End => return Ok(0),
            Incoming::Nothing => {}
        }
    }
}

impl Server {
    fn call(&mut self, frame: &Value) -> io::Result<()> {
        let (id, params) = (&frame["id"], &frame["params"]);
        let method = frame["method"].as_str().unwrap_or_default();
        if id.is_null() {
            return Ok(());
        }
        let result = match (method, self.initialized) {
            ("initialize", _) => {
                self.initialized = true;
                Ok(json!({"userAgent": "house/1.0.0 (linux)", "platformFamily": "unix"}))
            }
            (_, false) => Err("Not initialized".to_owned()),
            ("thread/start" | "thread/resume", true) => self.open(method, params)?,
            ("turn/start", true) => return self.turn(id, params),
            _ => Err(format!("unknown method {method}")),
        };
        answer(id, result)
    }

    fn open(&mut self, method: &str, params: &Value) -> io::Result<Result<Value, String>> {
        if params["cwd"].as_str().is_none_or(str::is_empty) {
            return Ok(Err("cwd is missing".to_owned()));
        }
        let asked = (method == "thread/resume").then(|| params["threadId"].as_str().unwrap_or(""));
        let new = uuid::Uuid::now_v7().to_string();
        self.thread = Conversation::open("app-server", asked, &new)?;
        let Some(thread) = &self.thread else {
            let asked = asked.unwrap_or_default();
            return Ok(Err(format!("no rollout found for thread id {asked}")));
        };
        let model = params["model"].as_str().unwrap_or("fake-model");
        Ok(Ok(json!({"thread": {"id": thread.id}, "model": model})))
    }

    fn turn(&self, id: &Value, params: &Value) -> io::Result<()> {
        let thread = self.thread.as_ref();
        let Some(thread) = thread.filter(|thread| params["threadId"] == *thread.id) else {
            return answer(id, Err("thread not found".to_owned()));
        };
        answer(id, Ok(json!({"turn": {"id": TURN}})))?;
        let prompt = params["input"][0]["text"].as_str().unwrap_or_default();
        let mut talker = Talker {
            thread: thread.id.clone(),
            items: 0,
        };
        play(&mut talker, thread, prompt).map(drop)
    }
}

fn answer(id: &Value, result: Result<Value, String>) -> io::Result<()> {
    write(&match result {
        Ok(result) => json!({"id": id, "result": result}),
        Err(words) => json!({"id": id, "error": {"code": -32600, "message": words}}),
    })
}

impl Talker {
    fn tell(&self, method: &str, mut params: Value) -> io::Result<()> {
        params["threadId"] = self.thread.as_str().into();
        params["turnId"] = TURN.into();
        write(&json!({"method": method, "params": params}))
    }

    fn item(&self, state: &str, item: &Value) -> io::Result<()> {
        self.tell(&format!("item/{state}"), json!({"item": item}))
    }

    fn next(&mut self) -> String {
        self.items += 1;
        format!("item-{}", self.items)
    }
}

impl Voice for Talker {
    fn begins(&mut self, _session: &str) -> io::Result<()> {
        self.tell(
            "thread/status/changed",
            json!({"status": {"type": "active"}}),
        )?;
        self.tell("turn/started", json!({"turn": {"id": TURN}}))
    }

    fn says(&mut self, words: &str) -> io::Result<()> {
        let id = self.next();
        self.item(
            "started",
            &json!({"type": "agentMessage", "id": id, "text": ""}),
        )?;
        self.tell(
            "item/agentMessage/delta",
            json!({"itemId": id, "delta": words}),
        )?;
        self.item(
            "completed",
            &json!({"type": "agentMessage", "id": id, "text": words}),
        )
    }

    fn thinks(&mut self, words: &str) -> io::Result<()> {
        let id = self.next();
        let item = json!({"type": "reasoning", "id": id, "summary": [words], "content": []});
        self.item("completed", &item)
    }

    fn runs(&mut self, call: &str, command: &str) -> io::Result<()> {
        let item = json!({"type": "commandExecution", "id": call, "command": command, "cwd": "/", "status": "inProgress"});
        self.item("started", &item)
    }

    fn ran(&mut self, call: &str, command: &str, output: &str, code: i32) -> io::Result<()> {
        let status = if code == 0 { "completed" } else { "failed" };
        let item = json!({
            "type": "commandExecution", "id": call, "command": command, "cwd": "/", "status": status,
            "aggregatedOutput": output, "exitCode": code,
        });
        self.item("completed", &item)
    }

    fn ends(&mut self, ended: Result<&str, &str>) -> io::Result<u8> {
        let spent = json!({
            "inputTokens": 10, "cachedInputTokens": 3, "cacheWriteInputTokens": 0, "outputTokens": 5,
            "reasoningOutputTokens": 1, "totalTokens": 15,
        });
        let usage = json!({"last": spent, "total": spent});
        self.tell("thread/tokenUsage/updated", json!({"tokenUsage": usage}))?;
        self.tell("thread/status/changed", json!({"status": {"type": "idle"}}))?;
        let turn = match ended {
            Ok(_) => json!({"id": TURN, "status": "completed", "error": null}),
            Err(words) => {
                let error = json!({"message": words, "codexErrorInfo": "other"});
                json!({"id": TURN, "status": "failed", "error": error})
            }
        };
        self.tell("turn/completed", json!({"turn": turn}))?;
        Ok(0)
    }
}
