//! Reading a script out of a prompt.

use std::time::Duration;

/// One line of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A word that the conversation holds from now on.
    Remember(String),
    /// Answer with the words of before.
    Recall,
    /// Say this.
    Answer(String),
    /// Think this.
    Think(String),
    /// Run this command as a tool.
    Run(String),
    /// Leave this command behind.
    Background(String),
    /// Wait.
    Sleep(Duration),
    /// Many events.
    Flood {
        /// How many.
        count: u64,
        /// Between two.
        pause: Duration,
    },
    /// Say where the chain of the flood ends.
    StopChain,
    /// A line of so many bytes.
    LongLine(usize),
    /// These bytes as a line.
    Bytes(Vec<u8>),
    /// A line on stderr.
    Stderr(String),
    /// So much on stderr, in lines.
    FloodStderr {
        /// So much.
        mebibytes: usize,
    },
    /// Say nothing more on stdout, for ever, and go on.
    CloseStdout,
    /// Take memory.
    Memory {
        /// So much.
        mebibytes: usize,
    },
    /// Do not react to TERM.
    IgnoreTerm,
    /// Do nothing, for ever.
    Hang,
    /// End without a result.
    Crash(i32),
    /// End with an error.
    Fail(String),
}

/// The steps of a prompt, and of each line that cannot be read the line. What woke an agent reaches it quoted,
/// so the mark of a quotation before a line is passed over.
#[must_use]
pub fn steps(prompt: &str) -> Vec<Result<Step, String>> {
    prompt
        .lines()
        .map(|line| line.trim_start_matches(['>', ' ', '\t']).trim_end())
        .filter_map(|line| {
            if let Some(word) = line.strip_prefix("remember:") {
                return Some(Ok(Step::Remember(word.trim().to_owned())));
            }
            let (verb, rest) = split(line.strip_prefix("do:")?);
            Some(step(verb, argument(rest)).ok_or_else(|| line.to_owned()))
        })
        .collect()
}

fn split(line: &str) -> (&str, &str) {
    let line = line.trim();
    line.split_once(' ').unwrap_or((line, ""))
}

fn argument(rest: &str) -> String {
    let rest = rest.trim();
    if rest.starts_with('"')
        && let Ok(text) = serde_json::from_str(rest)
    {
        return text;
    }
    rest.to_owned()
}

fn step(verb: &str, argument: String) -> Option<Step> {
    Some(match verb {
        "recall" => Step::Recall,
        "answer" => Step::Answer(argument),
        "think" => Step::Think(argument),
        "run" => Step::Run(argument),
        "background" => Step::Background(argument),
        "sleep" => Step::Sleep(Duration::try_from_secs_f64(argument.parse().ok()?).ok()?),
        "flood" => {
            let (count, pause) = split(&argument);
            let pause = if pause.is_empty() {
                0
            } else {
                pause.trim().parse().ok()?
            };
            Step::Flood {
                count: count.parse().ok()?,
                pause: Duration::from_millis(pause),
            }
        }
        "stop-chain" => Step::StopChain,
        "long-line" => Step::LongLine(argument.parse().ok()?),
        "bytes" => Step::Bytes(hex::decode(argument).ok()?),
        "stderr" => Step::Stderr(argument),
        "flood-stderr" => Step::FloodStderr {
            mebibytes: argument.parse().ok()?,
        },
        "close-stdout" => Step::CloseStdout,
        "memory" => Step::Memory {
            mebibytes: argument.parse().ok()?,
        },
        "ignore-term" => Step::IgnoreTerm,
        "hang" => Step::Hang,
        "crash" if argument.is_empty() => Step::Crash(3),
        "crash" => Step::Crash(argument.parse().ok()?),
        "fail" => Step::Fail(argument),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_steps_and_words_do_not() {
        let prompt = "Some words, do: nothing\nremember: lantern\n do: sleep 0.5\ndo: run \"a\\nb\"\ndo: flood 3 10\n\
                      do: crash\n> do: crash 7\n>\n> > remember: rope\ndo: answer \"quoted\" text\ndo: recall\ndo: fly\ndo: sleep long";
        let read = steps(prompt);
        let wanted = vec![
            Ok(Step::Remember("lantern".into())),
            Ok(Step::Sleep(Duration::from_millis(500))),
            Ok(Step::Run("a\nb".into())),
            Ok(Step::Flood {
                count: 3,
                pause: Duration::from_millis(10),
            }),
            Ok(Step::Crash(3)),
            Ok(Step::Crash(7)),
            Ok(Step::Remember("rope".into())),
            Ok(Step::Answer("\"quoted\" text".into())),
            Ok(Step::Recall),
            Err("do: fly".into()),
            Err("do: sleep long".into()),
        ];
        assert_eq!(read, wanted);
    }
}
