//! A network with nothing in it but a scripted model, and runs of the real program inside it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use protocol::{EventBody, FailureClass, ToolStatus};
use runner::adapter::{
    Adapter, AdapterResult, CommandLine, Exit, HostCommand, Input, Launch, Output, Place, Provider,
    TimerId,
};
use runner::ledger::Count;
use runner::{adapters, launch_files};

use crate::record::Record;
use crate::stop::stop;

/// No run takes this long, on a busy machine neither.
const DEADLINE: Duration = Duration::from_secs(90);
/// The model's, in a network where nobody else is. The addresses in the programs' settings name it too.
const PORT: &str = "8080";
/// The file in which the model says what it was asked for.
const ASKED: &str = "asked";
/// Lines that wait for the adapter. A full channel blocks the reader, and with it the program.
const WAITING_LINES: usize = 256;

/// A real program, and what it needs to be driven by the model.
#[derive(Clone, Copy)]
pub(crate) struct Cli {
    /// The provider, and the name of the installer.
    pub(crate) id: &'static str,
    /// Arguments that a Runtime would give.
    pub(crate) args: &'static [&'static str],
    /// Variables that a Runtime would set.
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// Files of its home.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// A variable that names another real program, and that program's installer.
    pub(crate) uses: Option<(&'static str, &'static str)>,
    /// The model under which it tells its tokens, where that is known.
    pub(crate) model: Option<&'static str>,
    /// The tokens that it tells of the first scripted answer: input, output, from the cache. None when it tells none.
    pub(crate) tokens: Option<(u64, u64, u64)>,
    /// True when the adapter knows where its conversations lie.
    pub(crate) has_files: bool,
    /// True when an answer is told as it comes, not only once it is whole.
    pub(crate) in_pieces: bool,
    /// True behind ACP: failures are told by the result alone, and a conversation may be refused without its id.
    pub(crate) acp: bool,
}

/// The model's network, home and working directory. Ends with its value.
pub(crate) struct Lab {
    /// The program.
    pub(crate) cli: Cli,
    /// Its path.
    pub(crate) program: PathBuf,
    used: Option<(&'static str, PathBuf)>,
    folder: tempfile::TempDir,
    model: Child,
}

/// What came of one run.
pub(crate) struct Told {
    /// Everything for the timeline.
    pub(crate) events: Vec<EventBody>,
    /// The one result.
    pub(crate) result: AdapterResult,
    /// From the start to the result.
    pub(crate) took: Duration,
}

/// Why the real program cannot be run here; nothing when it can.
fn lacking(cli: Cli) -> Option<String> {
    if std::fs::metadata("/proc/self").map_or(true, |own| own.uid() != 0) {
        return Some("a network of its own needs root".to_owned());
    }
    let ids = [Some(cli.id), cli.uses.map(|(_, id)| id)];
    ids.into_iter().flatten().find_map(|id| match program(id) {
        Ok(program) if program.is_file() => None,
        Ok(program) => Some(format!(
            "no {}; install-{id}.sh installs it",
            program.display()
        )),
        Err(error) => Some(format!("{error:#}")),
    })
}

/// Runs a test in a lab, or says why there is none. In CI that is a failure.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
pub(crate) fn with_lab(cli: Cli, test: impl FnOnce(&Lab) -> Result<()>) -> Result<()> {
    let Some(why) = lacking(cli) else {
        return test(&Lab::start(cli)?);
    };
    println!("skipped: {why}");
    let in_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    ensure!(!in_ci, "skipped in CI: {why}");
    Ok(())
}

fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// The path of an installed program.
fn program(id: &str) -> Result<PathBuf> {
    let name = format!("install-{id}.sh");
    let folders = ["tests", "tests/more_clis"].map(|folder| format!("{folder}/{name}"));
    let installer = folders.into_iter().find(|path| source(path).is_file());
    let installer = installer.with_context(|| format!("there is no {name}"))?;
    let output = Command::new(source(&installer)).arg("--where").output()?;
    ensure!(
        output.status.success(),
        "{installer} --where: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?.trim_end().into())
}

impl Cli {
    fn provider(self) -> Result<&'static dyn Provider> {
        adapters::find(self.driver()).context("there is no adapter")
    }
}

impl Lab {
    /// Starts the model and waits until it listens.
    fn start(cli: Cli) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["home", "work"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        std::fs::write(folder.path().join(ASKED), "")?;
        for (file, text) in cli.files {
            let path = folder.path().join("home").join(file);
            std::fs::create_dir_all(path.parent().context("a file in a folder")?)?;
            std::fs::write(path, text)?;
        }
        let mut model = Command::new("unshare")
            .args(["--net", "--pid", "--fork", "--kill-child", "--", "sh", "-c"])
            .arg("ip link set lo up && exec python3 \"$@\"")
            .arg("sh")
            .arg(source("../scripted-model/scripted_model.py"))
            .args(["--port", PORT, "--scenarios"])
            .arg(source("tests/real/scenarios.json"))
            .arg("--asked")
            .arg(folder.path().join(ASKED))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the scripted model")?;
        let stdout = model.stdout.take().context("stdout")?;
        let lab = Self {
            program: program(cli.id)?,
            used: match cli.uses {
                Some((variable, id)) => Some((variable, program(id)?)),
                None => None,
            },
            cli,
            folder,
            model,
        };
        // Its one line comes once the port is open; an end of file means that it could not start.
        let mut said = String::new();
        BufReader::new(stdout).read_line(&mut said)?;
        ensure!(
            said.starts_with("listening"),
            "the scripted model does not listen"
        );
        Ok(lab)
    }

    /// The process that holds the network.
    pub(crate) fn model_pid(&self) -> u32 {
        self.model.id()
    }

    /// The file with the names of the scenarios that the model was asked for.
    pub(crate) fn asked_file(&self) -> PathBuf {
        self.folder.path().join(ASKED)
    }

    /// The variable that names the other program that it uses.
    pub(crate) fn used(&self) -> Option<(String, String)> {
        let (variable, program) = self.used.as_ref()?;
        Some(((*variable).to_owned(), program.display().to_string()))
    }

    /// The files in which the program may keep a conversation, as the adapter says.
    pub(crate) fn session_files(&self, session: &str) -> Vec<PathBuf> {
        self.at(|provider, place| provider.session_files(place, session))
            .unwrap_or_default()
    }

    fn at<T>(&self, ask: impl FnOnce(&dyn Provider, &Place<'_>) -> T) -> Result<T> {
        let place = Place {
            home: &self.folder.path().join("home"),
            cwd: &self.folder.path().join("work"),
            env: &BTreeMap::new(),
        };
        Ok(ask(self.cli.provider()?, &place))
    }

    /// Runs the program once. `watch` sees each event and may want something of the program.
    pub(crate) fn run(
        &self,
        message: &str,
        resume: Option<&str>,
        watch: impl FnMut(&EventBody) -> Option<HostCommand<'static>>,
    ) -> Result<Told> {
        self.run_with(|_| {}, message, resume, watch)
    }

    /// The same, with what else a run may be started with.
    pub(crate) fn run_with(
        &self,
        options: impl FnOnce(&mut Launch),
        message: &str,
        resume: Option<&str>,
        watch: impl FnMut(&EventBody) -> Option<HostCommand<'static>>,
    ) -> Result<Told> {
        let mut launch = Launch {
            command: vec![self.program.display().to_string()],
            args: self.cli.args.iter().map(ToString::to_string).collect(),
            cwd: self.folder.path().join("work"),
            home: self.folder.path().join("home"),
            root: true,
            resume: resume.map(str::to_owned),
            new_session: uuid::Uuid::now_v7().to_string(),
            version: self.version(),
            message: message.to_owned(),
            private: self.folder.path().join("private"),
            ..Launch::default()
        };
        options(&mut launch);
        let (line, adapter) = self.cli.provider()?.launch(&launch);
        let _files = launch_files::write(&line.files).map_err(anyhow::Error::msg)?;
        let count = self.at(|provider, place| {
            Count::of(provider.ledger(), line.usage_file.clone(), place, resume)
        })?;
        let record = Record::of(self.cli.id, message);
        record.told(&line.stdin);
        let process = Process::start(&mut self.command(&launch, &line), &line)?;
        let mut told = Drive {
            process,
            record,
            adapter,
            stops_by_signal: self.cli.provider()?.ladder().interrupt.is_zero(),
            term: self.cli.provider()?.ladder().term,
            watch,
            timers: BTreeMap::new(),
            events: Vec::new(),
            began: Instant::now(),
        }
        .until_done()?;
        let session = told.result.session.as_deref();
        if let Some(usage) = self.at(|_, place| count.spent(place, session))? {
            told.result.usage = usage;
        }
        Ok(told)
    }

    /// The command line inside the model's network. A PID namespace around it leaves no orphan behind.
    fn command(&self, launch: &Launch, line: &CommandLine) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/proc/{}/ns/net", self.model.id()))
            .args([
                "--",
                "unshare",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "--",
            ])
            .args(&line.argv)
            .current_dir(&launch.cwd)
            .env_clear()
            .envs(line.env_defaults.iter().cloned())
            .env("HOME", &launch.home)
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .envs(self.cli.env.iter().copied())
            .envs(
                self.used
                    .iter()
                    .map(|(variable, program)| (variable, program)),
            )
            .envs(line.env.0.iter().cloned())
            .envs(
                line.env_json
                    .iter()
                    .map(|json| (&json.name, json.value.to_string())),
            );
        command
    }
}

impl Lab {
    /// Starts a server of tools in the model's network, at the port, and waits until it listens.
    pub(crate) fn serve_tools(&self, port: &str) -> Result<Server> {
        let mut server = Command::new("nsenter")
            .arg(format!("--net=/proc/{}/ns/net", self.model.id()))
            .args(["--", "python3"])
            .arg(source("tests/real/mcp_server.py"))
            .args(["--http", port])
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the server")?;
        let stdout = server.stdout.take().context("stdout")?;
        let server = Server(server);
        let mut said = String::new();
        BufReader::new(stdout).read_line(&mut said)?;
        ensure!(said.starts_with("listening"), "the server does not listen");
        Ok(server)
    }
}

/// A server of tools. Ends with its value.
pub(crate) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// The program of such a server, over stdio.
pub(crate) fn tools() -> String {
    source("tests/real/mcp_server.py").display().to_string()
}

impl Drop for Lab {
    fn drop(&mut self) {
        end(&mut self.model);
    }
}

/// Ends a child and takes its exit; both fail only when it has gone already.
fn end(child: &mut Child) {
    drop(child.kill());
    drop(child.wait());
}

/// The running program, its pipes read by threads.
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Line>,
}

enum Line {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

impl Process {
    fn start(command: &mut Command, line: &CommandLine) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting the program")?;
        let (sender, lines) = sync_channel(WAITING_LINES);
        read(
            child.stdout.take().context("stdout")?,
            Line::Stdout,
            sender.clone(),
        );
        read(child.stderr.take().context("stderr")?, Line::Stderr, sender);
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            stdin.write_all(&line.stdin)?;
        }
        Ok(Self {
            child,
            stdin,
            lines,
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Sends the lines of a pipe until its end. The channel closes when both readers are gone.
fn read(pipe: impl Read + Send + 'static, kind: fn(Vec<u8>) -> Line, sender: SyncSender<Line>) {
    std::thread::spawn(move || {
        let lines = BufReader::new(pipe)
            .split(b'\n')
            .map_while(std::io::Result::ok);
        for line in lines {
            if sender.send(kind(line)).is_err() {
                return;
            }
        }
    });
}

/// A run under way: does what the adapter asks for and tells it what happens.
struct Drive<W> {
    process: Process,
    record: Record,
    adapter: Box<dyn Adapter>,
    /// Its protocol knows no interrupt.
    stops_by_signal: bool,
    /// From TERM to KILL.
    term: Duration,
    watch: W,
    timers: BTreeMap<TimerId, Instant>,
    events: Vec<EventBody>,
    began: Instant,
}

impl<W: FnMut(&EventBody) -> Option<HostCommand<'static>>> Drive<W> {
    fn until_done(mut self) -> Result<Told> {
        self.give(Input::Started)?;
        loop {
            let end = self.began + DEADLINE;
            let (next, timer) = self
                .timers
                .iter()
                .map(|(id, at)| (*at, Some(*id)))
                .min()
                .map_or((end, None), |timer| timer.min((end, None)));
            let line = self
                .process
                .lines
                .recv_timeout(next.saturating_duration_since(Instant::now()));
            let result = match (line, timer) {
                (Ok(Line::Stdout(line)), _) => {
                    self.record.said(&line);
                    self.give(Input::Stdout(&line))?
                }
                (Ok(Line::Stderr(line)), _) => {
                    self.record.complained(&line);
                    self.give(Input::Stderr(&line))?
                }
                (Err(RecvTimeoutError::Disconnected), _) => {
                    let exit = self.exit()?;
                    self.give(Input::Exited(exit))?
                }
                (Err(RecvTimeoutError::Timeout), Some(id)) => {
                    self.timers.remove(&id);
                    self.give(Input::Timer(id))?
                }
                (Err(RecvTimeoutError::Timeout), None) => {
                    bail!("no end within {DEADLINE:?}: {:#?}", self.events)
                }
            };
            if let Some(result) = result {
                return Ok(Told {
                    events: self.events,
                    result,
                    took: self.began.elapsed(),
                });
            }
        }
    }

    fn give(&mut self, input: Input<'_>) -> Result<Option<AdapterResult>> {
        let mut out = Vec::new();
        self.adapter.handle(input, &mut out);
        let mut wanted = Vec::new();
        for output in out {
            match output {
                Output::Event(event) => {
                    wanted.extend((self.watch)(&event));
                    self.events.push(event);
                }
                Output::Write(bytes) => {
                    self.record.told(&bytes);
                    self.process
                        .stdin
                        .as_mut()
                        .context("stdin is closed")?
                        .write_all(&bytes)?;
                }
                Output::CloseStdin => self.process.stdin = None,
                Output::SetTimer { id, after } => {
                    self.timers.insert(id, Instant::now() + after);
                }
                Output::Steered { .. }
                | Output::Ask { .. }
                | Output::Withdrawn { .. }
                | Output::Run { .. }
                | Output::EndProcesses { .. }
                | Output::Activity(_) => {}
                Output::Done(result) => return Ok(Some(result)),
            }
        }
        for command in wanted {
            if let Some(result) = self.give(Input::Host(command))? {
                return Ok(Some(result));
            }
            if self.stops_by_signal {
                stop(&mut self.process.child, self.term)?;
            }
        }
        Ok(None)
    }

    fn exit(&mut self) -> Result<Exit> {
        use std::os::unix::process::ExitStatusExt as _;
        let status = self.process.child.wait()?;
        Ok(Exit {
            code: status.code(),
            signal: status.signal(),
        })
    }
}

impl Lab {
    /// Runs the program once with nobody watching.
    pub(crate) fn say(&self, message: &str, resume: Option<&str>) -> Result<Told> {
        self.run(message, resume, |_| None)
    }
}

impl Told {
    /// The conversation that it left.
    pub(crate) fn session(&self) -> Result<&str> {
        self.result
            .session
            .as_deref()
            .with_context(|| format!("no session: {:?}", self.result))
    }

    /// The class of its failure.
    pub(crate) fn class(&self) -> Option<FailureClass> {
        self.result.outcome.class()
    }

    /// The outputs of the tools, in order, with how they ended.
    pub(crate) fn tools(&self) -> Vec<(&str, Option<ToolStatus>)> {
        self.events
            .iter()
            .filter_map(|event| {
                if let EventBody::ToolResult { output, status, .. } = event {
                    Some((output.as_str(), *status))
                } else {
                    None
                }
            })
            .collect()
    }

    /// Its words, together.
    pub(crate) fn text(&self) -> String {
        let words = self.events.iter().map(|event| {
            if let EventBody::Text { content } = event {
                content.as_str()
            } else {
                ""
            }
        });
        words.collect()
    }
}

/// A word that nobody can guess.
pub(crate) fn word() -> Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/uuid")?
        .trim_end()
        .replace('-', ""))
}
