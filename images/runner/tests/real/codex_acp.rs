//! Codex behind ACP.

use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

const CODEX_ACP: Cli = Cli {
    id: "codex-acp",
    args: &[],
    env: &[
        (
            "CODEX_CONFIG",
            r#"{"model":"scripted","model_provider":"scripted","model_providers":{"scripted":{"name":"scripted","base_url":"http://127.0.0.1:8080/v1","env_key":"SCRIPTED_KEY","wire_api":"responses","request_max_retries":1,"stream_max_retries":1}}}"#,
        ),
        ("MODEL_PROVIDER", "scripted"),
        ("SCRIPTED_KEY", "any"),
    ],
    files: &[],
    uses: Some(("CODEX_PATH", "codex")),
    model: None,
    // This API counts what goes into the cache with the rest.
    tokens: Some((1240, 12, 300)),
    has_files: true,
    in_pieces: true,
    acp: true,
};

scenarios!(CODEX_ACP);
through_the_runner!(CODEX_ACP);
