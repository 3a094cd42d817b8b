//! Command lines of the family.

use crate::adapter::Launch;
use crate::adapters;
use crate::testing::{launch, words};

#[test]
fn command_lines() {
    let full = Launch {
        args: words(&["--extra", "1"]),
        model: Some("m".to_owned()),
        resume: Some("s".to_owned()),
        ..launch()
    };
    for (id, plain, with_all) in [
        (
            "opencode",
            "opencode run --format json --auto --print-logs --log-level ERROR --thinking",
            "opencode run --format json --auto --print-logs --log-level ERROR --thinking --model m --session s --extra 1",
        ),
        (
            "copilot",
            "copilot --output-format json --allow-all --no-ask-user --no-auto-update",
            "copilot --output-format json --allow-all --no-ask-user --no-auto-update --model m --resume=s --extra 1",
        ),
        (
            "qwen",
            "qwen --output-format stream-json --yolo",
            "qwen --output-format stream-json --yolo --model m --resume s --extra 1",
        ),
    ] {
        let provider = adapters::find(id).unwrap();
        let line = |launch: &Launch| provider.launch(launch).0;
        assert_eq!(line(&launch()).argv.join(" "), plain);
        assert_eq!(line(&full).argv.join(" "), with_all);
        // The prompt is the whole of stdin, and in no argument.
        assert_eq!(line(&full).stdin, full.message.as_bytes());
    }
}

#[test]
fn reserved_flags_are_left_out_with_a_note() {
    for (id, flag) in [
        ("opencode", "--session"),
        ("copilot", "--allow-all-tools"),
        ("qwen", "--approval-mode"),
    ] {
        let asked = Launch {
            args: words(&[flag, "x"]),
            ..launch()
        };
        let (line, _) = adapters::find(id).unwrap().launch(&asked);
        assert!(!line.argv.contains(&flag.to_owned()), "{:?}", line.argv);
        assert_eq!(line.notes.len(), 1);
    }
}
