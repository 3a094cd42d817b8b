//! Tokens of one run. A resumed CLI reports totals of the whole conversation in some fields, and repeats
//! numbers of one message over several frames: only what is proven to be this run's counts.

use std::collections::BTreeMap;

use protocol::TokenUsage;
use serde_json::Value;

use crate::adapters::frame::{count, text};

/// Models that are told apart; a run names one or two.
const MODELS: usize = 32;

/// Counts the tokens of a run.
#[derive(Debug)]
pub(in crate::adapters) struct Meter {
    /// True when totals may hold those of earlier runs.
    resumed: bool,
    /// The model named last, for numbers that come without one.
    model: String,
    reported: BTreeMap<String, TokenUsage>,
    /// From the frames of the main agent: prompts only, since their output counts are placeholders. Used when
    /// no result gave numbers.
    seen: BTreeMap<String, TokenUsage>,
    last_message: String,
}

impl Meter {
    /// A meter of a run that goes on with an earlier conversation, or not.
    pub(in crate::adapters) fn new(resumed: bool) -> Self {
        Self {
            resumed,
            model: "unknown".to_owned(),
            reported: BTreeMap::new(),
            seen: BTreeMap::new(),
            last_message: String::new(),
        }
    }

    /// The CLI named its model.
    pub(in crate::adapters) fn model(&mut self, model: &str) {
        if !model.is_empty() {
            model.clone_into(&mut self.model);
        }
    }

    /// A message of the main agent. Its frames share one id and repeat its numbers.
    pub(super) fn message(&mut self, message: &Value) {
        let id = text(message, "id");
        let Some(usage) = message.get("usage") else {
            return;
        };
        if id == self.last_message {
            return;
        }
        id.clone_into(&mut self.last_message);
        self.model(text(message, "model"));
        let counted = TokenUsage {
            output: 0,
            ..of_message(usage)
        };
        add(&mut self.seen, &self.model, counted);
    }

    /// A `result` frame, of which there is one a turn.
    pub(in crate::adapters) fn result(&mut self, frame: &Value) {
        if let Some(models) = frame
            .get("model_usage_since_last_result")
            .and_then(Value::as_object)
        {
            for (model, usage) in models {
                add(&mut self.reported, model, of_model(usage));
            }
            return;
        }
        match frame.get("modelUsage").and_then(Value::as_object) {
            // Totals of the process, which is the whole of a fresh conversation.
            Some(models) if !self.resumed && !models.is_empty() => {
                self.reported.clear();
                for (model, usage) in models {
                    add(&mut self.reported, model, of_model(usage));
                }
            }
            _ => {
                if let Some(usage) = frame.get("usage") {
                    add(&mut self.reported, &self.model, of_message(usage));
                }
            }
        }
    }

    /// The tokens by model. Zeros prove nothing and are left out.
    pub(in crate::adapters) fn total(&self) -> BTreeMap<String, TokenUsage> {
        let told = |counts: &BTreeMap<String, TokenUsage>| -> BTreeMap<String, TokenUsage> {
            let counts = counts
                .iter()
                .filter(|(_, usage)| **usage != TokenUsage::default());
            counts
                .map(|(model, usage)| (model.clone(), *usage))
                .collect()
        };
        let reported = told(&self.reported);
        if reported.is_empty() {
            told(&self.seen)
        } else {
            reported
        }
    }
}

fn of_message(usage: &Value) -> TokenUsage {
    TokenUsage {
        input: count(usage, "input_tokens"),
        output: count(usage, "output_tokens"),
        cache_read: count(usage, "cache_read_input_tokens"),
        cache_write: count(usage, "cache_creation_input_tokens"),
    }
}

fn of_model(usage: &Value) -> TokenUsage {
    TokenUsage {
        input: count(usage, "inputTokens"),
        output: count(usage, "outputTokens"),
        cache_read: count(usage, "cacheReadInputTokens"),
        cache_write: count(usage, "cacheCreationInputTokens"),
    }
}

fn add(counts: &mut BTreeMap<String, TokenUsage>, model: &str, more: TokenUsage) {
    let known = counts.len() < MODELS || counts.contains_key(model);
    let sum = counts
        .entry(if known { model } else { "unknown" }.to_owned())
        .or_default();
    sum.input = sum.input.saturating_add(more.input);
    sum.output = sum.output.saturating_add(more.output);
    sum.cache_read = sum.cache_read.saturating_add(more.cache_read);
    sum.cache_write = sum.cache_write.saturating_add(more.cache_write);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usage(input: u64, output: u64) -> TokenUsage {
        TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        }
    }

    fn totals(resumed: bool, frames: &[Value]) -> Vec<(String, TokenUsage)> {
        let mut meter = Meter::new(resumed);
        meter.model("m");
        for frame in frames {
            meter.result(frame);
        }
        meter.total().into_iter().collect()
    }

    #[test]
    fn differences_are_added_and_totals_of_a_resumed_conversation_are_not_believed() {
        let delta = json!({"model_usage_since_last_result": {"m": {"inputTokens": 5, "outputTokens": 2}},
            "modelUsage": {"m": {"inputTokens": 900, "outputTokens": 900}}});
        assert_eq!(
            totals(true, &[delta.clone(), delta]),
            [("m".to_owned(), usage(10, 4))]
        );

        let first = json!({"modelUsage": {"m": {"inputTokens": 5, "outputTokens": 2}}, "usage": {"input_tokens": 5}});
        let second = json!({"modelUsage": {"m": {"inputTokens": 9, "outputTokens": 3}}, "usage": {"input_tokens": 4}});
        assert_eq!(
            totals(false, &[first.clone(), second.clone()]),
            [("m".to_owned(), usage(9, 3))]
        );
        assert_eq!(
            totals(true, &[first, second]),
            [("m".to_owned(), usage(9, 0))]
        );
    }

    #[test]
    fn without_a_result_each_message_counts_once_and_without_its_placeholder() {
        let mut meter = Meter::new(false);
        let message = |id: &str| json!({"id": id, "model": "m", "usage": {"input_tokens": 7, "output_tokens": 1}});
        for id in ["a", "a", "b"] {
            meter.message(&message(id));
        }
        assert_eq!(
            meter.total().into_iter().collect::<Vec<_>>(),
            [("m".to_owned(), usage(14, 0))]
        );
        meter.result(&json!({"model_usage_since_last_result": {}}));
        assert_eq!(meter.total().len(), 1);
        meter.result(&json!({"model_usage_since_last_result": {"m": {"inputTokens": 3}}}));
        assert_eq!(
            meter.total().into_iter().collect::<Vec<_>>(),
            [("m".to_owned(), usage(3, 0))]
        );
    }

    #[test]
    fn numbers_that_overflow_do_not_break_the_run() {
        let frame = json!({"model_usage_since_last_result": {"m": {"inputTokens": u64::MAX, "outputTokens": -1}}});
        assert_eq!(
            totals(false, &[frame.clone(), frame]),
            [("m".to_owned(), usage(u64::MAX, 0))]
        );
    }
}
