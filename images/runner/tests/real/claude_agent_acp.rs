//! Claude Code behind ACP.

use crate::catalog::asked_for;
use crate::claude;
use crate::family::family;
use crate::gated::gated;
use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

const CLAUDE_AGENT: Cli = Cli {
    id: "claude-agent-acp",
    args: &[],
    env: claude::ENV,
    files: &[],
    uses: Some(("CLAUDE_CODE_EXECUTABLE", "claude")),
    model: None,
    tokens: Some((1200, 12, 300)),
    has_files: true,
    in_pieces: true,
    acp: true,
};

scenarios!(CLAUDE_AGENT);
scenarios!(CLAUDE_AGENT: the_model_is_told_how_much_to_think);
through_the_runner!(CLAUDE_AGENT:
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
asked_for!(CLAUDE_AGENT);
family!(CLAUDE_AGENT as "acp");
gated!(CLAUDE_AGENT:
    a_tool_that_is_denied_does_nothing
    a_tool_that_is_denied_stays_so_when_it_goes_on
    a_tool_of_a_server_that_is_denied_does_nothing
    what_cannot_be_held_does_not_begin
    what_an_agent_left_undoes_nothing
    what_it_is_given_is_there_all_the_same
);
