//! Judgement of a finished turn. The process ends with 0 whatever happened, so only frames count: the word or
//! the status in `codexErrorInfo` first, then the words.

use protocol::FailureClass;
use serde_json::Value;

use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::frame::{count, text};
use crate::classify;

/// What to do where the provider no longer compacts as this version wants it. The conversation is as good as before.
const UPDATE: &str = ". The provider has retired the way in which this version of Codex lets it compact a conversation: update codex in \
                      the Runtime's image; the conversation goes on then";

/// The judgement of a turn object. `answer`: the agent's last words, and whether it did anything at all.
/// `interrupted`: we asked for the end of the turn.
pub(super) fn judge(turn: &Value, answer: (String, bool), interrupted: bool) -> Judgement {
    match text(turn, "status") {
        "completed" => of_answer(answer),
        "interrupted" if interrupted => Err(Fault::new(
            FailureClass::Cancelled,
            "the turn was interrupted",
        )),
        "interrupted" => Err(Fault::new(
            FailureClass::CliCrashed,
            "the turn was ended from outside, and not by Mooring",
        )),
        "failed" => Err(fault(turn.get("error").unwrap_or(&Value::Null))),
        other => Err(Fault::new(
            FailureClass::Unknown,
            format!("the turn ended in a way that is not known here ({other})"),
        )),
    }
}

/// The judgement of a turn that ended well, as far as Codex is concerned.
pub(super) fn of_answer((output, active): (String, bool)) -> Judgement {
    if let Some(class) = classify::of_poisoned_output(&output) {
        return Err(Fault::of_spent(class, output));
    }
    if output.is_empty() && !active {
        return Err(Fault::new(
            FailureClass::EmptyOutput,
            "the agent said nothing and did nothing",
        ));
    }
    Ok(output)
}

/// The fault in an `error` object.
pub(super) fn fault(error: &Value) -> Fault {
    let mut words = text(error, "message").to_owned();
    let more = text(error, "additionalDetails");
    if !more.is_empty() && !words.contains(more) {
        words = format!("{words}: {more}");
    }
    if words.is_empty() {
        "the turn failed, and Codex said no more".clone_into(&mut words);
    }
    let info = error.get("codexErrorInfo").unwrap_or(&Value::Null);
    let class = class(info, &words);
    if classify::compaction_is_retired(&words) {
        words.push_str(UPDATE);
    }
    Fault::new(class, words)
}

fn class(info: &Value, words: &str) -> FailureClass {
    let said = classify::classify(words);
    if said == FailureClass::HistoryRejected || classify::compaction_is_retired(words) {
        return said;
    }
    match info {
        Value::String(word) => of_word(word).unwrap_or(said),
        Value::Object(kinds) => {
            let status = kinds
                .values()
                .map(|kind| count(kind, "httpStatusCode"))
                .find(|status| *status > 0);
            let of_status = status
                .and_then(|status| u16::try_from(status).ok())
                .and_then(classify::of_status);
            match (of_status, said) {
                // Some say an overload with 503.
                (Some(FailureClass::ProviderServerError), FailureClass::ProviderOverloaded) => said,
                (Some(class), _) => class,
                // The connection itself failed, unless the words know better.
                (None, FailureClass::Unknown) if status.is_none() && !kinds.is_empty() => {
                    FailureClass::ProviderNetwork
                }
                (None, said) => said,
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => said,
    }
}

/// `other` and `badRequest` say nothing.
fn of_word(word: &str) -> Option<FailureClass> {
    match word {
        "contextWindowExceeded" => Some(FailureClass::ContextOverflow),
        "usageLimitExceeded" | "sessionBudgetExceeded" => Some(FailureClass::ProviderQuota),
        "rateLimitExceeded" | "serverOverloaded" => Some(FailureClass::ProviderOverloaded),
        "modelNotFound" => Some(FailureClass::ModelNotFound),
        "unauthorized" => Some(FailureClass::ProviderAuth),
        "internalServerError" => Some(FailureClass::ProviderServerError),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use FailureClass as C;
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_come_before_words() {
        let http = |status: Value| json!({"httpConnectionFailed": {"httpStatusCode": status}});
        for (info, words, class) in [
            (json!("contextWindowExceeded"), "x", C::ContextOverflow),
            (
                json!("usageLimitExceeded"),
                "429 Too Many Requests",
                C::ProviderQuota,
            ),
            (json!("serverOverloaded"), "x", C::ProviderOverloaded),
            (json!("modelNotFound"), "x", C::ModelNotFound),
            (json!("unauthorized"), "x", C::ProviderAuth),
            (json!("internalServerError"), "x", C::ProviderServerError),
            (
                json!("other"),
                "Missing environment variable: `X`.",
                C::ConfigMissing,
            ),
            (
                json!("other"),
                "stream disconnected before completion: x",
                C::ProviderNetwork,
            ),
            (json!("badRequest"), "x", C::Unknown),
            (
                json!("other"),
                "thinking blocks cannot be modified",
                C::HistoryRejected,
            ),
            (http(json!(401)), "x", C::ProviderAuth),
            (http(json!(503)), "x", C::ProviderServerError),
            (
                http(json!(503)),
                "The engine is currently overloaded",
                C::ProviderOverloaded,
            ),
            (http(json!(null)), "x", C::ProviderNetwork),
            (http(json!(418)), "x", C::Unknown),
            (json!({}), "x", C::Unknown),
            (json!(null), "403 Forbidden", C::ProviderAuth),
        ] {
            assert_eq!(
                fault(&json!({"message": words, "codexErrorInfo": info})).class,
                class,
                "{info} {words}"
            );
        }
    }

    /// In the words of 0.171.0, whose own way is another by now.
    #[test]
    fn a_retired_way_to_compact_wants_another_version() {
        let of = |status: u16, words: &str| {
            let info = json!({"httpConnectionFailed": {"httpStatusCode": status}});
            fault(&json!({"message": words, "codexErrorInfo": info}))
        };
        let words = "Error running remote compact task: unexpected status 404 Not Found: Not Found, url: http://127.0.0.1:8080/v1/responses/compact";
        let retired = of(404, words);
        assert_eq!(retired.class, C::CliTooOld);
        assert!(
            retired.message.contains("update codex"),
            "{}",
            retired.message
        );
        let gone = "unexpected status 410 Gone, url: https://x/v1/responses/compact";
        assert_eq!(of(410, gone).class, C::CliTooOld);
        let other = of(
            404,
            "unexpected status 404 Not Found, url: https://x/v1/responses",
        );
        assert_eq!(other.class, C::ModelNotFound);
        assert!(!other.message.contains("update"), "{}", other.message);
    }

    #[test]
    fn statuses() {
        let judged = |status: &str, interrupted| {
            judge(
                &json!({"status": status}),
                ("Done.".to_owned(), true),
                interrupted,
            )
            .map_err(|fault| fault.class)
        };
        assert_eq!(judged("completed", false), Ok("Done.".to_owned()));
        assert_eq!(judged("interrupted", true), Err(C::Cancelled));
        assert_eq!(judged("interrupted", false), Err(C::CliCrashed));
        assert_eq!(judged("failed", false), Err(C::Unknown));
        assert_eq!(judged("brand_new", false), Err(C::Unknown));
        let idle = of_answer((String::new(), false)).unwrap_err();
        assert_eq!(idle.class, C::EmptyOutput);
        assert_eq!(of_answer((String::new(), true)), Ok(String::new()));
        let spent = of_answer(("I reached the iteration limit".to_owned(), true)).unwrap_err();
        assert_eq!(spent.class, C::IterationLimit);
    }
}
