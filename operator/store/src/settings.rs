//! Where the store is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use secrecy::SecretString;

use crate::Error;

/// Where the store is.
#[derive(Clone)]
pub enum Settings {
    /// A file on a local disk; one operator.
    Sqlite {
        /// The database file. Its lock is the file beside it with `.lock` appended.
        path: PathBuf,
    },
    /// A PostgreSQL database; many operators.
    Postgres {
        /// Its URL, which may hold a password.
        url: SecretString,
    },
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite { path } => f.debug_struct("Sqlite").field("path", path).finish(),
            Self::Postgres { .. } => f.debug_struct("Postgres").finish_non_exhaustive(),
        }
    }
}

impl FromStr for Settings {
    type Err = Error;

    /// A `postgres://` URL, or a path, which may be written as `sqlite:` and the path.
    fn from_str(text: &str) -> Result<Self, Error> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres { url: text.into() });
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        // Another scheme is a mistake, not a file of that name; what follows it may be a secret.
        if path.is_empty() || path.contains("://") {
            let scheme = path
                .split_once("://")
                .map_or("an empty text", |(scheme, _)| scheme);
            return Err(Error::Address(scheme.to_owned()));
        }
        Ok(Self::Sqlite { path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_passwords_not_shown() {
        for (text, wanted) in [
            (
                "/var/lib/mooring/store.db",
                "Sqlite { path: \"/var/lib/mooring/store.db\" }",
            ),
            ("sqlite:store.db", "Sqlite { path: \"store.db\" }"),
            ("postgres://u:hunter2@db/x", "Postgres { .. }"),
            ("postgresql://u:hunter2@db/x", "Postgres { .. }"),
        ] {
            assert_eq!(format!("{:?}", text.parse::<Settings>().unwrap()), wanted);
        }
        for text in ["", "sqlite:", "mysql://u:hunter2@db/x"] {
            let error = text.parse::<Settings>().unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
