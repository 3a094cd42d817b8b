//! `QwenPaw` (2.2.2). A session that it does not know is a new one to it, and nobody can tell but by looking for its file.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::dialect::{BASE, Choice, Dialect, Model, Resume, Scope};
use crate::adapter::{Place, SkillList};
use crate::adapters::flags::Takes;
use crate::adapters::frame::flag;
use crate::adapters::stores;

pub(super) const DIALECT: Dialect = Dialect {
    id: "qwenpaw",
    program: "qwenpaw",
    // Without the second it keeps to itself why a turn failed.
    args: &["acp", "--local-diagnostics"],
    reserved: &[
        ("acp", Takes::Nothing),
        ("--local-diagnostics", Takes::Nothing),
        ("--workspace", Takes::Value),
    ],
    reads_no_file: true,
    // Where its tools work. 2.2.2 would take the working directory for that by itself.
    opening: |launch, params| {
        params["_meta"] = json!({"qwenpaw.coding_project_dir": launch.cwd});
    },
    skills: |place| workspaces(place).join("default/skills"),
    skill_list: |place| {
        Some(SkillList {
            path: workspaces(place).join("default/skill.json"),
            switch_on,
        })
    },
    session_files: |place, session| {
        let is_its_own = session.len() == 32 && session.chars().all(|c| c.is_ascii_hexdigit());
        if !is_its_own && !stores::is_uuid(session) {
            return Vec::new();
        }
        let name = format!("acp_{}_{session}.json", &session[..8]);
        // In a folder of each agent.
        stores::look(&workspaces(place), 2, &name, |file| file == name)
    },
    // Of a session that is loaded it does not say that there is such a mode, and begins in the one that asks.
    choices: &[Choice {
        id: "mode",
        value: "bypassPermissions",
        needed: true,
    }],
    resume: Resume::Load,
    // Nor of models.
    model: Model::Unasked,
    is_notice: |update| {
        let meta = update.get("_meta");
        meta.is_some_and(|meta| flag(meta, "qwenpaw.error"))
    },
    fails_in_notices: true,
    usage: Scope::Answer,
    ..BASE
};

/// Its agents, each with a folder.
fn workspaces(place: &Place<'_>) -> PathBuf {
    stores::folder(place, "QWENPAW_WORKING_DIR", ".qwenpaw").join("workspaces")
}

/// It finds every skill in its folder by itself, and keeps in this list whether it is one to use.
fn switch_on(list: &mut Value, names: &[String]) {
    if !list.is_object() {
        *list = json!({"schema_version": "workspace-skill-manifest.v1", "version": 0});
    }
    if !list["skills"].is_object() {
        list["skills"] = json!({});
    }
    for name in names {
        // With all that it needs to know of one; the rest it looks up.
        list["skills"][name] =
            json!({"enabled": true, "channels": ["all"], "source": "customized"});
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::words;

    #[test]
    fn skills_are_switched_on_beside_others() {
        let on = json!({"enabled": true, "channels": ["all"], "source": "customized"});
        let own = json!({"enabled": true, "config": {"a": 1}});
        for (before, skills) in [
            (Value::Null, json!({"review": on})),
            (json!("broken"), json!({"review": on})),
            (json!({"skills": []}), json!({"review": on})),
            (
                json!({"skills": {"own": own, "review": {"enabled": false, "channels": ["web"]}}}),
                json!({"own": own, "review": on}),
            ),
        ] {
            let mut list = before;
            switch_on(&mut list, &words(&["review"]));
            assert_eq!(list["skills"], skills);
        }
    }
}
