//! The end of a run: what it comes to, and what became of the session that was to go on.

use protocol::FailureClass;

use super::run::Run;
use super::verdict;
use crate::adapter::{Exit, Output, ResumeOutcome};
use crate::adapters::ending::{Ending, Fault, Judgement, resume_outcome};
use crate::adapters::frame::text;
use crate::adapters::json_rpc::Refusal;
use crate::classify;

impl Run {
    /// The run is over.
    pub(super) fn finish(&mut self, exit: Option<Exit>, out: &mut Vec<Output>) {
        self.done = true;
        let mut events = Vec::new();
        let went_well =
            matches!(&self.answer, Some(Ok(result)) if text(result, "stopReason") == "end_turn");
        if self.dialect.leaves_tools_open && went_well {
            self.updates.end_open(&mut events);
        }
        self.updates.close(&mut events);
        out.extend(events.into_iter().map(Output::Event));
        self.forget_remarks(out);
        let judgement = self.judge();
        if let Err(fault) = &judgement
            && self.launch.resume.is_some()
            && classify::refuses_history(&fault.message)
        {
            self.rejection = Some(fault.message.clone());
        }
        let id = self.dialect.id;
        let doubt = self.doubt.take();
        let resume = resume_outcome(
            self.launch.resume.as_deref(),
            self.rejection.take(),
            self.session.is_some() && doubt.is_none(),
            &format!("{id} went on with session"),
            &doubt.unwrap_or_else(|| format!("{id} opened no session")),
        );
        let resume = match self.perhaps_lost.take() {
            Some(words) => ResumeOutcome::Doubtful(words),
            None => resume,
        };
        let asked = self.launch.resume.take();
        // Some do not keep a new session that failed before its first prompt.
        let kept = asked.is_some() || self.begun;
        let ending = Ending {
            judgement,
            exit,
            session: self.session.take().filter(|_| kept),
            asked,
            usage: self.meter.total(),
            resume,
        };
        out.push(Output::Done(ending.result()));
    }

    fn judge(&mut self) -> Judgement {
        let left = self.names.left().filter(|_| !self.interrupted);
        if let Some(fault) = self.fault.take().or(left) {
            return Err(fault);
        }
        let id = self.dialect.id;
        match self.answer.take() {
            Some(Ok(result)) => {
                let silent = !self.updates.active() && self.updates.notices().is_empty();
                if self.dialect.refuses_when_lost
                    && self.launch.resume.is_some()
                    && text(&result, "stopReason") == "refusal"
                    && silent
                {
                    let words = format!("{id} could not restore the session");
                    self.rejection = Some(words.clone());
                    return Err(Fault::new(FailureClass::SessionRejected, words));
                }
                let judgement =
                    verdict::judge(self.dialect, &result, &self.updates, self.interrupted);
                self.with_stderr(judgement)
            }
            Some(Err(refusal)) if self.is_done_all_the_same(&refusal.words) => {
                Ok(self.updates.answer().to_owned())
            }
            Some(Err(refusal)) if !self.interrupted => Err(self.refused(&refusal)),
            Some(Err(_)) | None => Err(Fault::no_result(id, self.interrupted)),
        }
    }

    fn refused(&self, refusal: &Refusal) -> Fault {
        const WHAT: &str = "the turn failed";
        let notices = self.updates.notices();
        if !self.dialect.fails_in_notices || notices.is_empty() {
            return verdict::of_refusal(refusal, WHAT);
        }
        let class = classify::classify_or(notices, FailureClass::ProviderServerError);
        Fault::new(class, format!("{WHAT}: {notices}"))
    }

    /// The work was done, whatever the agent says after it.
    fn is_done_all_the_same(&self, words: &str) -> bool {
        let phrases = self.dialect.refuses_when_done;
        self.updates.reached_goal() && phrases.iter().any(|phrase| words.contains(phrase))
    }

    /// A turn that ended as if all were well did not, where stderr says why.
    fn with_stderr(&self, judgement: Judgement) -> Judgement {
        let silent = match &judgement {
            Ok(output) => output.is_empty(),
            Err(fault) if fault.class == FailureClass::EmptyOutput => true,
            Err(_) => return judgement,
        };
        let failure = self.stderr.failure(silent);
        match failure.filter(|_| self.dialect.fails_on_stderr) {
            None => judgement,
            Some(detail) => {
                let class = classify::classify_or(detail, FailureClass::ProviderServerError);
                let message = format!("{} provider error: {detail}", self.dialect.id);
                Err(Fault::new(class, message))
            }
        }
    }
}
