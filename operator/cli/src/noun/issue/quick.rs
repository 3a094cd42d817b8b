//! `moor issue quick`.

use clap::Args;
use protocol::board::{NewQuickIssue, QuickIssue};
use protocol::{TaskId, limits};

use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::{input, text};

#[derive(Debug, Args)]
pub(crate) struct Quick {
    /// Name of the agent that writes it.
    #[arg(long, value_name = "NAME", required_unless_present = "task")]
    agent: Option<String>,
    /// What it is about, in your words; `-` takes it from standard input.
    #[arg(allow_hyphen_values = true, required_unless_present = "task")]
    text: Option<String>,
    /// Says what became of an earlier one instead.
    #[arg(long, value_name = "ID", conflicts_with_all = ["agent", "text"])]
    task: Option<TaskId>,
}

impl Quick {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        let asked = match self.task {
            Some(task) => board.quick_issue(task).await?,
            None => {
                let text = input::text(self.text.as_deref(), None, limits::COMMENT_BYTES)?;
                let new = NewQuickIssue {
                    agent: self.agent.clone().unwrap_or_default(),
                    text: text.unwrap_or_default(),
                };
                board.ask_quick_issue(&new).await?
            }
        };
        out.show(&asked, id, describe)
    }
}

/// The issue, else the task that is to make it.
fn id(asked: &QuickIssue) -> String {
    match &asked.issue {
        Some(issue) => issue.to_string(),
        None => asked.task.to_string(),
    }
}

fn describe(asked: &QuickIssue) -> String {
    let task = asked.task;
    let line = match (&asked.issue, asked.ended) {
        (Some(issue), _) => format!("{issue} was made by {} in task {task}", asked.agent),
        (None, None) => format!(
            "{} writes the issue in task {task}. It will stand in your inbox; or see it with: \
             moor issue quick --task {task}",
            asked.agent
        ),
        (None, Some(_)) => format!(
            "task {task} of {} is over{} and has made no issue. Your text is kept in your inbox",
            asked.agent,
            asked
                .failure
                .map(|class| format!(" ({})", class.as_str()))
                .unwrap_or_default()
        ),
    };
    text::line(&line) + "\n"
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::FailureClass;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_became_of_it_is_said() {
        let asked = QuickIssue {
            task: TaskId(Uuid::from_u128(7)),
            agent: "reviewer".into(),
            text: "x".into(),
            issue: None,
            failure: None,
            created: Timestamp::UNIX_EPOCH,
            ended: None,
        };
        let failed = QuickIssue {
            failure: Some(FailureClass::ProviderAuth),
            ended: Some(Timestamp::UNIX_EPOCH),
            ..asked.clone()
        };
        let made = QuickIssue {
            issue: Some("TEAM-7".parse().unwrap()),
            ..asked.clone()
        };
        let told: Vec<_> = [&asked, &failed, &made].into_iter().map(describe).collect();
        insta::assert_snapshot!("quick", told.concat());
        assert_eq!(
            (id(&asked), id(&made)),
            (asked.task.to_string(), "TEAM-7".to_owned())
        );
    }
}
