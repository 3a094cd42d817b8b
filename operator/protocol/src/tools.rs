//! Which tools an agent may use, and for which of them a person is asked first.
//!
//! A pattern names a tool, with `*` for any characters (`mcp__github__*`), or a tool and what it is used for:
//! `Bash(git push:*)` is every command that begins with `git push`, `Edit(docs/*)` every such path. Names are compared
//! without regard to case, since command lines spell them differently.
//!
//! A whole tool is a wall. What a tool is used for is read from its input, and a shell knows many ways to say the same
//! thing: `deny` and `requireApproval` look at every command of a line, in quotes too, and match rather too much;
//! `allow` wants every one of them to match and nothing that is worked out by the shell.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// Fields of an input that say what a tool is used for, the first that is there.
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

/// What parts commands on a line of a shell. Said without regard to quotes.
const BREAKS: &[char] = &[';', '|', '&', '\n', '\r', '(', ')', '{', '}', '`', '!'];

/// What a shell works out by itself: who allows `git status` has not allowed what that may come to.
const WORKED_OUT: &[char] = &['$', '`', '<', '>', '\\', '\n', '\r'];

impl ToolPolicy {
    /// True when it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty() && self.require_approval.is_empty()
    }

    /// What is to be done about this use of a tool.
    #[must_use]
    pub fn judge(&self, tool: &str, input: &Value) -> Judgement {
        let subject = Subject::of(input);
        let first = |patterns: &[String]| {
            let found = patterns
                .iter()
                .find(|pattern| Pattern::parse(pattern).may_match(tool, subject));
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
        if self.allow.is_empty() || self.allows(tool, subject) {
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

    fn allows(&self, tool: &str, subject: Option<Subject<'_>>) -> bool {
        let patterns: Vec<_> = self.allow.iter().map(|word| Pattern::parse(word)).collect();
        let mut named = patterns.iter().filter(|pattern| glob(pattern.tool, tool));
        if named.clone().any(|pattern| pattern.argument.is_none()) {
            return true;
        }
        match subject {
            None => false,
            Some(Subject::Command(line)) => {
                let mut commands = commands(line).peekable();
                !line.contains(WORKED_OUT)
                    && commands.peek().is_some()
                    && commands.all(|command| named.clone().any(|one| one.fits(&command)))
            }
            // What climbs leads anywhere.
            Some(Subject::Other(text)) => !text.contains("..") && named.any(|one| one.fits(text)),
        }
    }
}

/// True for a word that is a pattern.
#[must_use]
pub fn is_pattern(word: &str) -> bool {
    let (tool, argument) = word.split_once('(').unwrap_or((word, ")"));
    let names = |c: char| c.is_ascii_alphanumeric() || "_-.:/*".contains(c);
    let argument = argument.strip_suffix(')');
    let has = !word.contains('(') || argument.is_some_and(|argument| !argument.trim().is_empty());
    !tool.is_empty() && tool.chars().all(names) && argument.is_some() && has
}

/// What a tool is used for.
#[derive(Clone, Copy)]
enum Subject<'a> {
    Command(&'a str),
    Other(&'a str),
}

impl<'a> Subject<'a> {
    fn of(input: &'a Value) -> Option<Self> {
        let (name, text) = SUBJECTS
            .iter()
            .find_map(|name| Some((*name, input.get(name)?.as_str()?)))?;
        Some(match name {
            "command" | "cmd" => Self::Command(text),
            _ => Self::Other(text),
        })
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
        Self { tool, argument }
    }

    /// True when the use may be one of those. Where it cannot be told, it may.
    fn may_match(&self, tool: &str, subject: Option<Subject<'_>>) -> bool {
        if !glob(self.tool, tool) {
            return false;
        }
        match (self.argument, subject) {
            (None, _) | (Some(_), None) => true,
            (Some(_), Some(Subject::Command(line))) => {
                commands(line).any(|command| self.fits(&command))
            }
            (Some(_), Some(Subject::Other(text))) => {
                self.fits(text) || self.fits(text.trim_start_matches("./"))
            }
        }
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

/// The commands on a line, each with single spaces, with what stands before them for the shell taken off.
fn commands(line: &str) -> impl Iterator<Item = String> {
    let plain = |piece: &str| {
        let words = piece.split_whitespace().map(|word| {
            let word = word.trim_matches(['"', '\'']);
            // A path to a program is that program.
            word.strip_prefix("/usr/bin/")
                .or_else(|| word.strip_prefix("/bin/"))
                .unwrap_or(word)
        });
        let words: Vec<_> = words
            .skip_while(|word| is_setting(word) || BEFORE.contains(word))
            .collect();
        words.join(" ")
    };
    line.split(BREAKS)
        .map(plain)
        .filter(|command| !command.is_empty())
}

/// Words that run what follows them.
const BEFORE: &[&str] = &[
    "sudo", "env", "exec", "command", "nohup", "time", "then", "do", "else", "eval", "xargs", "$",
    "sh", "bash", "-c", "-lc", "builtin",
];

/// `NAME=value` before a command.
fn is_setting(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
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
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(allow: &[&str], deny: &[&str], ask: &[&str]) -> ToolPolicy {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        ToolPolicy {
            allow: words(allow),
            deny: words(deny),
            require_approval: words(ask),
            approval_seconds: 60,
            allow_on_timeout: false,
        }
    }

    fn word(judgement: &Judgement) -> &'static str {
        match judgement {
            Judgement::Allow => "allow",
            Judgement::Deny(_) => "deny",
            Judgement::Ask(_) => "ask",
        }
    }

    #[test]
    fn whole_tools() {
        let policy = policy(
            &["Read", "mcp__docs__*"],
            &["WebFetch", "mcp__docs__delete"],
            &["Bash"],
        );
        for (tool, wanted) in [
            ("Read", "allow"),
            ("read", "allow"),
            ("Bash", "ask"),
            ("WebFetch", "deny"),
            ("mcp__docs__search", "allow"),
            ("mcp__docs__delete", "deny"),
            ("mcp__other__search", "deny"),
            ("Reader", "deny"),
            ("", "deny"),
        ] {
            assert_eq!(word(&policy.judge(tool, &json!({}))), wanted, "{tool}");
        }
        assert_eq!(
            policy.denied_tools().collect::<Vec<_>>(),
            ["WebFetch", "mcp__docs__delete"]
        );
        assert_eq!(
            ToolPolicy::default().judge("Any", &json!({})),
            Judgement::Allow
        );
        assert!(ToolPolicy::default().is_empty() && !policy.is_empty());
    }

    #[test]
    fn a_command_is_found_wherever_it_stands_on_the_line() {
        let policy = policy(&[], &["Bash(rm -rf:*)"], &["Bash(git push:*)"]);
        for (command, wanted) in [
            ("git push", "ask"),
            ("git   push origin main", "ask"),
            ("git pushover", "allow"),
            ("git status", "allow"),
            ("cd /x && git push", "ask"),
            ("true;git push", "ask"),
            ("A=b sudo git push", "ask"),
            ("echo $(git push)", "ask"),
            ("bash -c 'git push'", "ask"),
            ("/usr/bin/git push", "ask"),
            ("echo `rm -rf /`", "deny"),
            ("git push\nrm -rf x", "deny"),
            ("if true; then git push; fi", "ask"),
            ("", "allow"),
        ] {
            let judged = policy.judge("Bash", &json!({"command": command}));
            assert_eq!(word(&judged), wanted, "{command}");
        }
        // What cannot be read may be anything.
        assert_eq!(word(&policy.judge("Bash", &json!({"script": "x"}))), "deny");
        assert_eq!(
            word(&policy.judge("Bash", &json!({"command": ["rm"]}))),
            "deny"
        );
        assert_eq!(
            word(&policy.judge("Read", &json!({"file_path": "rm -rf"}))),
            "allow"
        );
    }

    #[test]
    fn what_is_allowed_is_all_that_is_done() {
        let policy = policy(
            &["Bash(git status:*)", "Bash(ls:*)", "Edit(docs/*)"],
            &[],
            &[],
        );
        for (command, wanted) in [
            ("git status", "allow"),
            ("git status && ls -l", "allow"),
            ("git status && rm x", "deny"),
            ("git status > /etc/passwd", "deny"),
            ("ls $(rm x)", "deny"),
            ("ls\nrm x", "deny"),
            ("git statusx", "deny"),
            ("", "deny"),
        ] {
            let judged = policy.judge("Bash", &json!({"command": command}));
            assert_eq!(word(&judged), wanted, "{command}");
        }
        for (path, wanted) in [
            ("docs/a.md", "allow"),
            ("docs/../src/a.rs", "deny"),
            ("src/a.rs", "deny"),
        ] {
            let judged = policy.judge("Edit", &json!({"file_path": path}));
            assert_eq!(word(&judged), wanted, "{path}");
        }
    }

    #[test]
    fn words_that_are_no_pattern() {
        for right in [
            "Bash",
            "Bash(git push:*)",
            "mcp__x__*",
            "*",
            "Edit(docs/*)",
            "Bash(a (b))",
        ] {
            assert!(is_pattern(right), "{right}");
        }
        for wrong in [
            "", "(x)", "Bash(", "Bash()", "Bash( )", "Ba sh", "Bash)", "Bash(x) ",
        ] {
            assert!(!is_pattern(wrong), "{wrong}");
        }
    }

    #[test]
    fn stars() {
        for (pattern, text, wanted) in [
            ("*", "", true),
            ("a*b", "ab", true),
            ("a*b", "axxb", true),
            ("a*b", "axxbc", false),
            ("a*b*c", "abbbc", true),
            ("", "", true),
            ("", "a", false),
            ("A", "a", true),
        ] {
            assert_eq!(glob(pattern, text), wanted, "{pattern} {text}");
        }
    }
}
