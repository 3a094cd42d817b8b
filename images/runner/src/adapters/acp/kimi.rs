//! Kimi Code (2.1.0).

use std::path::{Path, PathBuf};

use protocol::TokenUsage;
use serde_json::{Value, json};

use super::dialect::{Asks, BASE, Dialect};
use crate::adapter::{Launch, LaunchFile, Place};
use crate::adapters::command::Parts;
use crate::adapters::flags::Takes;
use crate::adapters::frame::{count, list, text};
use crate::adapters::names::Kept;
use crate::adapters::own::Home;
use crate::adapters::stores;
use crate::ledger::Ledger;

/// The variable that moves its home.
const HOME: &str = "KIMI_CODE_HOME";
/// Names in folders that are looked at in all. An agent can fill its own store with as many as it likes.
const NAMES: usize = 10_000;

pub(super) const DIALECT: Dialect = Dialect {
    id: "kimi",
    program: "kimi",
    args: &["acp"],
    reserved: &[("acp", Takes::Nothing)],
    env: &[("NO_COLOR", "1"), ("KIMI_CODE_NO_AUTO_UPDATE", "1")],
    skills: |place| stores::folder(place, HOME, ".kimi-code").join("skills"),
    ledger: Some(&LEDGER),
    // In the first its tool that asks a person tells the model to decide by itself; in the second it would wait.
    modes: &["auto", "yolo"],
    asks,
    tool: named,
    held,
    kept: Some(KEPT),
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

/// By the list of tools in its settings, which stands before every permission and holds its sub-agents too.
const KEPT: Kept = Kept {
    program: "kimi",
    how: "a version that keeps to [tools] in its config.toml, as 2.1.0 does",
    away: &[],
    has_none: |tool, said| {
        said == format!("Tool \"{tool}\" is disabled by the active tool policy")
            || said == format!("Tool \"{tool}\" not found")
    },
};
/// Its tools as it spells them, where a policy may spell them otherwise.
const TOOLS: [&str; 27] = [
    "Agent",
    "AgentSwarm",
    "AskUserQuestion",
    "Bash",
    "CreateGoal",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "FetchURL",
    "GetGoal",
    "Glob",
    "Grep",
    "Read",
    "ReadMediaFile",
    "SetGoalBudget",
    "Skill",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TodoList",
    "UpdateGoal",
    "WaitFor",
    "WebSearch",
    "Write",
];

/// A question to a person comes as one for a permission, with an answer in each option. One that was taken would be an answer that
/// nobody gave.
fn asks(params: &Value) -> Asks {
    let skips = |option: &Value| text(option, "optionId").ends_with("_skip");
    if list(params, "options").iter().any(skips) {
        Asks::Forbidden
    } else {
        Asks::Permission
    }
}

/// The tool of a call that begins. What it says of it later is what it does.
fn named(update: &Value) -> &str {
    let title = text(update, "title");
    let begins = text(update, "sessionUpdate") == "tool_call";
    let is_name = !title.is_empty() && !title.contains(char::is_whitespace);
    if begins && is_name { title } else { "" }
}

/// With a tool policy its home is a folder in memory, with settings of ours: of the usual one only conversations and Skills
/// stay. The working directory is no trusted one there, so that no server in it is started.
fn held(launch: &Launch, parts: &mut Parts<'_>) {
    let place = Place {
        home: &launch.home,
        cwd: &launch.cwd,
        env: launch.env.variables(),
    };
    let usual = stores::folder(&place, HOME, ".kimi-code");
    let Home { folder, links } = Home::new(launch, "kimi", &usual, &[("sessions", true)]);
    let disabled = launch.tools.denied_tools().flat_map(spellings);
    let enabled = launch.tools.allow.iter().map(String::as_str);
    let settings = format!(
        "telemetry = false\n\n[tools]\ndisabled = {}\nenabled = {}\n",
        json!(disabled.collect::<Vec<_>>()),
        json!(enabled.flat_map(spellings).collect::<Vec<_>>()),
    );
    parts.files.push(LaunchFile {
        path: folder.join("config.toml"),
        content: settings.into_bytes(),
        secret: false,
    });
    parts.links = links;
    let variables = [
        (HOME, folder.display().to_string()),
        // Else it might take settings that were changed while it runs.
        ("KIMI_CODE_WATCH", "0".to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    parts.secret_env.0.extend(variables);
}

/// A tool as a policy has it, and as the program does. It knows the tools of servers in whatever case.
fn spellings(name: &str) -> Vec<String> {
    let mcp = "mcp__";
    if name
        .get(..mcp.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(mcp))
    {
        let any_case = |letter: char| match letter {
            'a'..='z' | 'A'..='Z' => {
                format!(
                    "[{}{}]",
                    letter.to_ascii_lowercase(),
                    letter.to_ascii_uppercase()
                )
            }
            other => other.to_string(),
        };
        let rest: String = name[mcp.len()..].chars().map(any_case).collect();
        return vec![format!("{mcp}{rest}")];
    }
    let own = (TOOLS.into_iter()).filter(|own| own.eq_ignore_ascii_case(name) && *own != name);
    [name].into_iter().chain(own).map(str::to_owned).collect()
}

/// Over ACP it tells how full the context is, and no tokens.
const LEDGER: Ledger = Ledger {
    files: |place, session| {
        let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if session.is_empty() || !session.chars().all(is_id) {
            return None;
        }
        let store = stores::folder(place, HOME, ".kimi-code").join("sessions");
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
    // Over ACP some failures of the provider are a turn that ends without a word.
    failure: |line| {
        let record: Value = serde_json::from_slice(line).ok()?;
        let words = text(record.get("error")?, "message");
        let failed = text(&record, "type") == "turn.ended" && text(&record, "reason") == "failed";
        (failed && !words.is_empty()).then(|| words.to_owned())
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

    use protocol::tools::ToolPolicy;

    use super::super::command_line;
    use super::super::run::Run;
    use super::*;
    use crate::ledger::Count;
    use crate::testing::{launch, words};

    fn asked(allow: &[&str], deny: &[&str]) -> Launch {
        Launch {
            tools: ToolPolicy {
                allow: words(allow),
                deny: words(deny),
                ..ToolPolicy::default()
            },
            new_session: "1".to_owned(),
            ..launch()
        }
    }

    #[test]
    fn with_a_policy_its_settings_are_ours() {
        let line = command_line(&DIALECT, &asked(&["read", "mcp__a__b"], &["BASH"]));
        let settings = String::from_utf8(line.files[0].content.clone()).unwrap();
        let lists = "[tools]\ndisabled = [\"BASH\",\"Bash\"]\nenabled = [\"read\",\"Read\",\"mcp__[aA]__[bB]\"]\n";
        assert!(settings.ends_with(lists), "{settings}");
        let home = "/run/mooring/cli/kimi-1";
        assert_eq!(line.files[0].path, Path::new(home).join("config.toml"));
        assert!(line.env.0.contains(&(HOME.to_owned(), home.to_owned())));
        assert_eq!(line.links[0].path, Path::new(home).join("sessions"));
        let free = command_line(&DIALECT, &launch());
        assert!(free.files.is_empty() && free.links.is_empty() && free.env.0.is_empty());
    }

    /// Of the frames of a call the first alone has the name of its tool.
    #[test]
    fn a_tool_that_was_taken_away_does_nothing_or_ends_the_run() {
        let begins = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Bash", "status": "pending"});
        let works =
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "Running: ls"});
        let ends = |status: &str, words: &str| {
            let content = json!([{"type": "content", "content": {"type": "text", "text": words}}]);
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": status, "content": content})
        };
        let refused = "Tool \"Bash\" is disabled by the active tool policy";
        for (deny, end, passed) in [
            ("bash", ends("failed", refused), false),
            ("bash", ends("failed", "exit 1"), true),
            ("bash", ends("completed", "a"), true),
            ("Read", ends("completed", "a"), false),
        ] {
            let mut run = Run::new(&DIALECT, &asked(&[], &[deny]));
            assert!(run.went_past(&begins).is_none() && run.went_past(&works).is_none());
            assert_eq!(run.went_past(&end).is_some(), passed, "{deny} {end}");
        }
    }

    #[test]
    fn nobody_answers_a_question_to_a_person() {
        let options = |ids: &[&str]| {
            let options = ids.iter().map(|id| json!({"optionId": id}));
            json!({"options": options.collect::<Vec<_>>()})
        };
        let question = options(&["q0_opt_0", "q0_opt_1", "q0_skip"]);
        assert_eq!(asks(&question), Asks::Forbidden);
        assert_eq!(asks(&options(&["approve", "reject"])), Asks::Permission);
    }

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
        let failed = r#"{"type":"turn.ended","reason":"failed","error":{"message":"429 You exceeded your current quota"}}"#;
        std::fs::write(main.join("wire.jsonl"), format!("{record}\n{failed}\n")).unwrap();
        let why = |resume| {
            let count = Count::of(Some(&LEDGER), None, &place, resume);
            count.failure(&place, Some("session_a"))
        };
        // What lies before the mark is of another turn.
        assert_eq!(why(Some("session_a")), None);
        let words = "429 You exceeded your current quota";
        assert_eq!(why(None).as_deref(), Some(words));
        std::fs::write(main.join("wire.jsonl"), format!("{record}\n{same}\n")).unwrap();
        assert_eq!(why(None), None);
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
