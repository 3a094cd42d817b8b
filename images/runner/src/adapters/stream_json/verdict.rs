//! Judgement of a `result` frame. Flags of success mislead (a failure of the provider is worded as one), so
//! the reason comes first, then the error flag, then the subtype; what is unknown is a failure.

use protocol::FailureClass;
use serde_json::Value;

use super::transcript::Turn;
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::frame::{count, list, text};
use crate::classify;

/// The answer in a `result` frame, or why it is none. `interrupted`: we asked for the end of the turn.
pub(in crate::adapters) fn judge(frame: &Value, turn: &Turn, interrupted: bool) -> Judgement {
    let reason = text(frame, "terminal_reason");
    match reason {
        "prompt_too_long" | "blocking_limit" | "rapid_refill_breaker" => {
            return Err(Fault::new(FailureClass::ContextOverflow, words(frame)));
        }
        "aborted_streaming" | "aborted_tools" if interrupted => {
            return Err(Fault::new(
                FailureClass::Cancelled,
                format!("the turn was interrupted ({reason})"),
            ));
        }
        "aborted_streaming" | "aborted_tools" => {
            let message = format!("the turn was ended from outside, and not by Mooring ({reason})");
            return Err(Fault::new(FailureClass::CliCrashed, message));
        }
        _ => {}
    }
    let success = text(frame, "subtype") == "success";
    if frame
        .get("is_error")
        .and_then(Value::as_bool)
        .unwrap_or(!success)
        || !success
    {
        return Err(Fault::new(class(frame, turn), words(frame)));
    }
    match reason {
        "" | "completed" => answer(frame, turn),
        "max_turns" => Err(Fault::new(FailureClass::IterationLimit, words(frame))),
        "hook_stopped"
        | "stop_hook_prevented"
        | "background_requested"
        | "tool_deferred"
        | "tool_deferred_unavailable" => {
            let message = format!("the turn ended before its answer ({reason})");
            Err(Fault::new(FailureClass::EmptyOutput, message))
        }
        other => {
            let message = format!("the turn ended for a reason that is not known here ({other})");
            Err(Fault::new(FailureClass::Unknown, message))
        }
    }
}

fn answer(frame: &Value, turn: &Turn) -> Judgement {
    let output = match text(frame, "result") {
        "" => turn.candidate.as_str(),
        result => result,
    };
    if let Some(class) = classify::of_poisoned_output(output) {
        return Err(Fault::of_spent(class, output));
    }
    if output.is_empty() && !turn.active {
        return Err(Fault::new(
            FailureClass::EmptyOutput,
            "the agent said nothing and did nothing",
        ));
    }
    Ok(output.to_owned())
}

/// The class of a failure: fields of the frame first, then its words, then the vaguest of the fields.
fn class(frame: &Value, turn: &Turn) -> FailureClass {
    let reason = text(frame, "terminal_reason");
    if text(frame, "subtype") == "error_max_turns" || reason == "max_turns" {
        return FailureClass::IterationLimit;
    }
    if reason == "image_error" {
        return FailureClass::HistoryRejected;
    }
    // A dead endpoint also shows as an error of the server, so this comes first.
    if text(frame, "api_error") == "connection_failed" {
        return FailureClass::ProviderNetwork;
    }
    let said = classify::classify(&words(frame));
    if said == FailureClass::HistoryRejected {
        return said;
    }
    let status = u16::try_from(count(frame, "api_error_status")).ok();
    let by_field = turn
        .fault
        .as_deref()
        .and_then(of_fault)
        .or_else(|| status.and_then(classify::of_status));
    match by_field {
        // A used-up plan is told as a rate limit too, but waiting a minute does not help it.
        Some(FailureClass::ProviderOverloaded) if said == FailureClass::ProviderQuota => said,
        Some(class) => class,
        None if said != FailureClass::Unknown => said,
        None if status == Some(400) && text(frame, "api_error_type") == "invalid_request_error" => {
            FailureClass::HistoryRejected
        }
        None if turn.fault.as_deref() == Some("server_error") => FailureClass::ProviderServerError,
        None => FailureClass::Unknown,
    }
}

/// The class of the word in a synthetic frame. `server_error` is also used for an overload and for a dead
/// endpoint, `invalid_request` for an overflow: they say too little.
fn of_fault(word: &str) -> Option<FailureClass> {
    match word {
        "authentication_failed" => Some(FailureClass::ProviderAuth),
        "billing_error" => Some(FailureClass::ProviderQuota),
        "rate_limit" | "overloaded" => Some(FailureClass::ProviderOverloaded),
        "model_not_found" => Some(FailureClass::ModelNotFound),
        _ => None,
    }
}

/// The CLI's own words for what went wrong.
pub(in crate::adapters) fn words(frame: &Value) -> String {
    let result = text(frame, "result");
    if !result.is_empty() {
        return result.to_owned();
    }
    let errors: Vec<_> = list(frame, "errors")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if !errors.is_empty() {
        return errors.join("; ");
    }
    let (subtype, reason) = (text(frame, "subtype"), text(frame, "terminal_reason"));
    format!("the turn ended as {subtype} {reason}")
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use FailureClass as C;
    use serde_json::json;

    use super::*;

    fn judged(frame: &Value, fault: Option<&str>) -> Result<String, FailureClass> {
        let turn = Turn {
            candidate: "said".to_owned(),
            active: true,
            fault: fault.map(str::to_owned),
        };
        judge(frame, &turn, false).map_err(|fault| fault.class)
    }

    fn result(more: &Value) -> Value {
        let mut frame = json!({"type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed"});
        frame
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        frame
    }

    #[test]
    fn the_reason_comes_before_the_flags() {
        for (more, class) in [
            (
                json!({"terminal_reason": "prompt_too_long", "result": "x"}),
                C::ContextOverflow,
            ),
            (json!({"terminal_reason": "aborted_tools"}), C::CliCrashed),
            (
                json!({"terminal_reason": "hook_stopped", "result": ""}),
                C::EmptyOutput,
            ),
            (json!({"terminal_reason": "max_turns"}), C::IterationLimit),
            (
                json!({"terminal_reason": "brand_new", "result": "x"}),
                C::Unknown,
            ),
            (json!({"subtype": "error_max_turns"}), C::IterationLimit),
            (json!({"subtype": "brand_new"}), C::Unknown),
            (json!({"subtype": ""}), C::Unknown),
            (
                json!({"is_error": true, "terminal_reason": "image_error", "result": "x"}),
                C::HistoryRejected,
            ),
            (
                json!({"result": "I reached the iteration limit"}),
                C::IterationLimit,
            ),
        ] {
            assert_eq!(judged(&result(&more), None), Err(class), "{more}");
        }
    }

    #[test]
    fn fields_come_before_words() {
        let failed = |more: Value, fault: Option<&str>| {
            let mut frame = result(&json!({"is_error": true, "terminal_reason": "api_error"}));
            frame
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            judged(&frame, fault).unwrap_err()
        };
        for (more, fault, class) in [
            (
                json!({"api_error": "connection_failed", "result": "x"}),
                Some("server_error"),
                C::ProviderNetwork,
            ),
            (
                json!({"api_error_status": 400, "result": "x"}),
                Some("billing_error"),
                C::ProviderQuota,
            ),
            (
                json!({"api_error_status": 529, "result": "x"}),
                Some("server_error"),
                C::ProviderOverloaded,
            ),
            (
                json!({"api_error_status": 429, "result": "You've hit your limit"}),
                Some("rate_limit"),
                C::ProviderQuota,
            ),
            (
                json!({"api_error_status": 503, "result": "x"}),
                None,
                C::ProviderServerError,
            ),
            (
                json!({"result": "x"}),
                Some("server_error"),
                C::ProviderServerError,
            ),
            (json!({"result": "x"}), Some("unknown"), C::Unknown),
            (
                json!({"api_error_status": 400, "api_error_type": "invalid_request_error", "result": "messages: odd"}),
                Some("invalid_request"),
                C::HistoryRejected,
            ),
            (
                json!({"api_error_status": 400, "result": "thinking blocks cannot be modified"}),
                Some("rate_limit"),
                C::HistoryRejected,
            ),
            (
                json!({"api_error_status": 70000, "result": "x"}),
                None,
                C::Unknown,
            ),
        ] {
            assert_eq!(failed(more.clone(), fault), class, "{more} {fault:?}");
        }
    }

    #[test]
    fn the_answer_is_the_result_else_the_last_words() {
        assert_eq!(
            judged(&result(&json!({"result": "told"})), None),
            Ok("told".to_owned())
        );
        assert_eq!(
            judged(&result(&json!({"result": ""})), None),
            Ok("said".to_owned())
        );
        let idle = Turn::default();
        let empty = judge(&result(&json!({"result": ""})), &idle, false);
        assert_eq!(empty.unwrap_err().class, C::EmptyOutput);
        let worked = Turn {
            active: true,
            ..Turn::default()
        };
        assert_eq!(
            judge(&result(&json!({})), &worked, false),
            Ok(String::new())
        );
    }

    #[test]
    fn an_end_that_we_asked_for_is_no_crash() {
        let frame = result(&json!({"terminal_reason": "aborted_streaming"}));
        assert_eq!(
            judge(&frame, &Turn::default(), true).unwrap_err().class,
            C::Cancelled
        );
    }
}
