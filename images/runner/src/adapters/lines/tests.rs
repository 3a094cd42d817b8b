//! Command lines of the family.

use protocol::EventBody;
use protocol::programs::Version;

use crate::adapter::{Exit, Input, Launch, Output};
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
            "opencode run --format json --dangerously-skip-permissions --print-logs --log-level ERROR --thinking",
            "opencode run --format json --dangerously-skip-permissions --print-logs --log-level ERROR --thinking --model m --session s --extra 1",
        ),
        (
            "copilot",
            "copilot --output-format json --allow-all --no-ask-user --no-auto-update --usage-output-file /run/mooring/cli/usage.json",
            "copilot --output-format json --allow-all --no-ask-user --no-auto-update --model m --resume=s --extra 1 --usage-output-file /run/mooring/cli/usage.json",
        ),
        (
            "qwen",
            "qwen --output-format stream-json --yolo",
            "qwen --output-format stream-json --yolo --model m --resume s --extra 1",
        ),
        (
            "cursor",
            "cursor-agent -p --output-format stream-json --yolo --trust --workspace /workspace/work",
            "cursor-agent -p --output-format stream-json --yolo --trust --workspace /workspace/work --model m --resume s --extra 1",
        ),
        (
            "omp",
            "omp -p --mode json --auto-approve",
            // The word would be a part of the prompt.
            "omp -p --mode json --auto-approve --model m --session s --extra",
        ),
        (
            "codearts",
            "codearts run --format json --auto",
            "codearts run --format json --auto --model m --session s --extra 1",
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
fn a_flag_is_sent_to_those_that_know_it() {
    let grants = |version| {
        let asked = Launch {
            version,
            ..launch()
        };
        let line = adapters::find("opencode").unwrap().launch(&asked).0;
        line.argv.get(4).cloned()
    };
    for (version, flag) in [
        (None, "--dangerously-skip-permissions"),
        (Some(Version(1, 14, 34)), "--dangerously-skip-permissions"),
        (Some(Version(1, 18, 0)), "--auto"),
        (Some(Version(2, 0, 18)), "--dangerously-skip-permissions"),
    ] {
        assert_eq!(grants(version).as_deref(), Some(flag), "{version:?}");
    }
}

/// Else it names it at its end, and a turn that is cut short leaves none.
#[test]
fn copilot_is_given_the_name_of_a_new_conversation_where_it_takes_one() {
    const NEW: &str = "0195c1f0-1111-7abc-8def-0123456789ab";
    let said = |version, new: &str, resume: Option<&str>| {
        let asked = Launch {
            version,
            new_session: new.to_owned(),
            resume: resume.map(str::to_owned),
            ..launch()
        };
        let (line, mut adapter) = adapters::find("copilot").unwrap().launch(&asked);
        let given = line.argv.contains(&format!("--session-id={new}"));
        let mut out = Vec::new();
        adapter.handle(Input::Started, &mut out);
        let told = |out: &[Output]| {
            let named = |output: &Output| {
                let Output::Event(EventBody::Status { session_id, .. }) = output else {
                    return None;
                };
                session_id.clone()
            };
            out.iter().find_map(named)
        };
        assert_eq!(told(&out), None, "it may not even begin");
        adapter.handle(Input::Stdout(br#"{"type":"user.message"}"#), &mut out);
        let exit = Exit {
            code: None,
            signal: Some(15),
        };
        let early = told(&out);
        adapter.handle(Input::Exited(exit), &mut out);
        let Some(Output::Done(result)) = out.last() else {
            panic!("{out:?}");
        };
        assert_eq!(early, result.session);
        (given, early)
    };
    let (known, named) = (Some(Version(1, 0, 102)), Some(NEW.to_owned()));
    assert_eq!(said(known, NEW, None), (true, named));
    let asked = Some("s".to_owned());
    assert_eq!(said(known, NEW, Some("s")), (false, asked));
    for (version, new) in [(None, NEW), (Some(Version(1, 0, 49)), NEW), (known, "1")] {
        assert_eq!(said(version, new, None), (false, None));
    }
}

#[test]
fn words_that_omp_would_take_for_a_part_of_the_prompt_are_left_out() {
    let asked = Launch {
        thinking: Some("high".to_owned()),
        args: words(&["@notes.md", "--provider", "x", "--thinking", "low"]),
        custom_args: words(&["hello", "--skills", "a", "-", "--", "--no-tools"]),
        ..launch()
    };
    let (line, _) = adapters::find("omp").unwrap().launch(&asked);
    let wanted = "omp -p --mode json --auto-approve --thinking high --provider x --skills a";
    assert_eq!(line.argv.join(" "), wanted);
    assert_eq!(line.notes.len(), 6);
}

#[test]
fn reserved_flags_are_left_out_with_a_note() {
    for (id, flag) in [
        ("opencode", "--session"),
        ("copilot", "--allow-all-tools"),
        ("qwen", "--approval-mode"),
        ("cursor", "--resume"),
        ("omp", "--session-dir"),
        ("openclaw", "--message"),
        ("codearts", "--variant"),
        ("deveco", "--variant"),
        ("antigravity", "--log-file"),
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

#[test]
fn a_prompt_that_has_to_be_an_argument_is_the_last_one_and_one_that_is_too_long_is_none() {
    let provider = adapters::find("deveco").unwrap();
    let full = Launch {
        args: words(&["--extra", "1"]),
        thinking: Some("high".to_owned()),
        resume: Some("s".to_owned()),
        ..launch()
    };
    let (line, _) = provider.launch(&full);
    let fixed = "deveco run --format json --dangerously-skip-permissions --dir /workspace/work --variant high --session s --extra 1";
    assert_eq!(line.argv.join(" "), format!("{fixed} {}", full.message));
    assert_eq!(line.stdin, b"");
    let long = Launch {
        message: "x".repeat(128 * 1024),
        ..full
    };
    let (line, _) = provider.launch(&long);
    assert_eq!(line.argv.join(" "), fixed);
    assert_eq!(line.stdin, long.message.as_bytes());
}

#[test]
fn a_prompt_in_a_file_is_gone_with_the_run() {
    let provider = adapters::find("openclaw").unwrap();
    let first = Launch {
        new_session: "new".to_owned(),
        model: Some("p/m".to_owned()),
        ..launch()
    };
    let (line, _) = provider.launch(&first);
    assert_eq!(
        line.argv.join(" "),
        "openclaw agent --local --json --session-id new --timeout 86400 --model p/m --message-file /run/mooring/cli/message.md"
    );
    let [file] = &line.files[..] else {
        panic!("{:?}", line.files);
    };
    assert!(file.secret && file.content == first.message.as_bytes());
    let next = Launch {
        resume: Some("s".to_owned()),
        model: Some("ops".to_owned()),
        ..first
    };
    let argv = provider.launch(&next).0.argv.join(" ");
    assert!(
        argv.contains("--session-id s --timeout 86400 --agent ops"),
        "{argv}"
    );
}

#[test]
fn a_prompt_in_a_frame() {
    let full = Launch {
        args: words(&["--extra", "1"]),
        model: Some("m".to_owned()),
        resume: Some("s".to_owned()),
        ..launch()
    };
    let (line, _) = adapters::find("antigravity").unwrap().launch(&full);
    assert_eq!(
        line.argv.join(" "),
        "agy --dangerously-skip-permissions --input-format stream-json --output-format stream-json --model m \
         --print-timeout 24h0m0s --conversation s --add-dir /workspace/work --extra 1"
    );
    let frame: serde_json::Value = serde_json::from_slice(&line.stdin).unwrap();
    assert_eq!(frame["message"]["content"], full.message.as_str());
}
