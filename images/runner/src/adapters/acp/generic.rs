//! Any other agent that speaks ACP: the Runtime names its program and its arguments.

use protocol::FailureClass;
use serde_json::Value;

use super::content::content;
use super::dialect::{BASE, Dialect};
use crate::classify;

/// A failure that is told whole is no longer than this.
const FAILURE_BYTES: usize = 320;

pub(super) const DIALECT: Dialect = Dialect {
    is_known: false,
    is_notice: tells_failure,
    ..BASE
};

/// Some put a failure of their provider where the agent's words are, in a frame of its own, and end the turn as if all were
/// well: "Error: 429 Rate limit reached …". Only of one that is known by its words; the words of a model come in pieces.
fn tells_failure(update: &Value) -> bool {
    let words = content(update);
    if words.starts_with("Info: Request failed") {
        return true;
    }
    words.starts_with("Error: ")
        && words.len() <= FAILURE_BYTES
        && classify::classify(&words) != FailureClass::Unknown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failure_of_the_provider_is_none_of_the_agents_words() {
        let long = format!("Error: 401 {}", "and more ".repeat(40));
        for (words, wanted) in [
            (
                "Error: Authentication failed with provider at http://x/v1 (HTTP 401).",
                true,
            ),
            (
                "Error: Failed to get response from the AI model; retried 5 times Last error: 429 Rate limit reached",
                true,
            ),
            (
                "Info: Request failed due to a transient API error. Retrying...",
                true,
            ),
            ("Error: the file is not there", false),
            ("Info: Operation cancelled by user", false),
            ("The log has Error: 401", false),
            ("Error: ", false),
            (&long, false),
        ] {
            let update = json!({"content": {"type": "text", "text": words}});
            assert_eq!(tells_failure(&update), wanted, "{words}");
        }
    }
}
