//! Tokens of a CLI that writes them into a file of its own and tells them nowhere else.
//!
//! The files belong to the conversation and grow with it. What lies behind their end before the turn is the turn's.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use protocol::{TokenUsage, limits};
use rustix::fs::OFlags;

use crate::adapter::Place;
use crate::files;

/// What is read of the files of one turn. Of a turn that wrote more nothing is told, since a part would be wrong.
const MOST_BYTES: u64 = 256 << 20;
/// No record is longer. Other lines may be, and are passed over.
const RECORD_BYTES: u64 = 64 << 10;

/// A file of one run is no larger.
const FILE_BYTES: u64 = 1 << 20;
/// Models whose tokens are counted; a result holds fewer.
const MODELS: usize = 4 * limits::MODELS;

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

/// What a run's tokens are read from once it has ended, beside what it told. Of what cannot be known before the run
/// nothing is read after it.
#[derive(Debug, Default)]
pub struct Count {
    ledger: Option<(&'static Ledger, Mark)>,
    /// With what the conversation had used before.
    file: Option<(UsageFile, BTreeMap<String, TokenUsage>)>,
}

impl Count {
    /// Before a run that goes on with this conversation.
    #[must_use]
    pub fn of(
        ledger: Option<&'static Ledger>,
        file: Option<UsageFile>,
        place: &Place<'_>,
        resume: Option<&str>,
    ) -> Self {
        Self {
            ledger: ledger.and_then(|ledger| Some((ledger, ledger.mark(place, resume)?))),
            file: file.and_then(|file| {
                let before = file.before()?;
                Some((file, before))
            }),
        }
    }

    /// After it: the tokens by model, where that can be known.
    #[must_use]
    pub fn spent(
        &self,
        place: &Place<'_>,
        session: Option<&str>,
    ) -> Option<BTreeMap<String, TokenUsage>> {
        let of_file = self.file.as_ref().and_then(|(file, before)| {
            let written = files::read(&file.path, FILE_BYTES).ok()??;
            less((file.read)(&written)?, before)
        });
        of_file.or_else(|| {
            let (ledger, mark) = self.ledger.as_ref()?;
            ledger.since(mark, place, session?)
        })
    }

    /// Why the run failed, of one that told nothing at all: where the CLI wrote it down.
    #[must_use]
    pub fn failure(&self, place: &Place<'_>, session: Option<&str>) -> Option<String> {
        let (ledger, mark) = self.ledger.as_ref()?;
        ledger.last_failure(mark, place, session?)
    }
}

/// Adds tokens of a model, of which there may be as many as a program likes to name: of too many none are added.
pub(crate) fn add(usage: &mut BTreeMap<String, TokenUsage>, model: &str, more: TokenUsage) {
    let model = &model[..model.floor_char_boundary(limits::MODEL_BYTES)];
    if usage.len() < MODELS || usage.contains_key(model) {
        sum(usage.entry(model.to_owned()).or_default(), more);
    }
}

/// Adds tokens. More than can be counted is as much as can be.
pub(crate) fn sum(sum: &mut TokenUsage, more: TokenUsage) {
    for (sum, more) in [
        (&mut sum.input, more.input),
        (&mut sum.output, more.output),
        (&mut sum.cache_read, more.cache_read),
        (&mut sum.cache_write, more.cache_write),
    ] {
        *sum = sum.saturating_add(more);
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
        let seen = each_line(path, 0, &mut left, |line| match line {
            Some(line) => last = (self.line)(line).or(last.take()),
            // It may have told them anew. Those of before it would be counted twice.
            None => last = None,
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
    /// The files of a conversation; none where they are too many to tell.
    pub files: fn(&Place<'_>, &str) -> Option<Vec<PathBuf>>,
    /// The model and its tokens in a line, if it is a record.
    pub record: fn(&[u8]) -> Option<(String, TokenUsage)>,
    /// The words in a line, if it says that a turn failed.
    pub failure: fn(&[u8]) -> Option<String>,
}

/// How far the files of a conversation were written.
#[derive(Debug, Default)]
pub struct Mark(BTreeMap<PathBuf, u64>);

impl Ledger {
    /// How far the files are written before a turn that goes on with this conversation.
    #[must_use]
    pub fn mark(&self, place: &Place<'_>, session: Option<&str>) -> Option<Mark> {
        let files = match session {
            Some(session) => (self.files)(place, session)?,
            None => Vec::new(),
        };
        let length = |path: PathBuf| {
            let length = std::fs::symlink_metadata(&path).ok()?.len();
            Some((path, length))
        };
        Some(Mark(files.into_iter().filter_map(length).collect()))
    }

    /// The tokens by model that were written down behind the mark; none where not all can be read.
    #[must_use]
    pub fn since(
        &self,
        mark: &Mark,
        place: &Place<'_>,
        session: &str,
    ) -> Option<BTreeMap<String, TokenUsage>> {
        let mut usage = BTreeMap::new();
        self.lines(mark, place, session, |line| {
            if let Some((model, spent)) = (self.record)(line) {
                add(&mut usage, &model, spent);
            }
        })?;
        Some(usage)
    }

    /// The words of the last failure that was written down behind the mark.
    fn last_failure(&self, mark: &Mark, place: &Place<'_>, session: &str) -> Option<String> {
        let mut last = None;
        self.lines(mark, place, session, |line| {
            last = (self.failure)(line).or(last.take());
        })?;
        last
    }

    /// Each line behind the mark; none where not all can be read.
    fn lines(
        &self,
        mark: &Mark,
        place: &Place<'_>,
        session: &str,
        mut seen: impl FnMut(&[u8]),
    ) -> Option<()> {
        let mut left = MOST_BYTES;
        for path in (self.files)(place, session)? {
            let from = mark.0.get(&path).copied().unwrap_or_default();
            let read = each_line(&path, from, &mut left, |line| {
                if let Some(line) = line {
                    seen(line);
                }
            });
            read.ok()?;
        }
        Some(())
    }
}

/// Reads the lines of a file behind a place in it; of one that is too long or not ended there is none.
fn each_line(
    path: &Path,
    from: u64,
    left: &mut u64,
    mut seen: impl FnMut(Option<&[u8]>),
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
            seen(Some(&line));
        } else {
            seen(None);
            skip_line(&mut lines)?;
        }
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
        files: |place, session| Some(vec![place.home.join(session)]),
        record: |line| {
            let input = std::str::from_utf8(line).ok()?.trim().parse().ok()?;
            let spent = TokenUsage {
                input,
                ..TokenUsage::default()
            };
            Some(("m".to_owned(), spent))
        },
        failure: |_| None,
    };

    fn with(written: &str, more: &str) -> Option<u64> {
        let home = tempfile::tempdir().unwrap();
        let place = Place {
            home: home.path(),
            cwd: home.path(),
            env: &BTreeMap::new(),
        };
        std::fs::write(home.path().join("s"), written).unwrap();
        let mark = LEDGER.mark(&place, Some("s")).unwrap();
        let mut file = File::options()
            .append(true)
            .open(home.path().join("s"))
            .unwrap();
        file.write_all(more.as_bytes()).unwrap();
        let usage = LEDGER.since(&mark, &place, "s")?;
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
        let long = "x".repeat(3 << 16);
        for (before, wanted) in [
            (None, Some(30)),
            (Some("5\nwords\n20\n"), Some(10)),
            (Some("words\n"), None),
            (Some("31\n"), None),
            // What is too long to be read, or was not written to its end, may tell of more.
            (Some(&format!("20\n{long}\n")), None),
            (Some("20\n2"), None),
            (Some(&format!("{long}\n20\n")), Some(10)),
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
        let mark = LEDGER.mark(&place, None).unwrap();
        assert_eq!(LEDGER.since(&mark, &place, "s"), None);
        assert_eq!(LEDGER.since(&mark, &place, "none"), None);
    }

    #[test]
    fn a_program_that_names_ever_more_models_fills_no_memory() {
        let mut usage = BTreeMap::new();
        let one = TokenUsage {
            input: 1,
            ..TokenUsage::default()
        };
        for number in 0..3 * MODELS {
            add(&mut usage, &format!("{number:09999}"), one);
            add(&mut usage, &number.to_string(), one);
            add(&mut usage, "0", one);
        }
        assert_eq!(usage.len(), MODELS);
        assert!(usage.keys().all(|model| model.len() <= limits::MODEL_BYTES));
        assert_eq!(usage["0"].input, 3 * MODELS as u64 + 1);
    }
}
