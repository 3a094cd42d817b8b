//! Claude Code.

use anyhow::Result;
use protocol::ToolStatus;

use crate::catalog::asked_for;
use crate::family::family;
use crate::gated::gated;
use crate::lab::{Cli, with_lab};
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

const CLAUDE: Cli = Cli {
    id: "claude",
    args: &[],
    env: ENV,
    files: &[],
    uses: None,
    model: None,
    tokens: Some((1200, 12, 300)),
    has_files: true,
    in_pieces: false,
    acp: false,
};

/// The provider is given as a Runtime would give it.
pub(crate) const ENV: &[(&str, &str)] = &[
    ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8080"),
    ("ANTHROPIC_API_KEY", "any"),
    ("CLAUDE_CODE_MAX_RETRIES", "1"),
];

scenarios!(CLAUDE);
through_the_runner!(CLAUDE);
through_the_runner!(CLAUDE: a_remark_reaches_the_model_in_the_same_turn);
// What an agent left is in `life`.
gated!(CLAUDE:
    a_tool_that_is_denied_does_nothing
    a_tool_that_is_not_allowed_does_nothing
    a_person_decides_on_each_use
    only_what_is_named_is_asked_about
    what_it_is_given_is_there_all_the_same
);
family!(CLAUDE as "custom-stream-json");
asked_for!(CLAUDE);
scenarios!(CLAUDE: the_model_is_told_how_much_to_think);

/// The rewrite arrives in time though the first message follows `initialize` at once.
#[test]
fn what_would_run_in_the_background_gives_its_output() -> Result<()> {
    with_lab(CLAUDE, |lab| {
        let told = lab.say("[scenario:background] go", None)?;
        assert_eq!(told.result.output, "It ran.");
        assert_eq!(told.tools(), [("scripted-42", Some(ToolStatus::Completed))]);
        Ok(())
    })
}
