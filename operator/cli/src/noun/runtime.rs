//! `moor runtime`.

use clap::Subcommand;
use protocol::board::RuntimeCard;

use super::schedule::{long, short};
use super::{Part, resource_name};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::{Table, fields};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists what agents run on. `kubectl get runtimes` has all of them.
    List {
        #[command(flatten)]
        part: Part,
    },
    /// Shows a runtime, and why no pod can be made where that is so.
    Get {
        /// Its name.
        #[arg(value_parser = |given: &str| resource_name("runtime", given))]
        name: String,
    },
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List { part } => {
                let page = board.runtimes(&part.query()).await?;
                out.page(&page, |runtime| runtime.name.clone(), table)
            }
            Self::Get { name } => {
                let runtime = board.runtime(name).await?;
                out.show(&runtime, |runtime| runtime.name.clone(), shown)
            }
        }
    }
}

fn table(runtimes: &[RuntimeCard]) -> Table<5> {
    let rows = runtimes.iter().map(|runtime| {
        [
            runtime.name.clone(),
            runtime.provider.clone(),
            short(&runtime.standing),
            pods(runtime),
            runtime.image.clone(),
        ]
    });
    Table::new(["NAME", "PROVIDER", "READY", "PODS", "IMAGE"], rows)
}

fn shown(runtime: &RuntimeCard) -> String {
    fields(&[
        ("name", runtime.name.clone()),
        ("provider", runtime.provider.clone()),
        ("image", runtime.image.clone()),
        ("default model", runtime.model.clone().unwrap_or_default()),
        ("version", runtime.version.clone().unwrap_or_default()),
        ("models", models(runtime)),
        ("thinking", runtime.thinking_levels.join(" ")),
        ("pods at most", pods(runtime)),
        ("ready", long(&runtime.standing)),
    ])
}

/// Those that its program names, and how many more.
fn models(runtime: &RuntimeCard) -> String {
    let mut models = runtime.models.join(" ");
    if runtime.models_left_out > 0 {
        models.push_str(&format!(" … and {} more", runtime.models_left_out));
    }
    models
}

fn pods(runtime: &RuntimeCard) -> String {
    runtime
        .max_pods
        .map(|pods| pods.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use protocol::board::Standing;

    use super::*;

    #[test]
    fn runtimes_are_shown() {
        let runtime = RuntimeCard {
            name: "claude".to_owned(),
            provider: "claude".to_owned(),
            image: "agent-claude:0.1.0".to_owned(),
            model: Some("opus".to_owned()),
            max_pods: Some(20),
            version: Some("2.1.332".to_owned()),
            models: vec!["default".to_owned(), "opus".to_owned()],
            models_left_out: 3,
            thinking_levels: vec!["low".to_owned(), "high".to_owned()],
            standing: Standing {
                ready: false,
                reason: Some("NetworkPolicyFailed".to_owned()),
                message: Some("The apiserver says no.".to_owned()),
            },
        };
        insta::assert_snapshot!("runtime", shown(&runtime));
        insta::assert_snapshot!("runtimes", table(&[runtime]).render(100));
    }
}
