//! opencode.

use anyhow::Result;
use protocol::{EventBody, FailureClass};
use runner::adapter::HostCommand;

use crate::catalog::asked_for;
use crate::family::family;
use crate::lab::{Cli, with_lab, word};
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

/// While it tries its first request again it has no frame, and its log has named the conversation.
#[test]
fn a_first_turn_that_only_fails_can_be_gone_on_with() -> Result<()> {
    with_lab(OPENCODE, |lab| {
        let word = word()?;
        let message = format!("[scenario:http-500] Remember the word {word}.");
        let told = lab.run(&message, None, |event| {
            let is_named = matches!(
                event,
                EventBody::Status {
                    session_id: Some(_),
                    ..
                }
            );
            is_named.then_some(HostCommand::Interrupt)
        })?;
        assert_eq!(told.class(), Some(FailureClass::Cancelled));
        let session = told.session()?;
        let next = lab.say("[scenario:recall] Which word was it?", Some(session))?;
        assert_eq!(next.result.output, format!("The word was {word}."));
        Ok(())
    })
}
