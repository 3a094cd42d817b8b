//! From what an adapter says to what the timeline takes: neighbouring text merged, values removed, everything
//! within the limits of the wire.

use protocol::{EventBody, limits};
use serde_json::{Value, json};

use crate::redact::Redactor;

/// Text that is merged goes on its way when it is longer than this.
const MERGED_BYTES: usize = 16 * 1024;
/// Most bytes of a text as JSON; the rest of an event fits into what is left of [`limits::EVENT_BYTES`].
const TEXT_BYTES: usize = limits::EVENT_BYTES - 4096;
/// Most bytes of a whole text as JSON; the rest of a request fits into what is left of [`limits::BODY_BYTES`].
const WHOLE_JSON_BYTES: usize = limits::BODY_BYTES - 4096;
/// Most bytes of names and ids.
const NAME_BYTES: usize = 256;

/// What kind of text is being merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

/// Merges neighbouring texts and shapes every event.
#[derive(Debug)]
pub struct Shaper {
    redactor: Redactor,
    open: Option<(Kind, String)>,
    whole: Option<String>,
}

impl Shaper {
    /// Removes what `redactor` finds.
    #[must_use]
    pub fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            open: None,
            whole: None,
        }
    }

    /// The whole of what the last event holds the beginning of, once.
    pub fn take_whole(&mut self) -> Option<String> {
        self.whole.take()
    }

    /// What removes values.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// True when text waits for its neighbour.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Takes an event; gives those that are complete.
    pub fn push(&mut self, body: EventBody) -> Vec<EventBody> {
        let (kind, content) = match body {
            EventBody::Text { content } => (Kind::Text, content),
            EventBody::Thinking { content } => (Kind::Thinking, content),
            body @ (EventBody::ToolUse { .. }
            | EventBody::ToolResult { .. }
            | EventBody::Status { .. }
            | EventBody::Error { .. }
            | EventBody::Log { .. }) => {
                let mut shaped = self.close();
                shaped.extend(self.shape(body));
                return shaped;
            }
        };
        let mut shaped = Vec::new();
        if self.open.as_ref().is_some_and(|(open, _)| *open != kind) {
            shaped = self.close();
        }
        let (_, text) = self.open.get_or_insert((kind, String::new()));
        text.push_str(&content);
        if text.len() > MERGED_BYTES {
            shaped.extend(self.flush());
        }
        shaped
    }

    /// Gives the open text, but keeps an end of it that may be the beginning of a secret.
    pub fn flush(&mut self) -> Vec<EventBody> {
        self.give(Redactor::open_end)
    }

    /// The same after a while in which nothing has come: the last word is whole.
    pub fn settle(&mut self) -> Vec<EventBody> {
        self.give(Redactor::begun_end)
    }

    fn give(&mut self, end: fn(&Redactor, &str) -> usize) -> Vec<EventBody> {
        let Some((kind, mut text)) = self.open.take() else {
            return Vec::new();
        };
        let rest = text.split_off(end(&self.redactor, &text));
        if !rest.is_empty() {
            self.open = Some((kind, rest));
        }
        self.shape(kind.event(text))
    }

    /// Gives all of the open text.
    pub fn close(&mut self) -> Vec<EventBody> {
        match self.open.take() {
            Some((kind, text)) => self.shape(kind.event(text)),
            None => Vec::new(),
        }
    }

    /// One event, redacted, in as many as the limits ask for. Empty texts vanish.
    fn shape(&mut self, mut body: EventBody) -> Vec<EventBody> {
        self.redactor.body(&mut body);
        match body {
            EventBody::Text { content } => each(content, |content| EventBody::Text { content }),
            EventBody::Thinking { content } => {
                each(content, |content| EventBody::Thinking { content })
            }
            EventBody::Error { content } => each(content, |content| EventBody::Error { content }),
            EventBody::Log { level, content } => {
                each(content, |content| EventBody::Log { level, content })
            }
            EventBody::ToolUse {
                tool,
                call_id,
                input,
            } => vec![EventBody::ToolUse {
                tool: cut(tool, NAME_BYTES),
                call_id: cut(call_id, NAME_BYTES),
                input: cut_input(input),
            }],
            EventBody::ToolResult {
                call_id,
                tool,
                output,
                status,
            } => {
                let output = storable(output);
                self.whole = (output.len() > limits::TOOL_OUTPUT_BYTES).then(|| whole(&output));
                vec![EventBody::ToolResult {
                    call_id: cut(call_id, NAME_BYTES),
                    tool: tool.map(|tool| cut(tool, NAME_BYTES)),
                    output: cut(output, limits::TOOL_OUTPUT_BYTES),
                    status,
                }]
            }
            EventBody::Status { status, session_id } => vec![EventBody::Status {
                status: cut(status, NAME_BYTES),
                session_id: session_id.filter(|id| id.len() <= NAME_BYTES && !id.contains('\0')),
            }],
        }
    }
}

impl Kind {
    fn event(self, content: String) -> EventBody {
        match self {
            Self::Text => EventBody::Text { content },
            Self::Thinking => EventBody::Thinking { content },
        }
    }
}

/// `text` in pieces, each an event.
fn each(text: String, event: impl Fn(String) -> EventBody) -> Vec<EventBody> {
    let text = storable(text);
    let mut pieces = Vec::new();
    let (mut start, mut length) = (0, 0);
    for (at, character) in text.char_indices() {
        let more = json_bytes(character);
        if length + more > TEXT_BYTES {
            pieces.push(event(text[start..at].to_owned()));
            (start, length) = (at, 0);
        }
        length += more;
    }
    if start < text.len() {
        pieces.push(event(text[start..].to_owned()));
    }
    pieces
}

/// As much of a text as is kept beside the timeline, and fits into a request.
fn whole(text: &str) -> String {
    let mut length = 0;
    let end = text.char_indices().find(|(at, character)| {
        length += json_bytes(*character);
        length > WHOLE_JSON_BYTES || at + character.len_utf8() > limits::TEXT_BYTES
    });
    text[..end.map_or(text.len(), |(at, _)| at)].to_owned()
}

/// Bytes of a character inside a JSON string, at most.
fn json_bytes(character: char) -> usize {
    match character {
        '"' | '\\' => 2,
        '\u{0}'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

/// Cuts at a character boundary.
fn cut(text: String, bytes: usize) -> String {
    let mut text = storable(text);
    text.truncate(text.floor_char_boundary(bytes));
    text
}

/// Databases take no NUL in a text.
fn storable(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text
    }
}

/// Arguments as they are, or their beginning where they are too long.
fn cut_input(mut input: Value) -> Value {
    clean(&mut input);
    let text = input.to_string();
    if text.len() <= TEXT_BYTES {
        return input;
    }
    json!({"cut": cut(text, limits::TOOL_OUTPUT_BYTES)})
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = storable(std::mem::take(text)),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => {
            for (name, mut field) in std::mem::take(fields) {
                clean(&mut field);
                fields.insert(storable(name), field);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use protocol::{Event, LogLevel};

    use super::*;

    fn text(content: &str) -> EventBody {
        EventBody::Text {
            content: content.into(),
        }
    }

    fn thinking(content: &str) -> EventBody {
        EventBody::Thinking {
            content: content.into(),
        }
    }

    fn error(content: &str) -> EventBody {
        EventBody::Error {
            content: content.into(),
        }
    }

    #[test]
    fn neighbours_merge_and_order_stays() {
        let mut shaper = Shaper::new(Redactor::default());
        let mut out = Vec::new();
        for body in [
            text("a"),
            text("b"),
            thinking("c"),
            thinking("d"),
            text("e"),
            error("f"),
            text("g"),
        ] {
            out.extend(shaper.push(body));
        }
        assert!(shaper.is_open());
        out.extend(shaper.close());
        assert_eq!(
            out,
            [text("ab"), thinking("cd"), text("e"), error("f"), text("g")]
        );
    }

    #[test]
    fn a_value_in_two_pieces_is_found() {
        let mut shaper = Shaper::new(Redactor::new(["sk-live-12345"]));
        let mut out = shaper.push(text("see sk-li"));
        out.extend(shaper.flush());
        out.extend(shaper.push(text("ve-12345 end")));
        out.extend(shaper.close());
        assert_eq!(out, [text("see "), text("[redacted] end")]);
    }

    #[test]
    fn what_is_cut_is_there_as_a_whole_once_and_redacted() {
        let mut shaper = Shaper::new(Redactor::new(["sk-live-12345"]));
        let result = |output: String| EventBody::ToolResult {
            call_id: "1".into(),
            tool: None,
            output,
            status: None,
        };
        shaper.push(result("short".into()));
        assert_eq!(shaper.take_whole(), None);
        let long = "ä\0".repeat(limits::TOOL_OUTPUT_BYTES);
        shaper.push(text("before"));
        let shaped = shaper.push(result(format!("{long}sk-live-12345")));
        assert_eq!(shaped.len(), 2, "the result is the last");
        let wanted = format!("{}[redacted]", long.replace('\0', "\u{fffd}"));
        assert_eq!(shaper.take_whole(), Some(wanted));
        assert_eq!(shaper.take_whole(), None);
        for (character, most) in [("x", limits::TEXT_BYTES), ("\u{1}", WHOLE_JSON_BYTES / 6)] {
            shaper.push(result(character.repeat(2 * limits::TEXT_BYTES)));
            let kept = shaper.take_whole().unwrap();
            assert_eq!(kept.len(), most);
            let request = json!({"seq": u64::MAX, "text": kept}).to_string();
            assert!(request.len() <= limits::BODY_BYTES, "{}", request.len());
        }
    }

    #[test]
    fn empty_texts_vanish_and_nul_is_replaced() {
        let mut shaper = Shaper::new(Redactor::default());
        assert_eq!(shaper.push(error("")), []);
        assert_eq!(shaper.push(error("a\0b")), [error("a\u{fffd}b")]);
    }

    proptest! {
        #[test]
        fn every_event_fits_the_wire(
            pattern in prop_oneof![Just("\u{1}"), Just("\""), Just("ä"), Just("x\n"), Just("\0")],
            count in 0usize..90_000,
            kind in 0usize..6,
        ) {
            let long = pattern.repeat(count);
            let body = match kind {
                0 => text(&long),
                1 => error(&long),
                2 => EventBody::Log { level: LogLevel::Info, content: long.clone() },
                3 => EventBody::ToolUse { tool: long.clone(), call_id: long.clone(), input: json!({ "a": long }) },
                4 => EventBody::ToolResult {
                    call_id: long.clone(), tool: Some(long.clone()), output: long.clone(), status: None,
                },
                _ => EventBody::Status { status: long.clone(), session_id: Some(long.clone()) },
            };
            let mut shaper = Shaper::new(Redactor::default());
            let mut out = shaper.push(body);
            out.extend(shaper.close());
            let mut said = String::new();
            for body in out {
                if let EventBody::Text { content } | EventBody::Error { content } = &body {
                    said.push_str(content);
                }
                let event = Event { seq: u64::MAX, at: Timestamp::MAX, body };
                let json = serde_json::to_string(&event).unwrap();
                prop_assert!(json.len() <= limits::EVENT_BYTES, "{}", json.len());
                prop_assert!(!json.contains("\\u0000"));
            }
            if kind < 2 {
                prop_assert_eq!(said, long.replace('\0', "\u{fffd}"));
            }
        }
    }
}
