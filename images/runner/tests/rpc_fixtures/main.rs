//! Replays what real programs that speak JSON-RPC or plain JSON lines wrote, frame by frame, and compares every
//! event and the result.

mod acp;
mod antigravity;
mod codebuddy;
mod codex;
mod complete;
mod cursor;
mod lines;
mod made_up;
mod pi;
mod qoder;
#[path = "../replay/mod.rs"]
mod replay;

use protocol::{FailureClass as C, Outcome};
use runner::adapter::{Exit, Input, ResumeOutcome};

use replay::{Case, Run, recorded, result, shown};

/// The recordings of every folder.
fn folders() -> Vec<(&'static str, Vec<Case>)> {
    let mut folders = vec![
        ("codex", codex::cases()),
        ("codebuddy", codebuddy::cases()),
        ("stream-json-qoder", qoder::cases()),
    ];
    folders.extend(acp::folders());
    folders.extend(pi::folders());
    folders.extend(lines::folders());
    folders
}

fn all() -> impl Iterator<Item = Case> {
    folders().into_iter().flat_map(|(_, cases)| cases)
}

const fn of(provider: &'static str, folder: &'static str, name: &'static str) -> Case {
    Case {
        provider,
        folder,
        name,
        resume: None,
        exit: 0,
        interrupt: None,
        class: None,
    }
}

#[test]
fn every_recording_has_a_case() {
    for (folder, cases) in folders() {
        let mut listed: Vec<_> = cases.iter().map(|case| case.name).collect();
        listed.sort_unstable();
        assert_eq!(listed, recorded(folder), "{folder}");
    }
}

#[test]
fn every_recording_ends_with_its_class() {
    let wrong = |case: Case| {
        let out = case.replay();
        let outcome = &result(&out).outcome;
        (outcome.class() != case.class).then(|| {
            let Case {
                folder,
                name,
                class,
                ..
            } = case;
            format!("{folder}/{name}: {outcome:?} where {class:?} is right")
        })
    };
    let wrong: Vec<_> = all().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_recording_gives_the_same_events() {
    for case in all() {
        let name = format!("{}-{}", case.folder, case.name);
        insta::assert_snapshot!(name, shown(&case.replay()));
    }
}

#[test]
fn a_conversation_goes_on_only_where_the_cli_said_so() {
    for case in all() {
        let name = format!("{}/{}", case.folder, case.name);
        let out = case.replay();
        let result = result(&out);
        match (case.resume, case.class) {
            (None, _) => assert_eq!(result.resume, ResumeOutcome::NotAsked, "{name}"),
            (Some(id), None) => {
                assert!(
                    matches!(result.resume, ResumeOutcome::Continued(_)),
                    "{name}: {:?}",
                    result.resume
                );
                assert_eq!(result.session.as_deref(), Some(id), "{name}");
            }
            // It failed in another way: nothing says that the conversation is lost, so it is not given up.
            (Some(id), Some(class)) if class != C::SessionRejected => {
                assert!(
                    matches!(
                        result.resume,
                        ResumeOutcome::Doubtful(_) | ResumeOutcome::Unknown(_)
                    ),
                    "{name}: {:?}",
                    result.resume
                );
                assert!(
                    result.session.as_deref().is_none_or(|kept| kept == id),
                    "{name}"
                );
                assert_eq!(result.retired, [""; 0], "{name}");
            }
            (Some(id), Some(_)) => {
                assert!(
                    matches!(result.resume, ResumeOutcome::Rejected(_)),
                    "{name}: {:?}",
                    result.resume
                );
                let retired = [id.to_owned()];
                assert_eq!(
                    (&result.session, &result.retired[..]),
                    (&None, &retired[..]),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn a_cut_recording_never_breaks_and_succeeds_only_with_its_end() {
    for case in all() {
        let lines = case.stdout();
        for cut in 0..=lines.len() {
            let mut run = Run::of(&case);
            for line in &lines[..cut] {
                run.line(line);
            }
            let out = run.end(Exit {
                code: None,
                signal: Some(9),
            });
            if result(&out).outcome == Outcome::Succeeded {
                let ends = [
                    "\"turn/completed\"",
                    "\"stopReason\"",
                    "\"type\": \"result\"",
                ];
                let ended = |line: &String| ends.iter().any(|end| line.contains(end));
                assert!(
                    lines[..cut].iter().any(ended),
                    "{}/{} cut at {cut}",
                    case.folder,
                    case.name
                );
            }
        }
    }
}

/// Frames of a later version change nothing but the log, wherever they come.
#[test]
fn unknown_frames_change_nothing() {
    let odd = [
        r#"{"jsonrpc":"2.0","method":"brand/new","params":{"threadId":"x","item":{"type":"agentMessage","text":"odd"}}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{"stopReason":"end_turn"}}"#,
        "plain words",
        "\u{fffd}[31m",
    ];
    for case in all() {
        let mut run = Run::of(&case);
        for line in case.stdout() {
            for odd in odd {
                run.give(Input::Stdout(odd.as_bytes()));
            }
            run.line(&line);
        }
        for line in case.stderr() {
            run.give(Input::Stderr(line.as_bytes()));
        }
        let (plain, mixed) = (case.replay(), run.end(case.exit()));
        if case.interrupt.is_none() {
            assert_eq!(
                result(&mixed),
                result(&plain),
                "{}/{}",
                case.folder,
                case.name
            );
        }
    }
}

#[test]
fn a_line_beyond_the_limit_ends_the_run() {
    for (_, cases) in folders() {
        let mut run = Run::of(&cases[0]);
        run.give(Input::StdoutTooLong(50_000_000));
        assert_eq!(result(&run.out).outcome.class(), Some(C::CliCrashed));
    }
}
