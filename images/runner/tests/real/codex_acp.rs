//! Codex behind ACP.

use crate::family::family;
use crate::gated::gated;
use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

const CODEX_ACP: Cli = Cli {
    id: "codex-acp",
    args: &[],
    env: &[
        (
            "CODEX_CONFIG",
            r#"{"model":"scripted","model_provider":"scripted","model_providers":{"scripted":{"name":"scripted","base_url":"http://127.0.0.1:8080/v1","env_key":"SCRIPTED_KEY","wire_api":"responses","request_max_retries":1,"stream_max_retries":1}}}"#,
        ),
        ("MODEL_PROVIDER", "scripted"),
        ("SCRIPTED_KEY", "any"),
    ],
    files: &[],
    uses: Some(("CODEX_PATH", "codex")),
    model: None,
    // This API counts what goes into the cache with the rest.
    tokens: Some((1240, 12, 300)),
    has_files: true,
    in_pieces: true,
    acp: true,
};

/// A model of which Codex knows that it thinks.
const THINKS: Cli = Cli {
    env: &[
        (
            "CODEX_CONFIG",
            r#"{"model":"gpt-6.2-sol","model_provider":"scripted","model_providers":{"scripted":{"name":"scripted","base_url":"http://127.0.0.1:8080/v1","env_key":"SCRIPTED_KEY","wire_api":"responses","request_max_retries":1,"stream_max_retries":1}}}"#,
        ),
        ("MODEL_PROVIDER", "scripted"),
        ("SCRIPTED_KEY", "any"),
    ],
    ..CODEX_ACP
};

scenarios!(CODEX_ACP);
scenarios!(THINKS: the_model_is_told_how_much_to_think);
through_the_runner!(CODEX_ACP:
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
family!(CODEX_ACP as "acp");
gated!(CODEX_ACP);
gated!(CODEX_ACP:
    a_tool_that_is_denied_stays_so_when_it_goes_on
    a_patch_is_one_whoever_applies_it
    an_image_is_looked_at_as_any_tool_is_used
    who_ends_the_one_that_asks_is_ended
);
