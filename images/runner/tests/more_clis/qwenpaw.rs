//! `QwenPaw`.

use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider is given in the program's own files. One that is given by variables makes it keep no conversation.
const QWENPAW: Cli = Cli {
    id: "qwenpaw",
    args: &[],
    env: &[],
    files: &[
        (
            ".qwenpaw.secret/providers/custom/scripted.json",
            r#"{
  "id": "scripted",
  "name": "scripted",
  "base_url": "http://127.0.0.1:8080/v1",
  "api_key": "any",
  "is_custom": true,
  "chat_model": "OpenAIChatModel",
  "extra_models": [{"id": "scripted-1", "name": "scripted-1"}]
}"#,
        ),
        (
            ".qwenpaw.secret/providers/active_model.json",
            r#"{"provider_id": "scripted", "model": "scripted-1"}"#,
        ),
    ],
    uses: None,
    model: Some("scripted-1"),
    // It counts those of the cache as any other.
    tokens: Some((1540, 12, 0)),
    has_files: true,
    in_pieces: true,
    acp: true,
};

// It takes a conversation of any name as one that it knows, and it ends an answer that hangs by itself, after 30 s.
scenarios!(QWENPAW:
    it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    it_can_be_interrupted_in_a_tool_and_resumed
    it_can_be_interrupted_while_it_answers
);
through_the_runner!(QWENPAW:
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
    a_broken_stream_is_survived_or_told
    what_the_provider_refuses_has_its_class
    a_provider_that_cannot_now_has_its_class
    a_spent_quota_has_its_class
);
