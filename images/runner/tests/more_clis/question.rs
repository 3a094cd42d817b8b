//! What asks a person, where nobody is there to answer.

use anyhow::Result;
use protocol::{Outcome, ToolStatus};

use crate::lab::Lab;

/// The model hears that there is no answer, and goes on by itself.
pub(crate) fn a_question_is_refused_and_the_turn_goes_on(lab: &Lab) -> Result<()> {
    let told = lab.say("[scenario:question] Paint it.", None)?;
    assert_eq!(told.result.outcome, Outcome::Succeeded, "{:?}", told.events);
    assert_eq!(told.result.output, "I have decided by myself.");
    let tools = told.tools();
    assert!(
        matches!(tools[..], [(output, Some(ToolStatus::Failed))] if !output.contains("Red")),
        "{tools:?}"
    );
    Ok(())
}
