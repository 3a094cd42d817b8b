//! The table of memory in `operator/docs/runtimes.md` says what is given.

use protocol::footprint::{self, Footprint, Memory};
use protocol::providers;

#[test]
fn the_table_says_what_was_measured_and_what_is_given() {
    let page = include_str!("../../docs/runtimes.md");
    let mut measured = 0;
    for id in providers::ids() {
        let Some(Footprint { usual, most }) = footprint::of(id) else {
            continue;
        };
        let Memory { request, limit } = footprint::memory(id);
        let limit = f64::from(limit) / 1024.0;
        let row = format!("| `{id}` | {usual} MiB | {most} MiB | {request}Mi | {limit}Gi |");
        assert!(page.contains(&row), "the table lacks {row}");
        measured += 1;
    }
    let Memory { request, limit } = footprint::memory("nobody");
    let others = format!(
        "| all others | not measured | | {request}Mi | {}Gi |",
        limit / 1024
    );
    assert!(page.contains(&others), "the table lacks {others}");
    assert_eq!(
        page.matches(" MiB | ").count(),
        2 * measured,
        "a row is of nobody"
    );
}
