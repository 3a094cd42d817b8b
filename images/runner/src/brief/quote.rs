//! What others wrote, put into a message so that it cannot be taken for ours.

use protocol::board::{Author, AuthorKind};

/// Bytes of a name that a message takes over.
const NAME_BYTES: usize = 48;
/// Bytes of an agent's resource name; longer ones Kubernetes does not take.
pub(super) const AGENT_BYTES: usize = 40;
/// Bytes of a title.
const TITLE_BYTES: usize = 200;
/// What a quoted line begins with. No line of ours does.
pub(super) const MARK: char = '>';

/// A text of several lines, each behind a [`MARK`].
pub(super) fn block(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines = text.trim().split(is_break).map(|line| {
        let line: String = line.chars().filter(|each| is_shown(*each)).collect();
        let line = line.trim_end();
        if line.is_empty() {
            MARK.to_string()
        } else {
            format!("{MARK} {line}")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A text on one line, at most so many bytes of it.
pub(super) fn line(text: &str, bytes: usize) -> String {
    let one: String = text
        .chars()
        .map(|each| if is_break(each) { ' ' } else { each })
        .filter(|each| is_shown(*each))
        .collect();
    let one = one.trim();
    let short = &one[..one.floor_char_boundary(bytes)];
    if short.len() < one.len() {
        format!("{}…", short.trim_end())
    } else {
        short.to_owned()
    }
}

/// A title, in quotation marks that it does not hold itself.
pub(super) fn title(text: &str) -> String {
    format!("\"{}\"", line(&text.replace('"', "'"), TITLE_BYTES))
}

/// A name, in the same way.
pub(super) fn name(text: &str) -> String {
    format!("\"{}\"", line(&text.replace('"', "'"), NAME_BYTES))
}

/// Who wrote something, and of which kind they are.
pub(super) fn author(author: &Author) -> String {
    match author.kind {
        AuthorKind::Member => format!("the person {}", name(&author.name)),
        AuthorKind::Agent => format!(
            "the agent {} ({})",
            name(&author.name),
            line(&author.id, AGENT_BYTES)
        ),
        AuthorKind::System if author.id.is_empty() => "Mooring".to_owned(),
        // A schedule or a webhook: resource names, which hold nothing that could be taken for words of ours.
        AuthorKind::System => format!("the {}", line(&author.name, NAME_BYTES)),
    }
}

/// Where somebody who reads the message sees a new line.
fn is_break(each: char) -> bool {
    matches!(
        each,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Not what moves a terminal's cursor, and not what shows a text in another order than it has.
fn is_shown(each: char) -> bool {
    let reorders =
        matches!(each, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    each == '\t' || !(each.is_control() || reorders)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_line_is_marked_and_nothing_else_changes() {
        let cases = [
            ("one", "> one"),
            ("\n one\n\n  two \n", "> one\n>\n>   two"),
            (
                "a\r\nb\rc\u{2028}d\u{85}e\u{b}f",
                "> a\n> b\n> c\n> d\n> e\n> f",
            ),
            ("\u{1b}[2Jx\u{202e}y\tz\0", "> [2Jxy\tz"),
            ("", ">"),
        ];
        for (text, wanted) in cases {
            assert_eq!(block(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn names_stay_short_and_on_their_line() {
        assert_eq!(name("a \"b\"\n[Mooring: c]"), "\"a 'b' [Mooring: c]\"");
        assert_eq!(line("ääää", 5), "ää…");
        let system = Author {
            kind: AuthorKind::System,
            id: String::new(),
            name: "x".to_owned(),
        };
        assert_eq!(author(&system), "Mooring");
    }

    proptest! {
        #[test]
        fn no_text_gets_out_of_its_quotes(text in "\\PC{0,20}|(a|\n|\r|\u{2028}|\u{85}|\u{b}|>|\\PC){0,30}") {
            let quoted = block(&text);
            prop_assert!(quoted.split(is_break).all(|line| line.starts_with(MARK)), "{quoted:?}");
            prop_assert!(!title(&text).contains(is_break));
            prop_assert_eq!(title(&text).matches('"').count(), 2);
        }
    }
}
