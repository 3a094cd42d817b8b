//! Kimi Code (2.1.0).

use std::path::{Path, PathBuf};

use protocol::TokenUsage;
use serde_json::Value;

use super::dialect::{BASE, Dialect};
use crate::adapters::flags::Takes;
use crate::adapters::frame::{count, text};
use crate::adapters::stores;
use crate::ledger::Ledger;

/// Names in folders that are looked at in all. An agent can fill its own store with as many as it likes.
const NAMES: usize = 10_000;

pub(super) const DIALECT: Dialect = Dialect {
    id: "kimi",
    program: "kimi",
    args: &["acp"],
    reserved: &[("acp", Takes::Nothing)],
    env: &[("NO_COLOR", "1"), ("KIMI_CODE_NO_AUTO_UPDATE", "1")],
    skills: |place| stores::folder(place, "KIMI_CODE_HOME", ".kimi-code").join("skills"),
    ledger: Some(&LEDGER),
    modes: &["yolo"],
    // It tells of its compacting as if the agent had said it, and may end a turn with that alone.
    is_notice: |update| {
        let words = update
            .get("content")
            .map_or("", |content| text(content, "text"));
        words.starts_with("Compacting conversation context")
            || words.starts_with("Compaction is blocked")
            || words.starts_with("Compaction completed")
    },
    overflow: &["compaction completed"],
    ..BASE
};

/// Over ACP it tells how full the context is, and no tokens.
const LEDGER: Ledger = Ledger {
    files: |place, session| {
        let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if session.is_empty() || !session.chars().all(is_id) {
            return None;
        }
        let store = stores::folder(place, "KIMI_CODE_HOME", ".kimi-code").join("sessions");
        let mut left = NAMES;
        let mut files = Vec::new();
        for work in folders(&store, &mut left)? {
            let agents = folders(&work.join(session).join("agents"), &mut left)?;
            let wires = agents.into_iter().map(|agent| agent.join("wire.jsonl"));
            files.extend(wires.filter(|file| file.exists()));
        }
        Some(files)
    },
    record: |line| {
        let record: Value = serde_json::from_slice(line).ok()?;
        let usage = record.get("usage")?;
        (text(&record, "type") == "usage.record").then(|| {
            let spent = TokenUsage {
                input: count(usage, "inputOther"),
                output: count(usage, "output"),
                cache_read: count(usage, "inputCacheRead"),
                cache_write: count(usage, "inputCacheCreation"),
            };
            (text(&record, "model").to_owned(), spent)
        })
    },
};

/// The folders in one; of one that is not there there are none. `None` where more names are in it than are left.
fn folders(path: &Path, left: &mut usize) -> Option<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        *left = left.checked_sub(1)?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(entry.path());
        }
    }
    Some(folders)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::adapter::Place;

    #[test]
    fn tokens_are_those_of_its_own_records() {
        let home = tempfile::tempdir().unwrap();
        let place = Place {
            home: home.path(),
            cwd: home.path(),
            env: &BTreeMap::new(),
        };
        let main = home
            .path()
            .join(".kimi-code/sessions/wd_1/session_a/agents/main");
        std::fs::create_dir_all(&main).unwrap();
        let record = r#"{"type":"usage.record","agentId":"main","model":"m","usage":{"inputOther":1240,"output":12,"inputCacheRead":300,"inputCacheCreation":0},"usageScope":"turn","time":1}"#;
        let same = r#"{"type":"context.append_loop_event","event":{"usage":{"inputOther":1240,"output":12}}}"#;
        std::fs::write(main.join("wire.jsonl"), format!("{record}\n{same}\n")).unwrap();
        let none = LEDGER.mark(&place, None).unwrap();
        let usage = LEDGER.since(&none, &place, "session_a").unwrap()["m"];
        let counted = (usage.input, usage.output, usage.cache_read);
        assert_eq!(counted, (1240, 12, 300));
        let all = LEDGER.mark(&place, Some("session_a")).unwrap();
        assert_eq!(
            LEDGER.since(&all, &place, "session_a"),
            Some(BTreeMap::new())
        );
        for odd in ["", "..", "a/b"] {
            assert_eq!(LEDGER.since(&none, &place, odd), None, "{odd}");
        }
        let other = LEDGER.since(&none, &place, "session_b");
        assert_eq!(other, Some(BTreeMap::new()));
    }

    #[test]
    fn of_a_store_with_too_many_names_nothing_is_told() {
        let home = tempfile::tempdir().unwrap();
        let place = Place {
            home: home.path(),
            cwd: home.path(),
            env: &BTreeMap::new(),
        };
        let sessions = home.path().join(".kimi-code/sessions");
        // Half of them lie in the store, half of them in one conversation: the bound is one for all.
        let agents = sessions.join("wd_1/session_a/agents");
        std::fs::create_dir_all(&agents).unwrap();
        for number in 0..NAMES / 2 {
            std::fs::write(sessions.join(number.to_string()), "").unwrap();
            std::fs::write(agents.join(number.to_string()), "").unwrap();
        }
        assert!(LEDGER.mark(&place, Some("session_a")).is_none());
        assert!(LEDGER.mark(&place, Some("session_b")).is_some());
    }
}
