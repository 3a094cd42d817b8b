//! What goes on in the model's network, for tests that give a program to the whole runner.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustix::process::Pid;

use crate::lab::{Cli, Lab};

/// Nothing that is waited for takes this long, on a busy machine neither.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

impl Cli {
    /// The provider by which it is driven: there is none of its own for what dsh speaks as it is published.
    pub(crate) fn driver(self) -> &'static str {
        match self.id {
            "dsh" => "acp",
            own => own,
        }
    }

    /// How the program counts these tokens: input, output, from the cache.
    pub(crate) fn counted(self, (input, output, cached): (u64, u64, u64)) -> (u64, u64, u64) {
        match self.id {
            // It tells no tokens of the cache.
            "gemini" | "qwenpaw" => (input + cached, output, 0),
            _ => (input, output, cached),
        }
    }
}

impl Lab {
    /// The program's command inside the network. Nothing stands between the runner and it: `nsenter` becomes the program.
    pub(crate) fn inside(&self) -> Vec<String> {
        let network = format!("--net=/proc/{}/ns/net", self.model_pid());
        let program = self.program.display().to_string();
        vec!["nsenter".to_owned(), network, "--".to_owned(), program]
    }

    /// The processes of this name in the network.
    pub(crate) fn pids_of(&self, wanted: &str) -> Result<Vec<Pid>> {
        let own = self.others()?.into_iter();
        let own = own.filter(|(name, _)| wanted.starts_with(name.as_str()));
        Ok(own
            .filter_map(|(_, pid)| Pid::from_raw(pid.cast_signed()))
            .collect())
    }

    /// Names of the processes that are in the network beside the model: those of the program, wherever they went.
    pub(crate) fn at_work(&self) -> Result<Vec<String>> {
        Ok(self.others()?.into_iter().map(|(name, _)| name).collect())
    }

    fn others(&self) -> Result<Vec<(String, u32)>> {
        let model = self.model_pid();
        let network = std::fs::read_link(format!("/proc/{model}/ns/net"))?;
        let mut names = Vec::new();
        for entry in std::fs::read_dir("/proc")? {
            let process = entry?.path();
            // A process may end while it is looked at.
            let inside = std::fs::read_link(process.join("ns/net")).is_ok_and(|net| net == network);
            if let (true, Some((name, pid, parent))) = (inside, stat(&process))
                && pid != model
                && parent != model
            {
                names.push((name, pid));
            }
        }
        Ok(names)
    }

    /// True once the model was asked for an answer of this scenario.
    pub(crate) fn asked(&self, scenario: &str) -> Result<bool> {
        Ok(self.questions(scenario)? > 0)
    }

    /// How often the model was asked for an answer of this scenario. Titles and summaries do not count.
    pub(crate) fn questions(&self, scenario: &str) -> Result<usize> {
        let asked = std::fs::read_to_string(self.asked_file())?;
        Ok(asked.lines().filter(|line| *line == scenario).count())
    }

    /// Waits until something is so; nothing tells when it changes.
    pub(crate) async fn until(
        &self,
        what: &str,
        mut is_so: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        let began = Instant::now();
        while !is_so()? {
            if began.elapsed() > PATIENCE {
                bail!("waited in vain: {what}; at work: {:?}", self.at_work()?);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }
}

/// Name, id and parent of a process.
fn stat(process: &Path) -> Option<(String, u32, u32)> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let parent = rest.split(' ').nth(1)?;
    Some((name.to_owned(), pid.parse().ok()?, parent.parse().ok()?))
}
