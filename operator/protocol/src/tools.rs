//! Which tools an agent may use, and for which of them a person is asked first.
//!
//! A pattern names a tool, with `*` for any characters (`mcp__github__*`), or a tool and what it is used for:
//! `Bash(git push:*)` is every command that begins with `git push`, `Edit(docs/*)` every such path. Names are compared
//! without regard to case, since command lines spell them differently.
//!
//! A whole tool is a wall. What a tool is used for is read from its input, and a shell knows many ways to say the same
//! thing: `deny` and `requireApproval` look at every command of a line, in quotes too, and match rather too much;
//! `allow` wants every one of them to match as it stands and nothing that is worked out by the shell. An input that
//! says several things is forbidden by any of them, and allowed by all. A path is the same however it is written.

mod paths;
mod shell;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::paths::Folders;

/// What an agent may do with tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPolicy {
    /// What it may use without being asked; empty means everything that is not forbidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// What it may not use, whatever else is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// For what a person is asked each time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub require_approval: Vec<String>,
    /// How long a person is waited for.
    pub approval_seconds: u32,
    /// True when it goes on as if a person had approved, once that is over. Else it is told no.
    #[serde(default)]
    pub allow_on_timeout: bool,
}

/// What is to be done about one use of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It may.
    Allow,
    /// It may not, and why.
    Deny(String),
    /// A person is to be asked, and why.
    Ask(String),
}

/// Fields of an input that say what a tool is used for.
const SUBJECTS: [&str; 8] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "notebook_path",
    "path",
    "url",
    "query",
];

impl ToolPolicy {
    /// True when it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty() && self.require_approval.is_empty()
    }

    /// What is to be done about this use of a tool, by a program that works in these folders.
    #[must_use]
    pub fn judge(&self, tool: &str, input: &Value, folders: Folders<'_>) -> Judgement {
        let subjects = Subject::all(input, folders);
        let first = |patterns: &[String]| {
            let found = patterns
                .iter()
                .find(|pattern| Pattern::parse(pattern).may_match(tool, &subjects));
            found.cloned()
        };
        if let Some(pattern) = first(&self.deny) {
            return Judgement::Deny(format!(
                "this agent may not use {tool}: {pattern} is denied"
            ));
        }
        if let Some(pattern) = first(&self.require_approval) {
            return Judgement::Ask(format!("{pattern} needs approval"));
        }
        if self.allow.is_empty() || self.allows(tool, &subjects) {
            return Judgement::Allow;
        }
        Judgement::Deny(format!(
            "this agent may not use {tool} for this: only {} is allowed",
            self.allow.join(", ")
        ))
    }

    /// Tools that are denied whatever they are used for, as they stand in the policy and without those with a `*`.
    pub fn denied_tools(&self) -> impl Iterator<Item = &str> {
        let whole = |pattern: &&String| !pattern.contains(['(', '*']);
        self.deny.iter().filter(whole).map(String::as_str)
    }

    /// True for a tool that is denied whatever it is used for.
    #[must_use]
    pub fn denies(&self, tool: &str) -> bool {
        self.deny.iter().any(|pattern| {
            let pattern = Pattern::parse(pattern);
            pattern.argument.is_none() && glob(pattern.tool, tool)
        })
    }

    fn allows(&self, tool: &str, subjects: &[Subject<'_>]) -> bool {
        let patterns = self.allow.iter().map(|word| Pattern::parse(word));
        let named: Vec<_> = patterns
            .filter(|pattern| glob(pattern.tool, tool))
            .collect();
        if named.iter().any(|pattern| pattern.argument.is_none()) {
            return true;
        }
        let fits = |text: &str| named.iter().any(|pattern| pattern.fits(text));
        !subjects.is_empty()
            && subjects.iter().all(|subject| match subject {
                Subject::Command(line) => {
                    shell::plain(line).is_some_and(|commands| commands.iter().all(|one| fits(one)))
                }
                // What climbs leads anywhere.
                Subject::Path(written, forms) => {
                    !written.contains("..") && forms.iter().any(|form| fits(form))
                }
                Subject::Other(text) => !text.contains("..") && fits(text),
                Subject::Unreadable => false,
            })
    }
}

/// What a tool is used for.
enum Subject<'a> {
    Command(&'a str),
    /// As it is written, and all that it may be called.
    Path(&'a str, Vec<String>),
    Other(&'a str),
    /// No text.
    Unreadable,
}

impl<'a> Subject<'a> {
    fn all(input: &'a Value, folders: Folders<'_>) -> Vec<Self> {
        let subject = |name: &&str| {
            let value = input.get(*name).filter(|value| !value.is_null())?;
            let Some(text) = value.as_str() else {
                return Some(Self::Unreadable);
            };
            Some(match *name {
                "command" | "cmd" => Self::Command(text),
                "url" | "query" => Self::Other(text),
                _ => Self::Path(text, folders.forms(text)),
            })
        };
        SUBJECTS.iter().filter_map(subject).collect()
    }
}

struct Pattern<'a> {
    tool: &'a str,
    argument: Option<&'a str>,
}

impl<'a> Pattern<'a> {
    fn parse(word: &'a str) -> Self {
        let (tool, argument) = match word.split_once('(') {
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').unwrap_or(rest))),
            None => (word, None),
        };
        let argument = argument.map(|argument| argument.strip_prefix("./").unwrap_or(argument));
        // Whatever it is used for.
        let argument = argument.filter(|argument| !matches!(*argument, "*" | ":*"));
        Self { tool, argument }
    }

    /// True when the use may be one of those. Where it cannot be told, it may.
    fn may_match(&self, tool: &str, subjects: &[Subject<'_>]) -> bool {
        if !glob(self.tool, tool) {
            return false;
        }
        self.argument.is_none()
            || subjects.is_empty()
            || subjects.iter().any(|subject| match subject {
                Subject::Command(line) => shell::any(line, |command| self.fits(command)),
                Subject::Path(written, forms) => {
                    self.fits(written) || forms.iter().any(|form| self.fits(form))
                }
                Subject::Other(text) => self.fits(text),
                Subject::Unreadable => true,
            })
    }

    fn fits(&self, text: &str) -> bool {
        let Some(argument) = self.argument else {
            return true;
        };
        match argument.strip_suffix(":*") {
            Some(start) => begins(text, &spaced(start)),
            None => glob(argument, text),
        }
    }
}

/// True when the command begins with these words: `git push` begins `git push origin`, and not `git pushover`.
fn begins(command: &str, words: &str) -> bool {
    let rest = command.strip_prefix(words);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn spaced(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True when the text is the pattern, in which `*` stands for any characters. Without regard to case. Its time is
/// the product of both lengths at worst.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern
            .get(p)
            .is_some_and(|byte| byte.eq_ignore_ascii_case(&text[t]))
        {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            // The star takes one more.
            star = Some((at, from + 1));
            (p, t) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests;
