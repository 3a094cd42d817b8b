//! What happened on an issue, what was used, and whole texts.

use protocol::TaskId;
use protocol::board::{HistoryEntry, IssueKey, Page, UsageQuery, UsageReport};

use crate::{Board, Error, PageQuery};

impl Board<'_> {
    /// `GET issues/{key}/timeline`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn history(
        &self,
        key: &IssueKey,
        query: &PageQuery,
    ) -> Result<Page<HistoryEntry>, Error> {
        self.list(&format!("issues/{key}/timeline"), query).await
    }

    /// `GET issues/{key}/usage`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn usage_of_issue(&self, key: &IssueKey) -> Result<UsageReport, Error> {
        self.get(&format!("issues/{key}/usage")).await
    }

    /// `GET agents/{name}/usage`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn usage_of_agent(
        &self,
        name: &str,
        query: &UsageQuery,
    ) -> Result<UsageReport, Error> {
        self.list(&format!("agents/{name}/usage"), query).await
    }

    /// `GET tasks/{id}/events/{position}/text`: the whole of what the timeline holds the beginning of.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn text(&self, id: TaskId, position: u64) -> Result<String, Error> {
        let path = self.path(&format!("tasks/{id}/events/{position}/text"));
        self.http.text(&path, self.token).await
    }
}
