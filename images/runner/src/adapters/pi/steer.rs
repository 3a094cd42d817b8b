//! What a person adds while pi works: it is taken in once pi shows it as a message of the conversation.

use serde_json::{Value, json};

use super::Run;
use crate::adapter::Output;
use crate::adapters::frame::{list, text};

/// What the id of such a call begins with.
const CALL: &str = "steer-";

/// Remarks of a run.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// Came before the agent worked.
    early: Vec<(String, String)>,
    /// Were sent, in this order, with their words.
    sent: Vec<Option<(String, String)>>,
}

impl Run {
    /// Hands one over.
    pub(super) fn steer(&mut self, id: &str, words: &str, out: &mut Vec<Output>) {
        if self.judgement.is_some() || self.interrupted {
            refuse(id.to_owned(), "the turn was over already", out);
            return;
        }
        let remark = (id.to_owned(), words.to_owned());
        if !self.begun {
            self.remarks.early.push(remark);
            return;
        }
        let call = format!("{CALL}{}", self.remarks.sent.len());
        self.remarks.sent.push(Some(remark));
        self.write(&json!({"id": call, "type": "steer", "message": words}), out);
    }

    /// The agent works.
    pub(super) fn steer_early(&mut self, out: &mut Vec<Output>) {
        for (id, words) in std::mem::take(&mut self.remarks.early) {
            self.steer(&id, &words, out);
        }
    }

    /// True for the id of such a call, which was refused.
    pub(super) fn not_steered(&mut self, call: &str, why: &str, out: &mut Vec<Output>) -> bool {
        let Some(number) = call.strip_prefix(CALL) else {
            return false;
        };
        let number = number.parse().unwrap_or(usize::MAX);
        let sent = self.remarks.sent.get_mut(number).and_then(Option::take);
        if let Some((id, _)) = sent {
            refuse(id, why, out);
        }
        true
    }

    /// A message of the conversation: it may be a remark.
    pub(super) fn steered(&mut self, message: &Value, out: &mut Vec<Output>) {
        if text(message, "role") != "user" {
            return;
        }
        let words: String = list(message, "content")
            .iter()
            .map(|block| text(block, "text"))
            .collect();
        let mut sent = self.remarks.sent.iter_mut();
        let found = sent.find(|remark| remark.as_ref().is_some_and(|(_, said)| *said == words));
        if let Some((id, _)) = found.and_then(Option::take) {
            out.push(Output::Steered { id, taken: Ok(()) });
        }
    }
}

fn refuse(id: String, why: &str, out: &mut Vec<Output>) {
    out.push(Output::Steered {
        id,
        taken: Err(why.to_owned()),
    });
}
