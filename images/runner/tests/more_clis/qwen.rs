//! Qwen Code.

use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::turns::counted;
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

// It tries a provider that fails again for minutes; its recordings show the classes.
scenarios!(QWEN:
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
through_the_runner!(QWEN);
counted!(QWEN);
