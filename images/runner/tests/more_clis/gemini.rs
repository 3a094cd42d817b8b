//! Gemini CLI.

use anyhow::Result;

use crate::catalog::asked_for;
use crate::gated::{gated, left};
use crate::lab::{Cli, with_lab, word};
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

const GEMINI: Cli = Cli {
    id: "gemini",
    args: &[],
    env: &[
        ("GEMINI_API_KEY", "any"),
        ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:8080"),
    ],
    files: &[(
        ".gemini/settings.json",
        r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"model":{"name":"gemini-2.5-flash"},"general":{"enableAutoUpdate":false,"sessionRetention":{"enabled":false}},"privacy":{"usageStatisticsEnabled":false}}"#,
    )],
    uses: None,
    model: Some("gemini-2.5-flash"),
    // Those from the cache and those that go into it are told as a part of the input.
    tokens: Some((1540, 12, 0)),
    has_files: false,
    in_pieces: true,
    acp: true,
};

/// Its settings do not count where it is held to its tools.
const HELD: Cli = Cli {
    env: &[
        ("GEMINI_API_KEY", "any"),
        ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:8080"),
        ("GEMINI_MODEL", "gemini-2.5-flash"),
    ],
    files: &[],
    ..GEMINI
};

/// A provider that fails is not asked again; otherwise it is for minutes.
const ASKS_ONCE: Cli = Cli {
    files: &[(
        ".gemini/settings.json",
        r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"model":{"name":"gemini-2.5-flash"},"general":{"maxAttempts":1,"enableAutoUpdate":false,"sessionRetention":{"enabled":false}},"privacy":{"usageStatisticsEnabled":false}}"#,
    )],
    ..GEMINI
};

// A tool that runs when it is
// interrupted it lets come to its end, so the rest of the ladder has to end it.
scenarios!(GEMINI:
    it_answers
    it_uses_a_tool
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_while_it_answers
);
through_the_runner!(GEMINI:
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
    a_provider_that_hangs_is_noticed
    a_broken_stream_is_survived_or_told
    what_the_provider_refuses_has_its_class
);
through_the_runner!(ASKS_ONCE:
    a_provider_that_cannot_now_has_its_class
    a_spent_quota_has_its_class
);
asked_for!(GEMINI);
gated!(HELD:
    a_tool_that_is_denied_does_nothing
    a_tool_that_is_denied_stays_so_when_it_goes_on
    a_tool_that_is_not_named_does_nothing
    what_cannot_be_held_does_not_begin
    what_an_agent_left_undoes_nothing
    what_it_changes_meanwhile_undoes_nothing
    what_its_file_tools_write_undoes_nothing
    what_it_is_given_is_there_all_the_same
);

#[test]
fn a_second_process_goes_on_with_the_conversation() -> Result<()> {
    with_lab(GEMINI, |lab| {
        let word = word()?;
        let first = lab.say(&format!("[scenario:text] Remember the word {word}."), None)?;
        let session = first.session()?;
        left::until_it_goes_on(lab)?;
        for _ in 0..2 {
            let next = lab.say("[scenario:recall] Which word was it?", Some(session))?;
            assert_eq!(next.result.output, format!("The word was {word}."));
            assert_eq!(next.session()?, session);
        }
        Ok(())
    })
}
