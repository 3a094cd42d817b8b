//! Workspaces: a namespace's row at first use, and who acts in it.

use protocol::TaskId;
use protocol::board::{Author, AuthorKind, IssueKey};
use wake::Person;

use crate::Error;
use crate::db::query;
use crate::writes::Write;

/// Letters and digits of a workspace's prefix at most.
const PREFIX_LENGTH: usize = 6;

/// The labelled namespace that a workspace is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkspaceRef {
    /// Its name.
    pub namespace: String,
    /// Its UID: a namespace of the same name that is made again is another workspace.
    pub namespace_uid: String,
}

/// Who writes, as the caller has proved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acting {
    /// Where.
    pub workspace: WorkspaceRef,
    /// Whom the others see.
    pub author: Author,
    /// The agent's own task, when it is an agent.
    pub task: Option<TaskId>,
    /// The user name that Kubernetes knows, when it is a person.
    pub user: Option<String>,
    /// Its groups.
    pub groups: Vec<String>,
}

/// What a webhook is called among those that are no person and no agent.
const WEBHOOK: &str = "webhook";

impl Acting {
    /// A webhook, with what was delivered through it.
    #[must_use]
    pub fn webhook(workspace: &WorkspaceRef, name: &str) -> Self {
        Self::mooring(workspace, WEBHOOK, name)
    }

    /// Mooring itself, for what is no person and no agent: a schedule, for example.
    #[must_use]
    pub fn mooring(workspace: &WorkspaceRef, kind: &str, name: &str) -> Self {
        Self {
            workspace: workspace.clone(),
            author: Author {
                kind: AuthorKind::System,
                id: format!("{kind}/{name}"),
                name: format!("{kind} {name}"),
            },
            task: None,
            user: None,
            groups: Vec::new(),
        }
    }

    /// The person, with its groups.
    pub(crate) fn person(&self) -> Option<Person> {
        self.user.as_ref().map(|user| Person {
            user: user.clone(),
            groups: self.groups.clone(),
        })
    }
}

/// The webhook that is an author, where one is.
pub(crate) fn webhook_of(author: &Author) -> Option<String> {
    let name = author.id.strip_prefix(WEBHOOK)?.strip_prefix('/')?;
    (author.kind == AuthorKind::System).then(|| name.to_owned())
}

/// Makes the workspace's row, if this is its first use.
pub(crate) async fn enter(write: &mut Write, workspace: &WorkspaceRef) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO workspaces (namespace_uid, namespace, prefix) VALUES ($1, $2, $3) \
        ON CONFLICT (namespace_uid) DO NOTHING";
    query("enter a workspace", INSERT)
        .bind(workspace.namespace_uid.as_str())
        .bind(workspace.namespace.as_str())
        .bind(prefix(&workspace.namespace))
        .execute(write)
        .await?;
    Ok(())
}

/// The key of the workspace's next issue.
pub(crate) async fn next_key(
    write: &mut Write,
    workspace: &WorkspaceRef,
) -> Result<IssueKey, Error> {
    const NEXT: &str = "INSERT INTO workspaces (namespace_uid, namespace, prefix, last_number) \
        VALUES ($1, $2, $3, 1) ON CONFLICT (namespace_uid) DO UPDATE SET last_number = workspaces.last_number + 1 \
        RETURNING prefix, last_number";
    let next = query("number an issue", NEXT)
        .bind(workspace.namespace_uid.as_str())
        .bind(workspace.namespace.as_str())
        .bind(prefix(&workspace.namespace));
    let row = next.one(write).await?;
    Ok(IssueKey {
        prefix: row.get("prefix")?,
        number: row.u32("last_number")?,
    })
}

/// What the issues of a namespace's workspace are called by: its first letters and digits, a letter first.
fn prefix(namespace: &str) -> String {
    let prefix: String = namespace
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .skip_while(char::is_ascii_digit)
        .take(PREFIX_LENGTH)
        .map(|each| each.to_ascii_uppercase())
        .collect();
    if prefix.is_empty() {
        "W".to_owned()
    } else {
        prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_read_off_the_namespace() {
        for (namespace, wanted) in [
            ("team-a", "TEAMA"),
            ("payments-and-billing", "PAYMEN"),
            ("x", "X"),
            ("2024-q1-work", "Q1WORK"),
            ("123", "W"),
        ] {
            assert_eq!(prefix(namespace), wanted);
            assert!(format!("{wanted}-1").parse::<IssueKey>().is_ok());
        }
    }
}
