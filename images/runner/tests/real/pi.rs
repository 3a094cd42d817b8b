//! pi.

use crate::lab::Cli;
use crate::scenarios::scenarios;

/// The provider is given in the program's own files.
const PI: Cli = Cli {
    id: "pi",
    args: &["--provider", "scripted", "--model", "scripted-1"],
    env: &[],
    files: &[
        (
            ".pi/agent/models.json",
            r#"{"providers":{"scripted":{"baseUrl":"http://127.0.0.1:8080","apiKey":"any","api":"anthropic-messages","models":[{"id":"scripted-1","name":"Scripted","reasoning":true,"input":["text"],"contextWindow":128000,"maxTokens":8192,"cost":{"input":1,"output":2,"cacheRead":0.1,"cacheWrite":0}}]}}}"#,
        ),
        (".pi/agent/settings.json", r#"{"retry":{"enabled":false}}"#),
    ],
    uses: None,
    model: Some("scripted-1"),
    tokens: Some((1200, 12, 300)),
    has_files: true,
    in_pieces: true,
    acp: false,
};

scenarios!(PI);
scenarios!(PI: a_remark_reaches_the_model_in_the_same_turn);
