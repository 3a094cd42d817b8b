//! Issues, comments, tasks, and who is there, in one workspace.

use protocol::board::{
    AgentCard, Attachment, Comment, CommentEdit, CommentPage, CommentQuery, Cursor, Explanation,
    InboxEntry, Issue, IssueEdit, IssueKey, IssueQuery, Member, NewAttachment, NewComment,
    NewIssue, NewProject, Page, Posted, Preview, Project, ProjectEdit, ProjectEnd, RawLog,
    RawQuery, Rerun, Retry, RunView, SavedIssue, SearchHit, SearchQuery, SkillCard, Steer,
    Subscription, TeamCard, TeamView, TimelineItem,
};
use protocol::{AttachmentId, CommentId, InboxId, TaskId};
use reqwest::Method;
use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::http::{Download, Http};
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
        self.send_once("issues", new).await
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

    /// `GET search`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>, Error> {
        self.list("search", query).await
    }

    /// `GET issues/{key}/subscribers`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn subscribers(
        &self,
        key: &IssueKey,
        query: &PageQuery,
    ) -> Result<Page<Member>, Error> {
        self.list(&format!("issues/{key}/subscribers"), query).await
    }

    /// `POST` or `DELETE issues/{key}/subscription`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn subscribe(&self, key: &IssueKey, subscribed: bool) -> Result<Subscription, Error> {
        let method = if subscribed {
            Method::POST
        } else {
            Method::DELETE
        };
        self.ask(method, &format!("issues/{key}/subscription"))
            .await
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
        self.send_once(&format!("issues/{key}/comments"), new).await
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

    /// `GET tasks/{id}/explain`: why it is where it is.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn explain_task(&self, id: TaskId) -> Result<Explanation, Error> {
        self.get(&format!("tasks/{id}/explain")).await
    }

    /// `POST tasks/{id}/rerun`: the task that does it again.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn rerun_task(&self, id: TaskId, when: &Rerun) -> Result<RunView, Error> {
        self.send(Method::POST, &format!("tasks/{id}/rerun"), when)
            .await
    }

    /// `POST tasks/{id}/steer`: the comment that was made of it, and what became of it.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn steer_task(&self, id: TaskId, steer: &Steer) -> Result<Posted, Error> {
        self.send(Method::POST, &format!("tasks/{id}/steer"), steer)
            .await
    }

    /// `POST tasks/{id}/retry`: the task that tries again what failed.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn retry_task(&self, id: TaskId, how: &Retry) -> Result<RunView, Error> {
        self.send(Method::POST, &format!("tasks/{id}/retry"), how)
            .await
    }

    /// `POST tasks/{id}/suspend`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn suspend_task(&self, id: TaskId) -> Result<RunView, Error> {
        self.ask(Method::POST, &format!("tasks/{id}/suspend")).await
    }

    /// `POST tasks/{id}/resume`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn resume_task(&self, id: TaskId) -> Result<RunView, Error> {
        self.ask(Method::POST, &format!("tasks/{id}/resume")).await
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

    /// `GET tasks/{id}/raw`: a part of what the agent's program wrote. What follows is asked for by `next`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn raw(&self, id: TaskId, query: &RawQuery) -> Result<RawLog, Error> {
        self.list(&format!("tasks/{id}/raw"), query).await
    }
}

/// Files on issues.
impl Board<'_> {
    /// `GET issues/{key}/attachments`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn attachments(
        &self,
        key: &IssueKey,
        query: &PageQuery,
    ) -> Result<Page<Attachment>, Error> {
        self.list(&format!("issues/{key}/attachments"), query).await
    }

    /// `POST issues/{key}/attachments`. Sending the same again is safe.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn add_attachment(
        &self,
        key: &IssueKey,
        new: &NewAttachment,
        media_type: &str,
        content: Vec<u8>,
    ) -> Result<Attachment, Error> {
        let path = self.path(&format!("issues/{key}/attachments"));
        self.http
            .upload(&path, self.token, new, (media_type, content))
            .await
    }

    /// `GET attachments/{id}`: its content.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn attachment(&self, id: AttachmentId) -> Result<Download, Error> {
        let path = self.path(&format!("attachments/{id}"));
        self.http.download(&path, self.token).await
    }

    /// `DELETE attachments/{id}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn delete_attachment(&self, id: AttachmentId) -> Result<(), Error> {
        self.tell(Method::DELETE, &format!("attachments/{id}"))
            .await
    }
}

/// Projects. A name must be one that [`protocol::board::is_project_name`] takes: it goes into the path as it is.
impl Board<'_> {
    /// `GET projects`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn projects(&self, query: &PageQuery) -> Result<Page<Project>, Error> {
        self.list("projects", query).await
    }

    /// `GET projects/{name}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn project(&self, name: &str) -> Result<Project, Error> {
        self.get(&format!("projects/{name}")).await
    }

    /// `POST projects`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn create_project(&self, new: &NewProject) -> Result<Project, Error> {
        self.send(Method::POST, "projects", new).await
    }

    /// `PATCH projects/{name}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn edit_project(&self, name: &str, edit: &ProjectEdit) -> Result<Project, Error> {
        self.send(Method::PATCH, &format!("projects/{name}"), edit)
            .await
    }

    /// `DELETE projects/{name}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn delete_project(&self, name: &str, how: ProjectEnd) -> Result<(), Error> {
        let path = format!("projects/{name}?detach={}", how.detach);
        self.tell(Method::DELETE, &path).await
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

    /// `GET teams`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn teams(&self, query: &PageQuery) -> Result<Page<TeamCard>, Error> {
        self.list("teams", query).await
    }

    /// `GET teams/{name}`. The name goes into the path as it is.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn team(&self, name: &str) -> Result<TeamView, Error> {
        self.get(&format!("teams/{name}")).await
    }

    /// `GET skills`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn skills(&self, query: &PageQuery) -> Result<Page<SkillCard>, Error> {
        self.list("skills", query).await
    }

    /// `GET skills/{name}`. The name goes into the path as it is.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn skill(&self, name: &str) -> Result<SkillCard, Error> {
        self.get(&format!("skills/{name}")).await
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
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("workspaces/{}/{rest}", self.workspace)
    }

    pub(crate) async fn get<A: DeserializeOwned>(&self, rest: &str) -> Result<A, Error> {
        self.http
            .get(&self.path(rest), self.token, REQUEST_TIMEOUT)
            .await
    }

    pub(crate) async fn list<A: DeserializeOwned>(
        &self,
        rest: &str,
        query: &impl Serialize,
    ) -> Result<A, Error> {
        self.http.list(&self.path(rest), self.token, query).await
    }

    pub(crate) async fn send<A: DeserializeOwned>(
        &self,
        method: Method,
        rest: &str,
        body: &impl Serialize,
    ) -> Result<A, Error> {
        self.http
            .send(method, &self.path(rest), Some(self.token), body)
            .await
    }

    /// Makes something, once: where no answer comes it is asked again under the same key.
    pub(crate) async fn send_once<A: DeserializeOwned>(
        &self,
        rest: &str,
        body: &impl Serialize,
    ) -> Result<A, Error> {
        self.http
            .send_once(&self.path(rest), self.token, body)
            .await
    }

    async fn ask<A: DeserializeOwned>(&self, method: Method, rest: &str) -> Result<A, Error> {
        self.http.ask(method, &self.path(rest), self.token).await
    }

    async fn tell(&self, method: Method, rest: &str) -> Result<(), Error> {
        self.http.tell(method, &self.path(rest), self.token).await
    }
}
