//! Kimi Code.

use crate::gated::gated;
use crate::lab::{Cli, with_lab};
use crate::question;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider is given in the program's own file.
const KIMI: Cli = Cli {
    id: "kimi",
    args: &[],
    env: &[],
    files: &[(
        ".kimi-code/config.toml",
        r#"
default_model = "scripted"
telemetry = false

[providers.scripted]
type = "openai"
base_url = "http://127.0.0.1:8080/v1"
api_key = "any"

[models.scripted]
provider = "scripted"
model = "scripted-1"
max_context_size = 128000
"#,
    )],
    uses: None,
    model: Some("scripted"),
    // It writes them down, under the name of the model in its file.
    tokens: Some((1240, 12, 300)),
    has_files: false,
    in_pieces: true,
    acp: true,
};

/// A model of which its settings say that it thinks.
const THINKS: Cli = Cli {
    files: &[(
        ".kimi-code/config.toml",
        r#"
default_model = "scripted"
telemetry = false

[providers.scripted]
type = "openai"
base_url = "http://127.0.0.1:8080/v1"
api_key = "any"

[models.scripted]
provider = "scripted"
model = "scripted-1"
max_context_size = 128000
capabilities = ["thinking"]
support_efforts = ["low", "high"]
"#,
    )],
    ..KIMI
};

/// The provider is given in variables, since nothing else counts where it is held to its tools.
const HELD: Cli = Cli {
    env: &[
        ("KIMI_MODEL_NAME", "scripted-1"),
        ("KIMI_MODEL_API_KEY", "any"),
        ("KIMI_MODEL_PROVIDER_TYPE", "openai"),
        ("KIMI_MODEL_BASE_URL", "http://127.0.0.1:8080/v1"),
    ],
    files: &[],
    ..KIMI
};

/// A provider that fails is not asked again; otherwise it is for minutes.
const ASKS_ONCE: Cli = Cli {
    files: &[(
        ".kimi-code/config.toml",
        r#"
default_model = "scripted"
telemetry = false

[loop_control]
max_attempts_per_step = 1

[providers.scripted]
type = "openai"
base_url = "http://127.0.0.1:8080/v1"
api_key = "any"

[models.scripted]
provider = "scripted"
model = "scripted-1"
max_context_size = 128000
"#,
    )],
    ..KIMI
};

scenarios!(KIMI:
    it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_in_a_tool_and_resumed
    it_can_be_interrupted_while_it_answers
);
through_the_runner!(ASKS_ONCE: a_provider_that_cannot_now_has_its_class);
scenarios!(THINKS: the_model_is_told_how_much_to_think);
through_the_runner!(KIMI:
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
gated!(HELD:
    a_tool_that_is_denied_does_nothing
    a_tool_that_is_denied_stays_so_when_it_goes_on
    a_tool_of_a_server_that_is_denied_does_nothing
    a_tool_that_is_not_named_does_nothing
    what_cannot_be_held_does_not_begin
    what_an_agent_left_undoes_nothing
    what_it_changes_meanwhile_undoes_nothing
    what_its_file_tools_write_undoes_nothing
    what_it_is_given_is_there_all_the_same
);

#[test]
fn a_question_is_refused_and_the_turn_goes_on() -> anyhow::Result<()> {
    with_lab(KIMI, question::a_question_is_refused_and_the_turn_goes_on)
}
