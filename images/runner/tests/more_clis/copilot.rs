//! Copilot CLI, without GitHub behind it.

use crate::gated::gated;
use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

const COPILOT: Cli = Cli {
    id: "copilot",
    args: &[],
    env: &[
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_PROVIDER_TYPE", "anthropic"),
        ("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:8080"),
        ("COPILOT_PROVIDER_API_KEY", "any-key-of-some-length"),
        ("COPILOT_MODEL", "scripted-1"),
    ],
    files: &[],
    uses: None,
    model: Some("scripted-1"),
    tokens: Some((1200, 12, 300)),
    has_files: false,
    in_pieces: true,
    acp: false,
};

scenarios!(COPILOT:
    it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_in_a_tool_and_resumed
    it_can_be_interrupted_while_it_answers
);
scenarios!(COPILOT: the_model_is_told_how_much_to_think);
through_the_runner!(COPILOT);
gated!(COPILOT:
    a_tool_that_is_denied_does_nothing
    a_tool_that_is_not_named_does_nothing
    what_cannot_be_held_does_not_begin
    what_an_agent_left_undoes_nothing
    what_it_is_given_is_there_all_the_same
);
