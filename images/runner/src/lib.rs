//! The program inside a task's pod: it opens the package, prepares the workdir, drives the agent's command
//! line, and reports what happens.

pub mod adapter;
pub mod adapters;
pub mod approvals;
pub mod attempt;
pub mod brief;
mod catalog;
pub mod classify;
pub mod conclude;
pub mod context_file;
pub mod control;
pub mod deliver;
pub mod desk;
pub mod disk;
pub mod environment;
pub mod files;
pub mod git_secrets;
pub mod host;
pub mod install;
pub mod journal;
pub mod launch_files;
pub mod layout;
pub mod ledger;
pub mod life;
pub mod lines;
pub mod mcp;
pub mod memory;
pub mod open;
pub mod options;
pub mod outbox;
pub mod prepare;
pub mod probe;
pub mod processes;
pub mod queue;
pub mod raw;
pub mod redact;
pub mod remarks;
pub mod resume;
pub mod settings;
pub mod shape;
pub mod signals;
pub mod skills;
pub mod spawn;
pub mod standing;
pub mod start_files;
pub mod stop;
pub mod tail;
#[cfg(test)]
mod testing;
pub mod transcript;
pub mod turn;
pub mod upload;
pub mod watchdog;

#[cfg(test)]
mod tests {
    #[test]
    fn the_readme_names_every_module() {
        let readme = include_str!("../README.md");
        let modules = include_str!("lib.rs").lines().filter_map(|line| {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            line.strip_prefix("mod ")?.strip_suffix(';')
        });
        let named = |module: &&str| {
            let quoted = format!("`{module}");
            readme.contains(&format!("{quoted}`")) || readme.contains(&format!("{quoted}/`"))
        };
        let left_out: Vec<&str> = modules
            .filter(|module| *module != "testing" && !named(module))
            .collect();
        assert!(left_out.is_empty(), "{left_out:?}");
    }
}
