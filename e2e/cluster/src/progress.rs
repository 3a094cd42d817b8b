//! Progress for people: a step that takes longer than two seconds is announced, kept alive and timed.

use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

const QUIET: Duration = Duration::from_secs(2);
const REMINDER: Duration = Duration::from_secs(30);

/// Writes one line to standard error; a closed one is no reason to stop.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Runs `work`; announces it once it has lasted two seconds, and every half minute from then on.
pub fn step<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let (done, ended) = mpsc::sync_channel::<()>(0);
    let label = name.to_owned();
    let watcher = thread::spawn(move || watch(&label, started, &ended));
    let result = work();
    drop(done);
    let announced = watcher.join().unwrap_or(false);
    if announced {
        say(&format!(
            "    {name}: {:.1} s",
            started.elapsed().as_secs_f64()
        ));
    }
    result
}

fn watch(name: &str, started: Instant, ended: &mpsc::Receiver<()>) -> bool {
    let mut wait = QUIET;
    let mut announced = false;
    while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        match announced {
            false => say(&format!("    {name} …")),
            true => say(&format!(
                "    {name} … {} s so far",
                started.elapsed().as_secs()
            )),
        }
        announced = true;
        wait = REMINDER;
    }
    announced
}
