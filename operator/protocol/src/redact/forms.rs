//! Secrets that are told by their form alone: keys of the usual providers, private keys, and what is given to a name
//! that says it is secret. Whoever knows the values of secrets looks for those as well.
//!
//! A form is only taken for a secret where little else looks like it: a text that was changed for nothing is a
//! harm too, since agents work on code.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// Stands where a secret was.
pub const MARK: &str = "[redacted]";

/// A private key that is not whole yet is held back up to this size, and so is a word: much less than is merged before
/// it is sent, else each further letter would be searched with all of it.
const HELD_BYTES: usize = 8 * 1024;
/// What is given to a name that says it is secret is one from this length on.
const GIVEN_BYTES: usize = 8;

/// What the secret is, where that is not all of what is found: the group `secret`.
const FORMS: [&str; 12] = [
    // Amazon's key ids.
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    // PEM, also where its end was cut off.
    r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\z)",
    // GitHub.
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    // OpenAI, Anthropic and those who do as they do.
    r"\bsk-[A-Za-z0-9_-]{20,}",
    // Slack.
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}",
    // GitLab.
    r"\bgl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{16,}",
    // Google.
    r"\bAIza[A-Za-z0-9_-]{30,}",
    // Stripe.
    r"\b(?:sk|rk)_live_[A-Za-z0-9]{16,}",
    // JSON Web Tokens.
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    // Headers.
    r"(?i)\bbearer[ \t]+(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)",
    // A password in an address. No upper bound here and below: each possible letter would be a copy of the whole class.
    r#"://[^\s:/@"']*:(?P<secret>[^\s/@"']{3,})@"#,
    // What is given to such a name. Whether it is a value and no piece of a program is judged apart.
    r#"(?i)(?:api_?key|access_?key|private_?key|_key|token|secret|passw(?:or)?d)["']?[ \t]{0,8}[:=][ \t]{0,8}["']?(?P<secret>[^\s"',;<>(){}\[\]\\]{8,})"#,
];
/// The form of those that are judged apart.
const GIVEN: usize = FORMS.len() - 1;
/// What may go on to be a secret behind a blank: the end of a text that is not whole yet.
const BEGUN: &str = r#"(?i)(?:\bbearer[ \t]+|(?:key|token|secret|passw(?:or)?d)["']?[ \t]{0,8}(?:[:=][ \t]{0,8})?["']?)\S*\z"#;

struct Finder {
    any: RegexSet,
    each: Vec<Regex>,
    begun: Regex,
}

static FINDER: LazyLock<Finder> = LazyLock::new(|| Finder {
    any: RegexSet::new(FORMS).expect("the forms are constants, and a test uses each"),
    each: FORMS
        .iter()
        .map(|form| Regex::new(form).expect("the forms are constants, and a test uses each"))
        .collect(),
    begun: Regex::new(BEGUN).expect("a constant, and a test uses it"),
});

/// `text` without what has the form of a secret. Never longer than it was.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    let found = spans(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut clean, mut kept) = (String::with_capacity(text.len()), 0);
    for span in found {
        clean.push_str(&text[kept..span.start]);
        clean.push_str(&MARK[..MARK.len().min(span.len())]);
        kept = span.end;
    }
    clean.push_str(&text[kept..]);
    Cow::Owned(clean)
}

/// Where the end of `text` begins that may become a secret once more of it has come.
///
/// Whoever sends text in pieces keeps that end: the last word, what follows a name that says it is secret, and a private
/// key that is not whole.
#[must_use]
pub fn open_end(text: &str) -> usize {
    let word = text.rfind(char::is_whitespace).map_or(0, |at| {
        at + text[at..].chars().next().map_or(0, char::len_utf8)
    });
    end_before(text, word)
}

/// The same without the last word: for one after which nothing has come for a while, so that it is whole.
#[must_use]
pub fn begun_end(text: &str) -> usize {
    end_before(text, text.len())
}

/// The end that begins at `word` or, where a secret has begun before, there.
fn end_before(text: &str, word: usize) -> usize {
    let tail = text.ceil_char_boundary(text.len().saturating_sub(HELD_BYTES));
    let last = &text[tail..];
    let begun = FINDER
        .begun
        .find(last)
        .map_or(last.len(), |found| found.start());
    // Its first line and its last one have such strokes at both ends.
    let key = last
        .rfind("-----BEGIN ")
        .filter(|at| last[*at..].matches("-----").count() < 4);
    let end = word
        .saturating_sub(tail)
        .min(begun)
        .min(key.unwrap_or(last.len()));
    // What is found already goes as a whole.
    let within = spans(last)
        .into_iter()
        .find(|span| span.start < end && end < span.end);
    tail + within.map_or(end, |span| span.start)
}

/// Everything that has the form of a secret, in order and apart.
fn spans(text: &str) -> Vec<Range<usize>> {
    let finder = &*FINDER;
    let mut found: Vec<Range<usize>> = Vec::new();
    for form in finder.any.matches(text) {
        for hit in finder.each[form].captures_iter(text) {
            let Some(secret) = hit.name("secret").or_else(|| hit.get(0)) else {
                continue;
            };
            if form != GIVEN || is_value(secret.as_str(), &text[secret.end()..]) {
                found.push(secret.range());
            }
        }
    }
    found.sort_by_key(|span| (span.start, span.end));
    let mut apart: Vec<Range<usize>> = Vec::new();
    for span in found {
        match apart.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => apart.push(span),
        }
    }
    apart
}

/// Tells a value from a piece of a program: letters and digits together, and nothing that calls, refers or names a path.
fn is_value(given: &str, behind: &str) -> bool {
    let has = |wanted: fn(&char) -> bool| given.chars().any(|c| wanted(&c));
    given.len() >= GIVEN_BYTES
        && !behind.starts_with(['(', '[', '{', '<'])
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && !given.starts_with(['$', '&', '*', '/', '.', '%', '#', '!', '`'])
        && !given.contains("::")
        && !given.contains("..")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One of each form, made up, with what of it is left. In pieces, so that no scanner takes this file for a leak.
    fn examples() -> Vec<(String, String)> {
        let whole = |text: String| (text, MARK.to_owned());
        let body = "0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T";
        vec![
            whole(format!("AK{}", "IAIOSFODNN7EXAMPLE".replace('8', "7"))),
            whole(format!(
                "-----BEGIN RSA PRIVATE {k}-----\nMIIE\n-----END RSA PRIVATE {k}-----",
                k = "KEY"
            )),
            whole(format!("-----BEGIN PRIVATE {}-----\nMIIE\nno end", "KEY")),
            whole(format!("gh{}{body}", "p_")),
            whole(format!("github{}{body}", "_pat_")),
            whole(format!("sk{}{body}", "-ant-api03-")),
            whole(format!("xox{}{body}", "b-1234-")),
            whole(format!("gl{}{body}", "pat-")),
            whole(format!("AI{}{body}", "za")),
            whole(format!("sk_{}{body}", "live_")),
            whole(format!("ey{}{body}.{body}.{body}", "J")),
            (
                format!("Authorization: Bearer {body}=="),
                format!("Authorization: Bearer {MARK}"),
            ),
            (
                "postgres://me:hunter2hunter2@db/x".into(),
                format!("postgres://me:{MARK}@db/x"),
            ),
            ("redis://:pw1@db".into(), "redis://:[re@db".into()),
            (
                "export API_KEY=abc123def456".into(),
                format!("export API_KEY={MARK}"),
            ),
            (
                r#"{"client_secret": "abc123def456"}"#.into(),
                format!(r#"{{"client_secret": "{MARK}"}}"#),
            ),
            (
                "DB_PASSWORD: 'p4ssw0rdp4ss'".into(),
                format!("DB_PASSWORD: '{MARK}'"),
            ),
        ]
    }

    #[test]
    fn each_form_is_found_and_nothing_beside_it() {
        for (text, left) in examples() {
            for (before, after) in [("", ""), ("a ", " b"), ("(", ")"), ("\"", "\"")] {
                // What follows a key without an end belongs to it.
                if text.ends_with("no end") && !after.is_empty() {
                    continue;
                }
                let wanted = format!("{before}{left}{after}");
                assert_eq!(clean(&format!("{before}{text}{after}")), wanted);
                assert_eq!(clean(&wanted), wanted, "what is clean stays as it is");
            }
        }
        let used: Vec<usize> = examples()
            .iter()
            .flat_map(|(text, _)| FINDER.any.matches(text))
            .collect();
        for (number, form) in FORMS.iter().enumerate() {
            assert!(used.contains(&number), "no example of {form}");
        }
    }

    #[test]
    fn programs_and_prose_stay_as_they_are() {
        for text in [
            "let token = self.tokens.next().unwrap_or_default();",
            "token = parse_token2(input)",
            "primary_key: \"created_at\"",
            "password: ${DB_PASSWORD_2}",
            "the secret: nobody knows it",
            "SECRET_KEY=$(cat /run/secrets/key1)",
            "sk-learn and sk-image",
            "bearer of bad news",
            "https://example.org:8443/a@b",
            "token: crate::lexer2::Token",
            "key=value",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "tokens: 123456789",
        ] {
            assert_eq!(clean(text), text);
        }
    }

    #[test]
    fn only_what_may_become_a_secret_is_held_back() {
        for (text, sent) in [
            ("all is said. ", "all is said. "),
            ("all is said", "all is "),
            ("Authorization: Bearer ", "Authorization: "),
            ("Authorization: Bearer abc", "Authorization: "),
            ("API_KEY = ", "API_"),
            ("see\n-----BEGIN PRIVATE KEY-----\nMIIE\nxx ", "see\n"),
            ("see\n-----BEGIN CERTIFICATE-----\nMIIE\nxx ", "see\n"),
            ("", ""),
            ("ä", ""),
            ("ä ä", "ä "),
        ] {
            assert_eq!(&text[..open_end(text)], sent, "{text:?}");
        }
        for (text, sent) in [
            ("all is said", "all is said"),
            ("Authorization: Bearer abc", "Authorization: "),
            ("see\n-----BEGIN PRIVATE KEY-----\nMIIE", "see\n"),
        ] {
            assert_eq!(&text[..begun_end(text)], sent, "{text:?}");
        }
        let long = "x".repeat(3 * HELD_BYTES);
        assert_eq!(
            open_end(&long),
            2 * HELD_BYTES,
            "what is held back has an end"
        );
    }

    proptest! {
        #[test]
        fn in_pieces_nothing_is_missed(
            which in 0_usize..17,
            before in "[a-z ]{0,20} ",
            after in " [a-z ]{0,20}",
            sizes in proptest::collection::vec(1_usize..30, 1..200),
        ) {
            let (secret, _) = &examples()[which];
            let whole = format!("{before}{secret}{after}");
            let (mut sent, mut open) = (String::new(), String::new());
            let mut rest = whole.chars();
            for size in sizes {
                open.extend(rest.by_ref().take(size));
                let held = open.split_off(open_end(&open));
                sent.push_str(&clean(&open));
                open = held;
            }
            open.extend(rest);
            sent.push_str(&clean(&open));
            prop_assert!(!sent.contains(secret.as_str()), "{}", sent);
            prop_assert_eq!(sent, clean(&whole).into_owned());
        }

        #[test]
        fn no_text_grows_and_a_clean_one_is_clean(text in "(?s).{0,200}") {
            let once = clean(&text).into_owned();
            prop_assert!(once.len() <= text.len());
            prop_assert_eq!(clean(&once), once.as_str());
        }
    }
}
