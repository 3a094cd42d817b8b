//! Judgement of a finished turn. `end_turn` does not prove success: some agents end a turn so when the
//! provider failed.

use protocol::FailureClass;
use serde_json::Value;

use super::dialect::Dialect;
use super::stderr;
use super::updates::Updates;
use crate::adapters::ending::{Fault, Judgement};
use crate::adapters::frame::text;
use crate::adapters::json_rpc::Refusal;
use crate::classify;

/// An answer that is a failure is no longer than this.
const GAVE_UP_BYTES: usize = 320;
/// Code of a refusal for want of a login.
const AUTH_REQUIRED: i64 = -32000;

/// The judgement of the answer to a prompt. `interrupted`: we asked for the end of the turn.
pub(super) fn judge(
    dialect: &Dialect,
    result: &Value,
    updates: &Updates,
    interrupted: bool,
) -> Judgement {
    let reason = text(result, "stopReason");
    let fault = |class, message: String| Err(Fault::new(class, message));
    match reason {
        "cancelled" if interrupted => fault(
            FailureClass::Cancelled,
            "the turn was interrupted".to_owned(),
        ),
        "cancelled" => fault(
            FailureClass::CliCrashed,
            "the turn was ended from outside, and not by Mooring".to_owned(),
        ),
        "max_turn_requests" => fault(
            FailureClass::IterationLimit,
            "the agent reached the limit of its requests".to_owned(),
        ),
        "max_tokens" => fault(
            FailureClass::EmptyOutput,
            "the answer was cut off at the limit of tokens".to_owned(),
        ),
        "refusal" => {
            let said = [updates.answer(), updates.notices()]
                .into_iter()
                .find(|words| !words.is_empty());
            let words = said.unwrap_or("without a word");
            fault(
                classify::classify(words),
                format!("the agent refused: {words}"),
            )
        }
        "end_turn" => of_answer(dialect, updates),
        other if dialect.only_known_ends => fault(
            classify::classify_or(updates.notices(), FailureClass::CliCrashed),
            format!("the agent ended its turn with {other:?}"),
        ),
        _ => of_answer(dialect, updates),
    }
}

fn of_answer(dialect: &Dialect, updates: &Updates) -> Judgement {
    let (output, notices) = (updates.answer(), updates.notices());
    if let Some(class) = classify::of_poisoned_output(output) {
        return Err(Fault::of_spent(class, output));
    }
    if gave_up(output) {
        let class = classify::classify_or(output, FailureClass::ProviderServerError);
        return Err(Fault::new(class, output));
    }
    let silent = output.is_empty();
    if !silent && !updates.ends_with_a_tool() {
        return Ok(output.to_owned());
    }
    // The last word is the program's own: if it knows of a failure, that is why.
    let plain = notices.to_lowercase();
    if silent && dialect.overflow.iter().any(|phrase| plain.contains(phrase)) {
        return Err(Fault::new(FailureClass::ContextOverflow, notices));
    }
    let class = classify::classify(notices);
    if class != FailureClass::Unknown {
        return Err(Fault::new(class, notices));
    }
    if !silent || updates.active() {
        return Ok(output.to_owned());
    }
    Err(Fault::new(
        FailureClass::EmptyOutput,
        "the agent said nothing and did nothing",
    ))
}

/// "API call failed after 3 retries", which agents put where their answer should be. In a long answer the same
/// words are about something else.
fn gave_up(output: &str) -> bool {
    output.len() <= GAVE_UP_BYTES
        && output.to_lowercase().contains("api call failed after ")
        && stderr::gave_up(output)
}

/// The fault in the refusal of a call of ours.
pub(super) fn of_refusal(refusal: &Refusal, while_what: &str) -> Fault {
    let words = if refusal.words.is_empty() {
        format!("error {}", refusal.code)
    } else {
        refusal.words.clone()
    };
    // The protocol's own word for it; what follows may speak of keys in any way.
    let no_login = refusal.code == AUTH_REQUIRED
        && words.to_lowercase().starts_with("authentication required");
    let class = if no_login {
        FailureClass::ProviderAuth
    } else {
        classify::classify(&words)
    };
    Fault::new(class, format!("{while_what}: {words}"))
}

#[cfg(test)]
mod tests {
    use FailureClass as C;
    use serde_json::json;

    use super::super::dialect::BASE;
    use super::*;

    fn updates(said: &str, noticed: &str) -> Updates {
        let dialect = Dialect {
            is_notice: |update| text(update, "messageId").is_empty(),
            ..BASE
        };
        let mut updates = Updates::default();
        for (id, words) in [("1", said), ("", noticed)] {
            let frame = json!({"sessionUpdate": "agent_message_chunk", "messageId": id, "content": {"type": "text", "text": words}});
            updates.update(&dialect, &frame, &mut Vec::new());
        }
        updates
    }

    fn judged(reason: &str, said: &str, noticed: &str) -> Result<String, C> {
        let dialect = Dialect {
            overflow: &["compaction completed"],
            ..BASE
        };
        let result = json!({"stopReason": reason});
        judge(&dialect, &result, &updates(said, noticed), false).map_err(|fault| fault.class)
    }

    #[test]
    fn reasons() {
        for (reason, said, wanted) in [
            ("end_turn", "Done.", Ok("Done.".to_owned())),
            ("brand_new", "Done.", Ok("Done.".to_owned())),
            ("end_turn", "", Err(C::EmptyOutput)),
            ("max_turn_requests", "Done.", Err(C::IterationLimit)),
            ("max_tokens", "Do", Err(C::EmptyOutput)),
            ("cancelled", "Do", Err(C::CliCrashed)),
            ("refusal", "401 Unauthorized", Err(C::ProviderAuth)),
            ("refusal", "", Err(C::Unknown)),
            (
                "end_turn",
                "API call failed after 3 retries: HTTP 429",
                Err(C::ProviderOverloaded),
            ),
            (
                "end_turn",
                "API call failed after 3 retries",
                Err(C::ProviderServerError),
            ),
            (
                "end_turn",
                "I reached the iteration limit",
                Err(C::IterationLimit),
            ),
        ] {
            assert_eq!(judged(reason, said, ""), wanted, "{reason} {said}");
        }
    }

    #[test]
    fn notices_explain_a_turn_without_words() {
        let overflow = "{\"error\": {\"code\": \"context_length_exceeded\"}}";
        assert_eq!(judged("end_turn", "", overflow), Err(C::ContextOverflow));
        assert_eq!(
            judged("end_turn", "", "Compaction completed.\n- 4"),
            Err(C::ContextOverflow)
        );
        assert_eq!(
            judged("end_turn", "", "Warning: Model metadata for `m` not found."),
            Err(C::EmptyOutput)
        );
        assert_eq!(
            judged("end_turn", "Done.", overflow),
            Ok("Done.".to_owned())
        );
    }

    #[test]
    fn a_failure_after_the_last_tool_is_the_end_whatever_was_said_before_it() {
        let says = |id: &str, words: &str| json!({"sessionUpdate": "agent_message_chunk", "messageId": id, "content": {"type": "text", "text": words}});
        let dialect = Dialect {
            is_notice: |update| text(update, "messageId").is_empty(),
            ..BASE
        };
        let looks = || says("1", "I look.");
        let uses = || json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls", "status": "completed"});
        let fails = || says("", "401 Unauthorized");
        for (frames, wanted) in [
            (vec![looks(), uses(), fails()], Err(C::ProviderAuth)),
            (vec![looks(), fails(), uses()], Ok("I look.")),
            (
                vec![looks(), uses(), fails(), says("2", "Done.")],
                Ok("Done."),
            ),
        ] {
            let mut updates = Updates::default();
            for frame in &frames {
                updates.update(&dialect, frame, &mut Vec::new());
            }
            let result = json!({"stopReason": "end_turn"});
            let judged = judge(&dialect, &result, &updates, false);
            let wanted = wanted.map(str::to_owned);
            assert_eq!(judged.map_err(|fault| fault.class), wanted, "{frames:?}");
        }
    }

    #[test]
    fn refusals_are_classified_by_their_words() {
        for (code, words, class) in [
            (
                -32000,
                "Authentication required: 401, an API key is required",
                C::ProviderAuth,
            ),
            (-32000, "Busy", C::Unknown),
            (
                -32603,
                "Internal error: Prompt is too long",
                C::ContextOverflow,
            ),
            (-32603, "", C::Unknown),
        ] {
            let refusal = Refusal {
                code,
                words: words.to_owned(),
            };
            assert_eq!(
                of_refusal(&refusal, "the prompt failed").class,
                class,
                "{words}"
            );
        }
    }
}
