//! Issues, comments, tasks, and who is there, in one workspace.

use protocol::board::{
    AgentCard, Comment, CommentEdit, CommentPage, CommentQuery, Cursor, InboxEntry, Issue,
    IssueEdit, IssueKey, IssueQuery, Member, NewComment, NewIssue, Page, Posted, Preview, RunView,
    SavedIssue, TimelineItem,
};
use protocol::{CommentId, InboxId, TaskId};
use reqwest::Method;
use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::http::Http;
use crate::{Error, REQUEST_TIMEOUT, Workspace};

/// One workspace, as one token sees it.
#[derive(Clone, Copy, Debug)]
pub struct Board<'a> {
    pub(crate) http: &'a Http,
    pub(crate) token: &'a SecretString,
    pub(crate) workspace: &'a Workspace,
}

/// Which part of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageQuery {
    /// At most so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

/// Which part of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventQuery {
    /// Only what follows this position; 0 for all.
    pub after: u64,
    /// At most so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Issues.
impl Board<'_> {
    /// `GET issues`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn issues(&self, query: &IssueQuery) -> Result<Page<Issue>, Error> {
        self.list("issues", query).await
    }

    /// `GET issues/{key}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn issue(&self, key: &IssueKey) -> Result<Issue, Error> {
        self.get(&format!("issues/{key}")).await
    }

    /// `POST issues`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn create_issue(&self, new: &NewIssue) -> Result<SavedIssue, Error> {
        self.send(Method::POST, "issues", new).await
    }

    /// `PATCH issues/{key}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn edit_issue(&self, key: &IssueKey, edit: &IssueEdit) -> Result<SavedIssue, Error> {
        self.send(Method::PATCH, &format!("issues/{key}"), edit)
            .await
    }

    /// `GET issues/{key}/children`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn children(&self, key: &IssueKey, query: &PageQuery) -> Result<Page<Issue>, Error> {
        self.list(&format!("issues/{key}/children"), query).await
    }

    /// `GET issues/{key}/runs`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn runs(&self, key: &IssueKey, query: &PageQuery) -> Result<Page<RunView>, Error> {
        self.list(&format!("issues/{key}/runs"), query).await
    }
}

/// Comments.
impl Board<'_> {
    /// `GET issues/{key}/comments`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn comments(
        &self,
        key: &IssueKey,
        query: &CommentQuery,
    ) -> Result<CommentPage, Error> {
        self.list(&format!("issues/{key}/comments"), query).await
    }

    /// `POST issues/{key}/comments`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn post_comment(&self, key: &IssueKey, new: &NewComment) -> Result<Posted, Error> {
        self.send(Method::POST, &format!("issues/{key}/comments"), new)
            .await
    }

    /// `POST issues/{key}/comments/preview`: whom it would wake. Nothing is written.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn preview_comment(
        &self,
        key: &IssueKey,
        new: &NewComment,
    ) -> Result<Preview, Error> {
        let path = format!("issues/{key}/comments/preview");
        self.send(Method::POST, &path, new).await
    }

    /// `PATCH comments/{id}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn edit_comment(&self, id: CommentId, edit: &CommentEdit) -> Result<Posted, Error> {
        self.send(Method::PATCH, &format!("comments/{id}"), edit)
            .await
    }

    /// `DELETE comments/{id}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn delete_comment(&self, id: CommentId) -> Result<(), Error> {
        self.tell(Method::DELETE, &format!("comments/{id}")).await
    }

    /// `POST` or `DELETE comments/{id}/resolved`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn resolve_comment(&self, id: CommentId, resolved: bool) -> Result<Comment, Error> {
        let method = if resolved {
            Method::POST
        } else {
            Method::DELETE
        };
        self.ask(method, &format!("comments/{id}/resolved")).await
    }
}

/// Tasks.
impl Board<'_> {
    /// `GET tasks`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn tasks(&self, query: &PageQuery) -> Result<Page<RunView>, Error> {
        self.list("tasks", query).await
    }

    /// `GET tasks/{id}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn run(&self, id: TaskId) -> Result<RunView, Error> {
        self.get(&format!("tasks/{id}")).await
    }

    /// `POST tasks/{id}/cancel`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn cancel_task(&self, id: TaskId) -> Result<RunView, Error> {
        self.ask(Method::POST, &format!("tasks/{id}/cancel")).await
    }

    /// `GET tasks/{id}/events`: a part of the timeline. What comes next is asked for by the last position.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn events(
        &self,
        id: TaskId,
        query: &EventQuery,
    ) -> Result<Page<TimelineItem>, Error> {
        self.list(&format!("tasks/{id}/events"), query).await
    }
}

/// Who is there, and what awaits the caller.
impl Board<'_> {
    /// `GET agents`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn agents(&self, query: &PageQuery) -> Result<Page<AgentCard>, Error> {
        self.list("agents", query).await
    }

    /// `GET members`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn members(&self, query: &PageQuery) -> Result<Page<Member>, Error> {
        self.list("members", query).await
    }

    /// `GET inbox`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn inbox(&self, query: &PageQuery) -> Result<Page<InboxEntry>, Error> {
        self.list("inbox", query).await
    }

    /// `POST inbox/{id}/read`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn read_entry(&self, id: InboxId) -> Result<(), Error> {
        self.tell(Method::POST, &format!("inbox/{id}/read")).await
    }

    /// `DELETE inbox/{id}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn archive_entry(&self, id: InboxId) -> Result<(), Error> {
        self.tell(Method::DELETE, &format!("inbox/{id}")).await
    }
}

impl Board<'_> {
    fn path(&self, rest: &str) -> String {
        format!("workspaces/{}/{rest}", self.workspace)
    }

    async fn get<A: DeserializeOwned>(&self, rest: &str) -> Result<A, Error> {
        self.http
            .get(&self.path(rest), self.token, REQUEST_TIMEOUT)
            .await
    }

    async fn list<A: DeserializeOwned>(
        &self,
        rest: &str,
        query: &impl Serialize,
    ) -> Result<A, Error> {
        self.http.list(&self.path(rest), self.token, query).await
    }

    async fn send<A: DeserializeOwned>(
        &self,
        method: Method,
        rest: &str,
        body: &impl Serialize,
    ) -> Result<A, Error> {
        self.http
            .send(method, &self.path(rest), Some(self.token), body)
            .await
    }

    async fn ask<A: DeserializeOwned>(&self, method: Method, rest: &str) -> Result<A, Error> {
        self.http.ask(method, &self.path(rest), self.token).await
    }

    async fn tell(&self, method: Method, rest: &str) -> Result<(), Error> {
        self.http.tell(method, &self.path(rest), self.token).await
    }
}
