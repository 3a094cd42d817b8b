//! What a short pod finds out about the program of a Runtime, for the operator to read in its termination message.

use serde::{Deserialize, Serialize};

use crate::bound;

/// Container in which a program is asked for its version.
pub const CONTAINER: &str = "probe";
/// How long it may take to answer.
pub const SECONDS: u16 = 30;
/// Bytes of what it printed that are kept; the kubelet keeps 4096 of a whole message.
pub const PRINTED_BYTES: usize = 1024;

/// Models that are told of; of more their number is.
pub const MODELS: usize = 64;
/// Bytes of the name of a model.
pub const MODEL_BYTES: usize = 96;
/// Levels of thinking that are told of.
pub const LEVELS: usize = 16;
/// Bytes of the name of a level.
pub const LEVEL_BYTES: usize = 32;
/// Bytes of all those names together: the rest of a message has to fit beside them.
const NAMES_BYTES: usize = 2200;
/// Bytes of a message that the kubelet keeps.
const MESSAGE_BYTES: usize = 4096;

/// What a program says that it can be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Catalog {
    /// Models, as they are asked for, in the program's order.
    pub models: Vec<String>,
    /// How many more it names.
    pub models_left_out: u32,
    /// How much a model can be told to think; not every model knows all of them.
    pub thinking_levels: Vec<String>,
}

impl Catalog {
    /// Of what a program names, each once. What can be no name, and that for which there is no room, is left out.
    pub fn new(
        models: impl IntoIterator<Item = String>,
        levels: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut room = NAMES_BYTES;
        let mut catalog = Self::default();
        for level in levels {
            let is_new = !catalog.thinking_levels.contains(&level);
            if is_new && catalog.thinking_levels.len() < LEVELS && is_name(&level, LEVEL_BYTES) {
                room = room.saturating_sub(level.len());
                catalog.thinking_levels.push(level);
            }
        }
        for model in models {
            if catalog.models.contains(&model) {
                continue;
            }
            let fits = catalog.models.len() < MODELS && model.len() <= room;
            if fits && is_name(&model, MODEL_BYTES) {
                room -= model.len();
                catalog.models.push(model);
            } else {
                catalog.models_left_out = catalog.models_left_out.saturating_add(1);
            }
        }
        catalog
    }

    /// True when nothing was named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.models.is_empty() && self.thinking_levels.is_empty()
    }

    /// The same within the bounds, whoever wrote it.
    fn bounded(self) -> Self {
        let left_out = self.models_left_out;
        let mut catalog = Self::new(self.models, self.thinking_levels);
        catalog.models_left_out = catalog.models_left_out.saturating_add(left_out);
        catalog
    }
}

/// One word of printable ASCII without what would have to be escaped.
fn is_name(word: &str, most: usize) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    !word.is_empty() && word.len() <= most && word.bytes().all(is_plain)
}

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
        /// What it can be asked for, where it says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        catalog: Option<Catalog>,
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
        let message = serde_json::to_string(self).unwrap_or_default();
        match self {
            // What it printed can take more as JSON. The version counts for more than the rest.
            Self::Ended {
                code,
                printed,
                catalog: Some(_),
            } if message.len() > MESSAGE_BYTES => Self::Ended {
                code: *code,
                printed: printed.clone(),
                catalog: None,
            }
            .to_message(),
            Self::Ended { .. } | Self::Missing | Self::NotExecutable { .. } | Self::Late => message,
        }
    }

    /// Reads a termination message; `None` where it is none of ours.
    #[must_use]
    pub fn from_message(message: &str) -> Option<Self> {
        let report: Self = serde_json::from_str(message).ok()?;
        Some(match report {
            Self::Ended {
                code,
                printed,
                catalog,
            } => Self::Ended {
                code,
                printed: cut(printed),
                catalog: catalog.map(Catalog::bounded),
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

    fn ended(code: Option<i32>, printed: &str) -> Report {
        Report::Ended {
            code,
            printed: printed.to_owned(),
            catalog: None,
        }
    }

    fn names(count: usize, bytes: usize) -> Vec<String> {
        (0..count).map(|n| format!("{n:0bytes$}")).collect()
    }

    #[test]
    fn a_catalog_is_bounded_on_either_side() {
        let catalog = Catalog::new(names(100, 5), names(20, 2));
        assert_eq!((catalog.models.len(), catalog.models_left_out), (64, 36));
        assert_eq!(catalog.thinking_levels.len(), LEVELS);
        let catalog = Catalog::new(names(100, MODEL_BYTES), Vec::new());
        assert_eq!(catalog.models.len(), NAMES_BYTES / MODEL_BYTES);
        let twice = ["a", "a", "a b", "\u{1b}[1m", "ä", "", "b"].map(str::to_owned);
        let catalog = Catalog::new(twice, [String::new()]);
        assert_eq!(
            (catalog.models.concat(), catalog.models_left_out),
            ("ab".to_owned(), 4)
        );
        assert!(catalog.thinking_levels.is_empty());

        let report = |printed: &str, catalog| Report::Ended {
            code: Some(0),
            printed: printed.to_owned(),
            catalog: Some(catalog),
        };
        let largest = Catalog::new(names(64, 24), names(16, LEVEL_BYTES));
        let message = report(&"x".repeat(PRINTED_BYTES), largest.clone()).to_message();
        assert!(message.len() <= MESSAGE_BYTES, "{}", message.len());
        assert!(message.contains("thinkingLevels"));
        let message = report(&"\u{1}".repeat(500), largest).to_message();
        assert!(message.len() <= MESSAGE_BYTES && !message.contains("thinkingLevels"));
        let forged = Catalog {
            models: names(100, 500),
            ..Catalog::default()
        };
        let forged = serde_json::to_string(&report("", forged)).unwrap();
        let read = Report::from_message(&forged);
        let Some(Report::Ended {
            catalog: Some(read),
            ..
        }) = read
        else {
            panic!("{read:?}");
        };
        assert_eq!((read.models.len(), read.models_left_out), (0, 100));
    }

    #[test]
    fn a_report_is_read_as_it_was_written_and_nothing_else_is() {
        for report in [
            ended(Some(0), "2.1.332 (Claude Code)"),
            ended(None, ""),
            Report::Ended {
                code: Some(0),
                printed: "1.6.0".to_owned(),
                catalog: Some(Catalog::new(names(3, 9), ["low".to_owned()])),
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
        let long = ended(Some(0), &"ü".repeat(4000));
        let Some(Report::Ended { printed, .. }) = Report::from_message(&long.to_message()) else {
            panic!("it is one");
        };
        assert!(printed.len() <= PRINTED_BYTES);
    }
}
