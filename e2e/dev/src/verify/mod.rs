//! `cargo verify`: every layer that must be green, a table at the end, and one line that says it all.

mod binaries;
mod checks;
mod clis;
mod limits;
mod outcome;
mod postgres;
mod session;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use cluster::Home;
use cluster::progress::say;

use self::outcome::{Outcome, Row};
use self::session::Session;

/// Which layers to run.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Layers to run; none means all but those that are run only by name.
    layers: Vec<String>,
    /// Also run those.
    #[arg(long, conflicts_with = "layers")]
    all: bool,
    /// Name the layers and run none.
    #[arg(long)]
    list: bool,
    /// With `true`, a skipped layer is a failure.
    #[arg(long, env = "CI", default_value = "false", value_parser = clap::builder::BoolishValueParser::new())]
    ci: bool,
}

/// One layer: a name to call it by, what it proves, and how it is run.
struct Layer {
    name: &'static str,
    proves: &'static str,
    run: fn(&mut Session) -> Result<Outcome>,
}

const fn layer(
    name: &'static str,
    proves: &'static str,
    run: fn(&mut Session) -> Result<Outcome>,
) -> Layer {
    Layer { name, proves, run }
}

/// The layer that is run by name, or with all.
const BY_NAME: &str = "clis";

const LAYERS: [Layer; 14] = [
    layer("format", "formatting of all Rust code", checks::format),
    layer("clippy", "lints of all targets", checks::clippy),
    layer(
        "dependencies",
        "licences, sources, bans, advisories",
        checks::dependencies,
    ),
    layer(
        "limits",
        "functions to 80 lines, files to 600",
        checks::limits,
    ),
    layer("unit", "unit, snapshot and property tests", session::unit),
    layer(
        "generated",
        "generated files, command line, wire types",
        session::generated,
    ),
    layer(
        "store",
        "every query on SQLite and PostgreSQL",
        session::store,
    ),
    layer(
        "controller",
        "passes against a mocked apiserver",
        session::controller,
    ),
    layer(
        "service",
        "the API in process, real database",
        session::service,
    ),
    layer(
        "runner",
        "runner and adapters against stand-ins",
        session::runner,
    ),
    layer(
        "images",
        "images build and load into the nodes",
        session::images,
    ),
    layer(
        "api",
        "schemas and rules on a real apiserver",
        session::real_apiserver,
    ),
    layer("node", "stories on a real node", session::node),
    layer(
        BY_NAME,
        "adapters against more real programs (with --all)",
        session::more_clis,
    ),
];

/// Runs the layers and says how they ended.
pub(crate) fn run(arguments: &Arguments, home: Home, checkout: PathBuf) -> Result<ExitCode> {
    if arguments.list {
        writeln!(io::stdout(), "{}", known())?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = choose(&arguments.layers, arguments.all)?;
    let mut session = Session::new(home, checkout, arguments.ci);
    let mut rows = Vec::new();
    for layer in chosen {
        say(&format!("{}: {}", layer.name, layer.proves));
        let started = Instant::now();
        let outcome = (layer.run)(&mut session).unwrap_or_else(|error| {
            say(&format!("{error:#}"));
            Outcome::failed("could not be run, see above")
        });
        let outcome = outcome.in_ci(arguments.ci);
        rows.push(Row {
            name: layer.name,
            outcome,
            duration: started.elapsed(),
        });
    }
    let cleaned = session.finish();
    outcome::print(&rows)?;
    cleaned?;
    let failed = rows.iter().any(|row| row.outcome.failed > 0);
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn choose(names: &[String], all: bool) -> Result<Vec<&'static Layer>> {
    if names.is_empty() {
        let chosen = LAYERS.iter().filter(|layer| all || layer.name != BY_NAME);
        return Ok(chosen.collect());
    }
    let find = |name: &String| LAYERS.iter().find(|layer| layer.name == name);
    let chosen: Vec<&Layer> = names.iter().filter_map(find).collect();
    if chosen.len() < names.len() {
        bail!("the layers are\n{}", known());
    }
    Ok(chosen)
}

fn known() -> String {
    let lines = LAYERS
        .iter()
        .map(|layer| format!("  {:<14} {}", layer.name, layer.proves));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_chosen_by_name() {
        let names = |chosen: Vec<&Layer>| chosen.iter().map(|layer| layer.name).collect::<Vec<_>>();
        assert_eq!(
            names(choose(&["store".to_owned(), "unit".to_owned()], false).unwrap()),
            ["store", "unit"]
        );
        assert_eq!(choose(&[], true).unwrap().len(), LAYERS.len());
        assert_eq!(choose(&[], false).unwrap().len(), LAYERS.len() - 1);
        let error = choose(&["other".to_owned()], false)
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("  node           stories on a real node"),
            "{error}"
        );
    }
}
