//! The API, a token, and the workspace that is meant.

use std::net::IpAddr;

use client::{Board, Client, Workspace};
use http::Uri;
use protocol::board::IssueKey;
use protocol::{ChatId, Subject, TaskId, paths};
use secrecy::SecretString;

use crate::cluster::{Cluster, Forward};
use crate::config::{self, Way};
use crate::failure::Failure;
use crate::settings::{Server, Settings, is_task_token};

/// Port of an https address that names none.
const HTTPS_PORT: u16 = 443;

/// A client and the identity it is used with. There is exactly one: where a token's file is named, the login is
/// not even looked at.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) token: SecretString,
    workspace: Option<Workspace>,
    /// Ends the way through the cluster when the session ends.
    _forward: Option<Forward>,
}

impl Session {
    /// Opens the way to the API. Nothing is asked of it yet.
    pub(crate) async fn open(settings: &Settings) -> Result<Self, Failure> {
        if let Some(token) = settings.token()? {
            let own = is_task_token(&token).then(Workspace::own);
            return Ok(Self {
                client: at(&settings.server()?).await?,
                token,
                workspace: settings.workspace.clone().or(own),
                _forward: None,
            });
        }
        if settings.server.is_some() {
            return Err(Failure::NoIdentity(format!(
                "a server is named, but not as whom to ask: name a token's file with {} or --token-file, or log in to \
                 it with `moor login`",
                paths::ENV_TOKEN_FILE
            )));
        }
        let path = config::path(settings)?;
        let config = config::read(&path)?.ok_or_else(|| {
            Failure::NoIdentity(
                "nobody is logged in: `moor login` takes a kubeconfig and makes a token".to_owned(),
            )
        })?;
        let (client, forward) = reach(&config.way).await?;
        Ok(Self {
            client,
            token: config.token,
            workspace: settings.workspace.clone().or(config.workspace),
            _forward: forward,
        })
    }

    /// The board of the workspace that is meant.
    pub(crate) fn board(&self) -> Result<Board<'_>, Failure> {
        let workspace = self.workspace.as_ref().ok_or_else(|| {
            Failure::Usage(
                "which workspace? name it with --workspace, or for good with `moor config workspace NAME`"
                    .to_owned(),
            )
        })?;
        Ok(self.client.board(&self.token, workspace))
    }

    /// True in a task.
    pub(crate) fn is_of_task(&self) -> bool {
        is_task_token(&self.token)
    }

    /// The task of the token.
    pub(crate) async fn own_task(&self) -> Result<TaskId, Failure> {
        if self.is_of_task() {
            Ok(self.client.whoami(&self.token).await?.task)
        } else {
            Err(Failure::Usage(
                "which task? `moor task list` shows them".to_owned(),
            ))
        }
    }

    /// The chat that the token's task answers.
    pub(crate) async fn own_chat(&self) -> Result<ChatId, Failure> {
        if !self.is_of_task() {
            return Err(Failure::Usage(
                "which chat? `moor chat list` shows them".to_owned(),
            ));
        }
        let subject = self.client.whoami(&self.token).await?.subject;
        let chat = (subject.kind == Subject::CHAT).then(|| subject.name.parse().ok());
        chat.flatten()
            .ok_or_else(|| Failure::Usage("this task answers no chat, and sees none".to_owned()))
    }

    /// The issue that was named; without one, that of the token's task.
    pub(crate) async fn issue(&self, named: Option<&IssueKey>) -> Result<IssueKey, Failure> {
        if let Some(key) = named {
            return Ok(key.clone());
        }
        let which = || Failure::Usage("which issue? it is named like TEAM-12".to_owned());
        if !self.is_of_task() {
            return Err(which());
        }
        let task = self.own_task().await?;
        let subject = self.client.task(&self.token, task).await?.subject;
        if subject.kind != Subject::ISSUE {
            return Err(which());
        }
        subject.name.parse().map_err(|_| which())
    }
}

/// The client that a login leads to.
async fn reach(way: &Way) -> Result<(Client, Option<Forward>), Failure> {
    match way {
        Way::Server(server) => Ok((at(server).await?, None)),
        Way::Cluster {
            context,
            namespace,
            ca,
        } => {
            let cluster = Cluster::connect(Some(context), namespace).await?;
            let point = cluster.point().await?;
            let (client, forward) = through(&cluster, &point, ca).await?;
            Ok((client, Some(forward)))
        }
    }
}

/// A client that goes through the cluster. It checks the name of the Service and the CA that it is given.
pub(crate) async fn through(
    cluster: &Cluster,
    point: &crate::cluster::Point,
    ca: &str,
) -> Result<(Client, Forward), Failure> {
    let forward = cluster.forward(point).await?;
    let address = forward.address();
    let settings = client::Settings {
        api: format!("https://{}:{}", cluster.host(point), address.port()),
        ca: ca.as_bytes().to_vec(),
    };
    Ok((Client::at(&settings, address.ip())?, forward))
}

/// A client of a server. Where its certificate has another name, that one is checked.
pub(crate) async fn at(server: &Server) -> Result<Client, Failure> {
    let ca = server.ca.as_bytes().to_vec();
    let Some(name) = &server.tls_name else {
        let api = server.url.clone();
        return Ok(Client::new(&client::Settings { api, ca })?);
    };
    let (address, port) = resolve(&server.url).await?;
    let api = format!("https://{name}:{port}");
    Ok(Client::at(&client::Settings { api, ca }, address)?)
}

async fn resolve(url: &str) -> Result<(IpAddr, u16), Failure> {
    let wrong = |problem: &dyn std::fmt::Display| {
        Failure::NoIdentity(format!("the server {url:?}: {problem}"))
    };
    let uri: Uri = url.parse().map_err(|error| wrong(&error))?;
    let host = uri
        .host()
        .filter(|_| uri.scheme_str() == Some("https"))
        .ok_or_else(|| wrong(&"it must be https://host:port"))?;
    let port = uri.port_u16().unwrap_or(HTTPS_PORT);
    let found = tokio::net::lookup_host((host.trim_matches(['[', ']']), port)).await;
    let address = found.map_err(|error| wrong(&error))?.next();
    let address = address.ok_or_else(|| wrong(&"its name leads nowhere"))?;
    Ok((address.ip(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_is_found_by_its_address() {
        let found = async |url: &str| resolve(url).await.map_err(|failure| failure.words());
        let at = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(
            found("https://10.0.0.1:8443").await,
            Ok((at("10.0.0.1"), 8443))
        );
        assert_eq!(found("https://[::1]/").await, Ok((at("::1"), 443)));
        for (wrong, wanted) in [
            ("http://10.0.0.1", "must be https"),
            ("10.0.0.1", "must be https"),
        ] {
            let words = found(wrong).await.unwrap_err();
            assert!(words.contains(wanted), "{words}");
        }
    }

    #[tokio::test]
    async fn without_an_identity_nothing_is_asked() {
        let home = tempfile::tempdir().unwrap();
        let open = async |server: Option<&str>| {
            let settings = Settings {
                config_home: Some(home.path().to_owned()),
                server: server.map(str::to_owned),
                ..Settings::default()
            };
            Session::open(&settings).await.err().unwrap()
        };
        for (server, wanted) in [
            (None, "nobody is logged in"),
            (Some("https://x"), "not as whom"),
        ] {
            let failure = open(server).await;
            assert!(failure.words().contains(wanted), "{}", failure.words());
            assert_eq!(failure.exit_code(), 3);
        }
    }
}
