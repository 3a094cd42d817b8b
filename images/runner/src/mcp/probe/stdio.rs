//! Greeting a server that is a program: it is started, answers, and is ended again. The agent's program starts its own.

use rustix::process::Signal;
use tokio::io::AsyncWriteExt as _;

use super::{ANSWER_BYTES, Absence, Room, answer, initialize};
use crate::lines::{Line, Lines};
use crate::mcp::Values;
use crate::spawn::{Child, spawn};

/// Ends the program's group, whatever becomes of the greeting.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        self.0.signal_group(Signal::KILL);
    }
}

pub(super) async fn greet(
    command: &str,
    args: &[String],
    env: &Values,
    room: Room<'_>,
) -> Result<(), Absence> {
    let mut argv = vec![command.to_owned()];
    argv.extend_from_slice(args);
    let mut environment = room.environment.clone();
    for (name, value) in &env.0 {
        environment = environment.with(name, value);
    }
    let child = spawn(&argv, &environment, room.cwd, room.reaper, room.blocked);
    let mut group = Group(child.map_err(|error| Absence::Never(error.to_string()))?);
    let child = &mut group.0;

    let mut said = initialize().to_string();
    said.push('\n');
    // One that is gone already says more by its stderr than by this.
    let _ = child.stdin.write_all(said.as_bytes()).await;
    let mut stdout = Lines::new(&mut child.stdout, ANSWER_BYTES);
    let mut stderr = Lines::new(&mut child.stderr, ANSWER_BYTES);
    let mut last_words = String::new();
    let mut speaks = true;
    loop {
        tokio::select! {
            line = stdout.next() => match line {
                Ok(Line::Whole(line)) => {
                    if let Some(answer) = answer(&line) {
                        return answer;
                    }
                }
                Ok(Line::TooLong(_)) => {}
                Ok(Line::End) | Err(_) => return Err(Absence::NotYet(ended(&last_words))),
            },
            line = stderr.next(), if speaks => match line {
                Ok(Line::Whole(line)) if !line.trim_ascii().is_empty() => {
                    last_words = String::from_utf8_lossy(&line).trim().to_owned();
                }
                Ok(Line::Whole(_) | Line::TooLong(_)) => {}
                Ok(Line::End) | Err(_) => speaks = false,
            },
        }
    }
}

fn ended(last_words: &str) -> String {
    if last_words.is_empty() {
        "its program ended without an answer".to_owned()
    } else {
        format!("its program ended without an answer: {last_words}")
    }
}
