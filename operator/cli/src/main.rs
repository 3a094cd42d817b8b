//! `moor`: the command line for people and agents. Inside a task's pod it speaks with the task's token and
//! nothing else; elsewhere with that of `moor login`.

mod checkout;
mod cluster;
mod config;
mod failure;
mod git;
mod input;
mod mention;
mod noun;
mod output;
mod session;
mod settings;
mod table;
mod text;
mod verbs;
mod who;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use protocol::{TokenScope, paths};

use crate::failure::Failure;
use crate::noun::Command;
use crate::output::{Form, Output, Style};
use crate::settings::Settings;

/// What help calls the options that every command has.
const EVERYWHERE: &str = "Options of every command";
/// The name by which kubectl finds a plugin, and what one types then.
const PLUGIN: (&str, &str) = ("kubectl-moor", "kubectl moor");
/// A terminal that says less than this is not believed.
const NARROW: usize = 40;

/// Asks Mooring: issues, comments, and the agents that they wake.
///
/// Ends with 0 when it was answered, 1 when the request is not as it should be or the answer cannot be read or
/// shown, 2 when the command line is wrong or a name in it is not clear, 3 when it is neither in a task's pod
/// nor logged in, 4 when the token does not allow it, 5 when there is no such thing, 6 when the API is away, 7
/// when the thing has changed meanwhile or is not in a state for this, 8 when the task that was watched did not
/// succeed.
#[derive(Debug, Parser)]
#[command(name = "moor", version)]
struct Arguments {
    /// For reading, or for programs: one object, or one after the other where it goes on.
    #[arg(long, short, global = true, value_enum, default_value_t = Form::Human, help_heading = EVERYWHERE)]
    output: Form,
    /// Answers with ids only, one a line.
    #[arg(long, short, global = true, help_heading = EVERYWHERE)]
    quiet: bool,
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    // Needed before the command line is read, since help depends on it.
    let given = std::env::var_os(paths::ENV_TOKEN_FILE).map(PathBuf::from);
    let given = given.filter(|file| settings::is_of_task(file));
    let of_task = given.is_some();
    let whole = Arguments::command();
    let line = if of_task {
        // The API decides; where nothing is said the least is shown.
        let scope = std::env::var_os(paths::ENV_SCOPE);
        let scope = scope.and_then(|word| TokenScope::parse(word.to_str()?));
        verbs::of_a_task(&whole, scope.unwrap_or_default())
    } else {
        whole
    };
    let line = line.bin_name(program());
    let done = parse(line.clone()).and_then(|arguments| {
        if of_task && arguments.settings.token_file != given {
            return Err(Failure::Usage(
                "in a task's pod there is no other token than that of the task".to_owned(),
            ));
        }
        run(&arguments, line)
    });
    let Err(failure) = done else {
        return ExitCode::SUCCESS;
    };
    if !failure.is_silent() {
        let mut words = failure.words();
        if failure.is_unauthenticated() && !of_task {
            words.push_str(". A login ends after some hours: `moor login` makes a new one");
        }
        // Where stderr is closed there is nobody to tell.
        let _ = writeln!(std::io::stderr(), "moor: {words}");
    }
    ExitCode::from(failure.exit_code())
}

/// Reads the command line. What only people may do is told apart from what nobody can.
fn parse(line: clap::Command) -> Result<Arguments, Failure> {
    let found = line
        .try_get_matches()
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    found.map_err(|error| {
        if error.kind() == ErrorKind::InvalidSubcommand
            && let Ok(matches) = Arguments::command().try_get_matches()
        {
            return Failure::NotForTask(verbs::name(&matches));
        }
        error.exit()
    })
}

fn run(arguments: &Arguments, line: clap::Command) -> Result<(), Failure> {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let typed: Vec<String> = std::iter::once(program().to_owned()).chain(words).collect();
    let mut out = Output {
        form: arguments.output,
        quiet: arguments.quiet,
        width: width(),
        style: style(),
        typed: &typed,
        out: &mut std::io::stdout(),
        notes: &mut std::io::stderr(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    runtime.block_on(arguments.command.run(&arguments.settings, line, &mut out))
}

/// What one types to run this program.
fn program() -> &'static str {
    let called = std::env::args_os().next().map(PathBuf::from);
    let called = called.as_ref().and_then(|path| path.file_stem());
    match called {
        Some(name) if name == PLUGIN.0 => PLUGIN.1,
        Some(_) | None => "moor",
    }
}

/// Colours are for terminals, and not for who does not want them (<https://no-color.org>).
fn style() -> Style {
    let unwanted = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|kind| kind == "dumb");
    if std::io::stdout().is_terminal() && !unwanted("NO_COLOR") && !dumb {
        Style::Coloured
    } else {
        Style::Plain
    }
}

/// Columns of the terminal to which answers go; a fixed number where they go elsewhere.
fn width() -> usize {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return output::WIDTH;
    }
    match rustix::termios::tcgetwinsize(&stdout) {
        Ok(size) if usize::from(size.ws_col) >= NARROW => usize::from(size.ws_col),
        Ok(_) | Err(_) => output::WIDTH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
        verbs::of_a_task(&Arguments::command(), TokenScope::Issue).debug_assert();
    }

    #[test]
    fn help_names_every_setting_and_exit_code() {
        insta::assert_snapshot!(Arguments::command().render_long_help().to_string());
    }

    #[test]
    fn help_in_a_pod_knows_what_a_task_may() {
        let line = verbs::of_a_task(&Arguments::command(), TokenScope::Issue);
        insta::assert_snapshot!(help_of_all(&line));
    }

    #[test]
    fn help_of_every_verb() {
        insta::assert_snapshot!(help_of_all(&Arguments::command()));
    }

    fn help_of_all(line: &clap::Command) -> String {
        let mut line = line.clone();
        line.build();
        let mut help = String::new();
        let mut open = vec![line];
        while let Some(mut command) = open.pop() {
            help += &format!("=== {}\n", command.render_usage());
            if let Some(about) = command.get_about() {
                help += &format!("{about}\n");
            }
            let verbs = command
                .get_subcommands()
                .filter(|verb| verb.get_name() != "help");
            let mut verbs: Vec<_> = verbs.cloned().collect();
            verbs.reverse();
            open.append(&mut verbs);
        }
        help
    }
}
