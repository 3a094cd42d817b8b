//! The turn in readable lines, for `kubectl logs`.

use std::fmt::Write as _;
use std::io::{self, Write};

use protocol::{EventBody, LogLevel, ToolStatus};
use serde_json::Value;

/// Lines of a tool's output that are shown.
const OUTPUT_LINES: usize = 12;
/// Characters of a tool's arguments that are shown.
const INPUT_CHARACTERS: usize = 400;

/// Writes what was redacted already.
pub struct Transcript {
    to: Box<dyn Write + Send>,
    /// What the last line belongs to, so that text that goes on is not begun anew.
    open: Option<&'static str>,
}

impl std::fmt::Debug for Transcript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transcript").finish_non_exhaustive()
    }
}

impl Transcript {
    /// To stdout.
    #[must_use]
    pub fn to_stdout() -> Self {
        Self::new(Box::new(io::stdout()))
    }

    /// To anywhere.
    #[must_use]
    pub fn new(to: Box<dyn Write + Send>) -> Self {
        Self { to, open: None }
    }

    /// Shows an event. Remarks for whoever looks for a cause are left out.
    pub fn event(&mut self, body: &EventBody) {
        match body {
            EventBody::Text { content } => self.running("", content),
            EventBody::Thinking { content } => self.running("~ ", content),
            EventBody::ToolUse { tool, input, .. } => {
                self.line(&format!("> {tool} {}", arguments(input)));
            }
            EventBody::ToolResult { output, status, .. } => {
                self.line(&tool_output(output, *status));
            }
            EventBody::Status { status, .. } => self.line(&format!("# {status}")),
            EventBody::Error { content } => self.line(&format!("! {content}")),
            EventBody::Log { level, content } => match level {
                LogLevel::Debug => {}
                LogLevel::Info | LogLevel::Warn | LogLevel::Error => {
                    self.line(&format!("# {content}"));
                }
            },
        }
    }

    /// A line of the runner's own.
    pub fn line(&mut self, line: &str) {
        let end = if self.open.take().is_some() { "\n" } else { "" };
        self.write(&format!("{end}{line}\n"));
    }

    /// Text that may go on.
    fn running(&mut self, mark: &'static str, text: &str) {
        let begin = match self.open {
            Some(open) if open == mark => "",
            Some(_) => "\n",
            None => "",
        };
        let first = if self.open == Some(mark) { "" } else { mark };
        let text = text.replace('\n', &format!("\n{mark}"));
        self.open = Some(mark);
        self.write(&format!("{begin}{first}{text}"));
    }

    fn write(&mut self, text: &str) {
        // Whoever reads logs sees them in a terminal: no control characters. A reader that has gone away
        // must not end the run.
        let text: String = text
            .chars()
            .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
            .collect();
        let _ = self.to.write_all(text.as_bytes());
        let _ = self.to.flush();
    }
}

fn arguments(input: &Value) -> String {
    let text = input.to_string();
    match text.char_indices().nth(INPUT_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn tool_output(output: &str, status: Option<ToolStatus>) -> String {
    let mut shown = String::new();
    for line in output.lines().take(OUTPUT_LINES) {
        let _ = writeln!(shown, "  {line}");
    }
    let more = output.lines().count().saturating_sub(OUTPUT_LINES);
    if more > 0 {
        let _ = writeln!(shown, "  … {more} more lines");
    }
    match status {
        Some(ToolStatus::Failed) => shown.push_str("  (failed)"),
        Some(ToolStatus::Completed) | None => {}
    }
    let end = shown.trim_end().len();
    shown.truncate(end);
    if shown.is_empty() {
        shown.push_str("  (no output)");
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_turn_reads_like_one() {
        let text = |content: &str| EventBody::Text {
            content: content.into(),
        };
        let thinking = |content: &str| EventBody::Thinking {
            content: content.into(),
        };
        let log = |level, content: &str| EventBody::Log {
            level,
            content: content.into(),
        };
        let result = |output: String, status| EventBody::ToolResult {
            call_id: "1".into(),
            tool: None,
            output,
            status,
        };
        let written = Written::default();
        let mut transcript = Transcript::new(Box::new(written.clone()));
        let events = [
            EventBody::Status {
                status: "running".into(),
                session_id: None,
            },
            thinking("Let me\n"),
            thinking("see."),
            text("Hel"),
            text("lo\u{1b}[31m\n"),
            text("world"),
            EventBody::ToolUse {
                tool: "Bash".into(),
                call_id: "1".into(),
                input: json!({"command": "x".repeat(500)}),
            },
            result(
                (0..14).map(|n| format!("line {n}\n")).collect(),
                Some(ToolStatus::Failed),
            ),
            result(String::new(), None),
            log(LogLevel::Debug, "not shown"),
            log(LogLevel::Warn, "shown"),
            EventBody::Error {
                content: "bad".into(),
            },
        ];
        for event in &events {
            transcript.event(event);
        }
        let written = written.0.lock().unwrap();
        insta::assert_snapshot!(String::from_utf8(written.clone()).unwrap());
    }
}
