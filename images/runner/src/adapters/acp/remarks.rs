//! Remarks of a person into a turn that runs, for the agents that take them.

use serde_json::{Value, json};

use super::dialect::Steers;
use super::run::{Call, Run};
use crate::adapter::Output;
use crate::adapters::frame::text;
use crate::adapters::json_rpc::Refusal;
use crate::adapters::pipes::takes_no_remark;

/// Remarks of one run that may wait at once.
const WAITING: usize = 32;

/// The remarks of one run that were handed over and not answered yet.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// The method that the agent named.
    method: Option<String>,
    /// It said that it knows no such thing.
    off: bool,
    last: u32,
    waiting: Vec<(u32, String)>,
    /// Those that it has, and gives to the model with what its next tool says. It throws them away when none follows.
    held: Vec<String>,
}

impl Remarks {
    /// The agent has begun: what it says of remarks.
    pub(super) fn initialized(&mut self, steers: Steers, result: &Value) {
        let Steers::Named(key) = steers else { return };
        let meta = result
            .get("agentCapabilities")
            .and_then(|capabilities| capabilities.get("_meta"))
            .and_then(|meta| meta.get(key));
        let method = meta.and_then(|meta| meta.get("sessionSteer"));
        let method = method.map_or("", |steer| text(steer, "method"));
        self.method = (!method.is_empty()).then(|| method.to_owned());
    }

    fn take(&mut self, number: u32) -> Option<String> {
        let at = self.waiting.iter().position(|(one, _)| *one == number)?;
        Some(self.waiting.remove(at).1)
    }
}

impl Run {
    /// A person adds something.
    pub(super) fn steer(&mut self, id: &str, words: &str, out: &mut Vec<Output>) {
        let name = self.dialect.id;
        if self.remarks.off {
            takes_no_remark(id, name, out);
            return;
        }
        let why = if !self.prompted {
            Some("the turn has not begun")
        } else if self.answer.is_some() || self.interrupted {
            Some("the turn is over")
        } else if self.remarks.waiting.len() + self.remarks.held.len() == WAITING {
            Some("too many remarks wait")
        } else {
            None
        };
        if let Some(why) = why {
            out.push(steered(id, Err(why.to_owned())));
            return;
        }
        let said = |words: String| json!([{"type": "text", "text": words}]);
        let session = &self.session;
        let number = self.remarks.last + 1;
        let (method, params) = match self.dialect.steers {
            Steers::No => {
                takes_no_remark(id, name, out);
                return;
            }
            Steers::Prompt(before) => (
                "session/prompt".to_owned(),
                json!({"sessionId": session, "prompt": said(format!("{before}{words}"))}),
            ),
            Steers::Interject => (
                "_x.ai/interject".to_owned(),
                json!({"sessionId": session, "text": words, "interjectionId": number.to_string()}),
            ),
            Steers::Named(_) => match &self.remarks.method {
                Some(method) => (
                    method.clone(),
                    json!({"sessionId": session, "prompt": said(words.to_owned())}),
                ),
                None => {
                    takes_no_remark(id, name, out);
                    return;
                }
            },
        };
        self.remarks.last = number;
        self.remarks.waiting.push((number, id.to_owned()));
        self.call(Call::Remark(number), &method, &params, out);
    }

    /// The answer to a remark.
    pub(super) fn remarked(
        &mut self,
        number: u32,
        result: Result<Value, Refusal>,
        out: &mut Vec<Output>,
    ) {
        let taken = match (self.dialect.steers, result) {
            (_, Err(refusal)) => {
                self.remarks.off |= refusal.is_unknown_method();
                Err(format!("{} refused it: {}", self.dialect.id, refusal.words))
            }
            // A notice says when the model has it.
            (Steers::Interject, Ok(_)) => return,
            (Steers::Named(_), Ok(result)) if text(&result, "disposition") != "steer_accepted" => {
                Err(format!("{} put it off to a later turn", self.dialect.id))
            }
            (Steers::Prompt(_), Ok(_)) => {
                let taken = self.remarks.take(number);
                self.remarks.held.extend(taken);
                return;
            }
            (Steers::No | Steers::Named(_), Ok(_)) => Ok(()),
        };
        if let Some(id) = self.remarks.take(number) {
            out.push(steered(&id, taken));
        }
    }

    /// The model has a remark.
    pub(super) fn interjected(&mut self, params: &Value, out: &mut Vec<Output>) {
        let number = text(params, "interjectionId").parse();
        let id = number.ok().and_then(|number| self.remarks.take(number));
        if let Some(id) = id {
            out.push(steered(&id, Ok(())));
        }
    }

    /// A tool has ended: what it said goes to the model with the remarks that the agent has.
    pub(super) fn handed_on(&mut self, out: &mut Vec<Output>) {
        for id in self.remarks.held.drain(..) {
            out.push(steered(&id, Ok(())));
        }
    }

    /// The turn is over: what was not taken by now was not.
    pub(super) fn forget_remarks(&mut self, out: &mut Vec<Output>) {
        let waiting = self.remarks.waiting.drain(..).map(|(_, id)| id);
        for id in waiting.chain(self.remarks.held.drain(..)) {
            let why = "the turn ended before it was taken".to_owned();
            out.push(steered(&id, Err(why)));
        }
    }
}

fn steered(id: &str, taken: Result<(), String>) -> Output {
    Output::Steered {
        id: id.to_owned(),
        taken,
    }
}
