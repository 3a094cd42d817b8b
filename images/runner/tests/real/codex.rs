//! Codex.

use crate::catalog::asked_for;
use crate::family::family;
use crate::gated::gated;
use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider is given as a Runtime would give it: by arguments, with its key in a variable.
const CODEX: Cli = Cli {
    id: "codex",
    args: &[
        "-c",
        "model=\"scripted\"",
        "-c",
        "model_provider=\"scripted\"",
        "-c",
        "model_providers.scripted={name=\"scripted\",base_url=\"http://127.0.0.1:8080/v1\",env_key=\"SCRIPTED_KEY\",wire_api=\"responses\",request_max_retries=1,stream_max_retries=1}",
    ],
    env: &[("SCRIPTED_KEY", "any")],
    files: &[],
    uses: None,
    model: Some("scripted"),
    // This API counts what goes into the cache with the rest.
    tokens: Some((1240, 12, 300)),
    has_files: true,
    in_pieces: true,
    acp: false,
};

scenarios!(CODEX);
scenarios!(CODEX: the_model_is_told_how_much_to_think);
through_the_runner!(CODEX);
through_the_runner!(CODEX: a_remark_reaches_the_model_in_the_same_turn);
family!(CODEX as "custom-app-server");
asked_for!(CODEX);
gated!(CODEX);
gated!(CODEX: a_patch_is_one_whoever_applies_it an_image_is_looked_at_as_any_tool_is_used who_ends_the_one_that_asks_is_ended);
