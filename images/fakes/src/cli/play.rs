//! Does what a prompt says, and tells of it in the words of one program.

use std::io;
use std::process::{Command, Stdio};

use fakes::script::{Step, steps};
use nix::sys::signal::{SigSet, Signal};

use crate::complain;
use crate::store::Conversation;

/// How a program tells of what it does.
pub(crate) trait Voice {
    /// The turn begins, in this conversation.
    fn begins(&mut self, session: &str) -> io::Result<()>;
    /// Words of the agent.
    fn says(&mut self, words: &str) -> io::Result<()>;
    /// A thought.
    fn thinks(&mut self, words: &str) -> io::Result<()>;
    /// A command is about to run.
    fn runs(&mut self, call: &str, command: &str) -> io::Result<()>;
    /// It has run.
    fn ran(&mut self, call: &str, command: &str, output: &str, code: i32) -> io::Result<()>;
    /// The turn is over, with its answer or with a failure. Gives the exit code.
    fn ends(&mut self, ended: Result<&str, &str>) -> io::Result<u8>;
}

/// One turn. Gives the exit code.
pub(crate) fn play(
    voice: &mut impl Voice,
    conversation: &Conversation,
    prompt: &str,
) -> io::Result<u8> {
    conversation.add(prompt)?;
    voice.begins(&conversation.id)?;
    let mut answer = None;
    for (number, step) in steps(prompt).into_iter().enumerate() {
        let step = match step {
            Ok(step) => step,
            Err(line) => return voice.ends(Err(&format!("cannot read the line {line:?}"))),
        };
        match step {
            Step::Remember(_) => {}
            Step::Recall => answer = Some(said(voice, recall(&conversation.earlier))?),
            Step::Answer(words) => answer = Some(said(voice, words)?),
            Step::Think(words) => voice.thinks(&words)?,
            Step::Run(command) => run(voice, &format!("call-{number}"), &command)?,
            Step::Sleep(time) => std::thread::sleep(time),
            Step::Bytes(bytes) => crate::line(&String::from_utf8_lossy(&bytes))?,
            Step::LongLine(bytes) => crate::line(&"x".repeat(bytes))?,
            Step::Stderr(words) => complain(&words)?,
            Step::IgnoreTerm => {
                // Blocked rather than ignored, which safe code can do: there is but one thread.
                let mut signals = SigSet::empty();
                signals.add(Signal::SIGTERM);
                signals.thread_block().map_err(io::Error::from)?;
            }
            Step::Hang => loop {
                std::thread::park();
            },
            Step::Crash(code) => std::process::exit(code),
            Step::Fail(words) => return voice.ends(Err(&words)),
            Step::Background(_)
            | Step::Flood { .. }
            | Step::StopChain
            | Step::FloodStderr { .. }
            | Step::CloseStdout
            | Step::Memory { .. } => {
                return voice.ends(Err("this stand-in cannot do that"));
            }
        }
    }
    let answer = match answer {
        Some(answer) => answer,
        None => said(voice, "Done.".to_owned())?,
    };
    voice.ends(Ok(&answer))
}

fn said(voice: &mut impl Voice, words: String) -> io::Result<String> {
    voice.says(&words)?;
    Ok(words)
}

fn run(voice: &mut impl Voice, call: &str, command: &str) -> io::Result<()> {
    voice.runs(call, command)?;
    let done = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .output()?;
    let mut output = String::from_utf8_lossy(&done.stdout).into_owned();
    output.push_str(&String::from_utf8_lossy(&done.stderr));
    voice.ran(call, command, &output, done.status.code().unwrap_or(-1))
}

/// The words of earlier prompts.
pub(crate) fn recall(earlier: &[String]) -> String {
    let words = earlier.iter().flat_map(|prompt| steps(prompt));
    let words: Vec<_> = words
        .filter_map(|step| match step {
            Ok(Step::Remember(word)) => Some(word),
            Ok(_) | Err(_) => None,
        })
        .collect();
    if words.is_empty() {
        "nothing".to_owned()
    } else {
        words.join(" ")
    }
}
