//! `ZeroClaw` (0.8), from the description of its protocol.

use serde_json::{Value, json};

use super::dialect::{Asks, BASE, Dialect};
use super::opening::lifted;
use crate::adapters::flags::Takes;
use crate::adapters::frame::{list, text};

/// Code of a refusal while a session works at something else.
const BUSY: i64 = -32002;
/// Flags that name one of several agents.
const ALIAS: &[&str] = &["--agent", "--agent-alias"];

pub(super) const DIALECT: Dialect = Dialect {
    id: "zeroclaw",
    program: "zeroclaw",
    args: &["acp"],
    reserved: &[
        ("acp", Takes::Nothing),
        ("--help", Takes::Nothing),
        ("-h", Takes::Nothing),
        ("login", Takes::Nothing),
        ("auth", Takes::Nothing),
        ("--login", Takes::Nothing),
        ("--auth", Takes::Nothing),
    ],
    opening: |launch, params| {
        let of_agent = lifted(&launch.custom_args, ALIAS);
        if let Some(alias) = of_agent.or_else(|| lifted(&launch.args, ALIAS)) {
            params["agentAlias"] = json!(alias);
        }
    },
    lifted: ALIAS,
    is_held: |refusal| refusal.code == BUSY,
    asks,
    lowest: Some([0, 8, 0]),
    ..BASE
};

/// Its questions have options that are numbered and nothing else.
fn asks(params: &Value) -> Asks {
    let options = list(params, "options");
    let numbered = |option: &Value| text(option, "optionId").starts_with("choice-");
    if options.len() >= 2 && options.iter().all(numbered) {
        Asks::Person
    } else {
        Asks::Permission
    }
}
