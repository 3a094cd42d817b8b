//! omp.

use crate::catalog::asked_for;
use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider, as its file has it.
const MODELS: (&str, &str) = (
    ".omp/agent/models.yml",
    "providers:\n  scripted:\n    baseUrl: http://127.0.0.1:8080/v1\n    apiKey: any\n    api: openai-completions\n    models:\n      - id: scripted-1\n        name: Scripted\n        reasoning: true\n        input: [text]\n        contextWindow: 128000\n        maxTokens: 8192\n        cost: {input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0}\n",
);

/// The provider is given in the program's own files.
const OMP: Cli = Cli {
    id: "omp",
    args: &["--model", "scripted/scripted-1"],
    env: &[],
    files: &[MODELS],
    uses: None,
    model: Some("scripted-1"),
    tokens: Some((1240, 12, 300)),
    has_files: true,
    in_pieces: true,
    acp: false,
};

/// A provider that fails is not asked again; otherwise it is for longer than a test waits.
const ASKS_ONCE: Cli = Cli {
    files: &[
        MODELS,
        (".omp/agent/config.yml", "retry:\n  enabled: false\n"),
    ],
    ..OMP
};

scenarios!(OMP:
    it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_in_a_tool_and_resumed
    it_can_be_interrupted_while_it_answers
);
through_the_runner!(ASKS_ONCE: a_provider_that_cannot_now_has_its_class);
scenarios!(OMP: the_model_is_told_how_much_to_think);
through_the_runner!(OMP:
    it_thinks_before_it_answers
    tools_are_told_one_by_one_and_every_token_counts
    its_model_is_asked_so_often_as_it_may_be
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
asked_for!(OMP);
