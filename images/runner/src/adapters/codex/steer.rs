//! What a person adds while Codex works. It is taken in once Codex shows it as an item of the turn: what it only has
//! accepted may come too late.

use serde_json::{Value, json};

use super::{Call, Run};
use crate::adapter::Output;
use crate::adapters::frame::text;

/// Remarks of a run.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// Came before the turn had a name.
    early: Vec<(String, String)>,
    /// Were sent, in this order. Gone once it is known what became of them.
    sent: Vec<Option<String>>,
}

impl Run {
    /// Hands one over.
    pub(super) fn steer(&mut self, id: &str, words: &str, out: &mut Vec<Output>) {
        if self.judgement.is_some() || self.interrupted {
            refuse(id.to_owned(), "the turn was over already", out);
            return;
        }
        let (Some(thread), Some(turn)) = (&self.thread, &self.turn) else {
            self.remarks.early.push((id.to_owned(), words.to_owned()));
            return;
        };
        let params = json!({
            "threadId": thread,
            "expectedTurnId": turn,
            "input": [{"type": "text", "text": words}],
            "clientUserMessageId": id,
        });
        let number = self.remarks.sent.len();
        self.remarks.sent.push(Some(id.to_owned()));
        self.call(Call::Steer(number), "turn/steer", &params, out);
    }

    /// The turn has a name.
    pub(super) fn steer_early(&mut self, out: &mut Vec<Output>) {
        for (id, words) in std::mem::take(&mut self.remarks.early) {
            self.steer(&id, &words, out);
        }
    }

    /// Codex does not take it.
    pub(super) fn not_steered(&mut self, number: usize, why: &str, out: &mut Vec<Output>) {
        let sent = self.remarks.sent.get_mut(number).and_then(Option::take);
        if let Some(id) = sent {
            refuse(id, why, out);
        }
    }

    /// An item of the turn: it may be a remark.
    pub(super) fn steered(&mut self, item: &Value, out: &mut Vec<Output>) {
        if text(item, "type") != "userMessage" {
            return;
        }
        let id = text(item, "clientId");
        let sent = self.remarks.sent.iter_mut();
        for remark in sent.filter(|remark| remark.as_deref() == Some(id)) {
            *remark = None;
            out.push(Output::Steered {
                id: id.to_owned(),
                taken: Ok(()),
            });
        }
    }
}

fn refuse(id: String, why: &str, out: &mut Vec<Output>) {
    out.push(Output::Steered {
        id,
        taken: Err(why.to_owned()),
    });
}
