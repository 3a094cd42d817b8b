//! The program as a process.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::{Certificate, Client as Http};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::apiserver::Apiserver;

/// Longer than anything here takes; a test that waits this long has failed.
const DEADLINE: Duration = Duration::from_secs(30);
/// Between two looks at something that gives no sign.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) struct Program {
    child: Child,
    port: u16,
}

/// How it ended, and what it said.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) log: String,
}

impl Program {
    pub(crate) fn run(folder: &TempDir, store: &str, cluster: &Apiserver) -> Self {
        // Given back at once; nobody else is after it in the meantime.
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut command = command(folder, store, "run");
        command
            .env("KUBECONFIG", kubeconfig(folder, cluster))
            .env("MOORING_API_ADDRESS", format!("127.0.0.1:{port}"))
            .env(
                "MOORING_API_URL",
                format!("https://mooring.mooring-system.svc:{port}"),
            )
            .env("MOORING_NAMESPACE", "mooring-system")
            .env("MOORING_RUNNER_IMAGE", "runner")
            .env("MOORING_LOG", "json");
        Self {
            child: command.spawn().unwrap(),
            port,
        }
    }

    pub(crate) fn check(folder: &TempDir, store: &str, cluster: &Apiserver) -> Self {
        Self {
            child: command(folder, store, "check")
                .env("KUBECONFIG", kubeconfig(folder, cluster))
                .spawn()
                .unwrap(),
            port: 0,
        }
    }

    pub(crate) fn help() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let child = command(&folder, "store.db", "run")
            .arg("--help")
            .spawn()
            .unwrap();
        Self { child, port: 0 }
    }

    /// Waits until there is something, as long as the program runs.
    pub(crate) async fn until<T>(&mut self, look: impl AsyncFn() -> Option<T>) -> T {
        let begun = Instant::now();
        let mut looks = tokio::time::interval(LOOK);
        loop {
            looks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
            assert_eq!(self.child.try_wait().unwrap(), None, "it ended");
            assert!(begun.elapsed() < DEADLINE, "not in time");
        }
    }

    pub(crate) fn client(&self, ca: &str) -> Client {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let ca = Certificate::from_pem(ca.as_bytes()).unwrap();
        let http = Http::builder()
            .tls_certs_only([ca])
            .timeout(DEADLINE)
            .no_proxy()
            .build()
            .unwrap();
        Client {
            http,
            port: self.port,
        }
    }

    /// Sends TERM and waits for the end.
    pub(crate) async fn terminate(self) -> Ended {
        let pid = Pid::from_raw(self.child.id().unwrap().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        self.ended().await
    }

    pub(crate) async fn ended(self) -> Ended {
        let output = tokio::time::timeout(DEADLINE, self.child.wait_with_output())
            .await
            .expect("an end in time")
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended {
            code: output.status.code(),
            output: text(output.stdout),
            log: text(output.stderr),
        }
    }
}

/// The way to the cluster.
fn kubeconfig(folder: &TempDir, cluster: &Apiserver) -> std::path::PathBuf {
    let kubeconfig = folder.path().join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: t\n\
             clusters: [{{name: t, cluster: {{server: 'http://127.0.0.1:{}'}}}}]\n\
             contexts: [{{name: t, context: {{cluster: t, user: t}}}}]\nusers: [{{name: t, user: {{}}}}]\n",
        cluster.port
    );
    std::fs::write(&kubeconfig, text).unwrap();
    kubeconfig
}

fn command(folder: &TempDir, store: &str, subcommand: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mooring-operator"));
    command
        .arg(subcommand)
        .env_clear()
        .env("MOORING_STORE", folder.path().join(store))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// A client of its API, which trusts the CA from the Secret.
pub(crate) struct Client {
    http: Http,
    port: u16,
}

impl Client {
    pub(crate) async fn get(&self, path: &str) -> Option<(u16, String)> {
        let answer = self
            .http
            .get(format!("https://localhost:{}{path}", self.port))
            .send()
            .await
            .ok()?;
        Some((answer.status().as_u16(), answer.text().await.unwrap()))
    }

    /// What `/readyz` says once it is ready.
    pub(crate) async fn ready(&self) -> Option<Value> {
        let (status, text) = self.get("/readyz").await?;
        (status == 200).then(|| serde_json::from_str(&text).unwrap())
    }

    /// What `/readyz` says while it is not.
    pub(crate) async fn unready(&self) -> Option<Value> {
        let (status, text) = self.get("/readyz").await?;
        (status == 503).then(|| serde_json::from_str(&text).unwrap())
    }
}
