//! The apiserver's audit log: who wrote what and when, which permissions are used, what was refused.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::wait;

/// The file.
#[derive(Clone, Debug)]
pub struct AuditLog {
    path: PathBuf,
}

/// A moment, from which on a test wants to read. The apiserver writes a request down after it has answered it, so the
/// end of the file alone does not tell what came before.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    position: u64,
    time: Timestamp,
}

impl Mark {
    /// The beginning of the cluster.
    pub const START: Self = Self {
        position: 0,
        time: Timestamp::UNIX_EPOCH,
    };
}

/// One request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// `ResponseComplete`, or `ResponseStarted` for a watch that goes on.
    pub stage: String,
    /// The path with its query.
    #[serde(rename = "requestURI")]
    pub uri: String,
    /// `get`, `list`, `watch`, `create`, `patch`, …
    pub verb: String,
    /// Who asked.
    pub user: User,
    /// For what.
    #[serde(default)]
    pub object_ref: ObjectRef,
    /// With which result.
    #[serde(default)]
    pub response_status: ResponseStatus,
    /// The body, where the audit policy keeps it: writes of status.
    #[serde(default)]
    pub request_object: Value,
    /// When it came.
    pub request_received_timestamp: Timestamp,
    /// When it was answered.
    pub stage_timestamp: Timestamp,
    /// What authorisation and admission said.
    #[serde(default)]
    pub annotations: std::collections::BTreeMap<String, String>,
}

/// Who asked.
#[derive(Clone, Debug, Deserialize)]
pub struct User {
    /// Its name.
    pub username: String,
}

/// For what.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRef {
    /// Empty for the core group.
    pub api_group: String,
    /// Plural.
    pub resource: String,
    /// `status`, …
    pub subresource: String,
    /// Where.
    pub namespace: String,
    /// Empty for lists and for creates with a generated name.
    pub name: String,
}

/// With which result.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResponseStatus {
    /// HTTP code.
    pub code: u16,
}

/// What a rule of RBAC grants and a request uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// Empty for the core group.
    pub group: String,
    /// With its subresource, as in `pods/status`.
    pub resource: String,
    /// What is done.
    pub verb: String,
}

impl Entry {
    /// True when the request has its result.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stage == "ResponseComplete"
    }

    /// True for a request that wanted to change something.
    #[must_use]
    pub fn is_write(&self) -> bool {
        ["create", "update", "patch", "delete", "deletecollection"].contains(&self.verb.as_str())
    }

    /// True when the change was made.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_complete() && (200..300).contains(&self.response_status.code)
    }

    /// True when RBAC refused it; admission refuses with the same code.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.annotations
            .get("authorization.k8s.io/decision")
            .is_some_and(|decision| decision == "forbid")
    }

    /// The resource with its subresource.
    #[must_use]
    pub fn resource(&self) -> String {
        let ObjectRef {
            resource,
            subresource,
            ..
        } = &self.object_ref;
        match subresource.as_str() {
            "" => resource.clone(),
            subresource => format!("{resource}/{subresource}"),
        }
    }

    /// The permission that it used; none for paths that are no resources.
    #[must_use]
    pub fn permission(&self) -> Option<Permission> {
        (!self.object_ref.resource.is_empty()).then(|| Permission {
            group: self.object_ref.api_group.clone(),
            resource: self.resource(),
            verb: self.verb.clone(),
        })
    }

    /// For messages of tests.
    #[must_use]
    pub fn shown(&self) -> String {
        let ObjectRef {
            namespace, name, ..
        } = &self.object_ref;
        let code = self.response_status.code;
        format!(
            "{} {} {} {namespace}/{name} → {code}",
            self.request_received_timestamp,
            self.verb,
            self.resource()
        )
    }
}

impl AuditLog {
    /// A log at this path.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Now. Requests that come from here on are since then.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn mark(&self) -> Result<Mark> {
        let position = std::fs::metadata(&self.path)
            .with_context(|| format!("look at {}", self.path.display()))?
            .len();
        let time = wait::now();
        Ok(Mark { position, time })
    }

    /// The requests of one user since a mark, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_user(&self, user: &str, since: Mark) -> Result<Vec<Entry>> {
        self.read(since, user, |entry| entry.user.username == user)
    }

    /// The requests about one namespace since a mark, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_namespace(&self, namespace: &str, since: Mark) -> Result<Vec<Entry>> {
        self.read(since, namespace, |entry| {
            entry.object_ref.namespace == namespace
        })
    }

    /// Waits until a request about a namespace since a mark is as `wanted`, and gives back the first.
    ///
    /// # Errors
    /// When none comes.
    pub async fn first(
        &self,
        namespace: &str,
        since: Mark,
        what: &str,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Result<Entry> {
        wait::polled(format!("audit log: {what}"), wait::USUAL, async || {
            Ok(self
                .of_namespace(namespace, since)?
                .into_iter()
                .find(&wanted))
        })
        .await
    }

    /// Every permission that a user used since a mark, and what RBAC refused it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn used(
        &self,
        user: &str,
        since: Timestamp,
    ) -> Result<(BTreeSet<Permission>, Vec<String>)> {
        let mut used = BTreeSet::new();
        let mut refused = Vec::new();
        for entry in self.read(Mark::START, user, |entry| entry.user.username == user)? {
            if entry.request_received_timestamp < since {
                continue;
            }
            if entry.is_forbidden() {
                refused.push(entry.shown());
                continue;
            }
            // Server-side apply of an object that is not there yet is judged as a create, too.
            let created = (entry.verb == "patch" && entry.response_status.code == 201)
                .then(|| entry.permission())
                .flatten()
                .map(|permission| Permission {
                    verb: "create".to_owned(),
                    ..permission
                });
            used.extend(created.into_iter().chain(entry.permission()));
        }
        Ok((used, refused))
    }

    fn read(&self, since: Mark, word: &str, wanted: impl Fn(&Entry) -> bool) -> Result<Vec<Entry>> {
        let mut file =
            File::open(&self.path).with_context(|| format!("open {}", self.path.display()))?;
        // From the byte before the mark: what is left of the line that it is in is left out.
        file.seek(SeekFrom::Start(since.position.saturating_sub(1)))?;
        let mut lines = BufReader::new(file);
        if since.position > 0 {
            lines.skip_until(b'\n')?;
        }
        entries(lines, word, |entry| {
            entry.request_received_timestamp >= since.time && wanted(entry)
        })
    }
}

/// Lines without `word` are not even parsed: the log of a whole suite is long.
fn entries(
    mut lines: impl BufRead,
    word: &str,
    wanted: impl Fn(&Entry) -> bool,
) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut line = String::new();
    loop {
        line.clear();
        lines.read_line(&mut line)?;
        if !line.ends_with('\n') {
            // The end, or a last line that is half written, and whose rest may come any moment: whoever waits for it
            // reads again.
            return Ok(entries);
        }
        if line.contains(word) {
            let entry: Entry = serde_json::from_str(&line).context("a line of the audit log")?;
            if wanted(&entry) {
                entries.push(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"x","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/a/secrets/b","verb":"get","user":{"username":"system:serviceaccount:s:o","groups":["g"]},"sourceIPs":["10.0.0.1"],"objectRef":{"resource":"secrets","namespace":"a","name":"b","apiVersion":"v1"},"responseStatus":{"metadata":{},"status":"Failure","code":403},"requestReceivedTimestamp":"2026-01-01T00:00:00.000001Z","stageTimestamp":"2026-01-01T00:00:00.100000Z","annotations":{"authorization.k8s.io/decision":"forbid","authorization.k8s.io/reason":""}}"#;

    #[test]
    fn a_refused_request_is_told_from_a_half_written_line() {
        let path = std::env::temp_dir().join(format!("mooring-audit-{}", std::process::id()));
        std::fs::write(&path, format!("{REFUSED}\n{{\"half")).unwrap();
        let log = AuditLog::new(path.clone());
        let (used, refused) = log
            .used("system:serviceaccount:s:o", Timestamp::UNIX_EPOCH)
            .unwrap();
        assert!(used.is_empty());
        assert_eq!(
            refused,
            ["2026-01-01T00:00:00.000001Z get secrets a/b → 403"]
        );
        assert_eq!(log.of_user("somebody", Mark::START).unwrap().len(), 0);
        std::fs::remove_file(path).unwrap();
    }
    /// The apiserver writes while it is read: after the half of a line comes the end of the file, and then its rest.
    #[test]
    fn the_rest_of_a_line_that_was_half_written_is_not_taken_for_one() {
        let whole = format!("{REFUSED}\n");
        let (before, after) = whole.as_bytes().split_at(REFUSED.len() / 2);
        let grows = Grows(vec![whole.as_bytes(), before, b"", after, b""]);
        let found = entries(BufReader::new(grows), "b", |_| true).unwrap();
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_mark_in_the_middle_of_a_line_counts_from_the_next_one() {
        let path = std::env::temp_dir().join(format!("mooring-mark-{}", std::process::id()));
        let log = AuditLog::new(path.clone());
        let mark = || Mark {
            time: Timestamp::UNIX_EPOCH,
            ..log.mark().unwrap()
        };
        std::fs::write(&path, &REFUSED[..REFUSED.len() / 2]).unwrap();
        let within = mark();
        std::fs::write(&path, format!("{REFUSED}\n")).unwrap();
        let between = mark();
        std::fs::write(&path, format!("{REFUSED}\n{REFUSED}\n")).unwrap();
        for (since, expected) in [(Mark::START, 2), (within, 1), (between, 1)] {
            let found = log.of_namespace("a", since).unwrap();
            assert_eq!(found.len(), expected, "{since:?}");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_came_before_a_mark_and_is_written_down_after_it_is_not_since_then() {
        let path = std::env::temp_dir().join(format!("mooring-late-{}", std::process::id()));
        let log = AuditLog::new(path.clone());
        std::fs::write(&path, "").unwrap();
        let since = log.mark().unwrap();
        let later = REFUSED.replace("\"2026-01-01", "\"9999-01-01");
        std::fs::write(&path, format!("{REFUSED}\n{later}\n")).unwrap();
        let found = log.of_namespace("a", since).unwrap();
        assert_eq!(found.len(), 1);
        std::fs::remove_file(path).unwrap();
    }

    /// A file that is written to between two reads of it.
    struct Grows<'a>(Vec<&'a [u8]>);

    impl std::io::Read for Grows<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let part = self.0.remove(0);
            into[..part.len()].copy_from_slice(part);
            Ok(part.len())
        }
    }
}
