//! Which of the options is taken when an agent asks for a permission.

use serde_json::{Value, json};

use crate::adapters::frame::{list, text};

/// The result for a `session/request_permission`; `None` when no option can be taken. The pod is the sandbox,
/// so what can be allowed for this time is. What would be allowed for ever is written to a list of the user's
/// own and is never taken. `stopping`: the turn is to end.
pub(super) fn answer(params: &Value, stopping: bool) -> Option<Value> {
    if stopping {
        return Some(json!({"outcome": {"outcome": "cancelled"}}));
    }
    let options = list(params, "options");
    let kind = |option: &Value, kind: &str| text(option, "kind") == kind;
    let for_session = |option: &&Value| {
        matches!(
            text(option, "optionId"),
            "allow_session" | "approve_for_session"
        ) && text(option, "kind").starts_with("allow")
    };
    let chosen = options
        .iter()
        .find(for_session)
        .or_else(|| options.iter().find(|option| kind(option, "allow_once")))
        .or_else(|| options.iter().find(|option| kind(option, "reject_once")))?;
    Some(json!({"outcome": {"outcome": "selected", "optionId": text(chosen, "optionId")}}))
}

/// The result that refuses, this once; `None` when no option says so.
pub(super) fn refuse(params: &Value, stopping: bool) -> Option<Value> {
    if stopping {
        return answer(params, true);
    }
    let refuses = |option: &&Value| text(option, "kind") == "reject_once";
    let chosen = list(params, "options").iter().find(refuses)?;
    Some(json!({"outcome": {"outcome": "selected", "optionId": text(chosen, "optionId")}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(options: &[(&str, &str)]) -> Option<String> {
        let options: Vec<_> = options
            .iter()
            .map(|(id, kind)| json!({"optionId": id, "kind": kind}))
            .collect();
        let answer = answer(&json!({"options": options}), false)?;
        Some(answer["outcome"]["optionId"].as_str().unwrap().to_owned())
    }

    #[test]
    fn allowed_for_now_and_never_for_ever() {
        for (options, wanted) in [
            (
                &[
                    ("a", "allow_always"),
                    ("o", "allow_once"),
                    ("r", "reject_once"),
                ][..],
                Some("o"),
            ),
            (
                &[("o", "allow_once"), ("allow_session", "allow_always")],
                Some("allow_session"),
            ),
            (
                &[("allow_session", "reject_once"), ("o", "allow_once")],
                Some("o"),
            ),
            (&[("a", "allow_always"), ("r", "reject_once")], Some("r")),
            (&[("a", "allow_always")], None),
            (&[], None),
        ] {
            assert_eq!(chosen(options).as_deref(), wanted, "{options:?}");
        }
    }

    #[test]
    fn a_turn_that_is_to_end_allows_nothing() {
        let options = json!({"options": [{"optionId": "o", "kind": "allow_once"}]});
        assert_eq!(
            answer(&options, true),
            Some(json!({"outcome": {"outcome": "cancelled"}}))
        );
        assert_eq!(
            answer(&Value::Null, true),
            Some(json!({"outcome": {"outcome": "cancelled"}}))
        );
    }
}
