//! What runs have used, as people read it.

use protocol::TokenUsage;
use protocol::board::{RunView, UsageReport};

use crate::table::Table;
use crate::text;

/// A report: how many runs, and a line for each model.
pub(super) fn describe(report: &UsageReport) -> String {
    let since = report
        .since
        .map_or_else(String::new, |since| format!(" since {}", text::time(since)));
    let head = format!(
        "{} tasks, {} attempts that said what they used{since}\n",
        report.tasks, report.attempts
    );
    if report.models.is_empty() {
        return head;
    }
    let sum = report.models.values().fold(TokenUsage::default(), add);
    let all = report.models.iter().map(|(model, used)| row(model, used));
    let rows = all.chain((report.models.len() > 1).then(|| row("all", &sum)));
    let table = Table::new(
        ["MODEL", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE"],
        rows,
    );
    format!("{head}\n{}", table.render(WIDTH))
}

/// What one run has used: the sum, and each model where that is known.
pub(super) fn line(run: &RunView) -> String {
    let each = run.usage.iter().map(|(model, used)| {
        format!(
            "{model} {} in, {} out, {} read and {} written in its cache",
            used.input, used.output, used.cache_read, used.cache_write
        )
    });
    let each: Vec<_> = each.collect();
    if each.is_empty() {
        run.tokens.to_string()
    } else {
        format!("{} ({})", run.tokens, each.join("; "))
    }
}

/// Columns of the table: names of models are long, numbers are not.
const WIDTH: usize = 120;

fn row(model: &str, used: &TokenUsage) -> [String; 5] {
    [
        model.to_owned(),
        used.input.to_string(),
        used.output.to_string(),
        used.cache_read.to_string(),
        used.cache_write.to_string(),
    ]
}

fn add(sum: TokenUsage, used: &TokenUsage) -> TokenUsage {
    TokenUsage {
        input: sum.input.saturating_add(used.input),
        output: sum.output.saturating_add(used.output),
        cache_read: sum.cache_read.saturating_add(used.cache_read),
        cache_write: sum.cache_write.saturating_add(used.cache_write),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_shown() {
        let used = |input| TokenUsage {
            input,
            output: 20,
            cache_read: 3_000_000,
            cache_write: 4,
        };
        let models = [("claude-\u{1b}[1mx", 10), ("small", u64::MAX)];
        let models = models.map(|(model, input)| (model.to_owned(), used(input)));
        let report = UsageReport {
            since: Some(jiff::Timestamp::UNIX_EPOCH),
            tasks: 3,
            attempts: 4,
            models: models.into(),
        };
        let none = describe(&UsageReport::default());
        insta::assert_snapshot!("usage", format!("{}\n{none}", describe(&report)));
    }
}
