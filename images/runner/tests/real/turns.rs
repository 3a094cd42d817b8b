//! How often the model may be asked, of the real programs in the hands of the whole runner.

use anyhow::{Result, ensure};
use protocol::{EventBody, FailureClass};

use crate::api::said;
use crate::lab::Lab;
use crate::whole::{pod, run, task};

/// Programs that count themselves.
const COUNT: [&str; 2] = ["claude", "codebuddy"];
/// Those that tell of each answer of their model. Of the others the runner goes by what it sees, so that they may end early.
const TELL: [&str; 7] = [
    "codex", "pi", "omp", "opencode", "qwen", "copilot", "qwenpaw",
];

/// The model's first answer has two tools, and its third has none. Who counts or tells is asked three times where that is the
/// limit. The runner reads of the end of a tool when the program may have asked again already, so it is one question more at
/// most.
pub(crate) fn its_model_is_asked_so_often_as_it_may_be(lab: &Lab) -> Result<()> {
    let counts = COUNT.contains(&lab.cli.id);
    let sees_answers = counts || TELL.contains(&lab.cli.id);
    let mut before = 0;
    for (turns, wanted) in [(1, Some(FailureClass::IterationLimit)), (3, None)] {
        if turns > 1 && !sees_answers {
            break;
        }
        let mut asked = task(lab, "[scenario:steps] go");
        asked.options.max_turns = Some(turns);
        let (told, ended) = run(&pod(lab)?, asked)?;
        let result = &told.results[0];
        let shown = || format!("{result:?}\n{}\n{}", said(&told.events), ended.log);
        ensure!(result.outcome.class() == wanted, "{}", shown());
        let tools = told.events.iter().filter(is_end).count();
        // Codex tells of an answer before it begins with the second tool of it, so that it may be cut there.
        let cut = !sees_answers || lab.cli.id == "codex";
        ensure!(tools >= 2 || cut, "{tools} with {turns}: {}", shown());
        let says = told.events.iter().filter(names_the_limit).count();
        ensure!(says == usize::from(wanted.is_some()), "{says}: {}", shown());

        let questions = lab.questions("steps")? - before;
        let most = turns as usize + usize::from(!counts && wanted.is_some());
        ensure!(
            (1..=most).contains(&questions),
            "{questions} questions with {turns}: {}",
            shown()
        );
        before += questions;
    }
    Ok(())
}

fn is_end(event: &&protocol::Event) -> bool {
    matches!(event.body, EventBody::ToolResult { .. })
}

/// What the program says on stderr is not meant.
fn names_the_limit(event: &&protocol::Event) -> bool {
    let told = said(std::slice::from_ref(*event)).to_lowercase();
    told.contains("turns") && !told.starts_with("stderr: ") && !is_end(event)
}
