//! Start and end: store, installation, certificate, API, controller, and back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use backon::{ExponentialBuilder, Retryable as _};
use controller::{Clock, SystemClock};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::authority::KubeAuthority;
use crate::certificate::{Authority, RENEW_EVERY};
use crate::cluster;
use crate::definitions::{Cached, Nothing};
use crate::door::Door;
use crate::installation::{self, Installation, Standing};
use crate::settings::RunSettings;

/// After the signal, connections and the last passes get this long; the kubelet waits ten seconds.
const GOODBYE: Duration = Duration::from_secs(8);
/// The cluster and the store have this long to answer before they are asked again.
const ANSWER: Duration = Duration::from_secs(10);
/// What is swept was left by a crash, so it can wait.
const SWEEP_EVERY: Duration = Duration::from_secs(6 * 3600);
/// Names of what can stand in the way, in `/readyz`.
const INSTALLATION: &str = "installation";
const WATCHES: &str = "watches";
const WRITES: &str = "writes";

/// Runs until TERM or INT.
pub(crate) async fn run(settings: RunSettings) -> anyhow::Result<()> {
    let shutdown = CancellationToken::new();
    cancel_on_signal(shutdown.clone())?;
    let store = store::Store::open(&settings.store.read()?)
        .await
        .context("open the store")?
        .with_limits(settings.guards.limits());
    let client = cluster::client().await?;
    let standing = tokio::select! {
        standing = establish(&store, &client, &settings.namespace) => standing?,
        () = shutdown.cancelled() => return Ok(()),
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (authority, apart) = match &standing {
        Standing::Together(installation) => (Some(installation.authority.clone()), None),
        Standing::Apart { why, authority } => (authority.clone(), Some(why.clone())),
    };
    let authority = authority.map_or_else(Authority::generate, Ok)?;
    let tls = serve_certificate(authority, &settings, Arc::clone(&clock), shutdown.clone())?;
    let readiness = api::Readiness::default();
    let now: api::Now = {
        let clock = Arc::clone(&clock);
        Arc::new(move || clock.now())
    };
    let people = people(&settings, &client);
    let files = files(&settings)?;
    let parts = |mode, definitions| api::Parts {
        store: store.clone(),
        mode,
        definitions,
        authority: Arc::new(people),
        now: Arc::clone(&now),
        readiness: readiness.clone(),
        registry: Registry::with_prefix("mooring"),
        files: files.clone(),
        limits: settings.attachments.limits(),
        shutdown: shutdown.clone(),
    };
    let listener = TcpListener::bind(settings.api_address)
        .await
        .with_context(|| format!("listen on {}", settings.api_address))?;
    tracing::info!(address = %settings.api_address, "the API listens");
    let result = match standing {
        Standing::Apart { .. } => {
            let why = apart.unwrap_or_default();
            tracing::error!(%why, "store and cluster do not belong together: nothing is written");
            readiness.hinder(INSTALLATION, why);
            let state = api::ApiState::new(parts(api::Mode::ReadOnly, Arc::new(Nothing)));
            api::serve(listener, tls, state)
                .await
                .context("serve the API")
        }
        Standing::Together(installation) => {
            let mode = api::Mode::Serving(installation.key.clone());
            let door = Door {
                client: client.clone(),
                namespace: settings.namespace.clone(),
                ca_pem: installation.authority.certificate_pem.clone(),
                now: Arc::clone(&now),
            };
            tokio::spawn(door.keep(shutdown.clone()));
            if let Some(files) = files.clone() {
                let keep = keep_files(files, store.clone(), Arc::clone(&now));
                tokio::spawn(shutdown.clone().run_until_cancelled_owned(keep));
            }
            let context = context(&settings, installation, &store, client, clock);
            let cached = Cached(controller::Catalog::new(context.caches.clone()));
            let state = api::ApiState::new(parts(mode, Arc::new(cached)));
            readiness.hinder(WATCHES, "the first listing of the cluster is not complete");
            tokio::spawn(tell_readiness(context.clone(), readiness.clone()));
            serve_and_reconcile(listener, tls, state, context, shutdown).await
        }
    };
    store.close().await;
    tracing::info!("ended");
    result
}

/// Who people are, as the cluster says.
fn people(settings: &RunSettings, client: &kube::Client) -> KubeAuthority {
    let (namespace, policy) = (settings.namespace.clone(), settings.login_policy.clone());
    KubeAuthority::new(client.clone(), namespace, policy)
}

/// The folder for attachments, where there is one.
fn files(settings: &RunSettings) -> anyhow::Result<Option<store::Files>> {
    let folder = settings.attachments.attachments.as_deref();
    let open = |folder| store::Files::open(folder).context("open the folder for attachments");
    folder.map(open).transpose()
}

/// Takes away contents of attachments that a crash has left without a row.
async fn keep_files(files: store::Files, store: store::Store, now: api::Now) {
    loop {
        match files.sweep(&store, now()).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "contents without an attachment were removed"),
            Err(error) => tracing::warn!(%error, "the contents of attachments were not swept"),
        }
        tokio::time::sleep(SWEEP_EVERY).await;
    }
}

/// Both until the shutdown; where one ends by itself so does the other.
async fn serve_and_reconcile(
    listener: TcpListener,
    tls: api::Tls,
    state: api::ApiState,
    context: controller::Context,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let both = async {
        let api = async {
            let served = api::serve(listener, tls, state)
                .await
                .context("serve the API");
            shutdown.cancel();
            served
        };
        let controller = async {
            let ran = controller::run(context, shutdown.clone())
                .await
                .context("reconcile");
            shutdown.cancel();
            ran
        };
        let (served, ran) = tokio::join!(api, controller);
        served.and(ran)
    };
    let overdue = async {
        shutdown.cancelled().await;
        tokio::time::sleep(GOODBYE).await;
    };
    tokio::select! {
        ended = both => ended,
        () = overdue => {
            tracing::warn!("not everything ended in time; the next start repairs");
            Ok(())
        }
    }
}

/// Asks until store and cluster answer.
async fn establish(
    store: &store::Store,
    client: &kube::Client,
    namespace: &str,
) -> anyhow::Result<Standing> {
    // The client itself would wait for ever.
    let ask = async || {
        tokio::time::timeout(ANSWER, installation::establish(store, client, namespace)).await?
    };
    let patience = ExponentialBuilder::default()
        .with_max_delay(Duration::from_secs(10))
        .without_max_times();
    ask.retry(patience)
        .notify(|error, after| {
            tracing::warn!(
                error = format!("{error:#}"),
                ?after,
                "the installation is not known yet"
            )
        })
        .await
}

fn context(
    settings: &RunSettings,
    installation: Installation,
    store: &store::Store,
    client: kube::Client,
    clock: Arc<dyn Clock>,
) -> controller::Context {
    // The chart gives the operator's pods these labels, whatever the release is called.
    let labels = [
        ("app.kubernetes.io/name", "mooring"),
        ("app.kubernetes.io/component", "operator"),
    ];
    controller::Context::new(controller::Parts {
        store: store.clone(),
        writes: controller::KubeWrites::new(client.clone()),
        client,
        clock,
        key: installation.key,
        settings: controller::Settings {
            installation: installation.id,
            ca_pem: installation.authority.certificate_pem,
            install: controller::Install {
                image: settings.runner_image.clone(),
                pull_policy: settings.runner_image_pull_policy.clone(),
                api_url: settings
                    .api_url
                    .to_string()
                    .trim_end_matches('/')
                    .to_owned(),
            },
            api_peer: controller::ApiPeer {
                namespace: settings.namespace.clone(),
                labels: labels
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .collect::<BTreeMap<_, _>>(),
                port: settings.api_address.port(),
            },
            max_pods: settings.max_pods(),
            probe: settings.probe_runtimes,
        },
    })
}

/// Says in `/readyz` when the cluster is listed, and when nothing may be written any more.
async fn tell_readiness(context: controller::Context, readiness: api::Readiness) {
    context.caches.ready().await;
    readiness.clear(WATCHES);
    let why = context.read_only.wait().await;
    readiness.hinder(WRITES, why);
}

/// A certificate for the API now, and a new one long before it ends.
fn serve_certificate(
    authority: Authority,
    settings: &RunSettings,
    clock: Arc<dyn Clock>,
    shutdown: CancellationToken,
) -> anyhow::Result<api::Tls> {
    let host = settings
        .api_url
        .host()
        .context("the API's URL has no host")?;
    // The second name is for those who come through a forwarded port.
    let names = vec![
        host.trim_matches(['[', ']']).to_owned(),
        "localhost".to_owned(),
    ];
    let (sender, receiver) = watch::channel(authority.server(names.clone(), clock.now())?);
    tokio::spawn(async move {
        while shutdown
            .run_until_cancelled(tokio::time::sleep(RENEW_EVERY))
            .await
            .is_some()
        {
            match authority.server(names.clone(), clock.now()) {
                Ok(config) => drop(sender.send_replace(config)),
                Err(error) => tracing::error!(
                    error = format!("{error:#}"),
                    "the API's certificate was not renewed"
                ),
            }
        }
    });
    Ok(receiver)
}

fn cancel_on_signal(shutdown: CancellationToken) -> anyhow::Result<()> {
    let mut term = signal(SignalKind::terminate()).context("listen for TERM")?;
    let mut int = signal(SignalKind::interrupt()).context("listen for INT")?;
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => tracing::info!("TERM: ending"),
            _ = int.recv() => tracing::info!("INT: ending"),
        }
        shutdown.cancel();
    });
    Ok(())
}
