//! What stands around a word.

use super::words::{Words, split};

/// At most so many characters of a text, on one line, around the first of the words that stands in it; its beginning
/// where none does. `…` stands for what was left out.
pub(super) fn around(text: &str, words: &Words, most: usize) -> String {
    let found = split(text).find(|word| words.have(word));
    // Where a part of the text begins in it, both being the same memory.
    let at = found.map_or(0, |word| word.as_ptr() as usize - text.as_ptr() as usize);
    let begin = match text.char_indices().nth(most) {
        // All of it is shown.
        None => 0,
        Some(_) => beginning(text, at, most / 4),
    };
    let rest = &text[begin..];
    let end = rest
        .char_indices()
        .nth(most)
        .map_or(rest.len(), |(end, _)| end);
    let mut shown = String::new();
    if !text[..begin].trim().is_empty() {
        shown.push('…');
    }
    let mut blank = true;
    for each in rest[..end].chars() {
        let is_blank = each.is_whitespace() || each.is_control();
        if !is_blank {
            shown.push(each);
        } else if !blank {
            shown.push(' ');
        }
        blank = is_blank;
    }
    let kept = shown.trim_end().len();
    shown.truncate(kept);
    if !rest[end..].trim().is_empty() {
        shown.push('…');
    }
    shown
}

/// Where so many characters before a place begin, and a word does.
fn beginning(text: &str, at: usize, most: usize) -> usize {
    let before = text[..at].char_indices().rev().take(most).last();
    let begin = before.map_or(at, |(begin, _)| begin);
    if begin == 0 || text[..begin].ends_with(char::is_whitespace) {
        return begin;
    }
    let blank = text[begin..at].find(char::is_whitespace);
    blank.map_or(begin, |blank| begin + blank)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str, typed: &str) -> String {
        around(text, &Words::read(typed).unwrap(), 20)
    }

    #[test]
    fn the_first_word_is_shown_with_what_stands_around_it() {
        assert_eq!(shown("short text", "text"), "short text");
        assert_eq!(shown("one\r\n\n- two\u{1b}[31m", "TWO"), "one - two [31m");
        assert_eq!(
            shown("a long beginning before the needle and more", "needle"),
            "…the needle and more"
        );
        assert_eq!(
            shown("needles are no needle, and nothing else is", "needle"),
            "…no needle, and noth…"
        );
        assert_eq!(
            shown("not in here at all, whatever", "title"),
            "not in here at all,…"
        );
        assert_eq!(shown("Über die Brücke", "über"), "Über die Brücke");
        assert_eq!(shown("", "x"), "");
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "(\\PC|\n|é|a|b| ){0,80}", most in 0_usize..40) {
            let shown = around(&text, &Words::read("a é").unwrap(), most);
            prop_assert!(shown.chars().count() <= most + 2);
            prop_assert!(!shown.contains('\n'));
        }
    }
}
