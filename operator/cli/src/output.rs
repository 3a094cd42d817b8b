//! Answers on their way out: for reading, for programs, or ids alone.

use std::fmt::Write as _;
use std::io::Write;

use clap::ValueEnum;
use protocol::board::Page;
use serde::Serialize;

use crate::failure::Failure;
use crate::table::Table;
use crate::text;

/// Columns of an answer that goes to no terminal.
pub(crate) const WIDTH: usize = 160;

/// In which form to answer. Help lists the words in one line: agents read it too, and pay for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Human,
    Json,
    Yaml,
}

/// Whether marks for a terminal may stand around words. What others wrote is made harmless before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Coloured,
}

impl Style {
    /// What names something.
    pub(crate) fn strong(self, words: &str) -> String {
        self.mark("1", words)
    }

    /// What stands in the background.
    pub(crate) fn dim(self, words: &str) -> String {
        self.mark("2", words)
    }

    /// What went wrong.
    pub(crate) fn bad(self, words: &str) -> String {
        self.mark("31", words)
    }

    fn mark(self, code: &str, words: &str) -> String {
        match self {
            Self::Plain => words.to_owned(),
            Self::Coloured => format!("\u{1b}[{code}m{words}\u{1b}[0m"),
        }
    }
}

/// Where answers go.
pub(crate) struct Output<'a> {
    pub(crate) form: Form,
    /// Ids only, one a line.
    pub(crate) quiet: bool,
    /// Columns of a table.
    pub(crate) width: usize,
    /// Coloured on a terminal alone.
    pub(crate) style: Style,
    /// What was typed, the name of the program first, so that a hint can say how to go on.
    pub(crate) typed: &'a [String],
    /// Answers.
    pub(crate) out: &'a mut dyn Write,
    /// Hints, so that answers can be piped.
    pub(crate) notes: &'a mut dyn Write,
}

impl Output<'_> {
    /// One thing.
    pub(crate) fn show<A: Serialize>(
        &mut self,
        answer: &A,
        id: impl FnOnce(&A) -> String,
        human: impl FnOnce(&A) -> String,
    ) -> Result<(), Failure> {
        let shown = match (self.quiet, self.form) {
            (true, _) => text::line(&id(answer)) + "\n",
            (false, Form::Human) => human(answer),
            (false, Form::Json) => json(answer)?,
            (false, Form::Yaml) => yaml(answer)?,
        };
        self.print(&shown)
    }

    /// A part of a list, and how to ask for the next one.
    pub(crate) fn page<T: Serialize, const N: usize>(
        &mut self,
        page: &Page<T>,
        id: impl Fn(&T) -> String,
        human: impl FnOnce(&[T]) -> Table<N>,
    ) -> Result<(), Failure> {
        self.list(page, id, |items, width| human(items).render(width))
    }

    /// As [`Output::page`], in another form than a table.
    pub(crate) fn list<T: Serialize>(
        &mut self,
        page: &Page<T>,
        id: impl Fn(&T) -> String,
        human: impl FnOnce(&[T], usize) -> String,
    ) -> Result<(), Failure> {
        let shown = match (self.quiet, self.form) {
            (true, _) => page.items.iter().fold(String::new(), |mut ids, item| {
                let _ = writeln!(ids, "{}", text::line(&id(item)));
                ids
            }),
            (false, Form::Human) if page.items.is_empty() => {
                return self.note("nothing to show");
            }
            (false, Form::Human) => human(&page.items, self.width),
            (false, Form::Json) => json(page)?,
            (false, Form::Yaml) => yaml(page)?,
        };
        self.print(&shown)?;
        match &page.next {
            Some(cursor) => {
                let command = with_cursor(self.typed, cursor);
                self.note(&format!("there is more: {command}"))
            }
            None => Ok(()),
        }
    }

    /// One of many things that come one after the other: a line of JSON, a document of YAML, or as people read it.
    pub(crate) fn item<A: Serialize>(
        &mut self,
        answer: &A,
        id: impl FnOnce(&A) -> String,
        human: impl FnOnce(&A) -> String,
    ) -> Result<(), Failure> {
        let shown = match (self.quiet, self.form) {
            (true, _) => text::line(&id(answer)) + "\n",
            (false, Form::Human) => human(answer),
            (false, Form::Json) => {
                let written = serde_json::to_string(answer).map_err(Failure::Show)?;
                text::json(&written) + "\n"
            }
            (false, Form::Yaml) => format!("---\n{}", yaml(answer)?),
        };
        self.print(&shown)
    }

    /// What was done, where there is nothing else to show.
    pub(crate) fn done(&mut self, id: &str, what: &str) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Done<'a> {
            id: &'a str,
        }
        self.show(
            &Done { id },
            |done| done.id.to_owned(),
            |done| format!("{} {what}\n", text::line(done.id)),
        )
    }

    /// Something to know beside the answer.
    pub(crate) fn note(&mut self, words: &str) -> Result<(), Failure> {
        writeln!(self.notes, "{}", text::line(words)).map_err(Failure::Print)
    }

    /// Text that is harmless already.
    pub(crate) fn print(&mut self, shown: &str) -> Result<(), Failure> {
        self.out
            .write_all(shown.as_bytes())
            .and_then(|()| self.out.flush())
            .map_err(Failure::Print)
    }
}

fn json<A: Serialize>(answer: &A) -> Result<String, Failure> {
    let written = serde_json::to_string_pretty(answer).map_err(Failure::Show)?;
    Ok(text::json(&written) + "\n")
}

/// YAML. Where something is in it that a terminal obeys, its other form: JSON, whose strings can say the same
/// with an escape.
fn yaml<A: Serialize>(answer: &A) -> Result<String, Failure> {
    let written = serde_yaml::to_string(answer).map_err(Failure::ShowYaml)?;
    if text::is_harmless(&written) {
        Ok(written)
    } else {
        json(answer)
    }
}

/// The command that was typed, with this cursor in place of the one that it may have had.
fn with_cursor(typed: &[String], cursor: &str) -> String {
    let (program, typed) = typed.split_first().unzip();
    let mut words = vec![program.map_or("moor", String::as_str).to_owned()];
    let mut typed = typed.unwrap_or_default().iter();
    while let Some(word) = typed.next() {
        if word == "--cursor" {
            typed.next();
        } else if !word.starts_with("--cursor=") {
            words.push(quoted(word));
        }
    }
    words.push("--cursor".to_owned());
    words.push(quoted(cursor));
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |each: char| each.is_ascii_alphanumeric() || "-_=./:@,+%".contains(each);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_says_what_json_says() {
        let hostile = "a\u{1b}[2J\u{202e}b";
        for value in [
            serde_json::json!({"items": [{"title": "yes", "text": "one\ntwo\n", "count": 3, "none": null}]}),
            serde_json::json!({"title": hostile, "at": "2026-01-02T03:04:05Z"}),
        ] {
            let written = yaml(&value).unwrap();
            assert!(text::is_harmless(&written), "{written}");
            let read: serde_json::Value = serde_yaml::from_str(&written).unwrap();
            assert_eq!(read, value, "{written}");
        }
        assert_eq!(yaml(&["a", "2"]).unwrap(), "- a\n- '2'\n");
    }

    #[test]
    fn the_hint_is_a_command_that_works() {
        let typed = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        let cases: [(&[&str], &str); 4] = [
            (
                &["kubectl moor", "issue", "list"],
                "kubectl moor issue list --cursor 'a b'",
            ),
            (
                &[
                    "moor", "issue", "list", "--cursor", "old", "--status", "todo",
                ],
                "moor issue list --status todo --cursor 'a b'",
            ),
            (
                &["moor", "--cursor=old", "agent", "list"],
                "moor agent list --cursor 'a b'",
            ),
            (
                &["moor", "issue", "list", "--assignee", "it's"],
                r"moor issue list --assignee 'it'\''s' --cursor 'a b'",
            ),
        ];
        for (words, wanted) in cases {
            assert_eq!(with_cursor(&typed(words), "a b"), wanted);
        }
    }
}
