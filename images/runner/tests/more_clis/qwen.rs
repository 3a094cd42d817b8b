//! Qwen Code.

use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

const QWEN: Cli = Cli {
    id: "qwen",
    args: &["--auth-type", "anthropic"],
    env: &[
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8080"),
        ("ANTHROPIC_API_KEY", "any"),
        ("ANTHROPIC_MODEL", "scripted-1"),
    ],
    files: &[(
        ".qwen/settings.json",
        r#"{"general":{"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false}}"#,
    )],
    uses: None,
    model: Some("scripted-1"),
    tokens: Some((2480, 24, 600)),
    has_files: false,
    in_pieces: false,
    acp: false,
};

/// A provider that fails is not asked again; otherwise it is for minutes.
const ASKS_ONCE: Cli = Cli {
    files: &[(
        ".qwen/settings.json",
        r#"{"model":{"generationConfig":{"maxRetries":0}},"general":{"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false}}"#,
    )],
    ..QWEN
};

scenarios!(QWEN:
    it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_in_a_tool_and_resumed
    it_can_be_interrupted_while_it_answers
);
through_the_runner!(QWEN:
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
through_the_runner!(ASKS_ONCE: a_provider_that_cannot_now_has_its_class);
