//! Removal of secrets from everything that leaves the runner.
//!
//! The values that the pod was given go in every form in which programs print them, and besides whatever has the form of
//! a secret ([`protocol::redact::forms`]).

use std::borrow::Cow;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use protocol::redact::forms;
pub use protocol::redact::forms::MARK;
use protocol::{EventBody, TaskResult, texts};
use serde_json::Value;

/// Stands where something was cut off.
const CUT: char = '…';
/// Fewer bytes of a value's beginning tell nothing, and end many an ordinary word.
const TELLING: usize = 4;
/// Shorter values would take ordinary words out of the text.
pub const SHORTEST: usize = 8;
/// Lines of a value are searched for by themselves from this length on, since programs indent and number them.
const SHORTEST_LINE: usize = 16;

/// Finds values. Its `Debug` shows none.
#[derive(Default)]
pub struct Redactor {
    patterns: Vec<String>,
    /// Length of the longest of them.
    longest: usize,
    finder: Option<AhoCorasick>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} patterns)", self.patterns.len())
    }
}

impl Redactor {
    /// Finds these values, and the forms in which programs print them. Too short ones are passed over.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns: Vec<String> = values.into_iter().flat_map(printed).collect();
        patterns.sort();
        patterns.dedup();
        // Patterns that do not fit into an automaton would be gigabytes.
        let finder = AhoCorasick::new(&patterns).ok();
        let longest = patterns.iter().map(String::len).max().unwrap_or(0);
        Self {
            patterns,
            longest,
            finder,
        }
    }

    /// `text` without the values and whatever has the form of a secret.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.values(text) {
            Cow::Borrowed(text) => forms::clean(text),
            Cow::Owned(text) => Cow::Owned(forms::clean(&text).into_owned()),
        }
    }

    /// `text` without the values, and without the part of one that was cut off. What only looks like a secret stays.
    pub fn values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = String::new();
        let mut kept = 0;
        let mut spans = self.spans(text);
        if let Some(head) = text.strip_suffix(CUT) {
            let open = self.open_value(head, &self.spans(head));
            spans.extend((head.len() - open >= TELLING).then_some((open, head.len())));
        }
        for (start, end) in spans {
            clean.push_str(&text[kept..start]);
            clean.push_str(MARK);
            kept = end;
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        clean.push_str(&text[kept..]);
        Cow::Owned(clean)
    }

    /// Everything that is part of a value, joined where values overlap, in order.
    fn spans(&self, text: &str) -> Vec<(usize, usize)> {
        let Some(finder) = &self.finder else {
            return Vec::new();
        };
        let mut found: Vec<_> = finder
            .find_overlapping_iter(text)
            .map(|found| (found.start(), found.end()))
            .collect();
        found.sort_unstable();
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for (start, end) in found {
            match spans.last_mut() {
                Some(last) if start < last.1 => last.1 = last.1.max(end),
                _ => spans.push((start, end)),
            }
        }
        spans
    }

    /// Where the end of `text` begins that may be the beginning of a secret; its length when there is none.
    /// Whoever sends text in pieces keeps that end until more has come.
    #[must_use]
    pub fn open_end(&self, text: &str) -> usize {
        self.end_before(text, forms::open_end(text))
    }

    /// The same when nothing has come for a while, so that the last word is whole.
    #[must_use]
    pub fn begun_end(&self, text: &str) -> usize {
        self.end_before(text, forms::begun_end(text))
    }

    fn end_before(&self, text: &str, mut end: usize) -> usize {
        let spans = self.spans(text);
        // Half of a value would be found no more.
        while let Some((start, _)) = spans
            .iter()
            .find(|(start, stop)| *start < end && end < *stop)
        {
            end = *start;
        }
        end.min(self.open_value(text, &spans))
    }

    /// The same, of values. Never inside one that is whole.
    fn open_value(&self, text: &str, spans: &[(usize, usize)]) -> usize {
        let from = text.len().saturating_sub(self.longest);
        let begins = |at: &usize| {
            let end = &text[*at..];
            // They are sorted, so those that begin with it stand together.
            let first = self
                .patterns
                .partition_point(|pattern| pattern.as_str() < end);
            let mut patterns = self.patterns[first..].iter();
            patterns
                .find(|pattern| pattern.as_str() != end)
                .is_some_and(|pattern| pattern.starts_with(end))
        };
        (from..text.len())
            .filter(|at| text.is_char_boundary(*at))
            .filter(|at| spans.iter().all(|(start, end)| at <= start || at >= end))
            .find(begins)
            .unwrap_or(text.len())
    }

    /// Takes the values out of a string.
    pub fn string(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }

    /// Takes the values out of an event. An id with a hole is no id.
    pub fn body(&self, body: &mut EventBody) {
        if let EventBody::Status { session_id, .. } = body {
            session_id.take_if(|id| self.text(id) != *id);
        }
        texts::of_event(body, &|text| self.string(text));
    }

    /// Takes the values out of a result, and the ids with one in them.
    pub fn result(&self, result: &mut TaskResult) {
        result
            .provider_session
            .take_if(|session| self.text(&session.id) != session.id);
        result.retired_sessions.retain(|id| self.text(id) == *id);
        texts::of_result(result, &|text| self.string(text));
    }
}

/// The forms in which a value may be printed.
fn printed(value: &str) -> Vec<String> {
    let value = value.trim();
    let mut forms = vec![value.to_owned()];
    if value.contains('\n') {
        forms.extend(
            value
                .lines()
                .map(str::trim)
                .filter(|line| line.len() >= SHORTEST_LINE && !line.starts_with("-----"))
                .map(str::to_owned),
        );
    }
    // As it stands inside a JSON text, and inside one that stands in another.
    let mut quoted = value.to_owned();
    for _ in 0..2 {
        quoted = Value::from(quoted.as_str()).to_string();
        quoted = quoted[1..quoted.len() - 1].to_owned();
        forms.push(quoted.clone());
    }
    if value.len() >= SHORTEST {
        forms.extend(in_base64(value));
        forms.extend(in_urls(value));
    }
    forms.retain(|form| form.len() >= SHORTEST);
    forms
}

/// A value inside something longer that is written in base64, wherever it begins in that: of both alphabets, without
/// the letters at its ends that its neighbours have a part in.
fn in_base64(value: &str) -> impl Iterator<Item = String> + '_ {
    (0..3).flat_map(move |before| {
        let bytes = [&[0; 2][..before], value.as_bytes()].concat();
        let shared = [0, 2, 3][before];
        let whole = bytes.len() / 3 * 4 + [0, 1, 2][bytes.len() % 3];
        [
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ]
        .map(|text| text[shared.min(whole)..whole].to_owned())
    })
}

/// A value as it stands in an address or a form: what must be written as a number, and all that may be; in both cases
/// of the digits.
fn in_urls(value: &str) -> impl Iterator<Item = String> + '_ {
    const LEFT: [&str; 3] = ["-_.~", "-_.!~*'()", "-_.*"];
    LEFT.into_iter().flat_map(move |left| {
        let mut upper = String::new();
        for byte in value.bytes() {
            match byte {
                byte if byte.is_ascii_alphanumeric() || left.as_bytes().contains(&byte) => {
                    upper.push(byte.into());
                }
                // A form writes a blank so.
                b' ' if left == LEFT[2] => upper.push('+'),
                byte => upper.push_str(&format!("%{byte:02X}")),
            }
        }
        let lower = upper.split('%').enumerate().map(|(at, part)| match at {
            0 => part.to_owned(),
            _ => format!("%{}{}", part[..2].to_ascii_lowercase(), &part[2..]),
        });
        [lower.collect(), upper]
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_go_and_the_rest_stays() {
        let redactor =
            Redactor::new(["sk-live-12345", "short", "pass\"word\\1", " padded-value\n"]);
        for (text, wanted) in [
            ("nothing here, short", "nothing here, short"),
            ("key=sk-live-12345!", "key=[redacted]!"),
            ("sk-live-12345sk-live-12345", "[redacted][redacted]"),
            (r#"{"p":"pass\"word\\1"}"#, r#"{"p":"[redacted]"}"#),
            ("padded-value", "[redacted]"),
            ("äsk-live-12345ä", "ä[redacted]ä"),
        ] {
            assert_eq!(redactor.text(text), wanted);
        }
        let mut value = json!({"sk-live-12345": ["a sk-live-12345", 1, null]});
        texts::of_value(&mut value, &|text| redactor.string(text));
        assert_eq!(value, json!({"[redacted]": ["a [redacted]", 1, null]}));
        assert!(!format!("{redactor:?}").contains("live"));
    }

    #[test]
    fn what_was_cut_off_inside_a_value_is_no_part_of_it() {
        let redactor = Redactor::new(["sk-live-12345"]);
        for (text, wanted) in [
            ("key=sk-live-1234…", "key=[redacted]…"),
            ("sk-live-12345sk-l…", "[redacted][redacted]…"),
            ("why ask…", "why ask…"),
            ("nothing of it…", "nothing of it…"),
            ("key=sk-live-1234", "key=sk-live-1234"),
        ] {
            assert_eq!(redactor.text(text), wanted);
        }
    }

    #[test]
    fn what_looks_like_a_secret_goes_too() {
        let redactor = Redactor::new(["sk-live-12345"]);
        assert_eq!(
            redactor.text("sk-live-12345 API_KEY=abc123def456"),
            "[redacted] API_KEY=[redacted]"
        );
    }

    #[test]
    fn the_lines_of_a_key_go_one_by_one() {
        let key =
            "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nqhkiG9w0BAQEFAASCBKc\n-----END KEY-----";
        let redactor = Redactor::new([key]);
        let numbered = "1 -----BEGIN KEY-----\n2 MIIEvQIBADANBgkqhkiG\n3 qhkiG9w0BAQEFAASCBKc\n";
        assert_eq!(
            redactor.text(numbered),
            "1 -----BEGIN KEY-----\n2 [redacted]\n3 [redacted]\n"
        );
    }

    #[test]
    fn an_id_with_a_value_in_it_is_no_id() {
        let redactor = Redactor::new(["sk-live-12345"]);
        let mut body = EventBody::Status {
            status: "running".into(),
            session_id: Some("sk-live-12345".into()),
        };
        redactor.body(&mut body);
        let wanted = EventBody::Status {
            status: "running".into(),
            session_id: None,
        };
        assert_eq!(body, wanted);
    }

    proptest! {
        #[test]
        fn nothing_is_missed(
            secrets in proptest::collection::vec("[ab]{8,12}", 1..5),
            parts in proptest::collection::vec("[ab ]{0,9}", 0..6),
            picks in proptest::collection::vec(0usize..5, 6),
        ) {
            let redactor = Redactor::new(secrets.iter().map(String::as_str));
            let mut text = String::new();
            for (part, pick) in parts.iter().zip(picks) {
                text.push_str(part);
                text.push_str(&secrets[pick % secrets.len()]);
            }
            let clean = redactor.text(&text).into_owned();
            for secret in &secrets {
                prop_assert!(!clean.contains(secret.as_str()), "{secret} in {clean}");
            }
            prop_assert_eq!(redactor.text(&clean).into_owned(), clean);
        }

        #[test]
        fn no_form_of_a_value_is_missed(
            secret in "[a-zA-Z0-9 /+&?=%\"\\\\äß]{12,24}",
            before in "[a-z]{0,5}",
            after in "[a-z]{0,5}",
            form in 0_usize..5,
        ) {
            let secret = format!("s{}e", secret.trim());
            let redactor = Redactor::new([secret.as_str()]);
            let whole = format!("{before}{secret}{after}");
            let told = match form {
                1 => STANDARD_NO_PAD.encode(&whole),
                2 => URL_SAFE_NO_PAD.encode(&whole),
                3 => serde_json::to_string(&whole).unwrap(),
                4 => whole
                    .bytes()
                    .map(|byte| match byte {
                        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                        byte => format!("%{byte:02x}"),
                    })
                    .collect(),
                _ => whole,
            };
            let clean = redactor.text(&told).into_owned();
            prop_assert!(clean.contains(MARK), "{} in {}", secret, clean);
            // Letters that a neighbour has a part in may be left, and no more.
            prop_assert!(clean.len() <= before.len() * 2 + after.len() * 2 + MARK.len() + 8, "{}", clean);
        }

        #[test]
        fn nothing_is_missed_across_pieces(
            secret in "[abä]{8,12}",
            text in "[abä ]{0,60}",
            sizes in proptest::collection::vec(1usize..9, 60),
        ) {
            let redactor = Redactor::new([secret.as_str()]);
            let text = format!("{text}{secret}{text}");
            let (mut sent, mut open) = (String::new(), String::new());
            let mut rest = text.chars();
            for size in sizes {
                open.extend(rest.by_ref().take(size));
                let held = open.split_off(redactor.open_end(&open));
                sent.push_str(&redactor.text(&open));
                open = held;
            }
            open.extend(rest);
            sent.push_str(&redactor.text(&open));
            prop_assert!(!sent.contains(&secret), "{sent}");
        }
    }
}
