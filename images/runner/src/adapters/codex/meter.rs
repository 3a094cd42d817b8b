//! Tokens of one turn. Codex tells those of the last model call and of the whole thread, and tells the same
//! call again when other numbers change: a call counts once, when the thread's total has grown by it.

use std::collections::BTreeMap;

use protocol::TokenUsage;
use serde_json::Value;

use crate::adapters::frame::{count, text};

/// Counts the tokens of a turn.
#[derive(Debug, Default)]
pub(super) struct Meter {
    model: String,
    /// The thread's total as it was told last, of whichever turn.
    total: Option<Value>,
    turn: TokenUsage,
}

impl Meter {
    /// Codex named the thread's model.
    pub(super) fn model(&mut self, thread: &Value) {
        text(thread, "model").clone_into(&mut self.model);
    }

    /// A `tokenUsage` object. `ours`: it came with our turn.
    pub(super) fn told(&mut self, usage: &Value, ours: bool) {
        let total = usage.get("total").cloned();
        let repeated = total.is_some() && total == self.total;
        self.total = total;
        let Some(last) = usage.get("last").filter(|_| ours && !repeated) else {
            return;
        };
        let (read, written) = (
            count(last, "cachedInputTokens"),
            count(last, "cacheWriteInputTokens"),
        );
        // Both are part of the input, as reasoning is part of the output.
        let input = count(last, "inputTokens")
            .saturating_sub(read)
            .saturating_sub(written);
        let add = |sum: &mut u64, more| *sum = sum.saturating_add(more);
        add(&mut self.turn.input, input);
        add(&mut self.turn.output, count(last, "outputTokens"));
        add(&mut self.turn.cache_read, read);
        add(&mut self.turn.cache_write, written);
    }

    /// The tokens of the turn by model; nothing where nothing was counted.
    pub(super) fn total(&self) -> BTreeMap<String, TokenUsage> {
        if self.turn == TokenUsage::default() {
            return BTreeMap::new();
        }
        let model = if self.model.is_empty() {
            "unknown"
        } else {
            &self.model
        };
        BTreeMap::from([(model.to_owned(), self.turn)])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usage(last: (u64, u64, u64), total: u64) -> Value {
        let (input, cached, output) = last;
        json!({
            "last": {"inputTokens": input, "cachedInputTokens": cached, "outputTokens": output},
            "total": {"totalTokens": total},
        })
    }

    #[test]
    fn each_call_of_our_turn_counts_once() {
        let mut meter = Meter::default();
        meter.model(&json!({"model": "m"}));
        // Told on resume: the last turn's.
        meter.told(&usage((600, 0, 10), 1140), false);
        // The same call once more, now under our turn's name.
        meter.told(&usage((600, 0, 10), 1140), true);
        assert!(meter.total().is_empty());
        for _ in 0..2 {
            meter.told(&usage((100, 30, 20), 1260), true);
        }
        meter.told(&usage((100, 0, 20), 1380), true);
        let total = meter.total()["m"];
        assert_eq!((total.input, total.cache_read, total.output), (170, 30, 40));
    }

    #[test]
    fn numbers_that_make_no_sense_do_not_break_the_run() {
        let mut meter = Meter::default();
        meter.told(&usage((1, u64::MAX, u64::MAX), 1), true);
        meter.told(&usage((1, u64::MAX, u64::MAX), 2), true);
        meter.told(
            &json!({"last": {"inputTokens": -5, "outputTokens": "x"}}),
            true,
        );
        meter.told(&Value::Null, true);
        let total = meter.total()["unknown"];
        assert_eq!(
            (total.input, total.cache_read, total.output),
            (0, u64::MAX, u64::MAX)
        );
    }
}
