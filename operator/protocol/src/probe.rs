//! What a short pod finds out about the program of a Runtime, for the operator to read in its termination message.

use serde::{Deserialize, Serialize};

use crate::bound;

/// Container in which a program is asked for its version.
pub const CONTAINER: &str = "probe";
/// How long it may take to answer.
pub const SECONDS: u16 = 30;
/// Bytes of what it printed that are kept; the kubelet keeps 4096 of a whole message.
pub const PRINTED_BYTES: usize = 1024;

/// What was found. Whoever reads it believes none of it beyond the image that it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "camelCase", deny_unknown_fields)]
pub enum Report {
    /// It ran to its end.
    #[serde(rename_all = "camelCase")]
    Ended {
        /// Its exit code; none where a signal ended it.
        code: Option<i32>,
        /// The beginning of what it printed on stdout and stderr.
        printed: String,
    },
    /// There is no such file, or none of that name on `PATH`.
    Missing,
    /// There is one, and it cannot be executed.
    #[serde(rename_all = "camelCase")]
    NotExecutable {
        /// Why, in words.
        why: String,
    },
    /// It did not end in time.
    Late,
}

impl Report {
    /// As the termination message has it.
    #[must_use]
    pub fn to_message(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a termination message; `None` where it is none of ours.
    #[must_use]
    pub fn from_message(message: &str) -> Option<Self> {
        let report: Self = serde_json::from_str(message).ok()?;
        Some(match report {
            Self::Ended { code, printed } => Self::Ended {
                code,
                printed: cut(printed),
            },
            Self::NotExecutable { why } => Self::NotExecutable { why: cut(why) },
            whole @ (Self::Missing | Self::Late) => whole,
        })
    }
}

fn cut(mut text: String) -> String {
    bound::cut(&mut text, PRINTED_BYTES);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written_and_nothing_else_is() {
        for report in [
            Report::Ended {
                code: Some(0),
                printed: "2.1.332 (Claude Code)".to_owned(),
            },
            Report::Ended {
                code: None,
                printed: String::new(),
            },
            Report::Missing,
            Report::NotExecutable {
                why: "no permission".to_owned(),
            },
            Report::Late,
        ] {
            assert_eq!(Report::from_message(&report.to_message()), Some(report));
        }
        let more = r#"{"found":"notExecutable","why":"x","more":1}"#;
        for other in ["", "{}", "2.1.332", more] {
            assert_eq!(Report::from_message(other), None, "{other}");
        }
        let long = Report::Ended {
            code: Some(0),
            printed: "ü".repeat(4000),
        };
        let Some(Report::Ended { printed, .. }) = Report::from_message(&long.to_message()) else {
            panic!("it is one");
        };
        assert!(printed.len() <= PRINTED_BYTES);
    }
}
