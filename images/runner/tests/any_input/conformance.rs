//! What holds for every provider before it is started.

use std::fs;
use std::path::Path;

use protocol::{programs, providers::ids};
use runner::adapter::{CommandLine, Launch};
use runner::adapters;

/// Bytes of a prompt; a command line of Linux takes no argument of an eighth of it.
const PROMPT: usize = 1024 * 1024;
/// Bytes that a command line stays below.
const LINE: usize = 16 * 1024;
/// Those that take none of others' arguments.
const TAKES_NO_ARGUMENTS: &[&str] = &["dsh"];
/// Those that can be told their prompt by an argument alone.
const PROMPT_IN_ARGV: &[&str] = &["deveco"];

fn line(provider: &str, launch: &Launch) -> CommandLine {
    let provider = adapters::find(provider).expect("there is an adapter");
    provider.launch(launch).0
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[test]
fn a_prompt_of_a_mebibyte_is_in_no_argument() {
    let launch = Launch {
        message: "x".repeat(PROMPT),
        ..Launch::default()
    };
    for provider in ids().into_iter().filter(|id| !PROMPT_IN_ARGV.contains(id)) {
        let bytes: usize = line(provider, &launch).argv.iter().map(String::len).sum();
        assert!(bytes < LINE, "{provider}: {bytes} bytes");
    }
}

/// The program, what stands before its arguments, its own, the Runtime's, the Agent's.
#[test]
fn a_command_line_has_its_order() {
    let launch = Launch {
        command: words(&["/opt/program", "first"]),
        launch_prefix: words(&["--before"]),
        args: words(&["--of-runtime='a b'"]),
        custom_args: words(&["\"--of-agent\""]),
        ..Launch::default()
    };
    for provider in ids() {
        let argv = line(provider, &launch).argv;
        assert_eq!(argv[..2], ["/opt/program", "first"], "{provider}");
        let at = |word: &str| argv.iter().position(|argument| argument == word);
        let order = [at("--before"), at("--of-runtime=a b"), at("--of-agent")];
        if TAKES_NO_ARGUMENTS.contains(&provider) {
            assert_eq!(order, [Some(2), None, None], "{provider}: {argv:?}");
        } else {
            assert!(
                order.is_sorted() && order[0].is_some(),
                "{provider}: {argv:?}"
            );
        }
    }
}

/// An id comes from a program's output.
#[test]
fn a_session_that_looks_like_a_flag_sets_none() {
    let launch = Launch {
        resume: Some("--dangerous".to_owned()),
        ..Launch::default()
    };
    for provider in ids() {
        let argv = line(provider, &launch).argv;
        if let Some(at) = argv.iter().position(|word| word == "--dangerous") {
            let flag = &argv[at - 1];
            assert!(
                flag.starts_with('-'),
                "{provider}: it is no value: {argv:?}"
            );
        }
    }
}

/// What is published of these is driven otherwise: with it alone a Runtime of the provider would not work.
const DRIVEN_OTHERWISE: &[&str] = &["dsh"];

/// Whoever lacks a program that can be had is told what installs it: of the version that the tests install.
#[test]
fn what_the_tests_install_can_be_put_into_an_image() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = |folder: &Path| fs::read_dir(folder).expect("the folder is there");
    let mut asked = 0;
    for file in files(&tests).chain(files(&tests.join("more_clis"))) {
        let path = file.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str());
        let provider = name
            .and_then(|name| name.strip_prefix("install-")?.strip_suffix(".sh"))
            .and_then(|name| ids().into_iter().find(|id| *id == name));
        let Some(provider) = provider.filter(|id| !DRIVEN_OTHERWISE.contains(id)) else {
            continue;
        };
        let script = fs::read_to_string(&path).expect("a script");
        let version = script
            .split_once("_VERSION:-")
            .and_then(|(_, rest)| Some(rest.split_once('}')?.0))
            .expect("it names its version");
        let line = programs::of(provider).install.unwrap_or_default();
        assert!(line.contains(version), "{provider} {version}: {line:?}");
        asked += 1;
    }
    assert!(asked > 15, "{asked} programs");
}
