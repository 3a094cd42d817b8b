//! The settings of a session that is open, one after the other, and the prompt after the last.

use protocol::{FailureClass, LogLevel};
use serde_json::{Value, json};

use super::run::{Call, HANDSHAKE, HANDSHAKE_TIMER, Run};
use super::sessions::{self, Need};
use super::verdict;
use crate::adapter::Output;
use crate::adapters::frame::log;
use crate::adapters::json_rpc::Refusal;
use crate::adapters::pipes::wait;

impl Run {
    /// What was set may have stayed as it was, though the agent says that all is well.
    pub(super) fn read_back(&mut self, result: &Value, out: &mut Vec<Output>) {
        let Some(step) = &self.step else { return };
        let Some(stayed) = sessions::not_taken(step, result) else {
            return;
        };
        let words = format!("{} was not taken: the agent says {stayed:?}", step.what);
        out.push(Output::Event(log(LogLevel::Warn, words)));
        if step.need == Need::Model {
            self.meter.model(stayed);
        }
        self.step = None;
    }

    /// The next step, or the prompt after the last.
    pub(super) fn set_up(&mut self, out: &mut Vec<Output>) {
        if let Some(step) = self.step.take().filter(|step| step.need == Need::Model) {
            let model = self.launch.model.as_deref().unwrap_or_default();
            self.meter.model(model);
            out.push(Output::Event(log(
                LogLevel::Info,
                format!("set: {}", step.what),
            )));
        }
        if let Some(step) = self.steps.pop_front() {
            self.call(Call::SetUp, step.method, &step.params, out);
            self.step = Some(step);
            wait(HANDSHAKE_TIMER, HANDSHAKE, out);
            return;
        }
        if let Some(fault) = self.no_gate() {
            self.fail(fault, out);
            return;
        }
        self.prompted = true;
        let prompt = json!([{"type": "text", "text": self.launch.message}]);
        let mut params = json!({"sessionId": self.session, "prompt": prompt});
        if self.dialect.prompt_twice {
            params["content"] = prompt;
        }
        self.call(Call::Prompt, "session/prompt", &params, out);
    }

    pub(super) fn not_set(&mut self, refusal: &Refusal, out: &mut Vec<Output>) {
        let Some(step) = self.step.take() else { return };
        let missing = match step.need {
            Need::Model => Some(FailureClass::ModelNotFound),
            Need::Choice => Some(FailureClass::ConfigMissing),
            Need::None => None,
        };
        if let Some(missing) = missing {
            let mut fault = verdict::of_refusal(refusal, &format!("could not set {}", step.what));
            if fault.class == FailureClass::Unknown {
                fault.class = missing;
            }
            self.fail(fault, out);
            return;
        }
        let message = format!("could not set {}: {}", step.what, refusal.words);
        out.push(Output::Event(log(LogLevel::Warn, message)));
        self.set_up(out);
    }
}
