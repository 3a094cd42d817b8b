//! Tokens of a CLI that writes them into a file of its own and tells them nowhere else.
//!
//! The files belong to the conversation and grow with it. What lies behind their end before the turn is the turn's.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use protocol::TokenUsage;
use rustix::fs::OFlags;

use crate::adapter::{AdapterResult, CommandLine, Place, Provider};
use crate::files;

/// What is read of the files of one turn. Of a turn that wrote more nothing is told, since a part would be wrong.
const MOST_BYTES: u64 = 256 << 20;
/// No record is longer. Other lines may be, and are passed over.
const RECORD_BYTES: u64 = 64 << 10;

/// A file of one run is no larger.
const FILE_BYTES: u64 = 1 << 20;

/// A file into which a CLI writes the tokens of one run at its end.
#[derive(Clone, Debug)]
pub struct UsageFile {
    /// Where.
    pub path: PathBuf,
    /// The tokens by model in it, if it says any.
    pub read: fn(&[u8]) -> Option<BTreeMap<String, TokenUsage>>,
    /// Of a conversation that goes on it tells those of the whole; the last line in this file that says so tells those before.
    pub earlier: Option<PathBuf>,
    /// The tokens in such a line.
    pub line: fn(&[u8]) -> Option<BTreeMap<String, TokenUsage>>,
}

impl PartialEq for UsageFile {
    /// Who reads it follows from the CLI.
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

/// What a run's tokens are read from once it has ended, beside what it told.
#[derive(Debug)]
pub struct Count {
    ledger: Option<(&'static Ledger, Mark)>,
    file: Option<UsageFile>,
    /// What the conversation had used before; none where that cannot be known.
    earlier: Option<BTreeMap<String, TokenUsage>>,
}

impl Count {
    /// Before a run that goes on with this conversation.
    #[must_use]
    pub fn of(
        provider: &dyn Provider,
        place: &Place<'_>,
        resume: Option<&str>,
        line: &CommandLine,
    ) -> Self {
        let ledger = provider.ledger();
        Self {
            ledger: ledger.map(|ledger| (ledger, ledger.mark(place, resume))),
            file: line.usage_file.clone(),
            earlier: line.usage_file.as_ref().and_then(UsageFile::before),
        }
    }

    /// After it.
    pub fn add_to(&self, result: &mut AdapterResult, place: &Place<'_>) {
        if let (Some((ledger, mark)), Some(session)) = (&self.ledger, &result.session) {
            result.usage = ledger.since(mark, place, session);
        }
        let file = self.file.as_ref();
        let read = file.and_then(|file| {
            let written = files::read(&file.path, FILE_BYTES).ok()??;
            less((file.read)(&written)?, self.earlier.as_ref()?)
        });
        if let Some(usage) = read {
            result.usage = usage;
        }
    }
}

impl UsageFile {
    /// The tokens of the conversation before the run; nothing of a new one.
    fn before(&self) -> Option<BTreeMap<String, TokenUsage>> {
        let Some(path) = &self.earlier else {
            return Some(BTreeMap::new());
        };
        let mut last = None;
        let mut left = MOST_BYTES;
        let seen = each_line(path, 0, &mut left, |line| {
            last = (self.line)(line).or(last.take())
        });
        seen.ok().and(last)
    }
}

/// The tokens of each model less those before; none where there were more before.
fn less(
    all: BTreeMap<String, TokenUsage>,
    before: &BTreeMap<String, TokenUsage>,
) -> Option<BTreeMap<String, TokenUsage>> {
    let of_model = |(model, usage): (String, TokenUsage)| {
        let before = before.get(&model).copied().unwrap_or_default();
        let rest = TokenUsage {
            input: usage.input.checked_sub(before.input)?,
            output: usage.output.checked_sub(before.output)?,
            cache_read: usage.cache_read.checked_sub(before.cache_read)?,
            cache_write: usage.cache_write.checked_sub(before.cache_write)?,
        };
        Some((model, rest))
    };
    let all: Option<BTreeMap<_, _>> = all.into_iter().map(of_model).collect();
    let mut all = all?;
    all.retain(|_, usage| usage.total() > 0);
    Some(all)
}

/// Where a CLI writes down the tokens of a conversation, and how.
#[derive(Debug)]
pub struct Ledger {
    /// The files of a conversation.
    pub files: fn(&Place<'_>, &str) -> Vec<PathBuf>,
    /// The model and its tokens in a line, if it is a record.
    pub record: fn(&[u8]) -> Option<(String, TokenUsage)>,
}

/// How far the files of a conversation were written.
#[derive(Debug, Default)]
pub struct Mark(BTreeMap<PathBuf, u64>);

impl Ledger {
    /// How far the files are written before a turn that goes on with this conversation.
    #[must_use]
    pub fn mark(&self, place: &Place<'_>, session: Option<&str>) -> Mark {
        let files = session.map(|session| (self.files)(place, session));
        let length = |path: PathBuf| {
            let length = std::fs::symlink_metadata(&path).ok()?.len();
            Some((path, length))
        };
        Mark(files.into_iter().flatten().filter_map(length).collect())
    }

    /// The tokens by model that were written down behind the mark; none where not all can be read.
    #[must_use]
    pub fn since(
        &self,
        mark: &Mark,
        place: &Place<'_>,
        session: &str,
    ) -> BTreeMap<String, TokenUsage> {
        let mut usage = BTreeMap::new();
        let mut left = MOST_BYTES;
        for path in (self.files)(place, session) {
            let from = mark.0.get(&path).copied().unwrap_or_default();
            let seen = each_line(&path, from, &mut left, |line| {
                if let Some((model, spent)) = (self.record)(line) {
                    add(usage.entry(model).or_default(), spent);
                }
            });
            if seen.is_err() {
                return BTreeMap::new();
            }
        }
        usage
    }
}

/// Reads the lines of a file behind a place in it, but for those that are too long.
fn each_line(
    path: &Path,
    from: u64,
    left: &mut u64,
    mut seen: impl FnMut(&[u8]),
) -> io::Result<()> {
    // The agent can write here: a link is not followed, and a pipe not waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let written = file.metadata()?;
    let more = written.len().saturating_sub(from);
    if !written.is_file() || more > *left {
        return Err(io::Error::other("not what is read"));
    }
    *left -= more;
    file.seek(SeekFrom::Start(from))?;
    let mut lines = BufReader::new(file.take(more));
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut lines)
            .take(RECORD_BYTES)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.last() == Some(&b'\n') {
            seen(&line);
        } else {
            skip_line(&mut lines)?;
        }
    }
}

fn add(sum: &mut TokenUsage, more: TokenUsage) {
    for (sum, more) in [
        (&mut sum.input, more.input),
        (&mut sum.output, more.output),
        (&mut sum.cache_read, more.cache_read),
        (&mut sum.cache_write, more.cache_write),
    ] {
        *sum = sum.saturating_add(more);
    }
}

/// Reads on to the end of a line that is too long.
fn skip_line(lines: &mut impl io::BufRead) -> io::Result<()> {
    loop {
        let buffer = lines.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        lines.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Numbers, one a line, of the model `m`.
    const LEDGER: Ledger = Ledger {
        files: |place, session| vec![place.home.join(session)],
        record: |line| {
            let input = std::str::from_utf8(line).ok()?.trim().parse().ok()?;
            let spent = TokenUsage {
                input,
                ..TokenUsage::default()
            };
            Some(("m".to_owned(), spent))
        },
    };

    fn with(written: &str, more: &str) -> Option<u64> {
        let home = tempfile::tempdir().unwrap();
        let place = Place {
            home: home.path(),
            cwd: home.path(),
            env: &BTreeMap::new(),
        };
        std::fs::write(home.path().join("s"), written).unwrap();
        let mark = LEDGER.mark(&place, Some("s"));
        let mut file = File::options()
            .append(true)
            .open(home.path().join("s"))
            .unwrap();
        file.write_all(more.as_bytes()).unwrap();
        let usage = LEDGER.since(&mark, &place, "s");
        usage.get("m").map(|usage| usage.input)
    }

    #[test]
    fn only_what_the_turn_added_counts() {
        assert_eq!(with("5\n6\n", "7\n8\n"), Some(15));
        assert_eq!(with("", "7\nwords\n8\n"), Some(15));
        assert_eq!(with("5\n", ""), None);
        let long = "x".repeat(3 << 16);
        assert_eq!(with("5\n", &format!("7\n{long}\n8\n{long}")), Some(15));
        // A record whose end is not written yet is none.
        assert_eq!(with("5\n", "7\n8"), Some(7));
    }

    #[test]
    fn of_a_conversation_that_goes_on_the_difference_counts() {
        let folder = tempfile::tempdir().unwrap();
        let number = |text: &[u8]| {
            let input = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
            let spent = TokenUsage {
                input,
                ..TokenUsage::default()
            };
            Some(BTreeMap::from([("m".to_owned(), spent)]))
        };
        let earlier = folder.path().join("earlier");
        for (before, wanted) in [
            (None, Some(30)),
            (Some("5\nwords\n20\n"), Some(10)),
            (Some("words\n"), None),
            (Some("31\n"), None),
        ] {
            std::fs::write(&earlier, before.unwrap_or_default()).unwrap();
            let file = UsageFile {
                path: folder.path().join("usage"),
                read: number,
                earlier: before.map(|_| earlier.clone()),
                line: number,
            };
            let all = (file.read)(b"30");
            let usage = file.before().and_then(|before| less(all?, &before));
            assert_eq!(usage.map(|usage| usage["m"].input), wanted, "{before:?}");
        }
    }

    #[test]
    fn what_is_no_file_of_its_own_says_nothing() {
        let home = tempfile::tempdir().unwrap();
        let place = Place {
            home: home.path(),
            cwd: home.path(),
            env: &BTreeMap::new(),
        };
        std::fs::write(home.path().join("other"), "7\n").unwrap();
        std::os::unix::fs::symlink("other", home.path().join("s")).unwrap();
        let mark = LEDGER.mark(&place, None);
        assert!(LEDGER.since(&mark, &place, "s").is_empty());
        assert!(LEDGER.since(&mark, &place, "none").is_empty());
    }
}
