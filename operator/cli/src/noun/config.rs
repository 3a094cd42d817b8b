//! `moor config`.

use clap::Subcommand;
use client::Workspace;
use serde::Serialize;

use crate::config::{self, Config, Way};
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::Settings;
use crate::table::fields;
use crate::text;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Shows it, without the token.
    Show,
    /// Says which workspace is meant where none is named.
    Workspace {
        /// Its name.
        name: Workspace,
    },
}

/// What is kept, without the token.
#[derive(Debug, Serialize)]
struct View {
    file: String,
    user: String,
    expires: String,
    workspace: Option<String>,
    api: String,
}

pub(super) fn run(
    verb: Option<&Verb>,
    settings: &Settings,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let path = config::path(settings)?;
    let missing = || {
        Failure::NoIdentity(format!(
            "nobody is logged in: {} is not there; `moor login` makes it",
            path.display()
        ))
    };
    let mut config = config::read(&path)?.ok_or_else(missing)?;
    if let Some(Verb::Workspace { name }) = verb {
        config.workspace = Some(name.clone());
        config::write(&path, &config)?;
    }
    let view = view(path.display().to_string(), &config);
    out.show(&view, |view| view.file.clone(), describe)
}

fn view(file: String, config: &Config) -> View {
    let api = match &config.way {
        Way::Server(server) => server.url.clone(),
        Way::Cluster {
            context, namespace, ..
        } => format!("through the cluster of context {context}, namespace {namespace}"),
    };
    View {
        file,
        user: config.user.clone(),
        expires: text::time(config.expires),
        workspace: config.workspace.as_ref().map(ToString::to_string),
        api,
    }
}

fn describe(view: &View) -> String {
    let workspace = view.workspace.clone();
    fields(&[
        ("File", view.file.clone()),
        ("User", view.user.clone()),
        ("Login ends", view.expires.clone()),
        (
            "Workspace",
            workspace.unwrap_or_else(|| "none: name one with --workspace".to_owned()),
        ),
        ("API", view.api.clone()),
    ])
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_login_is_shown_without_its_token() {
        let config = Config {
            user: "ada".into(),
            token: "mrp_secret".into(),
            expires: Timestamp::UNIX_EPOCH,
            workspace: None,
            way: Way::Cluster {
                context: "kind".into(),
                namespace: "mooring-system".into(),
                ca: "PEM".into(),
            },
        };
        let view = view("/c/config.toml".into(), &config);
        insta::assert_snapshot!("config", describe(&view));
        assert!(!serde_json::to_string(&view).unwrap().contains("secret"));
    }
}
