//! `moor`: the command line for people and agents. Inside a task's pod it speaks with the task's token and
//! nothing else.

mod failure;
mod settings;
mod show;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use client::Client;
use protocol::TaskId;
use secrecy::SecretString;

use crate::failure::Failure;
use crate::settings::Settings;

/// Asks Mooring, with the task's own token.
///
/// Ends with 0 when it was answered, 1 when the answer cannot be read or shown, 2 when the command line is
/// wrong, 3 when it is not in a task's pod, 4 when the token is refused, 5 when there is no such thing, 6
/// when the API is away.
#[derive(Debug, Parser)]
#[command(name = "moor", version)]
struct Arguments {
    /// In which form to answer.
    #[arg(long, short, global = true, value_enum, default_value_t = Form::Human)]
    output: Form,
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For reading.
    Human,
    /// For programs: one JSON object.
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Says whose token this is: agent, workspace, task.
    Whoami,
    /// Tasks.
    Task {
        #[command(subcommand)]
        command: TaskCommand,
    },
    /// Says the version of this program.
    Version,
}

#[derive(Debug, Subcommand)]
enum TaskCommand {
    /// Shows a task.
    Get {
        /// Its id; without one, the task of the token.
        id: Option<TaskId>,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(answer) => print(&answer),
        Err(failure) => {
            // Where stderr is closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "moor: {}", failure.words());
            ExitCode::from(failure.exit_code())
        }
    }
}

fn print(answer: &str) -> ExitCode {
    match std::io::stdout().write_all(answer.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(arguments: &Arguments) -> Result<String, Failure> {
    let ask = async |question: Question| {
        let connection = arguments.settings.read()?;
        let client = Client::new(&connection.api)?;
        question
            .ask(&client, &connection.token, arguments.output)
            .await
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    match &arguments.command {
        Command::Whoami => runtime.block_on(ask(Question::WhoAmI)),
        Command::Task {
            command: TaskCommand::Get { id },
        } => runtime.block_on(ask(Question::Task(*id))),
        Command::Version => show::version(arguments.output),
    }
}

/// What needs the API.
enum Question {
    WhoAmI,
    Task(Option<TaskId>),
}

impl Question {
    async fn ask(
        self,
        client: &Client,
        token: &SecretString,
        form: Form,
    ) -> Result<String, Failure> {
        match self {
            Self::WhoAmI => show::whoami(&client.whoami(token).await?, form),
            Self::Task(id) => {
                let id = match id {
                    Some(id) => id,
                    None => client.whoami(token).await?.task,
                };
                show::task(&client.task(token, id).await?, form)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn help_names_every_setting_and_exit_code() {
        insta::assert_snapshot!(Arguments::command().render_long_help().to_string());
    }
}
