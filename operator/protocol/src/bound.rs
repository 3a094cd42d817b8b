//! What a runner says is cut to the sizes that the store and the status of a task are made for. A runner of
//! ours keeps them; these are for one that does not.

use crate::{Outcome, ProviderSession, TaskResult, limits};

/// Bytes of a sentence of evidence.
const EVIDENCE_BYTES: usize = 512;
/// Bytes of a provider's session id; the longest known are UUIDs and paths.
const SESSION_ID_BYTES: usize = 256;
/// Ids of one result that are never to be resumed again.
const RETIRED: usize = 16;

/// Shortens a text to at most `most` bytes, between two characters.
pub fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
    }
}

/// Brings a result to size. An id that is no id costs only the id: the next turn starts fresh and says so.
pub fn result(result: &mut TaskResult) {
    cut(&mut result.output, limits::OUTPUT_BYTES);
    if let Outcome::Failed { message, .. } = &mut result.outcome {
        cut(message, limits::MESSAGE_BYTES);
    }
    for evidence in result.resumed.sentences() {
        cut(evidence, EVIDENCE_BYTES);
    }
    result
        .provider_session
        .take_if(|session| !is_session(session));
    result.retired_sessions.retain(|id| is_session_id(id));
    result.retired_sessions.truncate(RETIRED);
    result
        .usage
        .retain(|model, _| model.len() <= limits::MODEL_BYTES);
    while result.usage.len() > limits::MODELS {
        result.usage.pop_last();
    }
}

fn is_session(session: &ProviderSession) -> bool {
    session.provider.len() <= limits::MODEL_BYTES && is_session_id(&session.id)
}

/// True when this can be a provider's session id. It will stand on a command line, so it is no option.
#[must_use]
pub fn is_session_id(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= SESSION_ID_BYTES
        && !id.starts_with('-')
        && !id.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use crate::{FailureClass, Resumed, TokenUsage};

    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        for (text, most, wanted) in [
            ("äää", 3, "ä"),
            ("abc", 3, "abc"),
            ("abc", 0, ""),
            ("", 5, ""),
        ] {
            let mut cut_text = text.to_owned();
            cut(&mut cut_text, most);
            assert_eq!(cut_text, wanted);
        }
    }

    #[test]
    fn a_result_of_any_size_becomes_one_of_ours() {
        let long = "ä".repeat(limits::BODY_BYTES / 4);
        let mut given = TaskResult {
            outcome: Outcome::failed(FailureClass::Unknown, long.clone()),
            output: long.clone(),
            duration_ms: 0,
            provider_session: Some(ProviderSession {
                provider: "claude".to_owned(),
                id: long.clone(),
            }),
            retired_sessions: (0..100)
                .map(|n| format!("id-{n}"))
                .chain([long.clone(), String::new()])
                .collect(),
            resumed: Resumed::unknown(&long),
            usage: (0..100)
                .map(|n| (format!("m{n:03}"), TokenUsage::default()))
                .collect(),
            last_seq: 0,
        };
        result(&mut given);
        assert!(serde_json::to_string(&given).unwrap().len() < 32 * 1024);
        assert_eq!(given.provider_session, None);
        assert_eq!(
            (given.retired_sessions.len(), given.usage.len()),
            (RETIRED, limits::MODELS)
        );
    }

    #[test]
    fn session_ids() {
        for id in ["0b6d1f0e-6f6d-4b3a", "thread_1", "/home/x.jsonl"] {
            assert!(is_session_id(id), "{id}");
        }
        for id in ["", "-p", "a\nb", "a\0b"] {
            assert!(!is_session_id(id), "{id:?}");
        }
    }
}
