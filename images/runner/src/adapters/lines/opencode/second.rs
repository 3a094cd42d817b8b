//! The service of opencode's second version: its `run` only follows what the service does, so an interrupt, and the
//! question whether a turn is done, are calls of the program of their own (`opencode api`). No program of it could be had:
//! this is from descriptions and from what is published of it.

use std::collections::BTreeMap;

use protocol::limits;
use serde_json::Value;

use super::RESERVED;
use crate::adapter::Launch;
use crate::adapters::flags;
use crate::adapters::frame::text;

/// Bytes of a conversation's name.
const NAME_BYTES: usize = 128;
/// Tools of one step of which the state is kept.
const TOOLS: usize = 1000;

/// How the service of a run is called.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Service {
    /// The program, and what stands before its own arguments.
    program: Vec<String>,
    /// The address of one that is not the program's own.
    server: Option<String>,
}

impl Service {
    /// That of a run; none of one that brings its own, which ends with it.
    pub(super) fn of(launch: &Launch) -> Option<Self> {
        let (prefix, _) = flags::keep_prefix(&launch.launch_prefix, RESERVED);
        let (args, _) = flags::keep(&launch.args, RESERVED, "");
        let (custom, _) = flags::keep(&launch.custom_args, RESERVED, "");
        let all: Vec<_> = prefix.iter().chain(&args).chain(&custom).collect();
        let alone = |arg: &&String| *arg == "--standalone" || arg.starts_with("--standalone=");
        if all.iter().any(alone) {
            return None;
        }
        let server = all.iter().enumerate().rev().find_map(|(at, arg)| {
            let inline = arg.strip_prefix("--server=").map(str::to_owned);
            let next = || all.get(at + 1).map(ToString::to_string);
            inline.or_else(|| next().filter(|_| *arg == "--server"))
        });
        let mut program = launch.command.clone();
        if program.is_empty() {
            program.push("opencode".to_owned());
        }
        // What stands in the prefix is before the word that says what it shall do.
        program.extend(prefix);
        Some(Self { program, server })
    }

    /// The call that ends what it does in a conversation.
    pub(super) fn interrupt(&self, session: &str) -> Option<Vec<String>> {
        self.call("POST", session, "interrupt")
    }

    /// The call that tells of a conversation's two newest records.
    pub(super) fn newest(&self, session: &str) -> Option<Vec<String>> {
        self.call("GET", session, "message?order=desc&limit=2")
    }

    /// None for a name that would lead elsewhere.
    fn call(&self, method: &str, session: &str, what: &str) -> Option<Vec<String>> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_name = (1..=NAME_BYTES).contains(&session.len()) && session.bytes().all(plain);
        if !is_name {
            return None;
        }
        let mut call = self.program.clone();
        let path = format!("/api/session/{session}/{what}");
        call.extend(["api".to_owned(), method.to_owned(), path]);
        if let Some(server) = &self.server {
            call.extend(["--server".to_owned(), server.clone()]);
        }
        Some(call)
    }
}

/// What the stream told of a step, by which the service's record of it is known again.
#[derive(Debug, Default)]
pub(super) struct Seen {
    message: String,
    words: String,
    /// How each tool ended, by its id.
    tools: BTreeMap<String, String>,
    /// It is of several messages, or more than is kept: no record is known to be of it.
    unclear: bool,
}

impl Seen {
    /// Takes note of a frame of the step, and whether it is of our conversation.
    pub(super) fn note(&mut self, kind: &str, part: &Value, is_ours: bool) {
        let message = text(part, "messageID");
        if self.message.is_empty() && kind == "step_start" {
            message.clone_into(&mut self.message);
        }
        match kind {
            "step_start" | "reasoning" => {}
            "text" => {
                let words = text(part, "text");
                self.unclear |= self.words.len() + words.len() > limits::BODY_BYTES;
                if !self.unclear {
                    self.words.push_str(words);
                }
            }
            "tool_use" => {
                let status = text(part.get("state").unwrap_or(&Value::Null), "status");
                let id = text(part, "id");
                self.unclear |= id.is_empty() || !ended(status) || self.tools.len() >= TOOLS;
                if !self.unclear {
                    self.tools.insert(id.to_owned(), status.to_owned());
                }
            }
            _ => return,
        }
        self.unclear |= !is_ours || message.is_empty() || message != self.message;
    }

    /// Whether the two newest records say that the turn is done, and that this step was its last: anything else may be of
    /// another turn.
    pub(super) fn is_done(&self, answer: &[u8]) -> bool {
        let page: Value = serde_json::from_slice(answer).unwrap_or_default();
        let Some([idle, reply]) = page["data"].as_array().map(Vec::as_slice) else {
            return false;
        };
        let rests = text(idle, "type") == "idle" && text(idle, "outcome") == "succeeded";
        let is_ours = text(reply, "type") == "assistant" && text(reply, "id") == self.message;
        let completed = reply["time"]["completed"].as_f64();
        let is_whole = text(reply, "finish") == "stop"
            && reply["error"].is_null()
            && completed.is_some_and(|at| at > 0.0);
        let (mut words, mut tools) = (String::new(), BTreeMap::new());
        for part in reply["content"].as_array().into_iter().flatten() {
            match text(part, "type") {
                "text" => words.push_str(text(part, "text")),
                "reasoning" => {}
                "tool" => {
                    let status = text(&part["state"], "status");
                    tools.insert(text(part, "id").to_owned(), status.to_owned());
                }
                _ => return false,
            }
        }
        let is_something = !words.is_empty() || !tools.is_empty();
        let is_known = !self.unclear && !self.message.is_empty() && is_something;
        rests && is_ours && is_whole && is_known && words == self.words && tools == self.tools
    }
}

fn ended(status: &str) -> bool {
    matches!(status, "completed" | "error")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{launch, words};

    fn service(prefix: &[&str], args: &[&str]) -> Option<Service> {
        Service::of(&Launch {
            command: words(&["/opt/opencode"]),
            launch_prefix: words(prefix),
            args: words(args),
            ..launch()
        })
    }

    #[test]
    fn a_call_is_that_of_the_runs_own_program() {
        let called = |prefix: &[&str], args: &[&str]| {
            let call = service(prefix, args).unwrap().interrupt("ses_1").unwrap();
            call.join(" ")
        };
        let path = "api POST /api/session/ses_1/interrupt";
        assert_eq!(called(&[], &[]), format!("/opt/opencode {path}"));
        assert_eq!(
            called(
                &["--profile", "ci"],
                &["--server", "http://a", "--session", "x"]
            ),
            format!("/opt/opencode --profile ci {path} --server http://a")
        );
        assert!(called(&[], &["--server=http://b"]).ends_with(" --server http://b"));
        assert_eq!(service(&[], &["--standalone"]), None);
        assert_eq!(service(&[], &["--standalone=true"]), None);
        let plain = Service::of(&launch()).unwrap();
        assert_eq!(
            plain.newest("ses_1").unwrap().join(" "),
            "opencode api GET /api/session/ses_1/message?order=desc&limit=2"
        );
        for odd in ["", "../x", "a/b", "a?b", &"x".repeat(200)] {
            assert_eq!(plain.interrupt(odd), None, "{odd}");
        }
    }

    fn seen() -> Seen {
        let mut seen = Seen::default();
        let state = json!({"status": "completed"});
        for (kind, part) in [
            ("step_start", json!({"messageID": "msg_2"})),
            ("reasoning", json!({"messageID": "msg_2", "text": "Hm."})),
            ("text", json!({"messageID": "msg_2", "text": "All "})),
            (
                "tool_use",
                json!({"messageID": "msg_2", "id": "call_1", "state": state}),
            ),
            ("text", json!({"messageID": "msg_2", "text": "is well."})),
        ] {
            seen.note(kind, &part, true);
        }
        seen
    }

    /// The records that the service has of it.
    fn records() -> Value {
        json!({"data": [
            {"id": "msg_3", "type": "idle", "outcome": "succeeded", "time": {"created": 3}},
            {"id": "msg_2", "type": "assistant", "finish": "stop", "time": {"created": 1, "completed": 2}, "content": [
                {"type": "reasoning", "text": "Hm."},
                {"type": "text", "text": "All is "},
                {"type": "tool", "id": "call_1", "name": "bash", "state": {"status": "completed"}},
                {"type": "text", "text": "well."},
            ]},
        ], "cursor": {}})
    }

    #[test]
    fn only_records_of_this_very_step_say_that_it_is_done() {
        let done = |records: &Value| seen().is_done(records.to_string().as_bytes());
        assert!(done(&records()));
        for (at, instead) in [
            ("/data/0/type", json!("user")),
            ("/data/0/outcome", json!("interrupted")),
            ("/data/1/type", json!("user")),
            ("/data/1/id", json!("msg_1")),
            ("/data/1/finish", json!("tool-calls")),
            ("/data/1/error", json!({"message": "no"})),
            ("/data/1/time/completed", json!(null)),
            ("/data/1/content/1/text", json!("Nothing is ")),
            ("/data/1/content/2/id", json!("call_2")),
            ("/data/1/content/2/state/status", json!("running")),
            ("/data/1/content/0/type", json!("file")),
            ("/data/1/content", json!([])),
            ("/data", json!([])),
        ] {
            let mut other = records();
            if at == "/data/1/error" {
                other["data"][1]["error"] = instead;
            } else {
                *other.pointer_mut(at).unwrap() = instead;
            }
            assert!(!done(&other), "{at}");
        }
        let mut more = records();
        let newer = json!({"id": "msg_4", "type": "user"});
        more["data"].as_array_mut().unwrap().insert(0, newer);
        assert!(!done(&more));
        assert!(!seen().is_done(b"HTTP 404"));
    }

    #[test]
    fn a_step_that_is_not_told_clearly_is_never_done() {
        for (kind, part) in [
            ("text", json!({"messageID": "msg_1", "text": ""})),
            ("text", json!({"text": ""})),
            (
                "tool_use",
                json!({"messageID": "msg_2", "state": {"status": "error"}}),
            ),
            ("tool_use", json!({"messageID": "msg_2", "id": "call_2"})),
        ] {
            let mut unclear = seen();
            unclear.note(kind, &part, true);
            let answer = records().to_string();
            assert!(!unclear.is_done(answer.as_bytes()), "{kind} {part}");
        }
        let mut other = seen();
        other.note("text", &json!({"messageID": "msg_2", "text": ""}), false);
        assert!(!other.is_done(records().to_string().as_bytes()));
        let mut long = seen();
        let words = "x".repeat(limits::BODY_BYTES);
        long.note("text", &json!({"messageID": "msg_2", "text": words}), true);
        assert!(long.words.len() < 100 && !long.is_done(records().to_string().as_bytes()));
    }
}
