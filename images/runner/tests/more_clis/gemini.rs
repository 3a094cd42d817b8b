//! Gemini CLI.

use crate::lab::Cli;
use crate::scenarios::scenarios;
use crate::whole::through_the_runner;

const GEMINI: Cli = Cli {
    id: "gemini",
    args: &[],
    env: &[
        ("GEMINI_API_KEY", "any"),
        ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:8080"),
    ],
    files: &[(
        ".gemini/settings.json",
        r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"model":{"name":"gemini-2.5-flash"},"general":{"enableAutoUpdate":false,"sessionRetention":{"enabled":false}},"privacy":{"usageStatisticsEnabled":false}}"#,
    )],
    uses: None,
    model: Some("gemini-2.5-flash"),
    // Those from the cache and those that go into it are told as a part of the input.
    tokens: Some((1540, 12, 0)),
    has_files: false,
    in_pieces: true,
    acp: true,
};

scenarios!(GEMINI);
through_the_runner!(GEMINI);
