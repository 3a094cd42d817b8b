//! Whether what Codex shows of a tool's use is what was let in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::adapters::frame::{list, text};
use crate::adapters::guard::CALLS;
use crate::adapters::own::plain;

/// The shell, as hooks call it, and what it also does.
pub(super) const SHELL: &str = "Bash";
pub(super) const PATCH: &str = "apply_patch";
/// By which names a command applies a patch: the program lies on the path under two, and does so with a flag.
const PATCHES: [&str; 3] = [PATCH, "applypatch", "codex-run-as-apply-patch"];
/// Another tool that Codex shows in an item of its own kind,
const VIEW: &str = "view_image";
/// and those of servers.
const OF_SERVER: &str = "mcp__";
/// Bytes of inputs that are remembered until their tool was used.
const BYTES: usize = 16 * 1024 * 1024;
/// Longer names of tools Codex cuts, and adds a digest.
const NAME: usize = 48;

/// What was let in, by the call.
#[derive(Debug, Default)]
pub(super) struct Allowed {
    /// Nothing of one that was used.
    calls: BTreeMap<String, Option<LetIn>>,
    bytes: usize,
}

/// One use of a tool that was let in.
#[derive(Debug)]
pub(super) struct LetIn {
    pub(super) tool: String,
    /// What the tool is given.
    pub(super) input: Value,
    /// Where it works.
    pub(super) cwd: String,
}

impl Allowed {
    /// Remembers one. False when that cannot be: nobody could say any more what was let in.
    pub(super) fn take(&mut self, call: &str, let_in: LetIn) -> bool {
        let bytes = self.bytes.saturating_add(let_in.bytes());
        let fits = self.calls.len() < CALLS || self.calls.contains_key(call);
        if !fits || bytes > BYTES {
            return false;
        }
        self.bytes = bytes;
        let before = self.calls.insert(call.to_owned(), Some(let_in));
        self.forget(before.flatten());
        true
    }

    pub(super) fn has(&self, call: &str) -> bool {
        self.calls.contains_key(call)
    }

    /// True when an item is the use that was let in. `over`: nothing follows of it.
    pub(super) fn shows(&mut self, call: &str, item: &Value, over: bool) -> bool {
        let Some(kept) = self.calls.get_mut(call) else {
            return false;
        };
        let shows = kept.as_ref().is_none_or(|let_in| let_in.is(item));
        if over {
            let kept = kept.take();
            self.forget(kept);
        }
        shows
    }

    fn forget(&mut self, let_in: Option<LetIn>) {
        let bytes = let_in.map_or(0, |let_in| let_in.bytes());
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl LetIn {
    fn bytes(&self) -> usize {
        self.input.to_string().len() + self.cwd.len()
    }

    fn is(&self, item: &Value) -> bool {
        let tool = self.tool.as_str();
        match text(item, "type") {
            "commandExecution" => tool == SHELL && self.is_command(item),
            "fileChange" => self.is_change(item),
            "mcpToolCall" => self.is_call(item),
            "imageView" => {
                tool == VIEW && self.at(text(&self.input, "path")) == self.at(text(item, "path"))
            }
            _ => ![SHELL, PATCH, VIEW].contains(&tool) && !tool.starts_with(OF_SERVER),
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        plain(&Path::new(&self.cwd).join(path))
    }

    /// The words are those of a shell with its script.
    fn is_command(&self, item: &Value) -> bool {
        let words = words(text(item, "command"));
        let Some([_, flag, script]) = words.as_deref() else {
            return false;
        };
        flag == "-c"
            && script == text(&self.input, "command")
            && self.at(text(item, "cwd")) == self.at("")
    }

    /// It changes no other file.
    fn is_change(&self, item: &Value) -> bool {
        let command = text(&self.input, "command");
        let is_patch = self.tool == PATCH || self.tool == SHELL && is_patch(command);
        let judged: Vec<_> = patched(command).map(|path| self.at(path)).collect();
        let is_judged = |path: &str| judged.contains(&self.at(path));
        let moved = |change: &Value| {
            let kind = change.get("kind")?;
            let to = kind.get("move_path").or_else(|| kind.get("movePath"))?;
            to.as_str().map(str::to_owned)
        };
        let is_list = item.get("changes").is_some_and(Value::is_array);
        is_patch
            && is_list
            && list(item, "changes").iter().all(|change| {
                is_judged(text(change, "path")) && moved(change).is_none_or(|to| is_judged(&to))
            })
    }

    /// What a name has of other characters, the program replaces.
    fn is_call(&self, item: &Value) -> bool {
        let name = format!(
            "{OF_SERVER}{}__{}",
            text(item, "server"),
            text(item, "tool")
        );
        let spelt = |name: &str| {
            let name = name.chars().filter(char::is_ascii_alphanumeric);
            name.take(NAME).collect::<String>()
        };
        let given = |input: Option<&Value>| {
            let input = input.filter(|input| !input.is_null());
            input
                .cloned()
                .unwrap_or_else(|| Value::Object(serde_json::Map::new()))
        };
        self.tool.starts_with(OF_SERVER)
            && spelt(&name).eq_ignore_ascii_case(&spelt(&self.tool))
            && given(item.get("arguments")) == given(Some(&self.input))
    }
}

/// True for a command that may apply a patch.
pub(super) fn names_patch(command: &str) -> bool {
    PATCHES.iter().any(|name| command.contains(name))
}

/// True for a command that is one patch in a here-document and nothing else: Codex takes that out and applies it itself, from
/// the folder that the command would have run in.
pub(super) fn is_patch(command: &str) -> bool {
    let mut lines = command.trim().lines();
    let start = lines.next().and_then(|first| {
        let rest = PATCHES.iter().find_map(|name| first.strip_prefix(name))?;
        rest.trim().strip_prefix("<<")
    });
    let Some(end) = start else { return false };
    let end = end.trim_start().trim_matches(['\'', '"']);
    let is_word = !end.is_empty() && end.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let at = lines.position(|line| line == end);
    is_word && at.is_some() && lines.next().is_none()
}

/// The files that a patch changes.
pub(super) fn patched(patch: &str) -> impl Iterator<Item = &str> {
    const STARTS: [&str; 4] = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    patch.lines().filter_map(|line| {
        let line = line.trim();
        STARTS.iter().find_map(|start| line.strip_prefix(start))
    })
}

/// The words of a line that was quoted for a shell. None for one that was not.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CWD: &str = "/workspace/work/src";

    fn let_in(tool: &str, input: &Value) -> LetIn {
        LetIn {
            tool: tool.to_owned(),
            input: input.clone(),
            cwd: CWD.to_owned(),
        }
    }

    /// As the program quoted them.
    #[test]
    fn a_command_is_the_one_that_was_let_in() {
        for (script, shown) in [
            ("echo ok", "/bin/bash -c 'echo ok'"),
            (
                "exec </dev/null\necho 'it''s' \"two\" $HOME; pwd",
                "/bin/bash -c \"exec </dev/null\necho 'it''s' \\\"two\\\" \"'$HOME; pwd'",
            ),
            (
                "exec </dev/null\necho ok!^ \\x",
                "/usr/bin/sh -c 'exec </dev/null\necho ok!''^ '\"\\\\x\"",
            ),
        ] {
            let own = let_in(SHELL, &json!({"command": script}));
            let item = |shown: &str, cwd: &str| json!({"type": "commandExecution", "command": shown, "cwd": cwd});
            assert!(own.is(&item(shown, CWD)), "{shown}");
            assert!(!own.is(&item(shown, "/workspace/work")), "{shown}");
            assert!(!own.is(&item(&shown.replace("-c", "-lc"), CWD)), "{shown}");
            assert!(!own.is(&item(&format!("{shown} x"), CWD)), "{shown}");
            let other = let_in(SHELL, &json!({"command": format!("{script}; rm x")}));
            assert!(!other.is(&item(shown, CWD)), "{shown}");
        }
        assert_eq!(words("'open"), None);
    }

    #[test]
    fn a_tool_is_the_one_that_was_let_in() {
        let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: ../b\n*** End Patch";
        let change = |path: &str, to: &str| {
            json!({"type": "fileChange",
            "changes": [{"path": path, "kind": {"type": "update", "move_path": to}}]})
        };
        let shell = json!({"command": format!("apply_patch <<'EOF'\n{patch}\nEOF\n")});
        let (a, b) = ("/workspace/work/src/a", "/workspace/work/b");
        let call = |server: &str, tool: &str, arguments: Value| {
            json!({"type": "mcpToolCall", "server": server,
            "tool": tool, "arguments": arguments})
        };
        let view = |path: &str| json!({"type": "imageView", "path": path});
        let none = json!({});
        for (tool, input, item, wanted) in [
            (PATCH, &json!({"command": patch}), change(a, b), true),
            (SHELL, &shell, change(a, b), true),
            (SHELL, &shell, change(a, "/etc/passwd"), false),
            (SHELL, &shell, change("/etc/passwd", b), false),
            (
                SHELL,
                &json!({"command": "ls"}),
                json!({"type": "fileChange", "changes": []}),
                false,
            ),
            (
                PATCH,
                &json!({"command": patch}),
                json!({"type": "fileChange", "changes": {"x": 1}}),
                false,
            ),
            (
                "mcp__words_x__word",
                &none,
                call("words-x", "word", Value::Null),
                true,
            ),
            (
                "mcp__words__word",
                &json!({"a": 1}),
                call("words", "word", json!({"a": 1})),
                true,
            ),
            (
                "mcp__words__word",
                &json!({"a": 1}),
                call("words", "word", json!({"a": 2})),
                false,
            ),
            (
                "mcp__words__word",
                &none,
                call("words", "other", json!({})),
                false,
            ),
            (
                "update_plan",
                &none,
                call("words", "other", json!({})),
                false,
            ),
            (VIEW, &json!({"path": "a"}), view(a), true),
            (VIEW, &json!({"path": "a"}), view("/etc/passwd"), false),
            ("update_plan", &none, json!({"type": "sleep"}), true),
            (
                SHELL,
                &json!({"command": "ls"}),
                json!({"type": "sleep"}),
                false,
            ),
        ] {
            assert_eq!(let_in(tool, input).is(&item), wanted, "{tool} {item}");
        }
    }

    #[test]
    fn a_patch_alone_is_taken_out_of_a_command() {
        let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";
        for (command, wanted) in [
            (format!("apply_patch <<'EOF'\n{patch}\nEOF\n"), true),
            (format!("applypatch << \"EOF\"\n{patch}\nEOF"), true),
            (
                format!("cd docs && apply_patch <<'EOF'\n{patch}\nEOF\n"),
                false,
            ),
            (format!("apply_patch <<'EOF'\n{patch}\nEOF\nrm x"), false),
            (format!("apply_patch <<'EOF' && rm x\n{patch}\nEOF"), false),
            (
                format!("apply_patch <<'EOF'\n{patch}\nEOF\napply_patch <<'EOF'\n{patch}\nEOF"),
                false,
            ),
            ("apply_patch < f".to_owned(), false),
            ("ls".to_owned(), false),
        ] {
            assert_eq!(is_patch(&command), wanted, "{command}");
        }
    }

    #[test]
    fn what_was_let_in_is_remembered_within_bounds() {
        let small = || let_in("x", &json!({}));
        let large = || let_in("x", &json!("x".repeat(BYTES / 2)));
        let mut allowed = Allowed::default();
        assert!(allowed.take("1", large()) && !allowed.take("2", large()));
        // One that was used is known, and takes no room.
        let item = json!({"type": "sleep"});
        assert!(
            allowed.shows("1", &item, true) && allowed.has("1") && allowed.shows("1", &item, true)
        );
        assert!(allowed.take("2", large()) && !allowed.shows("3", &item, false));
        for call in 2..CALLS {
            assert!(allowed.take(&format!("call-{call}"), small()));
        }
        assert!(!allowed.take("one more", small()) && allowed.take("2", small()));
    }
}
