//! The end of all writing: the store is no longer the one that was opened.

use std::sync::Arc;

use tokio::sync::watch;

/// Why nothing may be written, if it may not. Set once; never taken back while the process lives.
#[derive(Clone, Debug)]
pub struct ReadOnly(Arc<watch::Sender<Option<String>>>);

impl Default for ReadOnly {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl ReadOnly {
    /// From now on nothing is written, because of this.
    pub fn set(&self, why: impl Into<String>) {
        let why = why.into();
        let is_first = self.0.send_if_modified(|reason| {
            let is_first = reason.is_none();
            if is_first {
                *reason = Some(why.clone());
            }
            is_first
        });
        if is_first {
            tracing::error!(%why, "nothing is written any more");
        }
    }

    /// Why nothing may be written.
    #[must_use]
    pub fn why(&self) -> Option<String> {
        self.0.borrow().clone()
    }

    /// Returns with the reason once nothing may be written any more.
    pub async fn wait(&self) -> String {
        let mut reasons = self.0.subscribe();
        // The sender lives as long as `self`, so waiting ends with a reason.
        let reason = reasons.wait_for(Option::is_some).await;
        reason
            .ok()
            .and_then(|reason| reason.clone())
            .unwrap_or_default()
    }
}
