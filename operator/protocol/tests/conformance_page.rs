//! `operator/docs/conformance.md` says which real program was seen to do what: as the tests declare it, with a reason for
//! what is not asked of one, and with tests that exist.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- generated: UPDATE=1 cargo test -p protocol --test conformance_page -->\n";
const END: &str = "<!-- end of generated -->\n";

/// What stands above a column, for each scenario that is asked of all.
const COLUMNS: &[(&str, &str)] = &[
    ("it_answers", "text, session, tokens"),
    ("it_thinks_before_it_answers", "runner: thinking"),
    ("it_uses_a_tool", "tool"),
    (
        "tools_are_told_one_by_one_and_every_token_counts",
        "runner: two tools, one that fails, tokens of three requests",
    ),
    (
        "its_model_is_asked_so_often_as_it_may_be",
        "runner: `maxTurns`, questions counted",
    ),
    (
        "a_second_process_goes_on_with_the_conversation",
        "resume in a new process",
    ),
    (
        "an_unknown_session_is_rejected_with_evidence",
        "unknown conversation",
    ),
    (
        "a_lost_conversation_begins_anew_and_the_agent_is_told",
        "runner: one fresh start with notice",
    ),
    (
        "what_the_provider_refuses_has_its_class",
        "runner: 401, 404, overflow",
    ),
    (
        "a_provider_that_cannot_now_has_its_class",
        "runner: 429, 500, 529",
    ),
    ("a_spent_quota_has_its_class", "runner: quota"),
    (
        "a_broken_stream_is_survived_or_told",
        "runner: broken stream",
    ),
    ("a_provider_that_hangs_is_noticed", "runner: hang, watchdog"),
    (
        "it_can_be_interrupted_while_it_answers",
        "interrupt in an answer",
    ),
    (
        "it_can_be_interrupted_in_a_tool_and_resumed",
        "interrupt in a tool, resume",
    ),
    (
        "a_stop_in_its_answer_leaves_nothing_in_time",
        "runner: cancel in an answer, tree dead in time",
    ),
    (
        "a_stop_in_its_tool_leaves_nothing_in_time",
        "runner: cancel in a tool, tree dead in time",
    ),
    (
        "after_a_term_the_conversation_goes_on",
        "runner: TERM in a tool, resume",
    ),
    ("its_context_file_reaches_the_model", "runner: context file"),
    (
        "new_instructions_reach_a_conversation_that_goes_on",
        "runner: instructions that are new to a conversation",
    ),
    ("its_skills_reach_the_model", "runner: skill"),
    (
        "a_tool_of_an_mcp_server_is_called",
        "runner: MCP server called",
    ),
    (
        "flags_of_ours_are_left_out",
        "runner: flags of ours filtered",
    ),
    (
        "a_tool_that_is_denied_does_nothing",
        "runner: denied tool does nothing",
    ),
    (
        "a_person_decides_on_each_use",
        "runner: permission asked and answered",
    ),
    (
        "a_remark_reaches_the_model_in_the_same_turn",
        "runner: remark in the same turn",
    ),
    ("the_model_is_told_how_much_to_think", "thinking level"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The scenarios that a macro makes tests of where none are named.
fn usual(path: &str) -> Vec<String> {
    let source = read(path);
    let start = source.find("($cli:ident) => {").unwrap();
    let list = &source[start..start + source[start..].find(");").unwrap()];
    let words = list.split_whitespace().map(str::to_owned);
    words
        .skip_while(|word| !word.ends_with("!($cli:"))
        .skip(1)
        .collect()
}

/// The scenarios of a program, as its file has them.
fn declared(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, path) in [
        ("scenarios!(", "images/runner/tests/real/scenarios.rs"),
        ("through_the_runner!(", "images/runner/tests/real/whole.rs"),
        ("gated!(", "images/runner/tests/real/gated.rs"),
    ] {
        for (at, _) in source.match_indices(name) {
            let inside = &source[at + name.len()..];
            let inside = &inside[..inside.find(')').unwrap()];
            match inside.split_once(':') {
                None => found.extend(usual(path)),
                Some((_, names)) => found.extend(names.split_whitespace().map(str::to_owned)),
            }
        }
    }
    let own = source
        .split("fn ")
        .skip(1)
        .filter_map(|rest| rest.split_once('('));
    found.extend(own.map(|(name, _)| name.to_owned()));
    found
}

/// Each real program with its scenarios, those of every `cargo verify` first.
fn programs() -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for folder in ["images/runner/tests/real", "images/runner/tests/more_clis"] {
        let mut here = BTreeMap::new();
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "rs") {
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            if !source.contains(": Cli = Cli {") {
                continue;
            }
            let id = source.split("id: \"").nth(1).unwrap();
            let id = id.split('"').next().unwrap().to_owned();
            here.insert(id, declared(&source));
        }
        all.extend(here);
    }
    all
}

fn table() -> String {
    let programs = programs();
    let ids: Vec<_> = programs.iter().map(|(id, _)| format!("`{id}`")).collect();
    let mut text = format!(
        "| | {} |\n|{}\n",
        ids.join(" | "),
        " --- |".repeat(ids.len() + 1)
    );
    for (scenario, column) in COLUMNS {
        let cell = |(_, declared): &(String, Vec<String>)| {
            if declared.iter().any(|name| name == scenario) {
                "seen"
            } else {
                ""
            }
        };
        let cells: Vec<_> = programs.iter().map(cell).collect();
        text += &format!("| {column} | {} |\n", cells.join(" | "));
    }
    text
}

#[test]
fn the_table_is_what_the_tests_declare() {
    let page = read("operator/docs/conformance.md");
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}{}{END}{after}", table());
    if std::env::var_os("UPDATE").is_some() {
        fs::write(root().join("operator/docs/conformance.md"), wanted).unwrap();
        return;
    }
    assert_eq!(
        page, wanted,
        "UPDATE=1 cargo test -p protocol --test conformance_page"
    );
}

/// A line `` `provider`: column, column: why `` names each cell that is empty.
#[test]
fn what_is_not_asked_has_a_reason() {
    let page = read("operator/docs/conformance.md");
    let reasons: Vec<_> = page.lines().filter(|line| line.starts_with("- ")).collect();
    for (id, declared) in programs() {
        for (scenario, column) in COLUMNS {
            let asked = declared.iter().any(|name| name == scenario);
            let names = |line: &&&str| {
                let (who, what) = line.split_once(": ").unwrap_or_default();
                who.contains(&format!("`{id}`")) && what.contains(&format!("*{column}*"))
            };
            assert!(
                asked != reasons.iter().any(|line| names(&line)),
                "{id}: *{column}* is {}",
                if asked {
                    "asked, and has a reason why not"
                } else {
                    "not asked: say why"
                }
            );
        }
    }
}

/// Every scenario of the macros has its column.
#[test]
fn every_scenario_is_in_the_table() {
    for path in ["scenarios", "whole"] {
        for scenario in usual(&format!("images/runner/tests/real/{path}.rs")) {
            assert!(
                COLUMNS.iter().any(|(name, _)| *name == scenario),
                "{scenario} has no column"
            );
        }
    }
}
