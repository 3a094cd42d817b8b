//! What the agent says and does, from `session/update` to events.

use std::collections::VecDeque;

use protocol::{EventBody, LogLevel, ToolStatus};
use serde_json::{Value, json};

use super::content::{content, content_words, kind_of, terminal_output};
use super::dialect::Dialect;
use super::tools;
use crate::adapters::calls::Calls;
use crate::adapters::frame::{cut, log, text};

/// Calls whose end is waited for. Past it the oldest is told as it stands and forgotten.
const OPEN: usize = 256;
/// An answer, and what its program noticed meanwhile, grow no further than this; a result holds less.
const TEXT_BYTES: usize = 2 * protocol::limits::OUTPUT_BYTES;
/// Output that comes in pieces is gathered up to this; the timeline holds less.
const OUTPUT_BYTES: usize = 8 * protocol::limits::TOOL_OUTPUT_BYTES;

/// What was said and done so far.
#[derive(Default)]
pub(super) struct Updates {
    calls: Calls,
    open: VecDeque<Call>,
    /// What was said since the last tool, and the newest block before it.
    after: String,
    before: String,
    /// The message to which the last words belong.
    message: String,
    /// What the program said in the agent's place.
    notices: String,
    active: bool,
    /// A tool that means that the work is done has succeeded.
    goal: bool,
}

/// A call that has not ended.
struct Call {
    id: String,
    tool: String,
    title: String,
    input: Value,
    /// Arguments that come as text, as far as they have.
    arguments: String,
    output: String,
    told: bool,
    /// It changes a file.
    edits: bool,
}

impl Updates {
    /// An update. False for one that is no sign that the agent works at the prompt.
    pub(super) fn update(
        &mut self,
        dialect: &Dialect,
        update: &Value,
        events: &mut Vec<EventBody>,
    ) -> bool {
        let (kind, update) = kind_of(update);
        if !matches!(kind.as_str(), "toolcall" | "toolcallupdate") {
            // Arguments come in a row; once something else comes they are whole.
            self.tell_open("", events);
        }
        let goes_on = matches!(
            kind.as_str(),
            "agentmessagechunk" | "agentthoughtchunk" | "toolcall"
        );
        if dialect.leaves_edits_open && goes_on {
            self.end_edits(text(update, "toolCallId"), events);
        }
        match kind.as_str() {
            "agentmessagechunk" if (dialect.is_notice)(update) => {
                let words = content(update);
                // These explain no failure: with them the turn went on.
                let plain = words.trim_start_matches('*');
                if !["Warning:", "Info:"]
                    .iter()
                    .any(|mark| plain.starts_with(mark))
                {
                    push(&mut self.notices, &words, TEXT_BYTES);
                }
                events.push(log(LogLevel::Warn, words.trim_end()));
            }
            "agentmessagechunk" => self.said(update, events),
            "agentthoughtchunk" => events.push(EventBody::Thinking {
                content: content(update),
            }),
            "toolcall" | "toolcallupdate" => self.call(dialect, update, kind == "toolcall", events),
            "plan" => {}
            _ => return false,
        }
        true
    }

    /// The agent asks for a permission: the call is about to be done.
    pub(super) fn asked(&mut self, dialect: &Dialect, call: &Value, events: &mut Vec<EventBody>) {
        if text(call, "toolCallId").is_empty() {
            return;
        }
        self.tell_open(text(call, "toolCallId"), events);
        let at = self.position(dialect, call, events);
        let Some(open) = self.open.get_mut(at) else {
            return;
        };
        take_input(open, call);
        self.tell(at, events);
    }

    /// A use of a tool that does not come about, of which the agent tells nothing.
    pub(super) fn refused(
        &mut self,
        call: &str,
        tool: &str,
        input: Value,
        why: String,
        events: &mut Vec<EventBody>,
    ) {
        self.tell_open(call, events);
        self.active = true;
        self.calls.start(call, tool, input, events);
        self.calls.end(call, why, ToolStatus::Failed, events);
    }

    /// The run is over.
    pub(super) fn close(&mut self, events: &mut Vec<EventBody>) {
        self.tell_open("", events);
        self.calls.close(events);
    }

    /// The turn went well, so what is open has ended well too.
    pub(super) fn end_open(&mut self, events: &mut Vec<EventBody>) {
        self.tell_open("", events);
        for at in 0..self.open.len() {
            self.tell(at, events);
        }
        for call in std::mem::take(&mut self.open) {
            self.calls
                .end(&call.id, String::new(), ToolStatus::Completed, events);
        }
    }

    /// The agent goes on, so what changes a file has done so.
    fn end_edits(&mut self, but: &str, events: &mut Vec<EventBody>) {
        while let Some(at) = (self.open.iter()).position(|call| call.edits && call.id != but) {
            self.tell(at, events);
            if let Some(call) = self.open.remove(at) {
                self.calls
                    .end(&call.id, String::new(), ToolStatus::Completed, events);
            }
        }
    }

    /// True once a tool has succeeded that means that the work is done.
    pub(super) fn reached_goal(&self) -> bool {
        self.goal
    }

    /// The agent's answer.
    pub(super) fn answer(&self) -> &str {
        let newest = if self.after.trim().is_empty() {
            &self.before
        } else {
            &self.after
        };
        newest.trim_matches('\n')
    }

    /// True when nothing was said since the last tool.
    pub(super) fn ends_with_a_tool(&self) -> bool {
        self.after.trim().is_empty()
    }

    /// What the program said in the agent's place, since the last tool.
    pub(super) fn notices(&self) -> &str {
        self.notices.trim()
    }

    /// True when the agent said or did anything.
    pub(super) fn active(&self) -> bool {
        self.active
    }

    fn said(&mut self, update: &Value, events: &mut Vec<EventBody>) {
        let mut words = content(update);
        if words.is_empty() {
            return;
        }
        let message = text(update, "messageId");
        if !message.is_empty() && message != self.message {
            if !self.after.is_empty() && !self.message.is_empty() {
                words.insert_str(0, "\n\n");
            }
            message.clone_into(&mut self.message);
        }
        self.active = true;
        push(&mut self.after, &words, TEXT_BYTES);
        events.push(EventBody::Text { content: words });
    }

    fn call(
        &mut self,
        dialect: &Dialect,
        update: &Value,
        first: bool,
        events: &mut Vec<EventBody>,
    ) {
        let id = text(update, "toolCallId");
        if id.is_empty() {
            events.push(log(LogLevel::Debug, update.to_string()));
            return;
        }
        self.tell_open(id, events);
        let status = text(update, "status");
        let ended = matches!(status, "completed" | "failed");
        let at = self.position(dialect, update, events);
        let Some(call) = self.open.get_mut(at) else {
            return;
        };
        let has_input = take_input(call, update);
        push(&mut call.output, &terminal_output(update), OUTPUT_BYTES);
        let words = content_words(update);
        if !ended && !has_input && !words.is_empty() {
            // Each is the whole so far.
            call.arguments = cut(words.clone(), OUTPUT_BYTES);
        }
        let runs = status == "in_progress" && (first || has_input);
        if ended || runs || (first && has_input) {
            self.tell(at, events);
        }
        if !ended {
            return;
        }
        let Some(call) = self.open.remove(at) else {
            return;
        };
        let raw = ["rawOutput", "output"]
            .iter()
            .find_map(|key| update.get(key).filter(|output| !output.is_null()));
        let output = match raw {
            Some(Value::String(output)) => output.clone(),
            _ if !words.is_empty() => words,
            _ if !call.output.is_empty() => call.output,
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let status = if status == "failed" {
            ToolStatus::Failed
        } else {
            ToolStatus::Completed
        };
        let succeeded = status == ToolStatus::Completed;
        self.goal |= succeeded && (dialect.is_goal)(&call.title, &call.input);
        self.calls.end(&call.id, output, status, events);
    }

    /// Where the call lies among the open ones; it is put there if it is new. Its name is that of its first
    /// frame: later titles say what it does.
    fn position(&mut self, dialect: &Dialect, call: &Value, events: &mut Vec<EventBody>) -> usize {
        let id = text(call, "toolCallId");
        if let Some(at) = self.open.iter().rposition(|open| open.id == id) {
            return at;
        }
        if self.open.len() == OPEN {
            self.tell(0, events);
            self.open.pop_front();
        }
        let title = text(call, "title");
        self.open.push_back(Call {
            id: id.to_owned(),
            tool: tools::name(dialect.tools, text(call, "name"), title, text(call, "kind")),
            title: title.to_owned(),
            input: Value::Null,
            arguments: String::new(),
            output: String::new(),
            told: false,
            edits: text(call, "kind") == "edit",
        });
        self.open.len() - 1
    }

    /// Tells the calls whose arguments are there, but for the one of which more may come.
    fn tell_open(&mut self, but: &str, events: &mut Vec<EventBody>) {
        for at in 0..self.open.len() {
            let whole = self
                .open
                .get(at)
                .is_some_and(|call| call.id != but && !call.input.is_null());
            if whole {
                self.tell(at, events);
            }
        }
    }

    fn tell(&mut self, at: usize, events: &mut Vec<EventBody>) {
        let Some(call) = self.open.get_mut(at).filter(|call| !call.told) else {
            return;
        };
        call.told = true;
        let input = if !call.input.is_null() {
            call.input.clone()
        } else if call.arguments.is_empty() {
            json!({"title": call.title})
        } else {
            serde_json::from_str(&call.arguments)
                .unwrap_or_else(|_| json!({"text": call.arguments}))
        };
        self.active = true;
        let words = std::mem::take(&mut self.after);
        if !words.trim().is_empty() {
            self.before = words;
        }
        // Whatever it was, the turn went on.
        self.notices.clear();
        self.calls.start(&call.id, &call.tool, input, events);
    }
}

/// Takes the arguments of a call over, if a frame has any. An empty object says that they are still to come.
fn take_input(call: &mut Call, frame: &Value) -> bool {
    let input = ["rawInput", "input", "parameters"]
        .iter()
        .find_map(|key| frame.get(key))
        .filter(|input| {
            !input.is_null() && input.as_object().is_none_or(|input| !input.is_empty())
        });
    if let Some(input) = input {
        call.input = input.clone();
    }
    input.is_some()
}

fn push(to: &mut String, words: &str, bytes: usize) {
    let room = bytes.saturating_sub(to.len());
    to.push_str(&words[..words.floor_char_boundary(room)]);
}

#[cfg(test)]
mod tests {
    use super::super::dialect::BASE;
    use super::*;

    fn told(frames: &[Value]) -> (Updates, Vec<EventBody>) {
        let mut updates = Updates::default();
        let mut events = Vec::new();
        for frame in frames {
            updates.update(&BASE, frame, &mut events);
        }
        (updates, events)
    }

    /// So that nobody takes it for a tool that still works.
    #[test]
    fn what_changes_a_file_has_ended_once_the_agent_goes_on() {
        let begins = |id: &str, kind: &str| json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "x: a", "kind": kind});
        for (leaves, next, ended) in [
            (true, chunk("Done."), true),
            (true, begins("b", "execute"), true),
            (true, json!({"sessionUpdate": "usage_update"}), false),
            (false, chunk("Done."), false),
        ] {
            let dialect = Dialect {
                leaves_edits_open: leaves,
                ..BASE
            };
            let (mut updates, mut events) = (Updates::default(), Vec::new());
            for frame in [begins("c", "execute"), begins("a", "edit"), next] {
                updates.update(&dialect, &frame, &mut events);
            }
            let ends = |event: &&EventBody| matches!(event, EventBody::ToolResult { call_id, .. } if call_id == "a");
            assert_eq!(events.iter().filter(ends).count(), usize::from(ended));
            assert!(updates.open.iter().any(|call| call.id == "c"));
        }
    }

    fn chunk(words: &str) -> Value {
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}})
    }

    fn call(more: Value) -> Value {
        let mut frame = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c"});
        frame
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        frame
    }

    #[test]
    fn kinds_are_known_however_they_are_spelled() {
        let content = json!({"type": "text", "text": "a"});
        for frame in [
            chunk("a"),
            json!({"type": "AgentMessageChunk", "content": content}),
            json!({"agent-message-chunk": {"content": content}}),
        ] {
            assert_eq!(
                told(&[frame]).1,
                [EventBody::Text {
                    content: "a".to_owned()
                }]
            );
        }
        let (_, events) = told(&[json!({"sessionUpdate": "brand_new"}), json!([1]), json!({})]);
        assert_eq!(events, []);
    }

    #[test]
    fn the_answer_is_what_follows_the_last_tool() {
        let tool = call(json!({"status": "completed", "rawInput": {"a": 1}}));
        let last = |frames: &[Value]| told(frames).0.answer().to_owned();
        assert_eq!(last(&[chunk("a"), chunk("b")]), "ab");
        assert_eq!(last(&[chunk("a"), tool.clone(), chunk("b")]), "b");
        assert_eq!(last(&[chunk("a"), tool.clone(), chunk("\n")]), "a");
        assert_eq!(last(&[tool]), "");
    }

    #[test]
    fn messages_are_kept_apart() {
        let of = |id: &str, words: &str| {
            let mut chunk = chunk(words);
            chunk["messageId"] = json!(id);
            chunk
        };
        assert_eq!(
            told(&[of("1", "a"), of("1", "b"), of("2", "c")]).0.answer(),
            "ab\n\nc"
        );
    }

    /// The arguments of a call when it is told, and after how many frames.
    fn input(frames: &[Value]) -> (Value, usize) {
        let mut updates = Updates::default();
        let mut events = Vec::new();
        for (at, frame) in frames.iter().enumerate() {
            updates.update(&BASE, frame, &mut events);
            let input = events.iter().find_map(|event| {
                if let EventBody::ToolUse { input, .. } = event {
                    Some(input.clone())
                } else {
                    None
                }
            });
            if let Some(input) = input {
                return (input, at + 1);
            }
        }
        (Value::Null, 0)
    }

    #[test]
    fn a_call_is_told_as_soon_as_its_arguments_are_whole() {
        let some = json!({"a": 1});
        let more = json!({"a": 1, "b": 2});
        let args =
            |words: &str| json!([{"type": "content", "content": {"type": "text", "text": words}}]);
        for (frames, wanted) in [
            (
                vec![call(json!({"rawInput": some, "status": "in_progress"}))],
                (some.clone(), 1),
            ),
            // They come in pieces, without a word of when they are whole.
            (
                vec![
                    call(json!({"rawInput": {}})),
                    call(json!({"rawInput": some})),
                    call(json!({"rawInput": more})),
                    chunk("x"),
                ],
                (more, 4),
            ),
            (
                vec![
                    call(json!({"title": "ls"})),
                    call(json!({"status": "completed"})),
                ],
                (json!({"title": "ls"}), 2),
            ),
            (
                vec![
                    call(json!({"content": args("{\"a\"")})),
                    call(json!({"content": args("{\"a\":1}")})),
                    call(json!({"status": "failed"})),
                ],
                (some, 3),
            ),
            (
                vec![
                    call(json!({"content": args("odd")})),
                    call(json!({"status": "failed"})),
                ],
                (json!({"text": "odd"}), 2),
            ),
            (
                vec![call(json!({"title": "ls"})), chunk("x")],
                (Value::Null, 0),
            ),
        ] {
            assert_eq!(input(&frames), wanted, "{frames:?}");
        }
    }

    #[test]
    fn output_is_taken_from_wherever_it_is() {
        let words = json!([{"type": "content", "content": {"type": "text", "text": "words"}}, {"type": "terminal"}]);
        let diff = json!([{"type": "diff", "path": "/a", "oldText": null, "newText": "xy"}]);
        for (frame, wanted) in [
            (json!({"rawOutput": "raw", "content": words}), "raw"),
            (json!({"rawOutput": {"code": 0}, "content": words}), "words"),
            (json!({"output": "old"}), "old"),
            (
                json!({"content": diff}),
                "/a: 0 bytes before, 2 bytes after",
            ),
            (json!({"rawOutput": {"code": 0}}), "{\"code\":0}"),
            (
                json!({"_meta": {"terminal_output_delta": {"data": "shown"}}, "rawOutput": {"code": 0}}),
                "shown",
            ),
            (json!({}), ""),
        ] {
            let mut ended = call(frame.clone());
            ended["status"] = json!("completed");
            let (_, events) = told(&[ended]);
            let output = events.iter().find_map(|event| {
                if let EventBody::ToolResult { output, .. } = event {
                    Some(output.as_str())
                } else {
                    None
                }
            });
            assert_eq!(output, Some(wanted), "{frame}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let frames: Vec<_> = (0..OPEN + 10)
            .map(|id| json!({"sessionUpdate": "tool_call", "toolCallId": id.to_string(), "title": "t"}))
            .chain([chunk(&"x".repeat(3 * TEXT_BYTES))])
            .collect();
        let (updates, _) = told(&frames);
        assert_eq!(updates.open.len(), OPEN);
        assert_eq!(updates.answer().len(), TEXT_BYTES);
    }
}
