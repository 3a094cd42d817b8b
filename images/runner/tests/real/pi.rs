//! pi.

use protocol::programs::Version;

use crate::catalog::asked_for;
use crate::family::family;
use crate::gated::gated;
use crate::lab::{Cli, with_lab};
use crate::scenarios::scenarios;
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
through_the_runner!(PI);
through_the_runner!(PI: a_remark_reaches_the_model_in_the_same_turn);
family!(PI as "custom-rpc");
asked_for!(PI);
gated!(PI);

/// What a repository sets for it counts as for whoever works there, where its version is known.
#[test]
fn a_repository_sets_what_it_is_told() -> anyhow::Result<()> {
    with_lab(PI, |lab| {
        for (version, answer) in [
            (None, "I do not know of any word."),
            (Some(Version(1, 6, 0)), "The word was ours."),
        ] {
            let in_repository = |launch: &mut runner::adapter::Launch| {
                launch.version = version;
                let folder = launch.cwd.join(".pi");
                std::fs::create_dir_all(&folder).expect("a folder of the repository");
                let words = "Remember the word ours";
                std::fs::write(folder.join("APPEND_SYSTEM.md"), words).expect("a file of it");
            };
            let told = lab.run_with(in_repository, "[scenario:skill] Which word?", None, |_| {
                None
            })?;
            assert_eq!(told.result.output, answer, "{version:?}");
        }
        Ok(())
    })
}
