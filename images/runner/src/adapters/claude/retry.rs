//! Claude Code tries a request to the model once more.

use protocol::FailureClass;
use serde_json::Value;

use crate::adapter::Activity;
use crate::adapters::frame::{self, text};
use crate::classify;

/// What it means for the watchdogs.
pub(super) fn retrying(frame: &Value) -> Activity {
    let status = u16::try_from(frame::count(frame, "error_status")).unwrap_or_default();
    let words = text(frame, "error");
    let class = classify::of_status(status);
    // Without a status no answer came.
    Activity::Retrying(
        class.unwrap_or_else(|| classify::classify_or(words, FailureClass::ProviderNetwork)),
    )
}

/// What is said of it.
pub(super) fn retry_notice(frame: &Value) -> String {
    let count = |key| frame::count(frame, key);
    let status = match count("error_status") {
        0 => String::new(),
        status => format!("{status} "),
    };
    format!(
        "the provider failed ({status}{}); retry {} of {} in {} ms",
        text(frame, "error"),
        count("attempt"),
        count("max_retries"),
        count("retry_delay_ms"),
    )
}
