//! Whether the operator can do its work, and if not: why.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What stands in the way, by part of the operator. A clone is the same; it starts with nothing in the way.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    // One entry per part, and parts are constants, so it stays small.
    hindrances: Arc<Mutex<BTreeMap<&'static str, String>>>,
}

impl Readiness {
    /// `part` cannot do its work, because of this. Replaces what was said of it before.
    pub fn hinder(&self, part: &'static str, reason: impl Into<String>) {
        self.lock().insert(part, reason.into());
    }

    /// `part` can do its work.
    pub fn clear(&self, part: &'static str) {
        self.lock().remove(part);
    }

    /// Everything that stands in the way: part and reason.
    #[must_use]
    pub fn hindrances(&self) -> BTreeMap<&'static str, String> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.hindrances
            .lock()
            .expect("nothing panics while it holds this lock")
    }
}
