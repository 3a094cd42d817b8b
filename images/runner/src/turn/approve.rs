//! What a CLI waits for a person to decide.

use std::borrow::Cow;

use protocol::{ApprovalId, LogLevel, shown};
use serde_json::Value;
use tokio::time::Instant;

use super::Turn;
use crate::adapter::{HostCommand, Input};
use crate::approvals::{Answer, Api, Decision, Question, Questions};

impl Turn<'_, '_> {
    /// Asks a person, or refuses at once where nobody can be asked. The decision is on what leaves here: the pod's secret
    /// values are taken out of it and nothing else, and the adapter keeps what it asked for.
    pub(super) fn ask(&mut self, id: String, tool: String, mut input: Value, why: Option<String>) {
        if self.stopping() {
            self.answer(&id, false, "the run is being stopped");
            return;
        }
        let redactor = self.around.journal.redactor();
        let known = |text: &mut String| {
            if let Cow::Owned(clean) = redactor.values(text) {
                *text = clean;
            }
        };
        let shown = shown::show(&mut input, &known);
        let question = Question {
            id: id.clone(),
            tool: redactor.text(&tool).into_owned(),
            input,
            why: redactor
                .text(why.as_deref().unwrap_or_default())
                .into_owned(),
        };
        let asked = match &mut self.around.questions {
            _ if !shown => Err(shown::NOT_SHOWN.to_owned()),
            Some(questions) => questions.ask(question),
            None => Err("nobody can decide on it".to_owned()),
        };
        match asked {
            Ok(()) => {
                self.watch.waits();
                let words = format!("waits for a person's decision on {tool}");
                self.around.journal.remark(LogLevel::Info, words);
            }
            Err(why) => {
                let words = format!("nobody is asked about {tool}: {why}");
                self.around.journal.remark(LogLevel::Warn, words);
                self.answer(&id, false, &why);
            }
        }
    }

    /// A person decided, as the API tells.
    pub(super) fn decided(&self, approval: ApprovalId, decision: Decision) {
        if let Some(questions) = &self.around.questions {
            questions.decide(approval, decision);
        }
    }

    /// The CLI does not wait for it any more.
    pub(super) fn withdrawn(&mut self, id: &str) {
        if let Some(tool) = self.given_up(id) {
            self.watch.waited(Instant::now());
            let words = format!("the agent's program waits no more for a decision on {tool}");
            self.around.journal.remark(LogLevel::Info, words);
        }
    }

    /// A question has its answer.
    pub(super) fn answered(&mut self, answer: &Answer) {
        // One that was withdrawn meanwhile is nobody's.
        let Some(tool) = self.given_up(&answer.id) else {
            return;
        };
        self.watch.waited(Instant::now());
        let may = if answer.allow {
            "may be used"
        } else {
            "is refused"
        };
        let words = format!("{tool} {may}: {}", answer.why);
        self.around.journal.remark(LogLevel::Info, words);
        self.answer(&answer.id, answer.allow, &answer.why);
    }

    /// Forgets a question that waits; the tool that it was about.
    fn given_up(&mut self, id: &str) -> Option<String> {
        self.around.questions.as_mut()?.withdraw(id)
    }

    fn answer(&mut self, id: &str, allow: bool, why: &str) {
        let why = Some(why);
        self.give(Input::Host(HostCommand::Decide { id, allow, why }));
    }
}

/// The next answer.
pub(super) async fn next(questions: &mut Option<Questions<Api>>) -> Answer {
    match questions {
        Some(questions) => questions.next().await,
        None => std::future::pending().await,
    }
}
