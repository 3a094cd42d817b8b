//! One adapter per agent command line, and the list of those there are.

mod claude;
mod flags;
mod stream_json;

use crate::adapter::Provider;

/// Every provider that this runner can drive, by id.
const PROVIDERS: &[&dyn Provider] = &[&claude::Claude];

/// The provider with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static dyn Provider> {
    PROVIDERS
        .iter()
        .copied()
        .find(|provider| provider.id() == id)
}
