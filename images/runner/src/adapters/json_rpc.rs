//! The client's side of JSON-RPC, one object a line: it numbers our calls and says what a line is. What the
//! methods mean is the adapters' business.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::frame::{cut, parse, text};

/// Code of the answer to a method that is not served here.
const METHOD_NOT_FOUND: i64 = -32601;
/// Bytes of a failure's words.
const WORDS_BYTES: usize = 2048;

/// Whether frames carry the member `jsonrpc`. Codex leaves it out and wants it left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// `"jsonrpc": "2.0"`.
    Said,
    /// Nothing.
    Unsaid,
}

/// The calls of one run. `C` names a call, so that its answer is known for what it is.
#[derive(Debug)]
pub(super) struct Client<C> {
    version: Version,
    last: u64,
    open: BTreeMap<u64, C>,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Incoming<C> {
    /// The answer to a call of ours.
    Answer {
        /// Which.
        call: C,
        /// What came back.
        result: Result<Value, Refusal>,
    },
    /// The other side wants an answer.
    Request {
        /// Goes back as it came, whatever its type.
        id: Value,
        /// What it wants.
        method: String,
        /// Of what.
        params: Value,
    },
    /// The other side says something. Also a frame that looks like a request but has no id.
    Notice {
        /// What.
        method: String,
        /// The particulars.
        params: Value,
    },
    /// A frame that answers no open call, or no frame at all.
    Other,
}

/// An error object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Refusal {
    /// Its code; zero when there is none.
    pub(super) code: i64,
    /// Its message, and what its data says in words.
    pub(super) words: String,
}

impl<C: Copy + PartialEq> Client<C> {
    /// A client that has called nothing yet.
    pub(super) fn new(version: Version) -> Self {
        Self {
            version,
            last: 0,
            open: BTreeMap::new(),
        }
    }

    /// The line of a call. How many may be open is up to the adapter, which makes each of them once.
    pub(super) fn call(&mut self, call: C, method: &str, params: &Value) -> Vec<u8> {
        self.last += 1;
        self.open.insert(self.last, call);
        self.line(json!({"id": self.last, "method": method, "params": params}))
    }

    /// The line of a notification.
    pub(super) fn notify(&self, method: &str, params: Option<&Value>) -> Vec<u8> {
        let mut frame = json!({"method": method});
        if let (Some(frame), Some(params)) = (frame.as_object_mut(), params) {
            frame.insert("params".to_owned(), params.clone());
        }
        self.line(frame)
    }

    /// The line that answers a request.
    pub(super) fn answer(&self, id: &Value, result: &Value) -> Vec<u8> {
        self.line(json!({"id": id, "result": result}))
    }

    /// The line that refuses a request: an unanswered one could stop the other side for good.
    pub(super) fn refuse(&self, id: &Value, method: &str) -> Vec<u8> {
        let error =
            json!({"code": METHOD_NOT_FOUND, "message": format!("not served here: {method}")});
        self.line(json!({"id": id, "error": error}))
    }

    /// True while a call waits for its answer.
    pub(super) fn waits(&self, call: C) -> bool {
        self.open.values().any(|open| *open == call)
    }

    /// What a line of the other side is.
    pub(super) fn read(&mut self, line: &str) -> Incoming<C> {
        let Some(mut frame) = parse(line) else {
            return Incoming::Other;
        };
        let id = frame.get_mut("id").map_or(Value::Null, Value::take);
        let method = text(&frame, "method").to_owned();
        if !method.is_empty() {
            let params = frame.get_mut("params").map_or(Value::Null, Value::take);
            return if id.is_null() {
                Incoming::Notice { method, params }
            } else {
                Incoming::Request { id, method, params }
            };
        }
        // Some give a number back as a string.
        let number = id
            .as_u64()
            .or_else(|| id.as_str().and_then(|id| id.parse().ok()));
        let Some(call) = number.and_then(|number| self.open.remove(&number)) else {
            return Incoming::Other;
        };
        let result = match frame.get("error") {
            Some(error) if !error.is_null() => Err(Refusal::read(error)),
            Some(_) | None => Ok(frame.get_mut("result").map_or(Value::Null, Value::take)),
        };
        Incoming::Answer { call, result }
    }

    fn line(&self, frame: Value) -> Vec<u8> {
        let mut members = Map::new();
        if self.version == Version::Said {
            members.insert("jsonrpc".to_owned(), Value::from("2.0"));
        }
        if let Value::Object(frame) = frame {
            members.extend(frame);
        }
        let mut line = Value::Object(members).to_string().into_bytes();
        line.push(b'\n');
        line
    }
}

impl Refusal {
    fn read(error: &Value) -> Self {
        let message = error.as_str().unwrap_or_else(|| text(error, "message"));
        let data = error.get("data").unwrap_or(&Value::Null);
        let more = ["details", "detail", "message"]
            .iter()
            .map(|key| text(data, key))
            .find(|words| !words.is_empty())
            .or_else(|| data.as_str())
            .unwrap_or_default();
        let words = match (message, more) {
            (message, "") => message.to_owned(),
            ("", more) => more.to_owned(),
            (message, more) => format!("{message}: {more}"),
        };
        Self {
            code: error
                .get("code")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            words: cut(words, WORDS_BYTES),
        }
    }

    /// True when the other side does not know the method.
    pub(super) fn is_unknown_method(&self) -> bool {
        self.code == METHOD_NOT_FOUND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Call {
        First,
        Second,
    }

    fn client() -> Client<Call> {
        let mut client = Client::new(Version::Said);
        client.call(Call::First, "first", &json!({}));
        client.call(Call::Second, "second", &json!({}));
        client
    }

    fn text_of(line: &[u8]) -> &str {
        std::str::from_utf8(line).unwrap()
    }

    #[test]
    fn lines_are_as_the_protocol_has_them() {
        let mut plain = Client::new(Version::Unsaid);
        let line = plain.call(Call::First, "go", &json!({"a": "x\ny"}));
        assert_eq!(
            text_of(&line),
            "{\"id\":1,\"method\":\"go\",\"params\":{\"a\":\"x\\ny\"}}\n"
        );
        assert_eq!(
            text_of(&plain.notify("told", None)),
            "{\"method\":\"told\"}\n"
        );
        let said = client();
        let answer = said.answer(&json!("zc-1"), &json!({}));
        assert_eq!(
            text_of(&answer),
            "{\"id\":\"zc-1\",\"jsonrpc\":\"2.0\",\"result\":{}}\n"
        );
        let refusal: Value = serde_json::from_slice(&said.refuse(&json!(0), "fs/x")).unwrap();
        assert_eq!(
            (&refusal["id"], &refusal["error"]["code"]),
            (&json!(0), &json!(-32601))
        );
    }

    #[test]
    fn answers_find_their_call_once_and_in_any_order() {
        let mut client = client();
        assert!(client.waits(Call::First));
        let second = client.read(r#"{"id":"2","result":{"x":1}}"#);
        assert_eq!(
            second,
            Incoming::Answer {
                call: Call::Second,
                result: Ok(json!({"x": 1}))
            }
        );
        assert_eq!(client.read(r#"{"id":2,"result":{}}"#), Incoming::Other);
        let first = client
            .read(r#"{"id":1,"error":{"code":-32002,"message":"no","data":{"details":"why"}}}"#);
        let refusal = Refusal {
            code: -32002,
            words: "no: why".to_owned(),
        };
        assert_eq!(
            first,
            Incoming::Answer {
                call: Call::First,
                result: Err(refusal)
            }
        );
        assert!(!client.waits(Call::First));
    }

    /// Both sides count from their own start, so a number alone says nothing.
    #[test]
    fn a_request_with_the_number_of_a_call_is_a_request() {
        let mut client = client();
        let params = json!({"p": 1});
        for (line, wanted) in [
            (
                r#"{"id":1,"method":"ask","params":{"p":1}}"#,
                Incoming::Request {
                    id: json!(1),
                    method: "ask".to_owned(),
                    params: params.clone(),
                },
            ),
            (
                r#"{"method":"ask","params":{"p":1}}"#,
                Incoming::Notice {
                    method: "ask".to_owned(),
                    params,
                },
            ),
            (r#"{"id":7,"result":{}}"#, Incoming::Other),
            (r#"{"id":[1],"result":{}}"#, Incoming::Other),
            ("[]", Incoming::Other),
            ("words", Incoming::Other),
        ] {
            assert_eq!(client.read(line), wanted, "{line}");
        }
        assert!(client.waits(Call::First));
    }

    #[test]
    fn errors_of_any_shape_have_words() {
        for (error, words) in [
            (json!({"message": "a"}), "a"),
            (json!({"message": "a", "data": "b"}), "a: b"),
            (json!({"data": {"message": "b"}}), "b"),
            (json!({"message": "a", "data": {"uri": "x"}}), "a"),
            (json!("odd"), "odd"),
            (json!(7), ""),
        ] {
            assert_eq!(Refusal::read(&error).words, words, "{error}");
        }
    }
}
