//! `CodeBuddy`.

use crate::gated::gated;
use crate::catalog::asked_for;
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

scenarios!(CODEBUDDY);
through_the_runner!(CODEBUDDY);
asked_for!(CODEBUDDY);
gated!(CODEBUDDY);
