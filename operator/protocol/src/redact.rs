//! The second redaction, where the server takes what a run says.
//!
//! The runner has taken out every secret that its pod was given; the server takes out what it knows itself, whatever
//! a runner did. Credentials of any attempt or person go by their form, those of the attempt itself by their
//! value, also where their beginning was cut off; of what a run says, also what looks like a secret of
//! somebody else's ([`forms`]).

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use secrecy::{ExposeSecret as _, SecretString};

use crate::{AttemptId, Event, InstallationKey, Salt, TaskResult, texts};

pub mod forms;

use forms::MARK as REDACTED;

/// How credentials begin: of tasks, of runners, of persons.
const PREFIXES: [&str; 4] = ["mrt_", "mrr_", "mrp_", "mrw_"];
/// So many characters after the prefix make a credential. Ours have 43 and more; longer than the word that
/// takes their place, so that a redacted text is never longer than it was.
const CREDENTIAL_CHARACTERS: usize = 16;

static BY_FORM: LazyLock<AhoCorasick> =
    LazyLock::new(|| AhoCorasick::new(PREFIXES).expect("a few short words always make a searcher"));

/// Takes the credentials of any attempt or person out of a text.
#[must_use]
pub fn patterns(text: &str) -> String {
    let mut text = text.to_owned();
    replace(&BY_FORM, &mut text);
    text
}

/// Takes out what the server knows of one attempt. Its `Debug` shows no secret.
#[derive(Clone)]
pub struct Redactor(AhoCorasick);

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    /// For one attempt.
    #[must_use]
    pub fn new(key: &InstallationKey, attempt: AttemptId, salt: Salt) -> Self {
        let own = [
            key.task_token(attempt, salt),
            key.runner_credential(attempt, salt),
            key.mac_key(attempt, salt).to_wire(),
        ];
        // The first patterns have to be the prefixes: `replace` tells them by their index.
        let words = PREFIXES.into_iter().chain(own.iter().map(secret_part));
        Self(AhoCorasick::new(words).expect("a few short words always make a searcher"))
    }

    /// Cleans every text of an event.
    pub fn event(&self, event: &mut Event) {
        texts::of_event(&mut event.body, &|text| self.text(text));
    }

    /// Cleans every text of a result.
    pub fn result(&self, result: &mut TaskResult) {
        texts::of_result(result, &|text| self.text(text));
        if let Some(session) = &mut result.provider_session {
            self.text(&mut session.provider);
            self.text(&mut session.id);
        }
        result
            .retired_sessions
            .iter_mut()
            .for_each(|id| self.text(id));
    }

    /// Takes out what is known to be secret, and not what only looks so.
    pub fn known(&self, text: &mut String) {
        replace(&self.0, text);
    }

    /// Cleans a text.
    pub fn text(&self, text: &mut String) {
        self.known(text);
        if let Cow::Owned(clean) = forms::clean(text) {
            *text = clean;
        }
    }
}

/// What of a credential is secret: what follows its prefix, and its attempt where it names that.
fn secret_part(credential: &SecretString) -> &str {
    let text = credential.expose_secret();
    let Some(rest) = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) else {
        return text;
    };
    // A runner's credential is `task_number_secret`; the secret itself may hold underscores.
    match text.starts_with(PREFIXES[1]) {
        true => rest.splitn(3, '_').last().unwrap_or(rest),
        false => rest,
    }
}

/// Replaces what `words` finds; what begins like a credential only where enough follows.
fn replace(words: &AhoCorasick, text: &mut String) {
    let mut clean = String::new();
    let mut kept = 0;
    for found in words.find_iter(text.as_str()) {
        if found.start() < kept {
            continue;
        }
        let mut end = found.end();
        if found.pattern().as_usize() < PREFIXES.len() {
            let rest = &text[end..];
            let length = rest
                .bytes()
                .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
                .count();
            if length < CREDENTIAL_CHARACTERS {
                continue;
            }
            end += length;
        }
        clean.push_str(&text[kept..found.start()]);
        clean.push_str(REDACTED);
        kept = end;
    }
    if kept > 0 {
        clean.push_str(&text[kept..]);
        *text = clean;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::TaskId;

    const SALT: Salt = Salt([5; 16]);

    fn attempt() -> AttemptId {
        AttemptId {
            task: TaskId(uuid::Uuid::from_u128(7)),
            number: 2,
        }
    }

    fn key() -> InstallationKey {
        InstallationKey::new([3; 32])
    }

    fn redactor() -> Redactor {
        Redactor::new(&key(), attempt(), SALT)
    }

    fn cleaned(text: &str) -> String {
        let mut text = text.to_owned();
        redactor().text(&mut text);
        text
    }

    #[test]
    fn credentials_go_by_form_and_by_value() {
        let foreign = InstallationKey::new([9; 32]);
        let token = key().task_token(attempt(), SALT);
        let token = token.expose_secret();
        let credential = key().runner_credential(attempt(), SALT);
        let credential = credential.expose_secret();
        let mac = key().mac_key(attempt(), SALT).to_wire();
        let mac = mac.expose_secret();
        let other = foreign.task_token(attempt(), SALT);
        let other = other.expose_secret();
        for (text, wanted) in [
            (format!("a {token} b"), "a [redacted] b".to_owned()),
            (format!("{credential}."), "[redacted].".to_owned()),
            (format!("x{mac}x"), "x[redacted]x".to_owned()),
            (other.to_owned(), "[redacted]".to_owned()),
            ("mrp_0123456789abcdef-_".to_owned(), "[redacted]".to_owned()),
            // The beginning was cut off.
            (token[4..].to_owned(), "[redacted]".to_owned()),
            (format!("{other}{token}"), "[redacted]".to_owned()),
            (
                "mrt_short and mrr_ alone".to_owned(),
                "mrt_short and mrr_ alone".to_owned(),
            ),
            ("nothing".to_owned(), "nothing".to_owned()),
        ] {
            assert_eq!(cleaned(&text), wanted, "{text}");
        }
        assert_eq!(patterns(other), "[redacted]");
    }

    #[test]
    fn every_text_of_every_event_is_cleaned() {
        let token = key().task_token(attempt(), SALT).expose_secret().to_owned();
        let bodies = [
            json!({"type": "text", "content": token}),
            json!({"type": "thinking", "content": token}),
            json!({"type": "toolUse", "tool": token, "callId": token, "input": {"deep": [{&token: token}]}}),
            json!({"type": "toolResult", "callId": token, "tool": token, "output": token}),
            json!({"type": "status", "status": token, "sessionId": token}),
            json!({"type": "error", "content": token}),
            json!({"type": "log", "level": "info", "content": token}),
        ];
        for mut body in bodies {
            body["seq"] = 1.into();
            body["at"] = "2026-01-01T00:00:00Z".into();
            let mut event: Event = serde_json::from_value(body).unwrap();
            assert!(serde_json::to_string(&event).unwrap().contains(&token));
            redactor().event(&mut event);
            let left = serde_json::to_string(&event).unwrap();
            assert!(!left.contains(&token) && left.contains(REDACTED), "{left}");
        }
    }

    proptest! {
        #[test]
        fn no_text_keeps_a_credential_and_none_grows(before in ".{0,40}", after in ".{0,40}", cut in 0_usize..4) {
            let token = key().task_token(attempt(), SALT).expose_secret().to_owned();
            let text = format!("{before}{}{after}", &token[cut..]);
            let left = cleaned(&text);
            prop_assert!(!left.contains(&token[4..]), "{}", left);
            prop_assert!(left.len() <= text.len());
        }
    }
}
