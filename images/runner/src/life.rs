//! One attempt from start to end: open, prepare, run, report, stop.

use std::sync::Arc;

use client::Client;
use protocol::{FailureClass, LogLevel, Outcome, Resumed, TaskResult, TerminationMessage};
use secrecy::ExposeSecret as _;
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::attempt::{Attempt, Ran};
use crate::deliver::{Delivered, Delivery};
use crate::environment::Environment;
use crate::host::{self, Host};
use crate::journal::{Journal, system_clock};
use crate::layout::Layout;
use crate::open::{self, Given, OpenError, Opened};
use crate::processes::Reaper;
use crate::redact::Redactor;
use crate::remarks::Remarks;
use crate::settings::Settings;
use crate::signals::{Blocked, Signals};
use crate::transcript::Transcript;
use crate::{control, git_secrets, prepare, stop, upload};

/// Why an attempt ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum LifeError {
    /// The kernel does not give us signals.
    #[error("signals cannot be read: {0}")]
    Signals(#[source] std::io::Error),
    /// There is no package.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The settings make no client.
    #[error("the API cannot be used: {0}")]
    Client(#[source] client::Error),
    /// The pod was told to end before there was a package.
    #[error("the pod was told to end before the package was open")]
    Terminated,
    /// Neither the API nor the kubelet has the result.
    #[error("the result could not be left anywhere")]
    Lost,
}

/// Lives one attempt.
///
/// # Errors
/// [`LifeError`] when there is no result; all other failures are results.
pub async fn live(
    settings: &Settings,
    environment: Environment,
    blocked: Blocked,
) -> Result<(), LifeError> {
    let layout = Layout::new(&settings.root);
    let reaper = Arc::new(Reaper::default());
    let (host_sender, mut host) = host::channel();
    let signals = Signals::new(&blocked).map_err(LifeError::Signals)?;
    tokio::spawn(host::take_signals(
        signals,
        Arc::clone(&reaper),
        host_sender.clone(),
    ));

    let given = open::read_secret(&layout)?;
    let client = Client::new(&client::Settings {
        api: settings.api.clone(),
        ca: given.ca.clone(),
    })
    .map_err(LifeError::Client)?;
    let opened = tokio::select! {
        opened = open::open(&client, &given.token) => opened?,
        _ = host.stop() => return Err(LifeError::Terminated),
    };
    let opened_at = Instant::now();
    info!(task.id = %opened.package.attempt.task, attempt = opened.package.attempt.number, "the package is open");

    let mut journal = journal(&environment, &layout, &given, &opened);
    let credential = opened.credential.clone();
    tokio::spawn(upload::run(
        client.clone(),
        credential.clone(),
        Arc::clone(journal.queue()),
    ));
    tokio::spawn(control::run(
        client.clone(),
        credential.clone(),
        host_sender,
    ));

    let remarks = Remarks::new(client.clone(), credential);
    let ran = Attempt {
        told: remarks.told(),
        settings,
        layout: &layout,
        environment: &environment,
        client: &client,
        given: &given,
        opened: &opened,
        opened_at,
        reaper,
        blocked: &blocked,
    }
    .run(&mut journal, &mut host)
    .await;
    prepare::take_back(&layout);
    report(
        settings,
        &layout,
        &client,
        &opened,
        (ran, remarks),
        &mut journal,
        &mut host,
    )
    .await
}

/// A journal that lets nothing out that the pod was given as a secret.
fn journal(environment: &Environment, layout: &Layout, given: &Given, opened: &Opened) -> Journal {
    let key = opened.key.to_wire();
    let own = [
        given.token.expose_secret(),
        opened.credential.expose_secret(),
        key.expose_secret(),
    ];
    let git = git_secrets::values(&layout.git_secrets);
    let git = git.iter().map(String::as_str);
    let redactor = Redactor::new(environment.secrets().chain(own).chain(git));
    Journal::new(
        redactor,
        Transcript::to_stdout(),
        system_clock,
        Arc::default(),
    )
}

/// Leaves the one result.
async fn report(
    settings: &Settings,
    layout: &Layout,
    client: &Client,
    opened: &Opened,
    (ran, remarks): (Ran, Remarks),
    journal: &mut Journal,
    host: &mut Host,
) -> Result<(), LifeError> {
    journal.check_outbox();
    journal.close();
    let result = result(ran, journal);
    journal.note(&summary(&result));
    let grace = opened.package.timeouts.grace_seconds;
    let delivery = Delivery {
        client,
        credential: &opened.credential,
        key: &opened.key,
        termination_log: &layout.termination_log,
        patience: settings.patience(),
        hurry: stop::reserve(grace),
    };
    let attempt = opened.package.attempt;
    let message = TerminationMessage { attempt, result };
    match delivery.deliver(message, remarks, journal, host).await {
        Delivered::ToApi => Ok(()),
        Delivered::InTerminationMessage => {
            warn!("the result is in the termination message only");
            Ok(())
        }
        Delivered::Lost => Err(LifeError::Lost),
    }
}

fn result(ran: Ran, journal: &Journal) -> TaskResult {
    let Ran {
        conclusion,
        duration,
        volume,
        workdir,
        session,
    } = ran;
    let mut result = TaskResult {
        outcome: conclusion.outcome,
        output: conclusion.output,
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        provider_session: conclusion.session,
        retired_sessions: conclusion.retired,
        resumed: Resumed {
            volume,
            workdir,
            session,
            provider: conclusion.provider,
        },
        usage: conclusion.usage,
        last_seq: journal.last_seq(),
    };
    // Before values are looked for: what is taken out might have stood in the middle of one.
    make_printable(&mut result);
    journal.redactor().result(&mut result);
    result
}

/// The result is shown in terminals, which would obey control characters.
fn make_printable(result: &mut TaskResult) {
    let printable = |text: &mut String| {
        text.retain(|character| !character.is_control() || matches!(character, '\n' | '\t'));
    };
    printable(&mut result.output);
    if let Outcome::Failed { message, .. } = &mut result.outcome {
        printable(message);
    }
    let resumed = &mut result.resumed;
    for evidence in [
        &mut resumed.volume,
        &mut resumed.workdir,
        &mut resumed.session,
        &mut resumed.provider,
    ] {
        printable(&mut evidence.evidence);
    }
}

fn summary(result: &TaskResult) -> String {
    let seconds = result.duration_ms as f64 / 1000.0;
    match &result.outcome {
        Outcome::Succeeded => format!("= succeeded after {seconds:.1} s"),
        Outcome::Failed { class, message, .. } => {
            format!("= failed after {seconds:.1} s: {class}: {message}")
        }
    }
}

/// Logs a failure of the runner itself and leaves it where `kubectl describe` shows it. It carries no MAC, so
/// it is for people only.
pub fn leave_failure(settings: &Settings, failure: &LifeError) {
    error!(%failure, "the attempt ends without a result");
    let path = Layout::new(&settings.root).termination_log;
    if let Err(error) = std::fs::write(&path, format!("mooring-runner: {failure}\n")) {
        warn!(%error, path = %path.display(), "the failure cannot be left");
    }
}

/// A remark that lies on the way of every attempt that finds strange things in our folders.
pub(crate) fn tell_foreign(journal: &mut Journal, foreign: &[String]) {
    const NAMED: usize = 5;
    if foreign.is_empty() {
        return;
    }
    let names = foreign
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let more = if foreign.len() > NAMED { ", …" } else { "" };
    journal.remark(
        LogLevel::Warn,
        format!(
            "beside the outbox of this attempt there are {} files that its runner did not write ({names}{more}): nothing \
             in them is believed",
            foreign.len()
        ),
    );
}

/// A failure before the CLI ran.
pub(crate) fn not_prepared(message: String) -> Outcome {
    Outcome::failed(FailureClass::PrepareFailed, message)
}
