//! Lists come in pages.

use serde::{Deserialize, Serialize};

/// Where the next page begins: an opaque word that only the API reads.
pub type Cursor = String;

/// A part of a list. At most [`crate::limits::PAGE_ITEMS`] items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Asks for what follows; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Cursor>,
}
