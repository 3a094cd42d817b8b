//! Hermes (0.19.0, installed with its `acp` extra).

use serde_json::Value;

use super::dialect::{BASE, Dialect, Model, Naming, Steers};
use crate::adapters::flags::Takes;
use crate::adapters::frame::text;
use crate::adapters::stores;

pub(super) const DIALECT: Dialect = Dialect {
    id: "hermes",
    program: "hermes",
    args: &["acp"],
    reserved: &[
        ("acp", Takes::Nothing),
        ("-z", Takes::Value),
        ("--oneshot", Takes::Value),
        ("-m", Takes::Value),
        ("--model", Takes::Value),
        ("--provider", Takes::Value),
        ("-t", Takes::Value),
        ("--toolsets", Takes::Value),
        ("-r", Takes::Value),
        ("--resume", Takes::Value),
        ("-s", Takes::Value),
        ("--skills", Takes::Value),
        ("--usage-file", Takes::Value),
        ("-c", Takes::MaybeValue),
        ("--continue", Takes::MaybeValue),
    ],
    env: &[("NO_COLOR", "1"), ("HERMES_YOLO_MODE", "1")],
    skills: |place| stores::folder(place, "HERMES_HOME", ".hermes").join("skills"),
    // It takes any session: in one that it does not know it refuses the prompt, or works under another id.
    refuses_when_lost: true,
    renamed: |opened| text(provenance(opened), "acpSessionId"),
    is_new: |opened| {
        let provenance = provenance(opened);
        let root = text(provenance, "rootHermesSessionId");
        text(provenance, "sessionKind") == "root" && root == text(provenance, "acpSessionId")
    },
    model: Model::WhenOpened,
    announces_no_servers: true,
    // It says of itself that it has the remark, as if the agent had said it.
    steers: Steers::Prompt("/steer "),
    is_notice: |update| {
        let content = update.get("content").unwrap_or(&Value::Null);
        text(content, "text").starts_with("⏩ Steer queued for the active turn")
    },
    tools: Naming::Hermes,
    fails_on_stderr: true,
    ..BASE
};

/// What it says of where a session comes from.
fn provenance(opened: &Value) -> &Value {
    let meta = opened.get("_meta").and_then(|meta| meta.get("hermes"));
    let provenance = meta.and_then(|meta| meta.get("sessionProvenance"));
    provenance.unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::adapter::{Launch, Place};
    use crate::testing::{launch, words};

    /// 0.19.0 looks for its profile in all of its arguments, before it reads the rest of them.
    #[test]
    fn a_profile_is_passed_on() {
        let asked = Launch {
            args: words(&["-p", "coder", "--toolsets", "x"]),
            ..launch()
        };
        let line = super::super::command_line(&DIALECT, &asked);
        assert_eq!(line.argv.join(" "), "hermes acp -p coder");
    }

    #[test]
    fn skills_lie_in_the_home_that_it_is_given() {
        let moved = BTreeMap::from([("HERMES_HOME".to_owned(), "/h/profiles/coder".to_owned())]);
        for (env, wanted) in [
            (BTreeMap::new(), "/home/.hermes/skills"),
            (moved, "/h/profiles/coder/skills"),
        ] {
            let place = Place {
                home: Path::new("/home"),
                cwd: Path::new("/w"),
                env: &env,
            };
            assert_eq!((DIALECT.skills)(&place), Path::new(wanted));
        }
    }
}
