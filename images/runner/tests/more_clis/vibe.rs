//! Mistral Vibe.

use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

/// The provider is given in the program's own file, its key in a variable.
const VIBE: Cli = Cli {
    id: "vibe",
    args: &[],
    env: &[("SCRIPTED_KEY", "any")],
    files: &[(
        ".vibe/config.toml",
        r#"
active_model = "scripted"
enable_update_checks = false
enable_auto_update = false
enable_telemetry = false

[[providers]]
name = "scripted"
api_base = "http://127.0.0.1:8080/v1"
api_key_env_var = "SCRIPTED_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "scripted-1"
provider = "scripted"
alias = "scripted"
input_price = 0.0
output_price = 0.0
"#,
    )],
    uses: None,
    model: None,
    tokens: Some((1240, 12, 300)),
    has_files: false,
    in_pieces: true,
    acp: true,
};

scenarios!(VIBE);
through_the_runner!(VIBE);
