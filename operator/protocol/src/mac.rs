//! What the runner leaves in places where an agent can write too: believed only with its MAC.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::bound::cut;
use crate::{AttemptId, Event, MacKey, TaskResult, limits};

/// Why a signed thing is not believed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MacError {
    /// It is not of the form.
    #[error("not of the expected form")]
    Malformed,
    /// The MAC is not the one of this attempt's key.
    #[error("the MAC does not match: not written by the runner of this attempt")]
    Forged,
}

fn sign(key: &MacKey, purpose: &[u8], body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(keyed(key, purpose, body).finalize().into_bytes())
}

fn verify(key: &MacKey, purpose: &[u8], body: &[u8], mac: &str) -> Result<(), MacError> {
    let mac = URL_SAFE_NO_PAD
        .decode(mac)
        .map_err(|_| MacError::Malformed)?;
    keyed(key, purpose, body)
        .verify_slice(&mac)
        .map_err(|_| MacError::Forged)
}

fn keyed(key: &MacKey, purpose: &[u8], body: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.0).expect("HMAC takes keys of any length");
    mac.update(purpose);
    mac.update(body);
    mac
}

/// One line of the outbox on the volume: `MAC` space `JSON of an event`.
pub struct OutboxLine;

impl OutboxLine {
    const PURPOSE: &[u8] = b"mooring/outbox/v1";

    /// The line for `event`, without its newline.
    ///
    /// # Errors
    /// When the event cannot be written as JSON.
    pub fn encode(key: &MacKey, event: &Event) -> Result<String, serde_json::Error> {
        let body = serde_json::to_string(event)?;
        Ok(format!(
            "{} {body}",
            sign(key, Self::PURPOSE, body.as_bytes())
        ))
    }

    /// The event of a line.
    ///
    /// # Errors
    /// [`MacError`] when the line is not one that the runner of this attempt wrote.
    pub fn decode(key: &MacKey, line: &str) -> Result<Event, MacError> {
        let (mac, body) = line.split_once(' ').ok_or(MacError::Malformed)?;
        verify(key, Self::PURPOSE, body.as_bytes(), mac)?;
        serde_json::from_str(body).map_err(|_| MacError::Malformed)
    }
}

/// The result in the pod's termination message, so that the leader can end a task whose last call never
/// got through. Without the answer's text where that is long: the timeline holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminationMessage {
    /// Whose result it is.
    pub attempt: AttemptId,
    /// The result; texts may be shortened.
    pub result: TaskResult,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    mac: String,
    body: String,
}

impl TerminationMessage {
    const PURPOSE: &[u8] = b"mooring/termination/v1";

    /// The text to leave, at most [`limits::TERMINATION_BYTES`]: the answer, then usage and evidence are
    /// shortened as far as needed.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn seal(&self, key: &MacKey) -> Result<String, serde_json::Error> {
        let mut message = self.clone();
        let mut keep = 1024;
        loop {
            message.shorten(keep);
            let body = serde_json::to_string(&message)?;
            let mac = sign(key, Self::PURPOSE, body.as_bytes());
            let sealed = serde_json::to_string(&Sealed { mac, body })?;
            if sealed.len() <= limits::TERMINATION_BYTES || keep == 0 {
                return Ok(sealed);
            }
            keep /= 2;
        }
    }

    /// Reads a termination message.
    ///
    /// # Errors
    /// [`MacError`] when the runner of this attempt did not write it.
    pub fn open(key: &MacKey, text: &str) -> Result<Self, MacError> {
        let sealed: Sealed = serde_json::from_str(text).map_err(|_| MacError::Malformed)?;
        verify(key, Self::PURPOSE, sealed.body.as_bytes(), &sealed.mac)?;
        serde_json::from_str(&sealed.body).map_err(|_| MacError::Malformed)
    }

    fn shorten(&mut self, keep: usize) {
        let result = &mut self.result;
        cut(&mut result.output, keep);
        if let crate::Outcome::Failed { message, .. } = &mut result.outcome {
            cut(message, keep);
        }
        let resumed = &mut result.resumed;
        for evidence in [
            &mut resumed.volume,
            &mut resumed.workdir,
            &mut resumed.session,
            &mut resumed.provider,
        ] {
            cut(&mut evidence.evidence, keep.min(128));
        }
        if keep < 256 {
            result.usage.clear();
            result.retired_sessions.truncate(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;
    use crate::{EventBody, FailureClass, Outcome, Resumed, TaskId, TokenUsage};

    fn key(byte: u8) -> MacKey {
        MacKey([byte; 32])
    }

    fn event(content: String) -> Event {
        Event {
            seq: 1,
            at: Timestamp::UNIX_EPOCH,
            body: EventBody::Text { content },
        }
    }

    fn message(output: String, failure: Option<String>) -> TerminationMessage {
        let outcome = match failure {
            None => Outcome::Succeeded,
            Some(message) => Outcome::failed(FailureClass::CliCrashed, message),
        };
        TerminationMessage {
            attempt: AttemptId {
                task: TaskId(uuid::Uuid::from_u128(1)),
                number: 2,
            },
            result: TaskResult {
                outcome,
                output,
                duration_ms: 5,
                provider_session: None,
                retired_sessions: Vec::new(),
                resumed: Resumed::unknown("x"),
                usage: (0..40)
                    .map(|n| (format!("model-{n}"), TokenUsage::default()))
                    .collect(),
                last_seq: 3,
            },
        }
    }

    proptest! {
        #[test]
        fn a_line_is_read_back(content in ".*") {
            let line = OutboxLine::encode(&key(1), &event(content.clone())).unwrap();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(OutboxLine::decode(&key(1), &line).unwrap(), event(content));
            prop_assert_eq!(OutboxLine::decode(&key(2), &line), Err(MacError::Forged));
        }

        #[test]
        fn any_bytes_are_refused_without_panic(line in ".*") {
            prop_assert!(OutboxLine::decode(&key(1), &line).is_err());
            prop_assert!(TerminationMessage::open(&key(1), &line).is_err());
        }

        #[test]
        fn a_termination_message_fits_and_is_read_back(output in "\\PC{0,4000}", failure in proptest::option::of("[\"\\\\é]{0,3000}")) {
            let sealed = message(output, failure).seal(&key(1)).unwrap();
            prop_assert!(sealed.len() <= limits::TERMINATION_BYTES);
            let opened = TerminationMessage::open(&key(1), &sealed).unwrap();
            prop_assert_eq!(opened.attempt.number, 2);
            prop_assert_eq!(TerminationMessage::open(&key(2), &sealed), Err(MacError::Forged));
        }
    }

    #[test]
    fn a_changed_line_is_forged() {
        let line = OutboxLine::encode(&key(1), &event("good".into())).unwrap();
        assert_eq!(
            OutboxLine::decode(&key(1), &line.replace("good", "evil")),
            Err(MacError::Forged)
        );
    }
}
