//! Hermes.

use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider is given in the program's own file.
const HERMES: Cli = Cli {
    id: "hermes",
    args: &[],
    env: &[],
    files: &[(
        ".hermes/config.yaml",
        "model:\n  default: scripted-1\n  provider: custom\n  base_url: http://127.0.0.1:8080/v1\n  api_key: any\n",
    )],
    uses: None,
    model: None,
    tokens: Some((1240, 12, 300)),
    has_files: false,
    in_pieces: true,
    acp: true,
};

// It takes longer to begin than an interrupted answer may take in all.
scenarios!(HERMES:
    it_answers
    it_thinks_before_it_answers
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    a_tool_of_an_mcp_server_is_called
    it_uses_a_tool
    its_skills_are_known_to_it
);
through_the_runner!(HERMES);
