//! Files on issues.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Author;
use crate::AttachmentId;

/// A file on an issue, without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// For ever.
    pub id: AttachmentId,
    /// One line, no path.
    pub name: String,
    /// What its author says it is, for example `image/png`.
    pub media_type: String,
    /// Length.
    pub bytes: u64,
    /// SHA-256 in hex.
    pub sha256: String,
    /// Who brought it.
    pub author: Author,
    /// When.
    pub created: Timestamp,
}

/// Query of `POST issues/{key}/attachments`, whose body is the content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewAttachment {
    /// What it is called.
    pub name: String,
}
