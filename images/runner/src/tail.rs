//! The last words of a CLI on stderr, for the message of a failure.

/// Bytes that are kept while it runs, colours included.
const KEPT: usize = 8 * 1024;
/// Bytes that are shown.
const SHOWN: usize = 2 * 1024;

/// The end of what was written.
#[derive(Clone, Debug, Default)]
pub struct Tail(String);

impl Tail {
    /// Adds a line.
    pub fn push(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        self.0
            .push_str(&line[line.floor_char_boundary(line.len().saturating_sub(KEPT))..]);
        self.0.push('\n');
        let surplus = self.0.len().saturating_sub(KEPT);
        self.0.drain(..self.0.ceil_char_boundary(surplus));
    }

    /// The end without colours and control characters, on one line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut characters = self.0.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                // A control sequence ends with a letter.
                '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                    while characters.next_if(|c| matches!(c, ' '..='?')).is_some() {}
                    characters.next();
                }
                '\n' | '\t' => text.push(' '),
                c if c.is_control() => {}
                c => text.push(c),
            }
        }
        let text = text.trim();
        text[text.ceil_char_boundary(text.len().saturating_sub(SHOWN))..].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_go_and_words_stay() {
        let mut tail = Tail::default();
        tail.push(b"\x1b[31mError:\x1b[0m no\x07 such\tfile");
        tail.push("größer\x1b".as_bytes());
        assert_eq!(tail.text(), "Error: no such file größer");
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_bounded_end(lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..3000), 0..8)) {
            let mut tail = Tail::default();
            for line in &lines {
                tail.push(line);
            }
            tail.push(b"end");
            let text = tail.text();
            prop_assert!(text.len() <= SHOWN);
            prop_assert!(text.chars().all(|c| !c.is_control()));
        }
    }
}
