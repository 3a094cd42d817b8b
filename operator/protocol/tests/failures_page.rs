//! `operator/docs/failures.md` shows the table of failure classes as it stands in the code.

use std::path::Path;

use protocol::{FailureClass, Retry, SessionEffect};

const BEGIN: &str = "<!-- generated: UPDATE=1 cargo test -p protocol --test failures_page -->\n";
const END: &str = "<!-- end of generated -->\n";

fn table() -> String {
    let mut text = String::from(
        "| class | meaning | who acts | try again | conversation |\n| --- | --- | --- | --- | --- |\n",
    );
    for class in FailureClass::ALL {
        let retry = match class.retry() {
            Retry::Never => "after a change",
            Retry::AfterBackoff => "later",
            Retry::AtOnce => "at once",
        };
        let session = match class.session() {
            SessionEffect::Keep => "kept",
            SessionEffect::Retire => "retired",
        };
        let (fault, meaning) = (class.fault(), class.explanation());
        text += &format!("| `{class}` | {meaning} | {fault:?} | {retry} | {session} |\n");
    }
    text
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "UPDATE is how every generated file of the project is rewritten"
)]
fn the_page_shows_the_table_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/failures.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page
        .split_once(BEGIN)
        .expect("the page has a generated part");
    let (found, after) = rest.split_once(END).expect("the generated part ends");
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", table())).unwrap();
    } else {
        assert!(
            found == table(),
            "run: UPDATE=1 cargo test -p protocol --test failures_page"
        );
    }
}
