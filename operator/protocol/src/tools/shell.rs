//! The commands on a line of a shell, as far as they can be told without being one.

use std::borrow::Cow;

/// What parts commands on a line. Said without regard to quotes.
const BREAKS: &[char] = &[';', '|', '&', '\n', '\r', '(', ')', '{', '}', '`', '!'];

/// What a shell works out by itself: who allows `git status` has not allowed what that may come to.
const WORKED_OUT: &[char] = &['$', '`', '<', '>', '\\', '\n', '\r'];

/// Words that run what follows them, with their own options between.
const RUNNERS: &[&str] = &[
    "sudo", "doas", "su", "env", "exec", "command", "builtin", "eval", "nohup", "time", "timeout",
    "nice", "ionice", "stdbuf", "setsid", "flock", "watch", "strace", "chroot", "unshare", "xargs",
    "parallel", "find", "busybox", "sh", "bash", "dash", "zsh", "ksh", "if", "then", "elif",
    "else", "while", "until", "do", "coproc",
];

/// Words behind one of them that may be the command. With more of them it may be any.
const BEGINNINGS: usize = 32;

/// Options of `git` before its verb whose value is the next word.
const GIT_VALUES: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
    "--exec-path",
    "--attr-source",
];

/// The commands on a line as they stand; `None` where that is not all that is done, or is none.
///
/// Nothing is taken off: what a variable before a command says, or a program that runs another, is the
/// command's business as well.
pub(super) fn plain(line: &str) -> Option<Vec<String>> {
    if line.contains(WORKED_OUT) {
        return None;
    }
    let commands = line
        .split(BREAKS)
        .map(|piece| piece.split_whitespace().collect::<Vec<_>>());
    let commands: Vec<_> = commands.filter(|words| !words.is_empty()).collect();
    let is_set = |words: &Vec<&str>| words.first().is_some_and(|word| word.contains('='));
    if commands.is_empty() || commands.iter().any(is_set) {
        return None;
    }
    Some(commands.iter().map(|words| words.join(" ")).collect())
}

/// True when any command on the line may be one of those.
pub(super) fn any(line: &str, is: impl Fn(&str) -> bool) -> bool {
    spelled_out(line)
        .split(BREAKS)
        .any(|piece| may_be(piece, &is))
}

/// With one way to say what has several.
fn spelled_out(line: &str) -> String {
    let line = line.replace("\\\r\n", "").replace("\\\n", "");
    let line = line.replace("${", "$");
    let mut out = String::with_capacity(line.len());
    for (number, part) in line.split('`').enumerate() {
        match number % 2 {
            0 if number > 0 => out.push(')'),
            1 => out.push_str("$("),
            _ => {}
        }
        out.push_str(part);
    }
    out
}

fn may_be(piece: &str, is: &impl Fn(&str) -> bool) -> bool {
    let words = piece.split_whitespace().map(unquoted);
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let Some(first) = words.first() else {
        return false;
    };
    let runs = |word: &str| {
        RUNNERS.contains(&program(word)) || word.contains(['=', '<', '>']) || word.starts_with('-')
    };
    let unknown = words.iter().find(|word| !runs(word));
    if unknown.is_some_and(|word| is_unknown(word)) {
        return true;
    }
    let beginnings = if runs(first) { words.len() } else { 1 };
    beginnings > BEGINNINGS
        || (0..beginnings).any(|at| {
            let words = &words[at..];
            is(&words.join(" ")) || spellings(words).iter().any(|command| is(command))
        })
}

/// The same command by the program's name, and without what stands between it and its verb.
fn spellings(words: &[Cow<'_, str>]) -> Vec<String> {
    let Some((first, rest)) = words.split_first() else {
        return Vec::new();
    };
    let name = program(first);
    let said = |rest: &[Cow<'_, str>]| format!("{name} {}", rest.join(" ")).trim_end().to_owned();
    let mut all = vec![said(rest)];
    if name == "git" {
        let mut verb = 0;
        while let Some(word) = rest.get(verb).filter(|word| word.starts_with('-')) {
            verb += if GIT_VALUES.contains(&word.as_ref()) {
                2
            } else {
                1
            };
        }
        all.push(said(rest.get(verb..).unwrap_or_default()));
    }
    all
}

/// A path to a program is that program.
fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// True for a program that only the shell knows.
fn is_unknown(word: &str) -> bool {
    let name = program(word);
    name.contains(['$', '*', '?']) || (name.contains('[') && !matches!(name, "[" | "[["))
}

/// A word without the quotes that a shell takes away.
fn unquoted(word: &str) -> Cow<'_, str> {
    const QUOTES: &[char] = &['"', '\'', '\\'];
    match word.contains(QUOTES) {
        true => Cow::Owned(word.replace(QUOTES, "")),
        false => Cow::Borrowed(word),
    }
}
