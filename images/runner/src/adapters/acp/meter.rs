//! Tokens of one turn. Snapshots come again and again under several spellings; a number that is missing in
//! one is not zero.

use std::collections::BTreeMap;

use protocol::TokenUsage;
use serde_json::Value;

use super::dialect::Scope;
use crate::adapters::frame::{list, text};

/// One snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Snapshot {
    input: Option<u64>,
    output: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
    total: Option<u64>,
}

/// Counts the tokens of a turn.
#[derive(Debug)]
pub(super) struct Meter {
    scope: Scope,
    resumed: bool,
    model: String,
    /// The number of the last notice.
    sequence: Option<u64>,
    /// The sum of the conversation before the turn.
    before: Option<Snapshot>,
    turn: Snapshot,
}

impl Meter {
    /// A meter of a run that goes on with an earlier conversation, or not.
    pub(super) fn new(scope: Scope, resumed: bool) -> Self {
        Self {
            scope,
            resumed,
            model: String::new(),
            sequence: None,
            before: None,
            turn: Snapshot::default(),
        }
    }

    /// The agent named its model.
    pub(super) fn model(&mut self, model: &str) {
        if !model.is_empty() {
            model.clone_into(&mut self.model);
        }
    }

    /// A `usage_update`, or a `turn_end` with the same. One with `used` and `size` alone tells how full the context
    /// is, which is no use of tokens. `begun`: the turn's message was sent.
    pub(super) fn update(&mut self, update: &Value, begun: bool) {
        let meta = update.get("_meta").unwrap_or(&Value::Null);
        self.model(text(meta, "_claude/model"));
        if !begun && self.scope == Scope::Conversation {
            let sum = Snapshot::read(meta);
            self.before = sum.input.map(|_| sum).or(self.before);
        }
        if let Some(usage) = update.get("usage").filter(|_| begun) {
            self.turn = self.turn.max(Snapshot::read(usage));
        }
    }

    /// What is told behind the words of one answer of the model; see [`Scope::Answer`]. True where it was.
    pub(super) fn words(&mut self, update: &Value) -> bool {
        let meta = update.get("_meta").unwrap_or(&Value::Null);
        let Some(usage) = meta.get("usage").filter(|usage| usage.is_object()) else {
            return false;
        };
        self.model(text(usage, "model"));
        self.turn = self.turn.plus(Snapshot::read(usage));
        true
    }

    /// A notice that tells the tokens of the turn so far; the one with the highest number holds. What is told before
    /// the turn is of an earlier one.
    pub(super) fn status(&mut self, params: &Value, begun: bool) {
        let sequence = params.get("sequence").and_then(Value::as_u64);
        let status = params.get("status").unwrap_or(&Value::Null);
        self.model(text(status, "model"));
        let turn = status.get("usage").and_then(|usage| usage.get("turn"));
        let Some(turn) = turn.filter(|_| begun && sequence >= self.sequence) else {
            return;
        };
        self.sequence = sequence;
        let count = |key: &str| turn.get(key).and_then(Value::as_u64);
        let read = count("cacheHitTokens");
        let whole = count("promptTokens");
        let uncached = whole.map(|whole| whole.saturating_sub(read.unwrap_or_default()));
        self.turn = Snapshot {
            input: count("cacheMissTokens").or(uncached),
            output: count("completionTokens"),
            read,
            written: None,
            total: None,
        };
    }

    /// The answer to the prompt.
    pub(super) fn answer(&mut self, result: &Value) {
        let meta = result.get("_meta").unwrap_or(&Value::Null);
        let quota = meta.get("quota").unwrap_or(&Value::Null);
        self.model(text(meta, "modelId"));
        if let Some(model) = list(quota, "model_usage").first() {
            self.model(text(model, "model"));
        }
        let usage = [
            result.get("usage"),
            meta.get("usage"),
            quota.get("token_count"),
        ];
        if let Some(usage) = usage.into_iter().flatten().find(|usage| usage.is_object()) {
            self.turn = self.turn.max(Snapshot::read(usage));
        }
    }

    /// The tokens of the turn by model; nothing where nothing is known.
    pub(super) fn total(&self) -> BTreeMap<String, TokenUsage> {
        let turn = match (self.scope, self.resumed, self.before) {
            (Scope::Turn | Scope::Notice | Scope::Answer, _, _)
            | (Scope::Conversation, false, _) => Some(self.turn),
            (Scope::Conversation, true, before) => {
                before.and_then(|before| self.turn.minus(before))
            }
        };
        let usage = turn.map(|turn| self.usage(turn)).unwrap_or_default();
        if usage == TokenUsage::default() {
            return BTreeMap::new();
        }
        let model = if self.model.is_empty() {
            "unknown"
        } else {
            &self.model
        };
        BTreeMap::from([(model.to_owned(), usage)])
    }

    fn usage(&self, turn: Snapshot) -> TokenUsage {
        let [input, output, read, written] =
            [turn.input, turn.output, turn.read, turn.written].map(Option::unwrap_or_default);
        // What is said of the whole is proof: then cached tokens are a part of the input.
        let whole = self.turn.total;
        let inclusive = whole.is_some()
            && whole
                == self
                    .turn
                    .input
                    .unwrap_or_default()
                    .checked_add(self.turn.output.unwrap_or_default());
        let input = if inclusive {
            input.saturating_sub(read).saturating_sub(written)
        } else {
            input
        };
        TokenUsage {
            input,
            output,
            cache_read: read,
            cache_write: written,
        }
    }
}

impl Snapshot {
    fn read(usage: &Value) -> Self {
        let first = |keys: &[&str]| {
            keys.iter()
                .find_map(|key| usage.get(key).and_then(Value::as_u64))
        };
        Self {
            input: first(&["inputTokens", "input_tokens", "promptTokens"]),
            output: first(&["outputTokens", "output_tokens", "completionTokens"]),
            read: first(&[
                "cachedReadTokens",
                "cacheReadTokens",
                "cached_read_tokens",
                "cache_read_tokens",
                "cached_input_tokens",
                "cacheReadInputTokens",
                "cachedTokens",
            ]),
            written: first(&[
                "cachedWriteTokens",
                "cacheWriteTokens",
                "cached_write_tokens",
                "cache_write_tokens",
                "cacheCreationInputTokens",
            ]),
            total: first(&["totalTokens", "total_tokens"]),
        }
    }

    /// The larger of each number.
    fn max(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            read: self.read.max(other.read),
            written: self.written.max(other.written),
            total: self.total.max(other.total),
        }
    }

    /// The sum; what neither knows is not known.
    fn plus(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        Self {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            read: sum(self.read, other.read),
            written: sum(self.written, other.written),
            total: sum(self.total, other.total),
        }
    }

    /// The difference; none when one of its numbers would be below zero, or unknown before.
    fn minus(self, before: Self) -> Option<Self> {
        let less = |now: Option<u64>, before: Option<u64>| {
            now.unwrap_or_default()
                .checked_sub(before.unwrap_or_default())
                .map(Some)
        };
        before.input?;
        Some(Self {
            input: less(self.input, before.input)?,
            output: less(self.output, before.output)?,
            read: less(self.read, before.read)?,
            written: less(self.written, before.written)?,
            total: less(self.total, before.total)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn counted(meter: &Meter) -> Vec<(String, [u64; 4])> {
        let all = meter.total().into_iter();
        all.map(|(model, usage)| {
            (
                model,
                [
                    usage.input,
                    usage.output,
                    usage.cache_read,
                    usage.cache_write,
                ],
            )
        })
        .collect()
    }

    #[test]
    fn cached_tokens_are_taken_off_only_with_proof() {
        for (total, input) in [
            (json!(1552), 1240),
            (json!(1892), 1540),
            (json!(null), 1540),
        ] {
            let mut meter = Meter::new(Scope::Turn, false);
            let usage = json!({"inputTokens": 1540, "outputTokens": 12, "cachedReadTokens": 300, "totalTokens": total});
            meter.answer(&json!({"usage": usage}));
            assert_eq!(
                counted(&meter),
                [("unknown".to_owned(), [input, 12, 300, 0])],
                "{total}"
            );
        }
    }

    #[test]
    fn the_largest_snapshot_counts_and_the_fill_of_the_context_does_not() {
        let mut meter = Meter::new(Scope::Turn, true);
        meter.model("m");
        meter.update(&json!({"usage": {"input_tokens": 9}}), false);
        meter.update(&json!({"used": 900, "size": 1000}), true);
        assert!(counted(&meter).is_empty());
        meter.update(
            &json!({"usage": {"input_tokens": 5, "output_tokens": 1}}),
            true,
        );
        meter.update(&json!({"usage": {"output_tokens": 7}}), true);
        meter.answer(&json!({"_meta": {"quota": {"token_count": {"input_tokens": 4}, "model_usage": [{"model": "n"}]}}}));
        assert_eq!(counted(&meter), [("n".to_owned(), [5, 7, 0, 0])]);
    }

    #[test]
    fn of_a_conversation_only_what_the_turn_added_counts() {
        let told = |resumed, before: Option<Value>| {
            let mut meter = Meter::new(Scope::Conversation, resumed);
            if let Some(before) = before {
                meter.update(&json!({"_meta": before}), false);
            }
            let usage = json!({"inputTokens": 2640, "outputTokens": 52, "cachedReadTokens": 300, "totalTokens": 2692});
            meter.answer(&json!({"usage": usage}));
            counted(&meter)
        };
        let one = |usage| vec![("unknown".to_owned(), usage)];
        assert_eq!(
            told(
                true,
                Some(json!({"promptTokens": 1100, "completionTokens": 40}))
            ),
            one([1240, 12, 300, 0])
        );
        assert_eq!(told(false, None), one([2340, 52, 300, 0]));
        assert_eq!(told(true, None), []);
        assert_eq!(told(true, Some(json!({}))), []);
        assert_eq!(told(true, Some(json!({"promptTokens": 9999}))), []);
    }

    #[test]
    fn answers_that_are_told_one_by_one_are_added_up() {
        let mut meter = Meter::new(Scope::Answer, true);
        meter.words(&json!({"content": {"text": "Hm."}}));
        assert_eq!(counted(&meter), []);
        for (input, output) in [(550, 30), (600, 10)] {
            let usage = json!({"inputTokens": input, "outputTokens": output, "totalTokens": input + output, "model": "m"});
            meter.words(&json!({"_meta": {"usage": usage}}));
        }
        assert_eq!(counted(&meter), [("m".to_owned(), [1150, 40, 0, 0])]);
    }

    #[test]
    fn numbers_that_make_no_sense_do_not_break_the_run() {
        let mut meter = Meter::new(Scope::Turn, false);
        meter.answer(&json!({"usage": {"inputTokens": u64::MAX, "outputTokens": u64::MAX, "totalTokens": -1}}));
        assert_eq!(
            counted(&meter),
            [("unknown".to_owned(), [u64::MAX, u64::MAX, 0, 0])]
        );
    }
}
