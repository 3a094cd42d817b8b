//! Which workspace is meant.

use std::fmt;
use std::str::FromStr;

/// Name of a workspace, or `-`: that of the caller's own task token. Goes into paths as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace(String);

/// Characters of a namespace's name.
const NAME_CHARS: usize = 63;

impl Workspace {
    /// That of the caller's own task token.
    #[must_use]
    pub fn own() -> Self {
        Self("-".to_owned())
    }

    /// The word on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Workspace {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let inner = |each: char| each.is_ascii_lowercase() || each.is_ascii_digit();
        let is_name = text.len() <= NAME_CHARS
            && text.chars().all(|each| inner(each) || each == '-')
            && text.starts_with(inner)
            && text.ends_with(inner);
        if is_name || text == "-" {
            Ok(Self(text.to_owned()))
        } else {
            Err("a workspace is named like its namespace: lower-case letters, digits, hyphens")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_stand_in_a_path_is_a_name() {
        for good in ["-", "team-a", "a", "0"] {
            assert_eq!(good.parse::<Workspace>().unwrap().as_str(), good);
        }
        let long = "a".repeat(NAME_CHARS + 1);
        for bad in [
            "", "..", "a/b", "a?b", "Team", "-a", "a-", "ü", "a%2f", &long,
        ] {
            assert!(bad.parse::<Workspace>().is_err(), "{bad}");
        }
    }
}
