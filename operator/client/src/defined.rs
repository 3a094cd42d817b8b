//! What the platform's people define: schedules, webhooks, runtimes.

use protocol::board::{DeliveryView, Page, RuntimeCard, ScheduleCard, ScheduleView, WebhookCard};

use crate::{Board, Error, PageQuery};

/// Names go into the path as they are.
impl Board<'_> {
    /// `GET schedules`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn schedules(&self, query: &PageQuery) -> Result<Page<ScheduleCard>, Error> {
        self.list("schedules", query).await
    }

    /// `GET schedules/{name}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn schedule(&self, name: &str) -> Result<ScheduleView, Error> {
        self.get(&format!("schedules/{name}")).await
    }

    /// `GET webhooks`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn webhooks(&self, query: &PageQuery) -> Result<Page<WebhookCard>, Error> {
        self.list("webhooks", query).await
    }

    /// `GET webhooks/{name}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn webhook(&self, name: &str) -> Result<WebhookCard, Error> {
        self.get(&format!("webhooks/{name}")).await
    }

    /// `GET webhooks/{name}/deliveries`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn deliveries(
        &self,
        name: &str,
        query: &PageQuery,
    ) -> Result<Page<DeliveryView>, Error> {
        self.list(&format!("webhooks/{name}/deliveries"), query)
            .await
    }

    /// `GET runtimes`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn runtimes(&self, query: &PageQuery) -> Result<Page<RuntimeCard>, Error> {
        self.list("runtimes", query).await
    }

    /// `GET runtimes/{name}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn runtime(&self, name: &str) -> Result<RuntimeCard, Error> {
        self.get(&format!("runtimes/{name}")).await
    }
}
