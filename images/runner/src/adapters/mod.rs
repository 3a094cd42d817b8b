//! One adapter per agent command line, and the list of those there are.

use crate::adapter::Provider;

/// Every provider that this runner can drive, by id.
const PROVIDERS: &[&dyn Provider] = &[];

/// The provider with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static dyn Provider> {
    PROVIDERS
        .iter()
        .copied()
        .find(|provider| provider.id() == id)
}
