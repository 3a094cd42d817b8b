//! dsh. It is published with a profile that speaks ACP, and with none for the frames of its own that the provider `dsh` reads:
//! it is driven as `acp` here.

use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider is given in variables. It tells how full its context is, and no tokens.
const DSH: Cli = Cli {
    id: "dsh",
    args: &["--profile", "acp"],
    env: &[
        ("DEEPSEEK_BASE_URL", "http://127.0.0.1:8080/v1"),
        ("DEEPSEEK_API_KEY", "any"),
        ("DSH_PERMISSION_MODE", "danger-full-access"),
        ("DSH_TELEMETRY_DISABLED", "1"),
    ],
    files: &[],
    uses: None,
    model: None,
    tokens: None,
    has_files: false,
    in_pieces: false,
    acp: true,
};

// It tells an answer once that is whole, so none can be interrupted as soon as it is seen.
scenarios!(DSH:
    it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_in_a_tool_and_resumed
);
scenarios!(DSH: the_model_is_told_how_much_to_think);
through_the_runner!(DSH:
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
    a_provider_that_cannot_now_has_its_class
    a_spent_quota_has_its_class
);
