//! Text that others wrote, made harmless for a terminal.
//!
//! A title, a name or a comment may hold escape sequences that move the cursor, colour what follows, change the
//! window's title or turn the reading order around. [`neutral`] is the one place that decides what passes.

use std::fmt::Write as _;

use jiff::Timestamp;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// What a character is shown as; itself when it only draws something.
fn neutral(each: char) -> char {
    match each {
        // The pictures that Unicode has for them.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(each)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        // C1 controls, separators of lines, and what turns the direction of reading.
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => '\u{fffd}',
        _ => each,
    }
}

/// A text on one line.
pub(crate) fn line(text: &str) -> String {
    text.chars()
        .map(|each| match each {
            '\n' | '\t' | '\r' | '\u{2028}' | '\u{2029}' => ' ',
            _ => neutral(each),
        })
        .collect()
}

/// A text with its lines.
pub(crate) fn block(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|each| match each {
            '\n' | '\t' => each,
            _ => neutral(each),
        })
        .collect()
}

/// JSON of the same meaning. What is not plain in it can only stand in strings, where an escape says the same.
pub(crate) fn json(text: &str) -> String {
    text.chars().fold(String::new(), |mut safe, each| {
        if each == '\n' || neutral(each) == each {
            safe.push(each);
        } else {
            let _ = write!(safe, "\\u{:04x}", u32::from(each));
        }
        safe
    })
}

/// True when a terminal only draws it.
pub(crate) fn is_harmless(text: &str) -> bool {
    text.chars()
        .all(|each| each == '\n' || neutral(each) == each)
}

/// The lines of a text, indented.
pub(crate) fn indented(text: &str, by: usize) -> String {
    let mut indented = String::new();
    for line in block(text).lines() {
        if !line.is_empty() {
            let _ = write!(indented, "{:by$}{line}", "");
        }
        indented.push('\n');
    }
    indented
}

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// At most so many columns of a line; what is cut off is told.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut taken = 1;
    for each in text.chars() {
        taken += each.width().unwrap_or_default();
        if taken > columns {
            break;
        }
        kept.push(each);
    }
    kept.push('…');
    kept
}

/// A moment to the second, in the form that `--since` takes.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[31m\u{9b}2J\u{7}\u{202e}b\u{7f}";

    #[test]
    fn nothing_that_a_terminal_obeys_passes() {
        let tame = "a␛[31m\u{fffd}2J␇\u{fffd}b␡";
        assert_eq!(line(HOSTILE), tame);
        assert_eq!(block(HOSTILE), tame);
        assert_eq!(line("a\r\nb\tc\u{2028}d"), "a  b c d");
        assert_eq!(block("a\r\nb\tc\rd"), "a\nb\tc␍d");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let written = serde_json::to_string_pretty(&[HOSTILE, "é👩‍💻"]).unwrap();
        let safe = json(&written);
        assert!(
            safe.chars()
                .all(|each| each == '\n' || neutral(each) == each)
        );
        assert_eq!(
            serde_json::from_str::<Vec<String>>(&safe).unwrap(),
            [HOSTILE, "é👩‍💻"]
        );
    }

    #[test]
    fn long_lines_are_cut_by_columns() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
    }

    #[test]
    fn a_time_can_be_given_back() {
        let at: Timestamp = "2026-11-30T05:58:12.345678Z".parse().unwrap();
        assert_eq!(time(at), "2026-11-30T05:58:12Z");
        assert!(time(at).parse::<Timestamp>().is_ok());
    }
}
