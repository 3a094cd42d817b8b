//! Tables for people: as wide as the terminal and no wider.

use crate::text;

/// Columns between two columns.
const GAP: &str = "  ";
/// No column but the last is wider; the longest that is ever needed is an id.
const COLUMN: usize = 36;
/// The last column gets at least this much, also in a narrow terminal, …
const LAST: usize = 20;
/// … and those between it and the first, which names the row, shrink to no less than this for it.
const MIDDLE: usize = 8;

/// A list, one item a line. The last column takes what is left of the width.
pub(crate) struct Table<const N: usize> {
    head: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// A table of these rows. Their texts may be anybody's.
    pub(crate) fn new(head: [&'static str; N], rows: impl Iterator<Item = [String; N]>) -> Self {
        Self {
            head,
            rows: rows.map(|row| row.map(|cell| text::line(&cell))).collect(),
        }
    }

    /// The lines.
    pub(crate) fn render(&self, width: usize) -> String {
        let mut widths = self.head.map(text::width);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(text::width(cell).min(COLUMN));
            }
        }
        let others = |widths: &[usize; N]| -> usize {
            widths[..N - 1].iter().map(|each| each + GAP.len()).sum()
        };
        let last = widths[N - 1].min(LAST);
        while others(&widths) + last > width
            && let Some(widest) = widths[1..N - 1].iter_mut().max()
            && *widest > MIDDLE
        {
            *widest -= 1;
        }
        widths[N - 1] = width.saturating_sub(others(&widths)).max(last);
        let mut lines = row(self.head, &widths);
        for cells in &self.rows {
            lines += &row(cells.each_ref().map(String::as_str), &widths);
        }
        lines
    }
}

fn row<const N: usize>(cells: [&str; N], widths: &[usize; N]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let cell = text::cut(cell, *width);
        let fill = width.saturating_sub(text::width(&cell));
        line += &cell;
        line += &" ".repeat(fill);
        line += GAP;
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

/// What is known of one thing, a line each.
pub(crate) fn fields(rows: &[(&str, String)]) -> String {
    let width = rows
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or_default();
    let lines = rows
        .iter()
        .map(|(name, value)| format!("{name:width$}  {}\n", text::line(value)));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<3> {
        let rows = [
            ["T-1", "todo", "Short"],
            [
                "T-20",
                "in_progress",
                "A title that is long\nand has \u{1b}[2J in it",
            ],
            ["日本語", &"x".repeat(50), ""],
        ];
        Table::new(
            ["KEY", "STATUS", "TITLE"],
            rows.into_iter().map(|row| row.map(str::to_owned)),
        )
    }

    #[test]
    fn a_table_is_as_wide_as_it_may_be() {
        insta::assert_snapshot!("wide", table().render(100));
        insta::assert_snapshot!("narrow", table().render(50));
        insta::assert_snapshot!("narrowest", table().render(10));
    }

    #[test]
    fn a_value_cannot_begin_a_line_of_its_own() {
        let shown = fields(&[("Name", "a\nToken  b".to_owned()), ("X", String::new())]);
        assert_eq!(shown, "Name  a Token  b\nX     \n");
    }
}
