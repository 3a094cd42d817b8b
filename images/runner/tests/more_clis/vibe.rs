//! Mistral Vibe.

use crate::gated::gated;
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

/// The provider is given in variables, since nothing else counts where it is held to its tools.
const HELD: Cli = Cli {
    env: &[
        ("SCRIPTED_KEY", "any"),
        ("VIBE_ENABLE_TELEMETRY", "false"),
        ("VIBE_ENABLE_UPDATE_CHECKS", "false"),
        ("VIBE_ACTIVE_MODEL", "scripted"),
        (
            "VIBE_PROVIDERS",
            r#"[{"name": "scripted", "api_base": "http://127.0.0.1:8080/v1", "api_key_env_var": "SCRIPTED_KEY", "api_style": "openai", "backend": "generic"}]"#,
        ),
        (
            "VIBE_MODELS",
            r#"[{"name": "scripted-1", "provider": "scripted", "alias": "scripted", "input_price": 0.0, "output_price": 0.0}]"#,
        ),
    ],
    files: &[],
    ..VIBE
};

// It tries a provider that fails again for minutes.
scenarios!(VIBE:
    it_answers
    it_thinks_before_it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_in_a_tool_and_resumed
    it_can_be_interrupted_while_it_answers
    its_skills_are_known_to_it
    a_tool_of_an_mcp_server_is_called
);
scenarios!(VIBE: the_model_is_told_how_much_to_think);
through_the_runner!(VIBE:
    tools_are_told_one_by_one_and_every_token_counts
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
gated!(HELD:
    a_tool_that_is_denied_does_nothing
    a_tool_that_is_denied_stays_so_when_it_goes_on
    a_tool_of_a_server_that_is_denied_does_nothing
    a_tool_that_is_not_named_does_nothing
    what_cannot_be_held_does_not_begin
    what_an_agent_left_undoes_nothing
    what_it_changes_meanwhile_undoes_nothing
    what_it_is_given_is_there_all_the_same
);
