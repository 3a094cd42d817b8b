//! `CodeBuddy`.

use crate::catalog::asked_for;
use crate::gated::gated;
use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

const CODEBUDDY: Cli = Cli {
    id: "codebuddy",
    args: &["--model", "scripted-1"],
    env: &[
        ("CODEBUDDY_BASE_URL", "http://127.0.0.1:8080/v1"),
        ("CODEBUDDY_API_KEY", "any"),
        ("CODEBUDDY_MODEL", "scripted-1"),
    ],
    files: &[],
    uses: None,
    model: Some("scripted-1"),
    tokens: Some((1240, 12, 300)),
    has_files: true,
    in_pieces: false,
    acp: false,
};

/// A model of which its settings say that it thinks.
const THINKS: Cli = Cli {
    files: &[(
        ".codebuddy/models.json",
        r#"{"models":[{"id":"scripted-1","name":"Scripted","vendor":"scripted","url":"http://127.0.0.1:8080/v1/chat/completions","apiKey":"any","maxInputTokens":128000,"maxOutputTokens":8192,"supportsToolCall":true,"supportsReasoning":true}]}"#,
    )],
    ..CODEBUDDY
};

// It is given no servers of MCP.
scenarios!(CODEBUDDY:
    it_answers
    it_thinks_before_it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_in_a_tool_and_resumed
    it_can_be_interrupted_while_it_answers
    failures_of_the_provider_have_their_class
    its_skills_are_known_to_it
);
scenarios!(THINKS: the_model_is_told_how_much_to_think);
through_the_runner!(CODEBUDDY);
asked_for!(CODEBUDDY);
gated!(CODEBUDDY);
