//! Mistral Vibe.

use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider is given in the program's own file, its key in a variable.
const VIBE: Cli = Cli {
    id: "vibe",
    args: &[],
    env: &[("SCRIPTED_KEY", "any")],
    files: &[(
        ".vibe/config.toml",
        r#"
active_model = "scripted"
enable_update_checks = false
enable_auto_update = false
enable_telemetry = false

[[providers]]
name = "scripted"
api_base = "http://127.0.0.1:8080/v1"
api_key_env_var = "SCRIPTED_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "scripted-1"
provider = "scripted"
alias = "scripted"
input_price = 0.0
output_price = 0.0
"#,
    )],
    uses: None,
    model: None,
    tokens: Some((1240, 12, 300)),
    has_files: false,
    in_pieces: true,
    acp: true,
};

/// A provider that fails is asked again for a moment; otherwise it is for minutes.
const ASKS_SHORTLY: Cli = Cli {
    files: &[(
        ".vibe/config.toml",
        r#"
active_model = "scripted"
api_retry_max_elapsed_time = 2.0
enable_update_checks = false
enable_auto_update = false
enable_telemetry = false

[[providers]]
name = "scripted"
api_base = "http://127.0.0.1:8080/v1"
api_key_env_var = "SCRIPTED_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "scripted-1"
provider = "scripted"
alias = "scripted"
input_price = 0.0
output_price = 0.0
"#,
    )],
    ..VIBE
};

scenarios!(VIBE:
    it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_in_a_tool_and_resumed
    it_can_be_interrupted_while_it_answers
);
through_the_runner!(ASKS_SHORTLY: a_provider_that_cannot_now_has_its_class);
scenarios!(VIBE: the_model_is_told_how_much_to_think);
through_the_runner!(VIBE:
    it_thinks_before_it_answers
    tools_are_told_one_by_one_and_every_token_counts
    its_model_is_asked_so_often_as_it_may_be
    a_tool_of_an_mcp_server_is_called
    a_lost_conversation_begins_anew_and_the_agent_is_told
    its_context_file_reaches_the_model
    new_instructions_reach_a_conversation_that_goes_on
    its_skills_reach_the_model
    a_stop_in_its_answer_leaves_nothing_in_time
    a_stop_in_its_tool_leaves_nothing_in_time
    after_a_term_the_conversation_goes_on
    a_provider_that_hangs_is_noticed
    a_broken_stream_is_survived_or_told
    what_the_provider_refuses_has_its_class
);
