//! Arguments as a strict program reads them: a flag that it does not know is an error.

use std::collections::BTreeMap;

/// What the program knows.
pub(crate) struct Known {
    /// Flags with a value after them.
    pub(crate) values: &'static [&'static str],
    /// Flags that stand alone.
    pub(crate) switches: &'static [&'static str],
}

/// What it was given.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Given {
    values: BTreeMap<String, String>,
    switches: Vec<String>,
    /// What is no flag.
    pub(crate) words: Vec<String>,
}

impl Given {
    /// Reads arguments.
    pub(crate) fn read(known: &Known, arguments: &[String]) -> Result<Self, String> {
        let mut given = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let (flag, inline) = match argument.split_once('=') {
                Some((flag, value)) if flag.starts_with('-') => (flag, Some(value.to_owned())),
                _ => (argument.as_str(), None),
            };
            if !flag.starts_with('-') {
                given.words.push(argument.clone());
            } else if known.switches.contains(&flag) && inline.is_none() {
                given.switches.push(flag.to_owned());
            } else if known.values.contains(&flag) {
                let value = inline.or_else(|| arguments.next().cloned());
                let value = value.ok_or_else(|| format!("{flag} needs a value"))?;
                given.values.insert(flag.to_owned(), value);
            } else {
                return Err(format!("Unrecognized flag: {flag}"));
            }
        }
        Ok(given)
    }

    /// The value of a flag.
    pub(crate) fn value(&self, flag: &str) -> Option<&str> {
        self.values.get(flag).map(String::as_str)
    }

    /// Whether a flag was given.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.switches.iter().any(|given| given == flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strict_program_knows_its_flags() {
        let known = Known {
            values: &["--model"],
            switches: &["-p"],
        };
        let read = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(ToString::to_string).collect();
            Given::read(&known, &words)
        };
        let given = read(&["-p", "--model", "m", "do: x=y"]).unwrap();
        assert!(given.has("-p") && !given.has("-q"));
        assert_eq!(given.value("--model"), Some("m"));
        assert_eq!(given.words, ["do: x=y"]);
        assert_eq!(read(&["--model=n"]).unwrap().value("--model"), Some("n"));
        for odd in [&["--dir", "x"][..], &["--model"], &["-p=1"]] {
            assert!(read(odd).is_err(), "{odd:?}");
        }
    }
}
