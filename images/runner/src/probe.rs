//! `mooring-runner probe`: whether the program of a Runtime is there, can be executed, and which version it is.
//!
//! It runs in a short pod of its own, before any task does. What it finds goes into the termination message.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use protocol::paths;
use protocol::probe::{PRINTED_BYTES, Report, SECONDS};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::catalog;

/// After its end nobody else is waited for who holds its output.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// What to look at.
#[derive(Clone, Debug, clap::Args)]
pub struct Probe {
    /// Only look whether it can be executed, and do not run it.
    #[arg(long)]
    look_only: bool,
    /// Ask it as well what it can be asked for, in the way of this provider's program.
    #[arg(long)]
    provider: Option<String>,
    /// How long it may take.
    #[arg(long, default_value_t = SECONDS)]
    seconds: u16,
    /// Where the report goes.
    #[arg(long, default_value = paths::TERMINATION_LOG)]
    report: PathBuf,
    /// The program, and what stands before all its arguments.
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// Looks, and leaves the report.
///
/// # Errors
/// When the report cannot be written.
pub fn probe(probe: &Probe) -> io::Result<()> {
    let path = std::env::var_os("PATH");
    let (report, found) = look(probe, path.as_deref());
    fs::write(&probe.report, report.to_message())?;
    // The version is known whatever comes of the rest.
    match found.and_then(|found| catalog(probe, &found, &report)) {
        Some(report) => fs::write(&probe.report, report.to_message()),
        None => Ok(()),
    }
}

/// What is found, and the program if there is one.
fn look(probe: &Probe, path: Option<&OsStr>) -> (Report, Option<PathBuf>) {
    let Some((program, prefix)) = probe.command.split_first() else {
        return (Report::Missing, None);
    };
    match find(program, path) {
        Ok(found) => (version(probe, &found, prefix), Some(found)),
        Err(report) => (report, None),
    }
}

fn version(probe: &Probe, found: &Path, prefix: &[String]) -> Report {
    if let Some(why) = is_foreign(found) {
        return Report::NotExecutable { why };
    }
    if probe.look_only {
        return Report::Ended {
            code: Some(0),
            printed: String::new(),
            catalog: None,
        };
    }
    run(found, prefix, Duration::from_secs(probe.seconds.into())).unwrap_or_else(|error| {
        Report::NotExecutable {
            why: why_not(found, &error),
        }
    })
}

/// The report with what the program can be asked for, of one that has told its version and has an answer.
fn catalog(probe: &Probe, found: &Path, report: &Report) -> Option<Report> {
    let Report::Ended {
        code: Some(0),
        printed,
        catalog: None,
    } = report
    else {
        return None;
    };
    let provider = probe.provider.as_deref().filter(|_| !probe.look_only);
    let listing = catalog::of(provider?)?;
    let (_, prefix) = probe.command.split_first()?;
    let limit = Duration::from_secs(probe.seconds.into());
    let catalog = listing.ask(found, prefix, limit)?;
    Some(Report::Ended {
        code: Some(0),
        printed: printed.clone(),
        catalog: Some(catalog),
    })
}

/// The file that a shell would take.
fn find(program: &str, path: Option<&OsStr>) -> Result<PathBuf, Report> {
    let places = if program.contains('/') {
        vec![PathBuf::from(program)]
    } else {
        let own = Path::new(paths::CLI_BIN).to_owned();
        let folders = path.map(std::env::split_paths).into_iter().flatten();
        let folders = std::iter::once(own).chain(folders);
        folders.map(|folder| folder.join(program)).collect()
    };
    let mut refused = None;
    for place in places {
        match fs::metadata(&place) {
            Ok(found) if found.is_file() => {}
            Ok(_) | Err(_) => continue,
        }
        match access(&place, Access::EXEC_OK) {
            Ok(()) => return Ok(place),
            Err(error) => refused = refused.or(Some((place, error))),
        }
    }
    Err(
        refused.map_or(Report::Missing, |(place, error)| Report::NotExecutable {
            why: format!("{}: {error}", place.display()),
        }),
    )
}

/// Words about a program that was made for another machine.
fn is_foreign(file: &Path) -> Option<String> {
    let mut head = [0; 20];
    File::open(file).ok()?.read_exact(&mut head).ok()?;
    let machine = machine(&head)?;
    (machine != std::env::consts::ARCH).then(|| {
        format!(
            "{} is made for {machine}, the node is {}",
            file.display(),
            std::env::consts::ARCH
        )
    })
}

/// The architecture in the head of an ELF file, as Rust calls it. Others are left to the kernel.
fn machine(head: &[u8; 20]) -> Option<&'static str> {
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    match u16::from_le_bytes([head[18], head[19]]) {
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        243 => Some("riscv64"),
        21 => Some("powerpc64"),
        _ => None,
    }
}

fn why_not(file: &Path, error: &io::Error) -> String {
    let file = file.display();
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => {
            format!("{file} needs a loader or an interpreter that is not in the image")
        }
        Some(Errno::NOEXEC) => format!("{file} is no program that this node can execute"),
        _ => format!("{file}: {error}"),
    }
}

fn run(file: &Path, prefix: &[String], limit: Duration) -> io::Result<Report> {
    let mut child = Command::new(file)
        .args(prefix)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let group = Pid::from_child(&child);
    let printed = [
        child.stdout.take().map(|out| beginning(Box::new(out))),
        child.stderr.take().map(|out| beginning(Box::new(out))),
    ];
    let code = end(child).recv_timeout(limit);
    // What it left behind goes as well.
    let _ = kill_process_group(group, Signal::KILL);
    let Ok(code) = code else {
        return Ok(Report::Late);
    };
    let printed: Vec<u8> = printed
        .into_iter()
        .flatten()
        .filter_map(|out| out.recv_timeout(LINGER).ok())
        .flatten()
        .collect();
    Ok(Report::Ended {
        code,
        printed: String::from_utf8_lossy(&printed).into_owned(),
        catalog: None,
    })
}

/// The exit code, once there is one.
pub(crate) fn end(mut child: Child) -> Receiver<Option<i32>> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let code = child.wait().ok().and_then(|status| status.code());
        // Nobody listens any more once it is late.
        let _ = tell.send(code);
    });
    told
}

/// The beginning of what is printed, once that is over or is enough.
fn beginning(out: Box<dyn Read + Send>) -> Receiver<Vec<u8>> {
    let (tell, told) = channel();
    let most = u64::try_from(PRINTED_BYTES / 2).unwrap_or(u64::MAX);
    thread::spawn(move || {
        let mut kept = Vec::new();
        let mut out = out;
        let _ = out.by_ref().take(most).read_to_end(&mut kept);
        let _ = tell.send(kept);
        // It must not stall for want of a reader.
        let _ = io::copy(&mut out, &mut io::sink());
    });
    told
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A folder with a file of this mode and content, and what is found of it.
    fn found(content: &[u8], mode: u32, arguments: &[&str]) -> (tempfile::TempDir, Report) {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("agent"), content, mode);
        let report = look(&asked(1, arguments), Some(folder.path().as_os_str())).0;
        (folder, report)
    }

    fn write(file: &Path, content: &[u8], mode: u32) {
        // By another process: what this one has open for writing, another test's child may have too, and then it
        // cannot be executed.
        let mut writer = std::process::Command::new("tee")
            .arg(file)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut writer.stdin.take().unwrap(), content).unwrap();
        assert!(writer.wait().unwrap().success());
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn asked(seconds: u16, prefix: &[&str]) -> Probe {
        let command = std::iter::once("agent").chain(prefix.iter().copied());
        Probe {
            look_only: false,
            provider: None,
            seconds,
            report: PathBuf::new(),
            command: command.map(str::to_owned).collect(),
        }
    }

    fn ended(code: Option<i32>, printed: &str) -> Report {
        Report::Ended {
            code,
            printed: printed.to_owned(),
            catalog: None,
        }
    }

    #[test]
    fn what_it_prints_and_how_it_ends_is_told() {
        let script = b"#!/bin/sh\necho \"agent $*\"; echo careful >&2; exit 3\n";
        let (_folder, report) = found(script, 0o755, &["1.2.3"]);
        assert_eq!(report, ended(Some(3), "agent 1.2.3 --version\ncareful\n"));
        let (_folder, report) = found(b"#!/bin/sh\nkill -9 $$\n", 0o755, &[]);
        assert_eq!(report, ended(None, ""));
    }

    #[test]
    fn what_prints_for_ever_or_leaves_a_child_behind_is_cut() {
        let (_folder, report) = found(b"#!/bin/sh\nyes | head -n 99999; sleep 99 &\n", 0o755, &[]);
        let Report::Ended { code, printed, .. } = report else {
            panic!("{report:?}");
        };
        assert_eq!((code, printed.len()), (Some(0), PRINTED_BYTES / 2));
        let (_folder, report) = found(b"#!/bin/sh\nexec sleep 99\n", 0o755, &[]);
        assert_eq!(report, Report::Late);
    }

    #[test]
    fn what_cannot_be_executed_says_why() {
        let nowhere = Some(OsStr::new("/nowhere"));
        assert_eq!(look(&asked(1, &[]), nowhere).0, Report::Missing);
        let why = |content: &[u8]| match found(content, 0o755, &[]).1 {
            Report::NotExecutable { why } => why,
            other @ (Report::Ended { .. } | Report::Missing | Report::Late) => panic!("{other:?}"),
        };
        let lost = why(b"#!/nowhere/sh\n");
        assert!(
            lost.contains("interpreter that is not in the image"),
            "{lost}"
        );
        let mut head = b"\x7fELF".to_vec();
        head.resize(20, 0);
        let other = if cfg!(target_arch = "x86_64") {
            (183, "aarch64")
        } else {
            (62, "x86_64")
        };
        head[18] = other.0;
        let foreign = why(&head);
        assert!(
            foreign.contains(&format!("is made for {}", other.1)),
            "{foreign}"
        );
        let no_program = why(b"words");
        assert!(no_program.contains("no program"), "{no_program}");
    }

    #[test]
    fn a_file_without_the_right_to_execute_is_there_all_the_same() {
        let (_folder, report) = found(b"#!/bin/sh\n", 0o644, &[]);
        // Root may execute what anybody may, and this nobody may.
        assert!(matches!(report, Report::NotExecutable { .. }), "{report:?}");
    }

    #[test]
    fn the_version_is_told_before_anything_else_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (report, seen) = (at("report"), at("seen"));
        let script = format!(
            "#!/bin/sh\n[ \"$*\" = --version ] && exec echo 1.2.3\ncp {} {}\n",
            report.display(),
            seen.display()
        );
        write(&at("agent"), script.as_bytes(), 0o755);
        let wanted = Probe {
            provider: Some("codex".to_owned()),
            report: report.clone(),
            command: vec![at("agent").display().to_string()],
            ..asked(10, &[])
        };
        probe(&wanted).unwrap();
        let told = [seen, report].map(|file| fs::read_to_string(file).unwrap());
        let told = told.map(|message| Report::from_message(&message));
        assert_eq!(told, [(); 2].map(|()| Some(ended(Some(0), "1.2.3\n"))));
    }

    #[test]
    fn looking_only_runs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("agent");
        let script = format!("#!/bin/sh\ntouch {}/ran\n", folder.path().display());
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let only = Probe {
            look_only: true,
            ..asked(1, &[])
        };
        let report = look(&only, Some(folder.path().as_os_str())).0;
        assert_eq!(report, ended(Some(0), ""));
        assert!(!folder.path().join("ran").exists());
    }
}
