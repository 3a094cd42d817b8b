//! From what a CLI said to the one result of its run.

use std::collections::BTreeMap;

use protocol::{FailureClass, Outcome, SessionEffect, TokenUsage, limits};

use super::frame::cut;
use crate::adapter::{AdapterResult, Exit, ResumeOutcome};

/// How a turn ended: with an answer, or why with none.
pub(super) type Judgement = Result<String, Fault>;

/// Why a turn is no success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The class.
    pub(super) class: FailureClass,
    /// The particulars.
    pub(super) message: String,
    /// The conversation would end every later turn alike, whatever the class says.
    spent: bool,
}

impl Fault {
    /// A fault, its message cut to what a result may hold.
    pub(super) fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: cut(message.into(), limits::MESSAGE_BYTES),
            spent: false,
        }
    }

    /// The fault of a conversation that has come to nothing but these words.
    pub(super) fn of_spent(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            spent: true,
            ..Self::new(class, message)
        }
    }

    /// `cli` wrote a line that no frame may have. It may have been a question, and an unanswered one stops
    /// the turn; or the end.
    pub(super) fn too_long(cli: &str, bytes: u64) -> Self {
        let message = format!("{cli} wrote a line of {bytes} bytes, which no frame may have");
        Self::new(FailureClass::CliCrashed, message)
    }

    /// `cli` did not come to its turn in time.
    pub(super) fn late(cli: &str) -> Self {
        let message = format!("{cli} did not answer in time, before its turn began");
        Self::new(FailureClass::CliCrashed, message)
    }

    /// An interrupt came before the turn.
    pub(super) fn interrupted_early() -> Self {
        let message = "the run was interrupted before its turn began";
        Self::new(FailureClass::Cancelled, message)
    }

    /// The run ended without a result: by an interrupt, or `cli` did by itself.
    pub(super) fn no_result(cli: &str, interrupted: bool) -> Self {
        if interrupted {
            let message = "the run was interrupted before it had a result";
            Self::new(FailureClass::Cancelled, message)
        } else {
            let message = format!("{cli} ended without a result");
            Self::new(FailureClass::CliCrashed, message)
        }
    }
}

/// Everything that a result is made of.
#[derive(Debug)]
pub(super) struct Ending {
    /// How the last turn ended.
    pub(super) judgement: Judgement,
    /// How the process ended, if it has.
    pub(super) exit: Option<Exit>,
    /// The conversation that was to go on.
    pub(super) asked: Option<String>,
    /// The conversation that can be gone on with.
    pub(super) session: Option<String>,
    /// Tokens of this run by model.
    pub(super) usage: BTreeMap<String, TokenUsage>,
    /// What became of the one that was asked for.
    pub(super) resume: ResumeOutcome,
}

impl Ending {
    /// The result. A conversation that is spent, by itself or as its class of failure has it, is retired and not kept.
    pub(super) fn result(self) -> AdapterResult {
        let by_itself = matches!(&self.judgement, Err(fault) if fault.spent);
        let (output, outcome) = match self.judgement {
            Ok(output) => (output, Outcome::Succeeded),
            Err(fault) => (String::new(), failed(fault, self.exit)),
        };
        let by_class = outcome.class().map(FailureClass::session) == Some(SessionEffect::Retire);
        let (session, retired) = if by_itself || by_class {
            (None, self.session.or(self.asked).into_iter().collect())
        } else {
            (self.session, Vec::new())
        };
        AdapterResult {
            outcome,
            output,
            session,
            retired,
            usage: self.usage,
            resume: self.resume,
        }
    }
}

/// The end of a run of a CLI that names its conversations as it opens them.
#[derive(Debug)]
pub(super) struct Closing {
    /// How the last turn ended.
    pub(super) judgement: Judgement,
    /// How the process ended, if it has.
    pub(super) exit: Option<Exit>,
    /// The conversation that was to go on.
    pub(super) asked: Option<String>,
    /// The one that was opened.
    pub(super) session: Option<String>,
    /// Words with which the one that was asked for was refused.
    pub(super) rejection: Option<String>,
    /// The turn began: before that a new conversation is not kept.
    pub(super) begun: bool,
    /// Tokens of this run by model.
    pub(super) usage: BTreeMap<String, TokenUsage>,
    /// How it says that it went on with the one that was asked for,
    pub(super) continued: String,
    /// and that it opened none.
    pub(super) unknown: String,
    /// It need not say, in words that are known here, that it does not know a conversation.
    pub(super) doubts: bool,
}

impl Closing {
    /// The result.
    pub(super) fn result(self) -> AdapterResult {
        let resume = resume_outcome(
            self.asked.as_deref(),
            self.rejection,
            self.session.is_some(),
            &self.continued,
            &self.unknown,
        );
        let resume = if self.doubts {
            in_doubt(resume, &self.judgement)
        } else {
            resume
        };
        let kept = self.asked.is_some() || self.begun;
        let ending = Ending {
            judgement: self.judgement,
            exit: self.exit,
            session: self.session.filter(|_| kept),
            asked: self.asked,
            usage: self.usage,
            resume,
        };
        ending.result()
    }
}

/// What became of the conversation, with a program that need not say that it does not know it: a failure that explains
/// nothing, before one was named, may be that.
pub(super) fn in_doubt(resume: ResumeOutcome, judgement: &Judgement) -> ResumeOutcome {
    const EXPLAIN_NOTHING: [FailureClass; 3] = [
        FailureClass::CliCrashed,
        FailureClass::EmptyOutput,
        FailureClass::Unknown,
    ];
    match (resume, judgement) {
        (ResumeOutcome::Unknown(_), Err(fault)) if EXPLAIN_NOTHING.contains(&fault.class) => {
            ResumeOutcome::Doubtful(fault.message.clone())
        }
        (resume, _) => resume,
    }
}

/// What became of the conversation `asked` for: rejected with these words, or gone on with as one was `opened`.
/// `continued` and `unknown` say so.
pub(super) fn resume_outcome(
    asked: Option<&str>,
    rejection: Option<String>,
    opened: bool,
    continued: &str,
    unknown: &str,
) -> ResumeOutcome {
    match (asked, rejection) {
        (None, _) => ResumeOutcome::NotAsked,
        (Some(_), Some(words)) => ResumeOutcome::Rejected(words),
        (Some(asked), None) if opened => ResumeOutcome::Continued(format!("{continued} {asked}")),
        (Some(_), None) => ResumeOutcome::Unknown(unknown.to_owned()),
    }
}

fn failed(fault: Fault, exit: Option<Exit>) -> Outcome {
    Outcome::Failed {
        class: fault.class,
        message: fault.message,
        exit_code: exit.and_then(|exit| exit.code),
        signal: exit.and_then(|exit| exit.signal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_retired_by_its_class_and_by_words_that_it_would_say_again() {
        use FailureClass::{ContextOverflow, IterationLimit};
        for (fault, retired) in [
            (Fault::new(IterationLimit, "asked 3 times"), false),
            (Fault::of_spent(IterationLimit, "I reached the limit"), true),
            (Fault::new(ContextOverflow, "too long"), true),
        ] {
            let class = fault.class;
            let ending = Ending {
                judgement: Err(fault),
                exit: None,
                asked: None,
                session: Some("s".to_owned()),
                usage: BTreeMap::new(),
                resume: ResumeOutcome::NotAsked,
            };
            let result = ending.result();
            assert_eq!(result.outcome.class(), Some(class));
            assert_eq!(result.session.is_none(), retired, "{class}");
            assert_eq!(result.retired.len(), usize::from(retired), "{class}");
        }
    }
}
