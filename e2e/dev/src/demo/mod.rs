//! `cargo demo`: from a bare machine to a conversation that goes on in a new pod, shown as it happens.

mod api;
mod colleagues;
mod install;
mod model;
mod objects;
mod story;
mod talk;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::{Args, Subcommand};
use cluster::progress::step;
use cluster::{Cluster, Home, packages};

use self::objects::Objects;
use crate::images;

/// What to do.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A file with a key of Anthropic: then the agents' model is a real one, and each turn costs. Without it a model plays
    /// what the prompts spell out.
    #[arg(long, value_name = "FILE")]
    anthropic_key_file: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Take everything away: Mooring, the cluster and its volumes. Caches stay, so that the next demo is quick.
    Down,
}

/// The story as it is told: every line with the time since the beginning.
struct Teller {
    started: Instant,
}

impl Teller {
    /// Something happened.
    fn tell(&self, line: &str) -> Result<()> {
        Ok(writeln!(
            io::stdout(),
            "{:>6.1} s  {line}",
            self.started.elapsed().as_secs_f64()
        )?)
    }

    /// More about what happened, without a time.
    fn add(&self, line: &str) -> Result<()> {
        Ok(writeln!(io::stdout(), "          {line}")?)
    }

    /// A part of the story begins.
    fn title(&self, line: &str) -> Result<()> {
        Ok(writeln!(io::stdout(), "\n── {line}")?)
    }
}

pub(crate) fn run(arguments: &Arguments, home: Home, checkout: PathBuf) -> Result<ExitCode> {
    let cluster = Cluster::new(home.clone(), checkout.clone());
    if let Some(Action::Down) = arguments.action {
        cluster.down()?;
        writeln!(
            io::stdout(),
            "Everything is gone but the caches in {}.",
            home.root().display()
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    // Before anything is built: who mistypes a name should not wait for minutes to hear of it.
    let key = arguments.anthropic_key_file.as_deref();
    let key = key.map(model::read_key).transpose()?;
    let teller = Teller {
        started: Instant::now(),
    };
    teller.title("A cluster on this machine")?;
    packages::ensure(packages::DEMO)?;
    cluster.up()?;
    teller.tell("the cluster is up")?;
    let images::Provided { images, moor } =
        step("images", || images::provide(&cluster, &home, &checkout))?;
    for (_, image) in &images {
        teller.add(&format!("image {}", image.reference))?;
    }
    teller.tell("the images are built and loaded")?;

    teller.title("Mooring, by its own charts")?;
    install::charts(&cluster, &checkout, &images)?;
    teller.tell("the operator is ready")?;

    let objects = Objects::new(&cluster);
    let word = story::tell(&teller, &objects, &checkout, &images, key.as_ref())?;
    let person = talk::Person::new(&cluster, moor)?;
    let examples = checkout.join("e2e/demo");
    talk::tell(&teller, &objects, &person, &examples, &word)?;
    colleagues::tell(&teller, &objects, &person, &examples)?;
    farewell(&cluster, &person)?;
    Ok(ExitCode::SUCCESS)
}

fn farewell(cluster: &Cluster, person: &talk::Person) -> Result<()> {
    let namespace = objects::NAMESPACE;
    let surroundings = person.surroundings().join("\n  ");
    let text = format!(
        "
── Look around: the cluster goes on running

  export KUBECONFIG={}
  export PATH={}:$PATH

  kubectl get mooring -n {namespace}                       # runtimes, agents, sessions and tasks
  kubectl get agenttasks -n {namespace} -o wide            # what each one did
  kubectl explain agenttask.spec                          # what can be asked for
  kubectl get pvc -n {namespace}                           # the volumes that hold the conversations
  kubectl logs -n {} deployment/{} -f          # what the operator does

── Be the person: in another terminal

  {surroundings}

  moor issue list                                         # what there is to do
  moor comment add … --body '@reviewer have a look'       # wakes the agent
  moor task list                                          # who works, who waits for what

Another task: kubectl create -n {namespace} -f e2e/demo/… (README: your own agent in five minutes)
Remove it all: cargo demo down
",
        cluster.kubeconfig().display(),
        cluster.programs().display(),
        install::NAMESPACE,
        install::RELEASE,
    );
    Ok(io::stdout().write_all(text.as_bytes())?)
}
