//! How often the model may be asked, of the real programs that tell of each of its answers. Their files make a test of it with
//! [`counted!`].

use anyhow::{Result, ensure};
use protocol::{EventBody, FailureClass};

use crate::api::said;
use crate::lab::Lab;
use crate::whole::{pod, run, task};

/// The test of this program.
macro_rules! counted {
    ($cli:ident) => {
        #[test]
        fn its_model_is_asked_so_often_as_it_may_be() -> anyhow::Result<()> {
            $crate::lab::with_lab(
                $cli,
                $crate::turns::its_model_is_asked_so_often_as_it_may_be,
            )
        }
    };
}
pub(crate) use counted;

/// The model's first answer has two tools, and its third has none: one is not cut between its tools, and the last may be given.
pub(crate) fn its_model_is_asked_so_often_as_it_may_be(lab: &Lab) -> Result<()> {
    for (turns, wanted) in [(1, Some(FailureClass::IterationLimit)), (3, None)] {
        let mut asked = task(lab, "[scenario:steps] go");
        asked.options.max_turns = Some(turns);
        let (told, ended) = run(&pod(lab)?, asked)?;
        let shown = || format!("{}\n{}", said(&told.events), ended.log);
        ensure!(told.results[0].outcome.class() == wanted, "{}", shown());
        let is_end = |event: &&protocol::Event| matches!(event.body, EventBody::ToolResult { .. });
        let tools = told.events.iter().filter(is_end).count();
        ensure!(tools >= 2, "{tools} with {turns}: {}", shown());
    }
    Ok(())
}
