//! pi.

use crate::catalog::asked_for;
use crate::family::family;
use crate::gated::gated;
use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::turns::counted;
use crate::whole::through_the_runner;

/// The provider, as its file has it.
const MODELS: &str = r#"{"providers":{"scripted":{"baseUrl":"http://127.0.0.1:8080","apiKey":"any","api":"anthropic-messages","models":[{"id":"scripted-1","name":"Scripted","reasoning":true,"input":["text"],"contextWindow":128000,"maxTokens":8192,"cost":{"input":1,"output":2,"cacheRead":0.1,"cacheWrite":0}}]}}}"#;

/// The provider is given in the program's own files, and as the image takes it from a Runtime.
const PI: Cli = Cli {
    id: "pi",
    args: &["--provider", "scripted", "--model", "scripted-1"],
    env: &[("PI_MODELS", MODELS)],
    files: &[
        (".pi/agent/models.json", MODELS),
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
scenarios!(PI: the_model_is_told_how_much_to_think);
scenarios!(PI: a_remark_reaches_the_model_in_the_same_turn);
through_the_runner!(PI);
counted!(PI);
family!(PI as "custom-rpc");
asked_for!(PI);
gated!(PI);
