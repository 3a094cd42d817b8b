//! Whether the conversation goes on: the runner's gate behind the server's decision.

use std::io::ErrorKind;
use std::path::PathBuf;

use protocol::{Evidence, Package, SessionPolicy};

/// What was seen of the session's file in the CLI's own store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is there, under this path.
    Yes(String),
    /// It is not there.
    No,
    /// This CLI's store cannot be looked into.
    Unclear,
}

/// Looks whether a conversation is in one of the files in which it may be kept. What cannot be looked at now says nothing:
/// only what is not there is gone.
#[must_use]
pub fn found(paths: &[PathBuf]) -> Found {
    let mut gone = !paths.is_empty();
    for path in paths {
        match std::fs::metadata(path) {
            Ok(file) if file.is_file() && file.len() > 0 => {
                return Found::Yes(path.display().to_string());
            }
            Ok(_) => {}
            Err(error) => {
                gone &= matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            }
        }
    }
    if gone { Found::No } else { Found::Unclear }
}

/// What to do about the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Go on with this session.
    Resume(String),
    /// Start a new one; with a reason when the agent has to be told that it is new.
    Fresh(Option<String>),
    /// The task requires what cannot be done, because.
    Unavailable(String),
}

/// Decides, and gives the evidence on whether the session was in the store.
pub fn decide(package: &Package, look: impl FnOnce(&str) -> Found) -> (Decision, Evidence) {
    let session = &package.session;
    if session.policy == SessionPolicy::Fresh {
        let evidence = Evidence::no("the task asks for a new conversation");
        return (Decision::Fresh(None), evidence);
    }
    let Some(pointer) = &session.resume else {
        let reason = match (&session.not_resumable, session.has_past) {
            (Some(reason), _) => Some(reason.clone()),
            (None, true) => {
                Some("the last run left no conversation that can be resumed".to_owned())
            }
            (None, false) => None,
        };
        let evidence = reason
            .clone()
            .unwrap_or_else(|| "this is the first run of the session".to_owned());
        return (fresh(session.policy, reason), Evidence::no(evidence));
    };
    if pointer.provider != package.runtime.provider {
        let reason = format!(
            "it was made with {}, and this run is made with {}",
            pointer.provider, package.runtime.provider
        );
        return (
            fresh(session.policy, Some(reason.clone())),
            Evidence::no(reason),
        );
    }
    let resume = Decision::Resume(pointer.id.clone());
    match look(&pointer.id) {
        Found::Yes(path) => (resume, Evidence::yes(format!("{path} is there"))),
        Found::Unclear => (
            resume,
            Evidence::unknown(format!(
                "the store of {} cannot be looked into",
                pointer.provider
            )),
        ),
        Found::No => {
            let reason = "it is not in the agent's home directory any more".to_owned();
            let evidence = Evidence::no(format!("session {} is not in the store", pointer.id));
            (fresh(session.policy, Some(reason)), evidence)
        }
    }
}

fn fresh(policy: SessionPolicy, reason: Option<String>) -> Decision {
    match policy {
        SessionPolicy::Resume | SessionPolicy::Fresh => Decision::Fresh(reason),
        SessionPolicy::Require => Decision::Unavailable(reason.unwrap_or_else(|| {
            "there is no earlier conversation of this agent on this subject".to_owned()
        })),
    }
}

#[cfg(test)]
mod tests {
    use protocol::Answer;

    use super::*;
    use crate::testing::{claude, package};

    fn case(
        policy: SessionPolicy,
        resume: Option<&str>,
        past: bool,
        found: Found,
    ) -> (Decision, Answer) {
        let mut package = package();
        package.session.policy = policy;
        package.session.resume = resume.map(claude);
        package.session.has_past = past;
        let (decision, evidence) = decide(&package, |id| {
            assert_eq!(Some(id), resume);
            found
        });
        (decision, evidence.answer)
    }

    #[test]
    fn every_case_of_policy_pointer_and_store() {
        use SessionPolicy::{Fresh, Require, Resume};
        let there = || Found::Yes("/x".into());
        let (yes, no, unknown) = (Answer::Yes, Answer::No, Answer::Unknown);
        let cases = [
            (Resume, Some("s"), true, there(), "resume", yes),
            (Resume, Some("s"), true, Found::Unclear, "resume", unknown),
            (Resume, Some("s"), true, Found::No, "fresh, told", no),
            (Resume, None, true, Found::No, "fresh, told", no),
            (Resume, None, false, Found::No, "fresh", no),
            (Require, Some("s"), true, there(), "resume", yes),
            (Require, Some("s"), true, Found::Unclear, "resume", unknown),
            (Require, Some("s"), true, Found::No, "unavailable", no),
            (Require, None, true, Found::No, "unavailable", no),
            (Require, None, false, Found::No, "unavailable", no),
            (Fresh, Some("s"), true, there(), "fresh", no),
            (Fresh, None, false, Found::No, "fresh", no),
        ];
        for (policy, resume, past, found, wanted, answer) in cases {
            let name = format!("{policy:?} {resume:?} {past} {found:?}");
            let (decision, given) = case(policy, resume, past, found);
            let decision = match decision {
                Decision::Resume(_) => "resume",
                Decision::Fresh(None) => "fresh",
                Decision::Fresh(Some(_)) => "fresh, told",
                Decision::Unavailable(_) => "unavailable",
            };
            assert_eq!((decision, given), (wanted, answer), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_gone() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::write(at("empty"), "").unwrap();
        std::fs::write(at("there"), "x").unwrap();
        // Stands for everything that fails and is no answer: a folder without rights, a disk that fails.
        std::os::unix::fs::symlink("round", at("round")).unwrap();
        let yes = || Found::Yes(at("there").display().to_string());
        for (names, wanted) in [
            (&[][..], Found::Unclear),
            (&["none"], Found::No),
            (&["empty", "none/x", "there/x"], Found::No),
            (&["round", "none"], Found::Unclear),
            (&["round", "there"], yes()),
        ] {
            let paths: Vec<_> = names.iter().map(|name| at(name)).collect();
            assert_eq!(found(&paths), wanted, "{names:?}");
        }
    }

    #[test]
    fn a_session_of_another_provider_is_not_looked_for() {
        let mut package = package();
        package.runtime.provider = "codex".into();
        package.session.resume = Some(claude("s"));
        let (decision, _) = decide(&package, |_| panic!("looked"));
        assert!(matches!(decision, Decision::Fresh(Some(reason)) if reason.contains("claude")));
    }
}
