//! What was typed, as the words that the index knows, and those in the language of each database. Only letters and
//! digits are taken over, so nothing that is typed is ever an operator of that language.

use std::fmt::Write as _;

use protocol::limits;

use crate::Error;

/// Characters of the beginning of a word at least: a shorter one begins half of all words.
const BEGINNING: usize = 3;

/// Words to be found, as they were typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words(Vec<Word>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    /// Typed as `word*`: whatever begins so is meant.
    begins: bool,
}

impl Word {
    fn is(&self, other: &str) -> bool {
        let (own, other) = (self.text.to_lowercase(), other.to_lowercase());
        own == other || (self.begins && other.starts_with(&own))
    }
}

impl Words {
    /// Reads what was typed.
    pub(super) fn read(typed: &str) -> Result<Self, Error> {
        let invalid = |why: String| Err(Error::Invalid { what: "q", why });
        if typed.len() > limits::SEARCH_BYTES {
            return invalid(format!(
                "it has {} bytes and may have {}",
                typed.len(),
                limits::SEARCH_BYTES
            ));
        }
        let mut words: Vec<Word> = Vec::new();
        for text in split(typed) {
            // Where a part of what was typed ends in it, both being the same memory.
            let end = text.as_ptr() as usize - typed.as_ptr() as usize + text.len();
            let word = Word {
                text: text.to_owned(),
                begins: typed[end..].starts_with('*'),
            };
            if word.begins && text.chars().count() < BEGINNING {
                return invalid(format!(
                    "of a word of which only the beginning is given, as in \"{text}*\", at least {BEGINNING} letters are \
                     needed"
                ));
            }
            if !words.contains(&word) {
                words.push(word);
            }
        }
        match words.len() {
            0 => invalid("it holds no word, that is, neither a letter nor a digit".to_owned()),
            count if count > limits::SEARCH_WORDS => invalid(format!(
                "it holds {count} words and may hold {}",
                limits::SEARCH_WORDS
            )),
            _ => Ok(Self(words)),
        }
    }

    /// True for one of them, in letters of any case, or for what begins so where that is meant.
    pub(super) fn have(&self, word: &str) -> bool {
        self.0.iter().any(|known| known.is(word))
    }

    /// All of them, at a place, for FTS5.
    pub(super) fn sqlite(&self, place: &str) -> String {
        let mut terms = String::from("words : (");
        for (at, word) in self.0.iter().enumerate() {
            let and = if at == 0 { "" } else { " AND " };
            let star = if word.begins { "*" } else { "" };
            let _ = write!(terms, "{and}{}{star}", quoted(&word.text, '"'));
        }
        let _ = write!(terms, ") AND place : {}", quoted(place, '"'));
        terms
    }

    /// All of them, at a place, as a `tsquery`.
    pub(super) fn postgres(&self, place: &str) -> String {
        // No text has a word that begins with a blank.
        let mut terms = quoted(&format!(" {place}"), '\'');
        for word in &self.0 {
            let star = if word.begins { ":*" } else { "" };
            let forms = forms(&word.text).into_iter();
            let forms: Vec<_> = forms.map(|form| quoted(&form, '\'') + star).collect();
            let _ = write!(terms, " & ({})", forms.join(" | "));
        }
        terms
    }
}

/// The runs of letters and digits of a text, in their order.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|each: char| !each.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// How a word may stand in the index. Whether letters beyond ASCII are there in lower case is up to the locale with
/// which the database was made.
fn forms(word: &str) -> Vec<String> {
    let lower = word.to_lowercase();
    if word.is_ascii() {
        return vec![lower];
    }
    let mut rest = lower.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    let title: String = first.chain(rest).collect();
    // ASCII is in lower case wherever it stands.
    let mut forms = vec![lower, title, word.to_owned(), word.to_uppercase()];
    for form in &mut forms {
        form.make_ascii_lowercase();
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

fn quoted(word: &str, with: char) -> String {
    let mut quoted = String::from(with);
    for each in word.chars() {
        if each == with || each == '\\' {
            quoted.push(each);
        }
        quoted.push(each);
    }
    quoted.push(with);
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_letters_and_digits_are_words() {
        let words = |typed: &str| -> Vec<String> {
            let words = Words::read(typed).unwrap().0.into_iter();
            words.map(|word| word.text).collect()
        };
        assert_eq!(words("  log-in log in\tlog "), ["log", "in"]);
        assert_eq!(
            words(r#"foo" OR * NEAR(a) : ^b"#),
            ["foo", "OR", "NEAR", "a", "b"]
        );
        assert_eq!(words("(a+)+$ 日本 Größe_2"), ["a", "日本", "Größe", "2"]);
        for wrong in ["", " ", "\"", "*", "!!! ---", "\u{1b}[", "🚢"] {
            let refused = Words::read(wrong);
            // The rest of an escape sequence may be a word.
            assert!(refused.is_err(), "{wrong:?}: {refused:?}");
        }
        assert!(Words::read(&"x".repeat(limits::SEARCH_BYTES)).is_ok());
        assert!(Words::read(&"x".repeat(limits::SEARCH_BYTES + 1)).is_err());
        let many = |count: usize| {
            (0..count)
                .map(|each| format!("w{each} "))
                .collect::<String>()
        };
        assert!(Words::read(&many(limits::SEARCH_WORDS)).is_ok());
        assert!(Words::read(&many(limits::SEARCH_WORDS + 1)).is_err());
    }

    #[test]
    fn a_star_behind_a_word_means_its_beginning() {
        let words = Words::read("Bas* the*end wet *x").unwrap();
        assert_eq!(
            words.sqlite("w1"),
            r#"words : ("Bas"* AND "the"* AND "end" AND "wet" AND "x") AND place : "w1""#
        );
        assert_eq!(
            words.postgres("w1"),
            "' w1' & ('bas':*) & ('the':*) & ('end') & ('wet') & ('x')"
        );
        assert!(words.have("BASEMENT") && words.have("bas") && words.have("then"));
        assert!(!words.have("ba") && !words.have("wetter"));
        for short in ["a*", "ab* c", "1*"] {
            let refused = Words::read(short).unwrap_err().to_string();
            assert!(refused.contains("at least 3 letters"), "{refused}");
        }
        assert!(Words::read("日本語*").is_ok());
    }

    #[test]
    fn each_database_is_asked_in_its_language() {
        let words = Words::read("Log: in").unwrap();
        assert_eq!(
            words.sqlite("w1"),
            r#"words : ("Log" AND "in") AND place : "w1""#
        );
        assert_eq!(words.postgres("w1"), "' w1' & ('log') & ('in')");
        let beyond = Words::read("Über").unwrap();
        assert_eq!(beyond.postgres("w1"), "' w1' & ('Über' | 'über')");
        assert_eq!(quoted(r#"a"b\"#, '"'), r#""a""b\\""#);
        assert!(words.have("LOG") && !words.have("login"));
    }
}
