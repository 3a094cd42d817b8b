//! `moor approval`.

use clap::{Args, Subcommand};
use protocol::ApprovalId;
use protocol::board::{Approval, ApprovalQuery, ApprovalState, Decision};

use super::Part;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::{Table, fields};
use crate::text;

/// Columns by which an input is indented below its head.
const INDENT: usize = 2;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists what agents wait for a decision on, newest first.
    List {
        /// With those that are settled.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        part: Part,
    },
    /// Shows which tool is to be used, with its whole input.
    Get {
        /// Its id.
        id: ApprovalId,
    },
    /// Lets the agent use the tool, this time and with this input.
    Approve(Answer),
    /// Tells the agent that it may not.
    Deny(Answer),
}

/// A decision.
#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// Its id.
    id: ApprovalId,
    /// What the agent is told beside it.
    #[arg(long)]
    reason: Option<String>,
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        let (answer, allow) = match self {
            Self::List { all, part } => {
                let part = part.query();
                let query = ApprovalQuery {
                    all: *all,
                    limit: part.limit,
                    cursor: part.cursor,
                };
                let page = board.approvals(&query).await?;
                return out.page(&page, |approval| approval.id.to_string(), table);
            }
            Self::Get { id } => {
                let approval = board.approval(*id).await?;
                return out.show(&approval, |approval| approval.id.to_string(), shown);
            }
            Self::Approve(answer) => (answer, true),
            Self::Deny(answer) => (answer, false),
        };
        let decision = Decision {
            reason: answer.reason.clone(),
        };
        let decided = board.decide(answer.id, allow, &decision).await?;
        out.show(&decided, |approval| approval.id.to_string(), told)
    }
}

fn table(approvals: &[Approval]) -> Table<7> {
    let rows = approvals.iter().map(|approval| {
        [
            approval.id.to_string(),
            approval.state.as_str().to_owned(),
            approval.agent.clone(),
            issue(approval),
            approval.tool.clone(),
            text::time(approval.asked),
            approval.input.to_string(),
        ]
    });
    let heads = ["ID", "STATE", "AGENT", "ISSUE", "TOOL", "ASKED", "INPUT"];
    Table::new(heads, rows)
}

fn shown(approval: &Approval) -> String {
    let time = |time: Option<jiff::Timestamp>| time.map(text::time).unwrap_or_default();
    let head = fields(&[
        ("id", approval.id.to_string()),
        ("state", approval.state.as_str().to_owned()),
        ("agent", approval.agent.clone()),
        ("issue", issue(approval)),
        ("task", approval.task.to_string()),
        ("tool", approval.tool.clone()),
        ("why", approval.why.clone()),
        ("asked", text::time(approval.asked)),
        ("until", text::time(approval.expires)),
        ("settled", time(approval.settled)),
        ("by", approval.by.clone().unwrap_or_default()),
        ("reason", approval.reason.clone().unwrap_or_default()),
    ]);
    // As JSON: there a character that is not seen stands as its escape.
    let input = text::json(&format!("{:#}", approval.input));
    format!("{head}input:\n{}", text::indented(&input, INDENT))
}

/// What became of it, in a line.
fn told(approval: &Approval) -> String {
    let may = match approval.state {
        ApprovalState::Approved => "may use",
        ApprovalState::Denied => "may not use",
        ApprovalState::Pending | ApprovalState::Expired | ApprovalState::Withdrawn => {
            "is not answered on"
        }
    };
    let (agent, tool) = (text::line(&approval.agent), text::line(&approval.tool));
    format!(
        "{} is {}: {agent} {may} {tool}\n",
        approval.id,
        approval.state.as_str()
    )
}

fn issue(approval: &Approval) -> String {
    let issue = approval.issue.as_ref();
    issue.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::TaskId;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn approval(state: ApprovalState) -> Approval {
        let settled = state != ApprovalState::Pending;
        Approval {
            id: ApprovalId(Uuid::from_u128(5)),
            state,
            agent: "reviewer".into(),
            task: TaskId(Uuid::from_u128(7)),
            attempt: 1,
            issue: Some("TEAM-1".parse().unwrap()),
            tool: "Bash".into(),
            input: json!({"command": "git push\u{1b}[2J\u{202e}\n--force"}),
            why: "Bash(git push:*) needs approval".into(),
            asked: Timestamp::UNIX_EPOCH,
            expires: Timestamp::UNIX_EPOCH,
            settled: settled.then_some(Timestamp::UNIX_EPOCH),
            by: settled.then(|| "ada".into()),
            reason: None,
        }
    }

    #[test]
    fn approvals_are_shown() {
        let all = ApprovalState::ALL.map(approval);
        insta::assert_snapshot!("approvals", table(&all).render(160));
        insta::assert_snapshot!("approval", shown(&all[0]));
        insta::assert_snapshot!("approval_decided", all.iter().map(told).collect::<String>());
    }
}
