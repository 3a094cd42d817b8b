//! Texts that are given on the command line, in a file, or on standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The word for standard input.
const STDIN: &str = "-";

/// A text of at most `limit` bytes: the words themselves, or `-` for standard input, or a file.
pub(crate) fn text(
    words: Option<&str>,
    file: Option<&Path>,
    limit: usize,
) -> Result<Option<String>, Failure> {
    let found = match (words, file) {
        (Some(STDIN), _) => read(io::stdin().lock(), Path::new("standard input"), limit)?,
        (Some(words), _) => words.to_owned(),
        (None, Some(path)) => {
            let file = File::open(path).map_err(|cause| Failure::Input {
                path: path.to_owned(),
                cause,
            })?;
            read(file, path, limit)?
        }
        (None, None) => return Ok(None),
    };
    if found.len() > limit {
        return Err(too_long(limit));
    }
    Ok(Some(found))
}

/// Reads one byte more than is allowed, so that an endless input ends.
fn read(from: impl Read, path: &Path, limit: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    from.take(most)
        .read_to_end(&mut bytes)
        .map_err(|cause| Failure::Input {
            path: PathBuf::from(path),
            cause,
        })?;
    if bytes.len() > limit {
        return Err(too_long(limit));
    }
    String::from_utf8(bytes).map_err(|_| Failure::Usage(format!("{} is not UTF-8", path.display())))
}

fn too_long(limit: usize) -> Failure {
    Failure::Usage(format!("the text is longer than {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_bounded_and_utf8() {
        let path = Path::new("x");
        assert_eq!(read(&b"abc"[..], path, 3).unwrap(), "abc");
        let long = read(io::repeat(b'a'), path, 3).unwrap_err();
        assert!(long.words().contains("longer than 3 bytes"));
        assert!(
            read(&b"\xff"[..], path, 3)
                .unwrap_err()
                .words()
                .contains("not UTF-8")
        );
        assert_eq!(text(Some("abcd"), None, 3).unwrap_err().exit_code(), 2);
        assert_eq!(text(None, None, 3).unwrap(), None);
        assert_eq!(
            text(None, Some(Path::new("/nowhere")), 3)
                .unwrap_err()
                .exit_code(),
            2
        );
    }
}
