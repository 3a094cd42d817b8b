//! opencode.

use crate::catalog::asked_for;
use crate::family::family;
use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider is given in the program's own file.
const OPENCODE: Cli = Cli {
    id: "opencode",
    args: &[],
    env: &[],
    files: &[(
        ".config/opencode/opencode.json",
        r#"{"model":"scripted/scripted-1","small_model":"scripted/scripted-1","provider":{"scripted":{"npm":"@ai-sdk/anthropic","name":"Scripted","options":{"baseURL":"http://127.0.0.1:8080/v1","apiKey":"any"},"models":{"scripted-1":{"name":"Scripted","reasoning":true,"tool_call":true,"limit":{"context":128000,"output":8192}}}}}}"#,
    )],
    uses: None,
    model: None,
    tokens: Some((1200, 12, 300)),
    has_files: false,
    in_pieces: false,
    acp: false,
};

// It tells of a tool once that has ended, so none can be interrupted as soon as it is seen.
scenarios!(OPENCODE:
    it_answers
    it_uses_a_tool
    a_second_process_goes_on_with_the_conversation
    an_unknown_session_is_rejected_with_evidence
    it_can_be_interrupted_while_it_answers
);
scenarios!(OPENCODE: the_model_is_told_how_much_to_think);
through_the_runner!(OPENCODE);
asked_for!(OPENCODE);
family!(OPENCODE as "custom-json-lines");
