//! Labels and metadata of an issue: what they may be, and what an edit makes of them.

use std::collections::BTreeMap;

use protocol::board::Issue;
use protocol::limits;

use crate::db::{Sql, query, to_json};
use crate::writes::Write;
use crate::{Error, WorkspaceRef, text};

/// The labels after some were added and some taken away, in alphabetical order.
pub(super) fn relabelled(
    mut labels: Vec<String>,
    add: &[String],
    remove: &[String],
) -> Result<Vec<String>, Error> {
    for label in add {
        check_label(label)?;
    }
    labels.retain(|label| !remove.contains(label));
    labels.extend_from_slice(add);
    labels.sort_unstable();
    labels.dedup();
    if labels.len() > limits::LABELS {
        return Err(Error::Invalid {
            what: "labels",
            why: format!(
                "the issue would have {}, and may have {}",
                labels.len(),
                limits::LABELS
            ),
        });
    }
    Ok(labels)
}

/// The metadata after some keys got another value, or none.
pub(super) fn annotated(
    mut metadata: BTreeMap<String, String>,
    edit: BTreeMap<String, Option<String>>,
) -> Result<BTreeMap<String, String>, Error> {
    if edit.is_empty() {
        return Ok(metadata);
    }
    for (key, value) in edit {
        match value {
            Some(value) => {
                check_key(&key)?;
                text::body("metadata", &value, limits::METADATA_BYTES)?;
                metadata.insert(key, value);
            }
            None => {
                metadata.remove(&key);
            }
        }
    }
    let bytes: usize = metadata
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if metadata.len() > limits::METADATA_KEYS || bytes > limits::METADATA_BYTES {
        return Err(Error::Invalid {
            what: "metadata",
            why: format!(
                "the issue would have {} keys and {bytes} bytes of it, and may have {} and {}",
                metadata.len(),
                limits::METADATA_KEYS,
                limits::METADATA_BYTES
            ),
        });
    }
    Ok(metadata)
}

/// Whether a text can be a label.
pub(super) fn check_label(label: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if is_word(label, limits::LABEL_BYTES, plain, b"._:/-") {
        return Ok(());
    }
    Err(Error::Invalid {
        what: "label",
        why: format!(
            "it is 1 to {} lower-case letters, digits and . _ : / -, with a letter or digit at both ends",
            limits::LABEL_BYTES
        ),
    })
}

fn check_key(key: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    if is_word(key, limits::METADATA_KEY_BYTES, plain, b"._/-") {
        return Ok(());
    }
    Err(Error::Invalid {
        what: "metadata",
        why: format!(
            "a key is 1 to {} letters, digits and . _ / -, with a letter or digit at both ends",
            limits::METADATA_KEY_BYTES
        ),
    })
}

fn is_word(text: &str, most: usize, plain: impl Fn(u8) -> bool, between: &[u8]) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    bytes.len() <= most
        && plain(*first)
        && plain(*last)
        && bytes
            .iter()
            .all(|byte| plain(*byte) || between.contains(byte))
}

/// Notes under which labels lists find the issue now.
pub(super) async fn index(
    write: &mut Write,
    workspace: &WorkspaceRef,
    issue: &Issue,
) -> Result<(), Error> {
    const FORGET: &str = "DELETE FROM issue_labels WHERE namespace_uid = $1 AND number = $2";
    const NOTE: Sql = Sql {
        sqlite: "INSERT INTO issue_labels (namespace_uid, number, label) \
            SELECT $1, $2, value FROM json_each($3)",
        postgres: "INSERT INTO issue_labels (namespace_uid, number, label) \
            SELECT $1, $2, value FROM json_array_elements_text($3::json)",
    };
    query("forget the labels of an issue", FORGET)
        .bind(workspace.namespace_uid.as_str())
        .bind(issue.key.number)
        .execute(&mut *write)
        .await?;
    let note = query("note the labels of an issue", NOTE)
        .bind(workspace.namespace_uid.as_str())
        .bind(issue.key.number);
    note.bind(to_json("labels", &issue.labels)?)
        .execute(write)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn labels_are_a_set_in_order() {
        let present = words(&["bug", "ui"]);
        let after = relabelled(
            present,
            &words(&["area/api", "bug"]),
            &words(&["ui", "none"]),
        );
        assert_eq!(after.unwrap(), ["area/api", "bug"]);
        // What is taken away and given at once is there.
        let both = words(&["a"]);
        assert_eq!(relabelled(both.clone(), &both, &both).unwrap(), ["a"]);
    }

    #[test]
    fn a_label_has_its_grammar_and_an_issue_its_number_of_them() {
        for right in [
            "a",
            "0",
            "good-first-issue",
            "area/api:v1.2_x",
            &"a".repeat(63),
        ] {
            assert!(check_label(right).is_ok(), "{right}");
        }
        for wrong in [
            "",
            "A",
            "a b",
            "-a",
            "a-",
            "ä",
            "a,b",
            "a\u{1b}",
            &"a".repeat(64),
        ] {
            assert!(check_label(wrong).is_err(), "{wrong:?}");
        }
        let many: Vec<_> = (0..=limits::LABELS)
            .map(|each| format!("l{each}"))
            .collect();
        assert!(relabelled(Vec::new(), &many[1..], &[]).is_ok());
        assert!(relabelled(Vec::new(), &many, &[]).is_err());
    }

    #[test]
    fn metadata_is_bounded_in_all() {
        let set =
            |key: &str, value: &str| BTreeMap::from([(key.to_owned(), Some(value.to_owned()))]);
        let one = annotated(BTreeMap::new(), set("ci.example/Run", "17")).unwrap();
        assert_eq!(one["ci.example/Run"], "17");
        let unset = BTreeMap::from([("ci.example/Run".to_owned(), None), ("x".to_owned(), None)]);
        assert_eq!(annotated(one.clone(), unset).unwrap(), BTreeMap::new());
        let most = "x".repeat(limits::METADATA_BYTES - 1);
        assert!(annotated(BTreeMap::new(), set("k", &most)).is_ok());
        assert!(annotated(one, set("k", &most)).is_err());
        for key in ["", "a b", "-a", "ä", &"a".repeat(64)] {
            assert!(
                annotated(BTreeMap::new(), set(key, "x")).is_err(),
                "{key:?}"
            );
        }
        assert!(annotated(BTreeMap::new(), set("k", "a\0")).is_err());
        let many = |count: usize| (0..count).map(|each| (format!("k{each}"), Some(String::new())));
        assert!(annotated(BTreeMap::new(), many(limits::METADATA_KEYS).collect()).is_ok());
        assert!(annotated(BTreeMap::new(), many(limits::METADATA_KEYS + 1).collect()).is_err());
    }
}
