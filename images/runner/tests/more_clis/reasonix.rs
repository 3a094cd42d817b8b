//! Reasonix.

use crate::lab::{Cli, with_lab};
use crate::question;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider is given in the program's own file, its key in a variable.
const REASONIX: Cli = Cli {
    id: "reasonix",
    args: &[],
    env: &[("SCRIPTED_KEY", "any")],
    files: &[(
        ".reasonix/config.toml",
        r#"
default_model = "scripted"

[[providers]]
name = "scripted"
kind = "openai"
base_url = "http://127.0.0.1:8080/v1"
model = "scripted-1"
api_key_env = "SCRIPTED_KEY"
context_window = 128000
"#,
    )],
    uses: None,
    model: Some("scripted/scripted-1"),
    tokens: Some((1240, 12, 300)),
    has_files: false,
    in_pieces: true,
    acp: true,
};

/// A provider whose settings say which levels its models know.
const THINKS: Cli = Cli {
    files: &[(
        ".reasonix/config.toml",
        r#"
default_model = "scripted"

[[providers]]
name = "scripted"
kind = "openai"
base_url = "http://127.0.0.1:8080/v1"
model = "scripted-1"
api_key_env = "SCRIPTED_KEY"
context_window = 128000
reasoning_protocol = "openai"
supported_efforts = ["low", "high"]
"#,
    )],
    ..REASONIX
};

// It tries a provider that fails again for minutes; its recordings show the classes.
scenarios!(REASONIX:
    it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_in_a_tool_and_resumed
    it_can_be_interrupted_while_it_answers
);
scenarios!(THINKS: the_model_is_told_how_much_to_think);
through_the_runner!(REASONIX:
    it_thinks_before_it_answers
    tools_are_told_one_by_one_and_every_token_counts
    its_model_is_asked_so_often_as_it_may_be
    a_tool_of_an_mcp_server_is_called
    a_lost_conversation_begins_anew_and_the_agent_is_told
    its_context_file_reaches_the_model
    new_instructions_reach_a_conversation_that_goes_on
    its_skills_reach_the_model
    flags_of_ours_are_left_out
    a_stop_in_its_answer_leaves_nothing_in_time
    a_stop_in_its_tool_leaves_nothing_in_time
    after_a_term_the_conversation_goes_on
    a_provider_that_hangs_is_noticed
    a_broken_stream_is_survived_or_told
    what_the_provider_refuses_has_its_class
    a_spent_quota_has_its_class
);
through_the_runner!(REASONIX: a_remark_reaches_the_model_in_the_same_turn);

#[test]
fn a_question_is_refused_and_the_turn_goes_on() -> anyhow::Result<()> {
    with_lab(
        REASONIX,
        question::a_question_is_refused_and_the_turn_goes_on,
    )
}
