//! Arguments that a Runtime adds to a CLI's command line, without those that the adapter must set itself.

use protocol::{EventBody, LogLevel};

/// What follows a reserved flag on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// Nothing.
    Nothing,
    /// Always one value.
    Value,
    /// One value, unless the next token is a flag.
    MaybeValue,
}

/// Flags that an adapter keeps for itself, as they are written.
pub(super) type Reserved = [(&'static str, Takes)];

/// A launch prefix without the reserved flags. Its words stay whatever they are: they are of whatever is put before.
pub(super) fn keep_prefix(tokens: &[String], reserved: &Reserved) -> (Vec<String>, Vec<EventBody>) {
    let flags: Vec<_> = (reserved.iter().copied())
        .filter(|(name, _)| name.starts_with('-'))
        .collect();
    keep(tokens, &flags, "the Runtime's launchPrefix")
}

/// `tokens` without the reserved flags and their values, and a note for each flag that was left out. A
/// value is never shown: it may be a secret.
pub(super) fn keep(
    tokens: &[String],
    reserved: &Reserved,
    place: &str,
) -> (Vec<String>, Vec<EventBody>) {
    let mut kept = Vec::new();
    let mut notes = Vec::new();
    let mut tokens = tokens.iter().map(|token| unquote(token)).peekable();
    while let Some(token) = tokens.next() {
        let (flag, inline_value) = match token.split_once('=') {
            Some((flag, _)) => (flag, true),
            None => (token.as_str(), false),
        };
        let Some((flag, takes)) = reserved.iter().find(|(name, _)| *name == flag) else {
            kept.push(token);
            continue;
        };
        let drops_next = !inline_value
            && match takes {
                Takes::Nothing => false,
                Takes::Value => true,
                Takes::MaybeValue => tokens.peek().is_some_and(|next| !next.starts_with('-')),
            };
        if drops_next {
            tokens.next();
        }
        notes.push(EventBody::Log {
            level: LogLevel::Warn,
            content: format!("{flag} is set by Mooring; the one in {place} was left out"),
        });
    }
    (kept, notes)
}

/// `tokens` without the flags that set one of `settings`, each a flag and how its value begins, and a note for each.
pub(super) fn without_settings(
    tokens: Vec<String>,
    settings: &[(&str, &str)],
) -> (Vec<String>, Vec<EventBody>) {
    let mut kept = Vec::new();
    let mut notes = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let (flag, inline) = match token.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (token.as_str(), None),
        };
        let value = inline
            .or(tokens.peek().map(String::as_str))
            .unwrap_or_default();
        let Some((_, setting)) = settings
            .iter()
            .find(|(name, begins)| *name == flag && value.starts_with(begins))
        else {
            kept.push(token);
            continue;
        };
        let words = format!("{setting} is set by Mooring; {flag} {setting}… was left out");
        notes.push(EventBody::Log {
            level: LogLevel::Warn,
            content: words,
        });
        if inline.is_none() {
            tokens.next();
        }
    }
    (kept, notes)
}

/// The command line without the words among its arguments that pi and its relative would take for a part of the prompt,
/// and a note for each. `values` are the flags that take one.
pub(super) fn without_words(argv: Vec<String>, values: &[&str]) -> (Vec<String>, Vec<EventBody>) {
    // What stands before it, and the first flag, are ours or the Runtime's program.
    let fixed = argv.iter().position(|word| word == "--mode").unwrap_or(0);
    let mut kept: Vec<_> = argv[..fixed].to_vec();
    let mut notes = Vec::new();
    let mut rest = argv[fixed..].iter().cloned();
    let mut words_only = false;
    while let Some(word) = rest.next() {
        words_only |= word == "--";
        if !words_only && word.starts_with('-') && word != "-" {
            let takes = values.contains(&word.as_str());
            kept.push(word);
            kept.extend(takes.then(|| rest.next()).flatten());
        } else {
            notes.push(EventBody::Log {
                level: LogLevel::Warn,
                content:
                    "a word among the arguments would be a part of the prompt: it was left out"
                        .to_owned(),
            });
        }
    }
    (kept, notes)
}

/// Takes off one layer of quotes, as people copy them from a shell: around the whole token, or around the
/// value of a flag. `key="v"` is no flag and stays.
fn unquote(token: &str) -> String {
    if let Some(inner) = quoted(token) {
        return inner.to_owned();
    }
    match token.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => {
            format!("{flag}={}", quoted(value).unwrap_or(value))
        }
        _ => token.to_owned(),
    }
}

fn quoted(text: &str) -> Option<&str> {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESERVED: &Reserved = &[
        ("-p", Takes::Nothing),
        ("--format", Takes::Value),
        ("--resume", Takes::MaybeValue),
    ];

    fn kept(tokens: &[&str]) -> Vec<String> {
        let tokens: Vec<String> = tokens.iter().map(ToString::to_string).collect();
        keep(&tokens, RESERVED, "args").0
    }

    #[test]
    fn reserved_flags_go_with_their_values() {
        for (given, left) in [
            (vec!["-p", "--x", "1"], vec!["--x", "1"]),
            (vec!["--format", "json", "--x"], vec!["--x"]),
            (vec!["--format=json", "--x"], vec!["--x"]),
            (vec!["--format"], vec![]),
            (vec!["--format", "--x"], vec![]),
            (vec!["--resume", "--x"], vec!["--x"]),
            (vec!["--resume", "id", "--x"], vec!["--x"]),
            (vec!["\"--format\"", "json"], vec![]),
            (vec!["--formats", "json"], vec!["--formats", "json"]),
            (vec!["sub", "word"], vec!["sub", "word"]),
        ] {
            assert_eq!(kept(&given), left, "{given:?}");
        }
    }

    #[test]
    fn a_word_of_the_prefix_stays_though_it_is_ours_elsewhere() {
        let reserved: &Reserved = &[("acp", Takes::Nothing), ("--acp", Takes::Nothing)];
        let tokens: Vec<_> = ["wrap", "acp", "--acp"].map(str::to_owned).into();
        assert_eq!(keep_prefix(&tokens, reserved).0, ["wrap", "acp"]);
        assert_eq!(keep(&tokens, reserved, "args").0, ["wrap"]);
    }

    #[test]
    fn a_setting_of_ours_goes_whatever_it_is_set_to() {
        let settings = [("-c", "mcp_servers"), ("--config", "mcp_servers")];
        for (given, left) in [
            (
                vec!["-c", "mcp_servers.a.command=x", "-c", "model=m"],
                vec!["-c", "model=m"],
            ),
            (vec!["--config=mcp_servers.a=1", "-x"], vec!["-x"]),
            (
                vec!["-c", "other=mcp_servers"],
                vec!["-c", "other=mcp_servers"],
            ),
            (vec!["-c"], vec!["-c"]),
        ] {
            let tokens = given.iter().map(ToString::to_string).collect();
            let (kept, notes) = without_settings(tokens, &settings);
            assert_eq!(kept, left);
            assert_eq!(notes.len(), usize::from(given.len() > left.len()));
        }
    }

    #[test]
    fn one_layer_of_quotes_goes() {
        for (given, left) in [
            ("'a b'", "a b"),
            ("--x='a b'", "--x=a b"),
            ("--x=\"'a'\"", "--x='a'"),
            ("key=\"v\"", "key=\"v\""),
            ("'", "'"),
            ("'a\"", "'a\""),
        ] {
            assert_eq!(kept(&[given]), [left], "{given}");
        }
    }

    #[test]
    fn a_note_names_the_flag_and_never_the_value() {
        let (_, notes) = keep(&["--format=secret".to_owned()], RESERVED, "args");
        let note = serde_json::to_string(&notes).unwrap();
        assert!(
            note.contains("--format is set by Mooring") && !note.contains("secret"),
            "{note}"
        );
    }
}
