//! Answers, for people and for programs.

use std::fmt::Write as _;

use protocol::runner::{TaskView, WhoAmI};
use serde::Serialize;

use crate::Form;
use crate::failure::Failure;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whose token it is.
pub(crate) fn whoami(answer: &WhoAmI, form: Form) -> Result<String, Failure> {
    show(answer, form, |answer| {
        let rows = [
            (
                "Agent",
                format!("{} ({})", answer.display_name, answer.agent),
            ),
            ("Workspace", answer.namespace.clone()),
            (
                "Task",
                format!("{}, attempt {}", answer.task, answer.attempt),
            ),
            (
                "Token",
                format!(
                    "good until {}, longer while the runner lives",
                    answer.token_expires
                ),
            ),
        ];
        table(&rows)
    })
}

/// A task.
pub(crate) fn task(answer: &TaskView, form: Form) -> Result<String, Failure> {
    show(answer, form, |answer| {
        let rows = [
            ("Task", answer.id.to_string()),
            ("Name", format!("{}/{}", answer.namespace, answer.name)),
            ("Agent", answer.agent.clone()),
            (
                "Subject",
                format!("{} {}", answer.subject.kind, answer.subject.name),
            ),
            (
                "State",
                format!("{}, attempt {}", answer.state.as_str(), answer.attempt),
            ),
            ("Session", answer.session_policy.as_str().to_owned()),
            ("Created", answer.created.to_string()),
        ];
        format!("{}\n{}\n", table(&rows), answer.prompt)
    })
}

/// The version of this program.
pub(crate) fn version(form: Form) -> Result<String, Failure> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        version: &'static str,
        wire_version: u32,
    }
    let version = Version {
        version: VERSION,
        wire_version: protocol::WIRE_VERSION,
    };
    show(&version, form, |version| {
        format!(
            "moor {}, wire version {}\n",
            version.version, version.wire_version
        )
    })
}

fn show<A: Serialize>(
    answer: &A,
    form: Form,
    human: impl Fn(&A) -> String,
) -> Result<String, Failure> {
    match form {
        Form::Human => Ok(human(answer)),
        Form::Json => {
            let mut text = serde_json::to_string_pretty(answer).map_err(Failure::Show)?;
            text.push('\n');
            Ok(text)
        }
    }
}

fn table(rows: &[(&str, String)]) -> String {
    let width = rows
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or_default();
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{name:width$}  {value}");
        text
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::{SessionPolicy, Subject, TaskId, TaskState};

    use super::*;

    fn id() -> TaskId {
        TaskId(uuid::Uuid::from_u128(7))
    }

    #[test]
    fn answers_in_both_forms() {
        let me = WhoAmI {
            agent: "reviewer".into(),
            display_name: "Reviewer".into(),
            namespace: "team".into(),
            task: id(),
            attempt: 2,
            token_expires: Timestamp::UNIX_EPOCH,
        };
        let view = TaskView {
            id: id(),
            namespace: "team".into(),
            name: "hello-x".into(),
            agent: "reviewer".into(),
            subject: Subject {
                kind: "Key".into(),
                name: "hello".into(),
            },
            prompt: "Say hello.".into(),
            state: TaskState::Running,
            attempt: 2,
            session_policy: SessionPolicy::Resume,
            created: Timestamp::UNIX_EPOCH,
        };
        insta::assert_snapshot!("whoami", whoami(&me, Form::Human).unwrap());
        insta::assert_snapshot!("whoami_json", whoami(&me, Form::Json).unwrap());
        insta::assert_snapshot!("task", task(&view, Form::Human).unwrap());
        insta::assert_snapshot!("task_json", task(&view, Form::Json).unwrap());
    }

    #[test]
    fn the_version_is_that_of_the_build() {
        assert!(version(Form::Human).unwrap().contains(VERSION));
        let json: serde_json::Value = serde_json::from_str(&version(Form::Json).unwrap()).unwrap();
        assert_eq!(json["version"], VERSION);
    }
}
