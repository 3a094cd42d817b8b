//! What `antigravity` does with frames as they are described: no recording of it could be had.

use protocol::{FailureClass as C, Outcome};
use runner::adapter::{Activity, Output};

use crate::made_up::{self, ended};
use crate::replay::result;

const OPENED: &str = r#"{"event":"init","conversation_id":"c","init":{"model":"m"}}"#;
const LATE: &str = "There was a network issue connecting to the server, please try again.";

fn end(status: &str, response: &str, error: &str) -> String {
    let result = serde_json::json!({"conversation_id": "c", "status": status, "response": response, "error": error});
    serde_json::json!({"event": "result", "result": result}).to_string()
}

/// It ends with 0 whatever happened.
#[test]
fn ends_that_are_failures() {
    for (last, class) in [
        // It prints nothing, after its five minutes for example.
        (None, C::CliCrashed),
        // All that it says of a model that it does not know.
        (Some(end("SUCCESS", "", "")), C::EmptyOutput),
        (Some(end("TIMEOUT", "", "")), C::CliCrashed),
        (Some(end("CANCELLED", "", "")), C::CliCrashed),
        (Some(end("BRAND_NEW", "Half", "")), C::Unknown),
        (
            Some(end("ERROR", "", "429 rate limit")),
            C::ProviderOverloaded,
        ),
        (Some(end("ERROR", "", LATE)), C::ProviderNetwork),
    ] {
        let lines = [Some(OPENED), last.as_deref()];
        let lines: Vec<_> = lines.into_iter().flatten().collect();
        let out = ended(made_up::run("antigravity", None, &lines));
        assert_eq!(result(&out).outcome.class(), Some(class), "{lines:?}");
    }
}

#[test]
fn a_network_that_failed_after_the_answer_does_not_undo_it() {
    let said = r#"{"event":"step_update","step_update":{"conversation_id":"c","step_index":1,"state":"DONE","step_type":"agent_response","text_delta":"Done."}}"#;
    let whole = end("ERROR", "Done.", LATE);
    let in_pieces = end("ERROR", "", LATE);
    for lines in [[OPENED, &whole].as_slice(), &[OPENED, said, &in_pieces]] {
        let out = ended(made_up::run("antigravity", None, lines));
        assert_eq!(result(&out).outcome, Outcome::Succeeded, "{lines:?}");
        assert_eq!(result(&out).output, "Done.");
    }
}

/// Those of conversations beside its own are not its answers.
#[test]
fn its_answers_are_counted() {
    let step = |conversation: &str, index: u32| {
        let update = serde_json::json!({"conversation_id": conversation, "step_index": index, "state": "DONE",
            "step_type": "agent_response", "text_delta": "x", "usage": {"input_tokens": 1, "output_tokens": 1}});
        serde_json::json!({"event": "step_update", "step_update": update}).to_string()
    };
    let steps = [step("c", 1), step("c", 1), step("other", 1), step("c", 2)];
    let lines: Vec<_> = [OPENED]
        .into_iter()
        .chain(steps.iter().map(String::as_str))
        .collect();
    let run = made_up::run("antigravity", None, &lines);
    let told = run.out.iter();
    let told = told.filter(|output| **output == Output::Activity(Activity::ModelTurn));
    assert_eq!(told.count(), 2);
}
