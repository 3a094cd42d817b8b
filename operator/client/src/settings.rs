//! Where the API is and whom to trust.

use std::fmt;

/// Where the API is and whom to trust.
#[derive(Clone)]
pub struct Settings {
    /// Base URL, `https://host:port`.
    pub api: String,
    /// The CA that signed the API's certificate, as PEM.
    pub ca: Vec<u8>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}
