//! What people and agents write is kept as it is, or refused with what is wrong with it.

use protocol::limits;

use crate::Error;

/// One line, without the blanks around it.
///
/// Control characters are refused: a name or title is shown in terminals and logs.
pub(crate) fn line(what: &'static str, text: &str, max: usize) -> Result<String, Error> {
    let text = text.trim();
    bounded(what, text, max)?;
    if text.is_empty() {
        return invalid(what, "it is empty");
    }
    let breaks = |each: char| each.is_control() || matches!(each, '\u{2028}' | '\u{2029}');
    if text.contains(breaks) {
        return invalid(what, "it must be one line, without control characters");
    }
    Ok(text.to_owned())
}

/// A name that others gave, taken to the letter: with a blank less it could be somebody else's.
pub(crate) fn name(what: &'static str, text: &str, max: usize) -> Result<(), Error> {
    if line(what, text, max)? == text {
        return Ok(());
    }
    invalid(what, "it begins or ends with a blank")
}

/// A text of any number of lines, be it none.
pub(crate) fn body(what: &'static str, text: &str, max: usize) -> Result<(), Error> {
    bounded(what, text, max)?;
    // Postgres cannot hold it, and no text has one.
    if text.contains('\0') {
        return invalid(what, "it holds a NUL character");
    }
    Ok(())
}

/// What somebody says: a comment, or a message.
pub(crate) fn said(what: &'static str, text: &str) -> Result<(), Error> {
    body(what, text, limits::COMMENT_BYTES)?;
    if text.trim().is_empty() {
        return invalid(what, "it is empty");
    }
    Ok(())
}

fn bounded(what: &'static str, text: &str, max: usize) -> Result<(), Error> {
    if text.len() > max {
        let why = format!("it has {} bytes and may have {max}", text.len());
        return Err(Error::Invalid { what, why });
    }
    Ok(())
}

fn invalid<T>(what: &'static str, why: &str) -> Result<T, Error> {
    Err(Error::Invalid {
        what,
        why: why.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(line("title", "  Grüße 🚢 ", 20).unwrap(), "Grüße 🚢");
        for wrong in [
            "",
            " \n",
            "a\nb",
            "a\tb",
            "\u{1b}[31mred",
            "a\u{2028}b",
            "a\0",
            "012345678901234567890",
        ] {
            assert!(line("title", wrong, 20).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_name_is_taken_to_the_letter() {
        assert!(name("user name", "system:serviceaccount:team-a:ci", 40).is_ok());
        for wrong in ["", " alice", "alice ", "al\u{7}ice"] {
            assert!(name("user name", wrong, 40).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_body_is_any_text_within_its_bound() {
        for right in ["", "a\nb\t\u{1b}[31m", "ü"] {
            assert!(body("description", right, 10).is_ok(), "{right:?}");
        }
        for wrong in ["a\0", "üüüüüü"] {
            assert!(body("description", wrong, 10).is_err(), "{wrong:?}");
        }
    }
}
