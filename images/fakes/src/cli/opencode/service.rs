//! What the second version adds: the work is done by a service, which goes on when the program that follows it is ended, and
//! is spoken to by another call of the program.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::{SECOND, Talker};
use crate::arguments::{Given, Known};
use crate::play::play;
use crate::store::Conversation;
use crate::{complain, line, setting, stdin, write};

/// How often the program looks for what the service did.
const LOOK: Duration = Duration::from_millis(5);

/// The records that the service keeps of a conversation, one a line, oldest first.
pub(super) struct Records {
    session: String,
    /// Messages so far.
    messages: usize,
    content: Vec<Value>,
}

impl Records {
    /// Those that there are.
    pub(super) fn of(session: &str) -> io::Result<Self> {
        let messages = read(&file(session, "records")?)?.lines().count();
        Ok(Self {
            session: session.to_owned(),
            messages,
            content: Vec::new(),
        })
    }

    /// The message that is being written.
    pub(super) fn message(&self) -> String {
        format!("msg_{}", self.messages)
    }

    /// Something that belongs to it.
    pub(super) fn hold(&mut self, part: Value) {
        self.content.push(part);
    }

    /// It is whole.
    pub(super) fn finish(&mut self, reason: &str, error: Option<&Value>) -> io::Result<()> {
        let content = std::mem::take(&mut self.content);
        let mut record = json!({"id": self.message(), "type": "assistant", "finish": reason, "content": content,
            "time": {"created": 1, "completed": 2}});
        if let Some(error) = error {
            record["error"] = error.clone();
        }
        self.messages += 1;
        keep(&self.session, &record)
    }

    /// Nothing more is to be done.
    pub(super) fn idle(&mut self, outcome: &str) -> io::Result<()> {
        let record = json!({"id": self.message(), "type": "idle", "outcome": outcome, "time": {"created": 3}});
        self.messages += 1;
        keep(&self.session, &record)
    }
}

/// Lets the service do it, and follows what it does.
pub(super) fn follow(conversation: &Conversation, prompt: &str) -> io::Result<u8> {
    let session = conversation.id.as_str();
    let told = file(session, "frames")?;
    let mut service = Command::new(std::env::current_exe()?)
        .args([SECOND.program, "service", session])
        .stdin(Stdio::piped())
        .stdout(File::create(&told)?)
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    fs::write(file(session, "pid")?, service.id().to_string())?;
    if let Some(mut stdin) = service.stdin.take() {
        stdin.write_all(prompt.as_bytes())?;
    }
    let mut told = File::open(told)?;
    loop {
        let ended = service.try_wait()?;
        let mut more = Vec::new();
        told.read_to_end(&mut more)?;
        let mut stdout = io::stdout().lock();
        stdout.write_all(&more)?;
        stdout.flush()?;
        if let Some(ended) = ended {
            // One that was interrupted has not failed.
            let code = ended.code().unwrap_or_default();
            return Ok(u8::try_from(code).unwrap_or(u8::MAX));
        }
        std::thread::sleep(LOOK);
    }
}

/// The service's part.
pub(crate) fn serve(session: &str) -> io::Result<u8> {
    let prompt = stdin()?;
    let Some(conversation) = Conversation::open(SECOND.program, None, session)? else {
        return Ok(1);
    };
    let mut talker = Talker {
        session: session.to_owned(),
        in_step: false,
        records: Some(Records::of(session)?),
    };
    play(&mut talker, &conversation, &prompt)
}

/// A call to the service.
pub(crate) fn api(arguments: &[String]) -> io::Result<u8> {
    const KNOWN: Known = Known {
        values: &["--server"],
        switches: &[],
    };
    let given = match Given::read(&KNOWN, arguments) {
        Ok(given) => given,
        Err(words) => return complain(&words).map(|()| 1),
    };
    let here = std::env::current_dir()?;
    if setting("PWD").map(PathBuf::from) != Some(here) {
        return complain("PWD is another directory").map(|()| 1);
    }
    let words: Vec<_> = given.words.iter().map(String::as_str).collect();
    let [method, path] = words[..] else {
        return complain("Expected a method and a path").map(|()| 1);
    };
    let called = path
        .strip_prefix("/api/session/")
        .and_then(|path| path.split_once('/'));
    let Some((session, what)) = called else {
        return complain("HTTP 404 Not Found").map(|()| 1);
    };
    if !file(session, "frames")?.exists() {
        return complain("HTTP 404 Not Found").map(|()| 1);
    }
    match (method, what) {
        ("POST", "interrupt") => interrupt(session),
        ("GET", "message?order=desc&limit=2") => newest(session),
        _ => complain("HTTP 404 Not Found").map(|()| 1),
    }
}

fn interrupt(session: &str) -> io::Result<u8> {
    let pid = read(&file(session, "pid")?)?.trim().parse().ok();
    let interrupted = pid.is_some_and(|pid| kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok());
    if interrupted {
        Records::of(session)?.idle("interrupted")?;
    }
    write(&json!({"interrupted": interrupted})).map(|()| 0)
}

fn newest(session: &str) -> io::Result<u8> {
    let records = read(&file(session, "records")?)?;
    let records: Vec<_> = records.lines().rev().take(2).collect();
    let page = format!(r#"{{"data":[{}],"cursor":{{}}}}"#, records.join(","));
    line(&page).map(|()| 0)
}

fn keep(session: &str, record: &Value) -> io::Result<()> {
    let path = file(session, "records")?;
    let mut file = File::options().create(true).append(true).open(path)?;
    writeln!(file, "{record}")
}

/// What is there; nothing where it is not.
fn read(path: &PathBuf) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

fn file(session: &str, kind: &str) -> io::Result<PathBuf> {
    let home = PathBuf::from(setting("HOME").unwrap_or_else(|| "/".to_owned()));
    let folder = home.join(".fake-opencode-service");
    fs::create_dir_all(&folder)?;
    Ok(folder.join(format!("{session}.{kind}")))
}
