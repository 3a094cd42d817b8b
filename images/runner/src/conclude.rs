//! From how a run ended to the one result of the attempt.

use std::collections::BTreeMap;

use protocol::{
    Answer, Evidence, FailureClass, Outcome, ProviderSession, SessionPolicy, TokenUsage, limits,
};

use crate::adapter::{AdapterResult, Exit, ResumeOutcome};
use crate::classify;
use crate::ledger;
use crate::turn::TurnEnd;

/// The signal with which the kernel kills.
const KILL: i32 = 9;

/// What a result says of the run itself; the rest of a result the runner knows without it.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// Success or failure.
    pub outcome: Outcome,
    /// The answer.
    pub output: String,
    /// The conversation to go on with.
    pub session: Option<ProviderSession>,
    /// Ids that can never be resumed.
    pub retired: Vec<String>,
    /// What became of the conversation that was asked for.
    pub provider: Evidence,
    /// Tokens.
    pub usage: BTreeMap<String, TokenUsage>,
}

impl Conclusion {
    /// Of an attempt whose CLI never ran: what can be resumed stays as it was.
    #[must_use]
    pub fn never_ran(outcome: Outcome, session: Option<ProviderSession>) -> Self {
        Self {
            outcome,
            output: String::new(),
            session,
            retired: Vec::new(),
            provider: Evidence::unknown("the agent's program did not run"),
            usage: BTreeMap::new(),
        }
    }
}

/// Whether the run may be done once more without the conversation that was asked for: the CLI said that it can
/// never be resumed, or may mean that, and nothing has happened yet that would happen twice.
#[must_use]
pub fn may_start_fresh(end: &TurnEnd, policy: SessionPolicy) -> Option<&str> {
    let failed = end.result.outcome != Outcome::Succeeded;
    let free = policy == SessionPolicy::Resume && !end.used_tools && end.stopped.is_none();
    match &end.result.resume {
        ResumeOutcome::Rejected(words) | ResumeOutcome::Doubtful(words) if failed && free => {
            Some(words)
        }
        ResumeOutcome::Rejected(_)
        | ResumeOutcome::Doubtful(_)
        | ResumeOutcome::NotAsked
        | ResumeOutcome::Continued(_)
        | ResumeOutcome::Unknown(_) => None,
    }
}

/// What a run comes to. `asked` is the conversation that it was started with.
#[must_use]
pub fn conclude(
    end: TurnEnd,
    provider: &str,
    asked: Option<&str>,
    policy: SessionPolicy,
) -> Conclusion {
    let outcome = outcome(&end, provider, policy);
    let AdapterResult {
        output,
        session,
        mut retired,
        usage,
        resume,
        outcome: _,
    } = end.result;
    if let (ResumeOutcome::Rejected(_), Some(asked)) = (&resume, asked)
        && !retired.iter().any(|id| id == asked)
    {
        retired.push(asked.to_owned());
    }
    // An id will stand on a command line. The agent's program gives it, and an option is no id.
    let session = session.filter(|id| !id.starts_with('-'));
    // A run that broke before its first word has not touched what it was to go on with.
    let session = session
        .or_else(|| asked.map(str::to_owned))
        .filter(|id| !retired.contains(id));
    let succeeded = outcome == Outcome::Succeeded;
    Conclusion {
        outcome,
        output: if succeeded {
            cut(output, limits::OUTPUT_BYTES)
        } else {
            String::new()
        },
        session: session.map(|id| ProviderSession {
            provider: provider.to_owned(),
            id,
        }),
        retired,
        provider: evidence(resume),
        usage,
    }
}

/// Two runs of one attempt: the second one's end, the first one's losses, the tokens of both.
#[must_use]
pub fn after_fresh_start(first: Conclusion, mut second: Conclusion) -> Conclusion {
    let worked = matches!(
        second.outcome.class(),
        None | Some(FailureClass::IterationLimit)
    );
    if !worked && second.session.is_none() {
        // It failed before it began: what was wrong at first says more.
        second.outcome = first.outcome;
    }
    // What was in doubt, and not refused, is not given up for one that failed as well.
    let in_doubt = first.provider.answer == Answer::Unknown;
    if !worked && (in_doubt || second.session.is_none()) {
        second.session = first.session;
    }
    second.retired.extend(first.retired);
    second.retired.sort();
    second.retired.dedup();
    second.provider = first.provider;
    for (model, usage) in first.usage {
        ledger::add(&mut second.usage, &model, usage);
    }
    second
}

/// Says why a run came to nothing without a word, where its program wrote that down.
pub fn explain(outcome: &mut Outcome, why: Option<String>) {
    let (Outcome::Failed { class, message, .. }, Some(words)) = (outcome, why) else {
        return;
    };
    *class = classify::classify_or(&words, *class);
    *message = cut(words, limits::MESSAGE_BYTES);
}

/// The outcome of a run on a volume that is full now. What a program says of it depends on what it was writing, so a
/// failure that names nobody else is the volume's.
#[must_use]
pub fn on_full_volume(outcome: Outcome, words: &str) -> Outcome {
    const NAMES_NOBODY: [FailureClass; 4] = [
        FailureClass::CliCrashed,
        FailureClass::EmptyOutput,
        FailureClass::PrepareFailed,
        FailureClass::Unknown,
    ];
    match outcome {
        Outcome::Failed {
            class,
            message,
            exit_code,
            signal,
        } if NAMES_NOBODY.contains(&class) => Outcome::Failed {
            class: FailureClass::VolumeFull,
            message: cut(format!("{words}; {message}"), limits::MESSAGE_BYTES),
            exit_code,
            signal,
        },
        other @ (Outcome::Failed { .. } | Outcome::Succeeded) => other,
    }
}

fn outcome(end: &TurnEnd, provider: &str, policy: SessionPolicy) -> Outcome {
    let (class, message) = match (&end.result.outcome, &end.stopped) {
        // Some call it a success that they were ended; without an answer it is none.
        (Outcome::Succeeded, Some(cause)) if end.result.output.is_empty() => {
            return cause.outcome();
        }
        (Outcome::Succeeded, _) => return Outcome::Succeeded,
        (Outcome::Failed { class, message, .. }, _) => (*class, message),
    };
    if let Some(cause) = &end.stopped {
        return cause.outcome();
    }
    let Exit { code, signal } = end.exit.unwrap_or(Exit {
        code: None,
        signal: None,
    });
    if end.oom_kills > 0 && signal == Some(KILL) {
        return Outcome::Failed {
            class: FailureClass::OOMKilled,
            message: "the kernel killed the agent's program for want of memory".to_owned(),
            exit_code: code,
            signal,
        };
    }
    let rejected = matches!(end.result.resume, ResumeOutcome::Rejected(_));
    let class = if rejected && policy == SessionPolicy::Require {
        FailureClass::SessionUnavailable
    } else {
        class
    };
    Outcome::Failed {
        class,
        message: with_stderr(message, provider, &end.stderr),
        exit_code: code,
        signal,
    }
}

/// The message with the last words on stderr, unless it says the same. At most what a message may have.
fn with_stderr(message: &str, provider: &str, stderr: &str) -> String {
    let message = cut(message.to_owned(), limits::MESSAGE_BYTES);
    if stderr.is_empty() || message.contains(stderr) || stderr.contains(&message) {
        return message;
    }
    let join = format!("; {provider} stderr: ");
    let room = limits::MESSAGE_BYTES.saturating_sub(message.len() + join.len());
    let tail = &stderr[stderr.ceil_char_boundary(stderr.len().saturating_sub(room))..];
    if tail.is_empty() {
        message
    } else {
        format!("{message}{join}{tail}")
    }
}

fn evidence(resume: ResumeOutcome) -> Evidence {
    match resume {
        ResumeOutcome::NotAsked => Evidence::no("a new conversation was started"),
        ResumeOutcome::Continued(words) => Evidence::yes(words),
        ResumeOutcome::Rejected(words) => Evidence::no(words),
        ResumeOutcome::Doubtful(words) | ResumeOutcome::Unknown(words) => Evidence::unknown(words),
    }
}

fn cut(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}

#[cfg(test)]
mod tests {
    use protocol::EndReason;

    use super::*;
    use crate::stop::StopCause;
    use crate::testing::claude;

    fn end(outcome: Outcome, resume: ResumeOutcome) -> TurnEnd {
        TurnEnd {
            result: AdapterResult {
                outcome,
                output: "answer".into(),
                session: Some("new".into()),
                retired: Vec::new(),
                usage: BTreeMap::from([(
                    "m".to_owned(),
                    TokenUsage {
                        input: 1,
                        ..TokenUsage::default()
                    },
                )]),
                resume,
            },
            stopped: None,
            exit: Some(Exit {
                code: Some(1),
                signal: None,
            }),
            stderr: String::new(),
            used_tools: false,
            oom_kills: 0,
        }
    }

    #[test]
    fn an_id_that_would_be_an_option_is_none() {
        let mut given = end(Outcome::Succeeded, ResumeOutcome::NotAsked);
        given.result.session = Some("--settings=/workspace/home/x".into());
        let conclusion = conclude(given, "claude", None, SessionPolicy::Resume);
        assert_eq!(conclusion.session, None);
    }

    fn failed() -> Outcome {
        Outcome::failed(FailureClass::SessionRejected, "no such session")
    }

    fn rejected() -> ResumeOutcome {
        ResumeOutcome::Rejected("no such session".into())
    }

    #[test]
    fn a_fresh_start_needs_a_refusal_and_an_innocent_run() {
        use SessionPolicy::{Require, Resume};
        let good = || end(failed(), rejected());
        assert_eq!(may_start_fresh(&good(), Resume), Some("no such session"));
        assert_eq!(may_start_fresh(&good(), Require), None);
        let with_tools = TurnEnd {
            used_tools: true,
            ..good()
        };
        assert_eq!(may_start_fresh(&with_tools, Resume), None);
        let stopped = TurnEnd {
            stopped: Some(StopCause::Terminated),
            ..good()
        };
        assert_eq!(may_start_fresh(&stopped, Resume), None);
        let succeeded = end(Outcome::Succeeded, rejected());
        assert_eq!(may_start_fresh(&succeeded, Resume), None);
        let network = end(failed(), ResumeOutcome::Unknown("x".into()));
        assert_eq!(may_start_fresh(&network, Resume), None);
    }

    #[test]
    fn a_refused_session_is_retired_and_required_ones_are_unavailable() {
        let mut refused = end(failed(), rejected());
        refused.result.session = None;
        let conclusion = conclude(refused, "claude", Some("old"), SessionPolicy::Require);
        assert_eq!(
            conclusion.outcome.class(),
            Some(FailureClass::SessionUnavailable)
        );
        assert_eq!(
            (conclusion.session, conclusion.retired),
            (None, vec!["old".to_owned()])
        );
        assert_eq!(conclusion.provider.answer, Answer::No);
        assert_eq!(conclusion.output, "");
    }

    #[test]
    fn a_run_that_broke_early_keeps_the_pointer() {
        let mut broken = end(failed(), ResumeOutcome::Unknown("said nothing".into()));
        broken.result.session = None;
        let conclusion = conclude(broken, "claude", Some("old"), SessionPolicy::Resume);
        assert_eq!(conclusion.session, Some(claude("old")));
    }

    #[test]
    fn a_stop_explains_a_failure_but_takes_no_success_away() {
        let stop = StopCause::Commanded(EndReason::Cancelled);
        for (outcome, output, wanted) in [
            (Outcome::Succeeded, "Done.", None),
            (Outcome::Succeeded, "", Some(FailureClass::Cancelled)),
            (failed(), "", Some(FailureClass::Cancelled)),
        ] {
            let mut stopped = TurnEnd {
                stopped: Some(stop.clone()),
                ..end(outcome, ResumeOutcome::NotAsked)
            };
            output.clone_into(&mut stopped.result.output);
            let conclusion = conclude(stopped, "claude", None, SessionPolicy::Resume);
            assert_eq!(conclusion.outcome.class(), wanted);
        }
    }

    #[test]
    fn a_kill_for_want_of_memory_is_none_of_the_agents() {
        for (oom_kills, signal, wanted) in [
            (1, Some(KILL), FailureClass::OOMKilled),
            (0, Some(KILL), FailureClass::SessionRejected),
            (1, Some(15), FailureClass::SessionRejected),
        ] {
            let killed = TurnEnd {
                oom_kills,
                exit: Some(Exit { code: None, signal }),
                ..end(failed(), ResumeOutcome::NotAsked)
            };
            let conclusion = conclude(killed, "claude", None, SessionPolicy::Resume);
            assert_eq!(conclusion.outcome.class(), Some(wanted));
        }
    }

    #[test]
    fn a_full_volume_explains_what_names_nobody_else() {
        use FailureClass::{CliCrashed, PrepareFailed, ProviderAuth, VolumeFull};
        for (class, wanted) in [
            (CliCrashed, VolumeFull),
            (PrepareFailed, VolumeFull),
            (ProviderAuth, ProviderAuth),
        ] {
            let failed = Outcome::failed(class, "no space left");
            let Outcome::Failed { class, message, .. } = on_full_volume(failed, "it is full")
            else {
                panic!("it failed")
            };
            assert_eq!(class, wanted);
            let both = "it is full; no space left";
            let says_both = message == both;
            assert_eq!(says_both, class == VolumeFull, "{message}");
        }
        let good = on_full_volume(Outcome::Succeeded, "it is full");
        assert_eq!(good, Outcome::Succeeded);
    }

    #[test]
    fn a_conversation_in_doubt_is_given_up_for_one_that_works_and_for_nothing_else() {
        use SessionPolicy::Resume;
        let doubtful = || end(failed(), ResumeOutcome::Doubtful("exit code 1".into()));
        assert_eq!(may_start_fresh(&doubtful(), Resume), Some("exit code 1"));
        assert_eq!(may_start_fresh(&doubtful(), SessionPolicy::Require), None);
        let first = || {
            let mut first = doubtful();
            first.result.session = None;
            conclude(first, "cursor", Some("old"), Resume)
        };
        assert_eq!(first().retired, [] as [&str; 0]);
        let after = |outcome, named: Option<&str>| {
            let mut second = end(outcome, ResumeOutcome::NotAsked);
            second.result.session = named.map(str::to_owned);
            let second = conclude(second, "cursor", None, SessionPolicy::Fresh);
            let both = after_fresh_start(first(), second);
            assert_eq!(both.provider.answer, Answer::Unknown);
            assert_eq!(both.retired, [] as [&str; 0]);
            both.session.map(|session| session.id)
        };
        assert_eq!(
            after(Outcome::Succeeded, Some("new")).as_deref(),
            Some("new")
        );
        let limit = Outcome::failed(FailureClass::IterationLimit, "asked 3 times");
        assert_eq!(after(limit, Some("new")).as_deref(), Some("new"));
        assert_eq!(after(failed(), None).as_deref(), Some("old"));
        assert_eq!(after(failed(), Some("new")).as_deref(), Some("old"));
    }

    /// One that was refused is gone, whatever becomes of the next.
    #[test]
    fn a_refused_conversation_is_given_up_also_for_one_that_fails() {
        let resume = SessionPolicy::Resume;
        let first = conclude(end(failed(), rejected()), "claude", Some("old"), resume);
        let second = end(failed(), ResumeOutcome::NotAsked);
        let second = conclude(second, "claude", None, SessionPolicy::Fresh);
        let both = after_fresh_start(first, second);
        assert_eq!(
            (both.session, both.retired),
            (Some(claude("new")), vec!["old".to_owned()])
        );
    }

    #[test]
    fn both_runs_count() {
        let first = conclude(
            end(failed(), rejected()),
            "claude",
            Some("old"),
            SessionPolicy::Resume,
        );
        let second = conclude(
            end(Outcome::Succeeded, ResumeOutcome::NotAsked),
            "claude",
            None,
            SessionPolicy::Resume,
        );
        let both = after_fresh_start(first, second);
        assert_eq!(both.outcome, Outcome::Succeeded);
        assert_eq!(both.session, Some(claude("new")));
        assert_eq!(both.retired, ["old"]);
        assert_eq!(both.usage["m"].input, 2);
        assert_eq!(both.provider.answer, Answer::No);
    }

    #[test]
    fn messages_carry_the_end_of_stderr_within_the_limit() {
        assert_eq!(
            with_stderr("broke", "claude", "why"),
            "broke; claude stderr: why"
        );
        assert_eq!(with_stderr("broke: why", "claude", "why"), "broke: why");
        assert_eq!(with_stderr("broke", "claude", ""), "broke");
        let long = with_stderr(
            &"ä".repeat(300),
            "claude",
            &format!("{}end", "ö".repeat(900)),
        );
        assert!(long.len() <= limits::MESSAGE_BYTES && long.ends_with("end"));
    }

    #[test]
    fn what_its_program_wrote_down_explains_a_run_without_a_word() {
        for (why, class, message) in [
            (None, FailureClass::EmptyOutput, "nothing"),
            (
                Some("429 You exceeded your current quota"),
                FailureClass::ProviderQuota,
                "429 You exceeded your current quota",
            ),
            (Some("odd"), FailureClass::EmptyOutput, "odd"),
        ] {
            let mut outcome = Outcome::failed(FailureClass::EmptyOutput, "nothing");
            explain(&mut outcome, why.map(str::to_owned));
            assert_eq!(outcome, Outcome::failed(class, message));
        }
        let mut fine = Outcome::Succeeded;
        explain(&mut fine, Some("odd".to_owned()));
        assert_eq!(fine, Outcome::Succeeded);
    }
}
