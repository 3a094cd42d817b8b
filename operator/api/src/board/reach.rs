//! How far a caller sees in its workspace. What lies beyond is not there for it.

use protocol::TokenScope;
use protocol::board::{IssueKey, NewIssue};

use super::BoardCaller;
use crate::error::Failure;
use crate::state::Inner;

/// Which issues a caller sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All of the workspace: a person, or an agent whose Agent says so.
    Workspace,
    /// Those of one project.
    Project(String),
    /// Its own issue and the parts of that.
    Issue,
}

impl<R> BoardCaller<R> {
    /// How far the caller sees. An agent whose issue belongs to no project sees that issue and its parts.
    pub(crate) async fn reach(&self, state: &Inner) -> Result<Reach, Failure> {
        Ok(match self.scope() {
            None | Some(TokenScope::Workspace) => Reach::Workspace,
            Some(TokenScope::Issue) => Reach::Issue,
            Some(TokenScope::Project) => match self.own_project(state).await? {
                Some(project) => Reach::Project(project),
                None => Reach::Issue,
            },
        })
    }

    /// Whether an issue lies in the caller's scope.
    pub(crate) async fn check_scope(&self, state: &Inner, key: &IssueKey) -> Result<(), Failure> {
        let Some((_, own)) = self.agent() else {
            return Ok(());
        };
        if own == Some(key) {
            return Ok(());
        }
        let found = state.store.issue(self.workspace(), key).await?;
        let issue = found.ok_or_else(Failure::not_found)?;
        let is_part = own.is_some() && issue.parent.as_ref() == own;
        let sees = is_part
            || match self.reach(state).await? {
                Reach::Workspace => true,
                Reach::Project(project) => issue.project == Some(project),
                Reach::Issue => false,
            };
        sees.then_some(()).ok_or_else(Failure::not_found)
    }

    /// Whether a project lies in the caller's scope: for an agent that of its issue.
    pub(crate) async fn check_project(&self, state: &Inner, name: &str) -> Result<(), Failure> {
        let sees = match self.scope() {
            None | Some(TokenScope::Workspace) => true,
            Some(TokenScope::Issue | TokenScope::Project) => {
                self.own_project(state).await?.as_deref() == Some(name)
            }
        };
        sees.then_some(()).ok_or_else(Failure::not_found)
    }

    /// The project of an agent's own issue.
    pub(crate) async fn own_project(&self, state: &Inner) -> Result<Option<String>, Failure> {
        let Some((_, Some(own))) = self.agent() else {
            return Ok(None);
        };
        let issue = state.store.issue(self.workspace(), own).await?;
        Ok(issue.and_then(|issue| issue.project))
    }

    /// Puts a new issue where its author may make one. What an agent makes is a part of its own issue, unless it
    /// says of which other one that it sees.
    pub(crate) async fn place(&self, state: &Inner, new: &mut NewIssue) -> Result<(), Failure> {
        let Some((_, own)) = self.agent() else {
            return Ok(());
        };
        let reach = self.reach(state).await?;
        self.may_file(&reach, new.project.as_deref())?;
        if new.parent.is_none() && self.is_quick() {
            // The issue that it was asked for is part of no other; the store knows when it is there already.
            return Ok(());
        }
        if new.parent.is_none() {
            new.parent = own.cloned();
        }
        match (&new.parent, &reach) {
            (Some(parent), _) if Some(parent) == own => Ok(()),
            (Some(_), Reach::Issue) => Err(Failure::forbidden(
                "a task's token makes parts of its own issue only: leave `parent` out",
            )),
            (Some(parent), Reach::Workspace | Reach::Project(_)) => {
                self.check_scope(state, parent).await
            }
            (None, Reach::Workspace) => Ok(()),
            (None, Reach::Issue | Reach::Project(_)) => Err(Failure::forbidden(
                "this task has no issue, so there is nothing that a new one could be a part of",
            )),
        }
    }

    /// Whether the caller may say which project an issue belongs to: that decides which repositories, with which
    /// credentials, the agents on it are given.
    pub(crate) fn may_file(&self, reach: &Reach, project: Option<&str>) -> Result<(), Failure> {
        let may = match reach {
            Reach::Workspace => true,
            Reach::Project(own) => project.is_none_or(|project| project == own),
            Reach::Issue => project.is_none(),
        };
        may.then_some(()).ok_or_else(|| {
            Failure::forbidden(
                "a task's token does not put issues into projects: leave `project` out, a part belongs to that of \
                 its whole",
            )
        })
    }
}
