//! What layers share in one run: compiled tests, a database, the cluster; and the layers that are tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use cluster::progress::say;
use cluster::{Cluster, Home, Status};

use super::binaries::{self, Binary, Settings};
use super::clis;
use super::outcome::Outcome;
use super::postgres::Postgres;
use crate::images as all_images;

const LIMIT: Duration = Duration::from_secs(15 * 60);
const STORY_LIMIT: Duration = Duration::from_secs(30 * 60);
/// The tests of real programs that have a layer of their own.
const MORE_CLIS: &str = "more_clis";
/// Where tests find PostgreSQL.
const POSTGRES: &str = "MOORING_TEST_POSTGRES";
/// Judges the whole suite from the audit log, so it runs last.
const LAST: &str = "rbac";

/// One run of `cargo verify`.
pub(super) struct Session {
    home: Home,
    checkout: PathBuf,
    ci: bool,
    binaries: Option<Vec<Binary>>,
    /// `None` until asked for; then the server, or why there is none.
    postgres: Option<Result<Postgres, String>>,
    cluster: Cluster,
    /// Whether the cluster was started for this run, and so ends with it.
    started: bool,
    images_are_there: bool,
}

pub(super) fn unit(session: &mut Session) -> Result<Outcome> {
    session.test("unit", |binary| !binary.integration)
}

pub(super) fn generated(session: &mut Session) -> Result<Outcome> {
    const OTHERS: [&str; 6] = [
        "operator/store",
        "operator/controller",
        "operator/api",
        "images/runner",
        "images/fakes",
        "e2e",
    ];
    session.test("generated", |binary| {
        binary.integration && !OTHERS.contains(&binary.package.as_str())
    })
}

pub(super) fn store(session: &mut Session) -> Result<Outcome> {
    let mut outcome = session.test("store", |binary| of(binary, &["operator/store"]))?;
    match session.postgres() {
        Ok(_) => outcome.note = "SQLite and PostgreSQL".to_owned(),
        Err(why) => outcome.add(&Outcome::skipped(&format!("SQLite only: {why}"))),
    }
    Ok(outcome)
}

pub(super) fn controller(session: &mut Session) -> Result<Outcome> {
    session.test("controller", |binary| of(binary, &["operator/controller"]))
}

pub(super) fn service(session: &mut Session) -> Result<Outcome> {
    session.test("service", |binary| of(binary, &["operator/api"]))
}

pub(super) fn runner(session: &mut Session) -> Result<Outcome> {
    clis::install(session.checkout(), clis::USUAL);
    session.test("runner", |binary| {
        of(binary, &["images/runner", "images/fakes"]) && binary.target != MORE_CLIS
    })
}

pub(super) fn more_clis(session: &mut Session) -> Result<Outcome> {
    clis::install(session.checkout(), clis::MORE);
    session.test("clis", |binary| binary.target == MORE_CLIS)
}

pub(super) fn images(session: &mut Session) -> Result<Outcome> {
    session.provide_images()?;
    Ok(Outcome::passed())
}

pub(super) fn real_apiserver(session: &mut Session) -> Result<Outcome> {
    session.provide_images()?;
    session.stories("api", |binary| {
        of(binary, &["e2e"]) && binary.target.starts_with("api_")
    })
}

pub(super) fn node(session: &mut Session) -> Result<Outcome> {
    session.provide_images()?;
    let story = |binary: &Binary| of(binary, &["e2e"]) && !binary.target.starts_with("api_");
    let mut outcome = session.stories("node", |binary| story(binary) && binary.target != LAST)?;
    outcome.add(&session.stories("node", |binary| story(binary) && binary.target == LAST)?);
    Ok(outcome)
}

fn of(binary: &Binary, packages: &[&str]) -> bool {
    binary.integration && packages.contains(&binary.package.as_str())
}

impl Session {
    pub(super) fn new(home: Home, checkout: PathBuf, ci: bool) -> Self {
        let cluster = Cluster::new(home.clone(), checkout.clone());
        Self {
            home,
            checkout,
            ci,
            binaries: None,
            postgres: None,
            cluster,
            started: false,
            images_are_there: false,
        }
    }

    pub(super) fn checkout(&self) -> &Path {
        &self.checkout
    }

    pub(super) fn home(&self) -> &Home {
        &self.home
    }

    /// In CI the lock file must fit the manifests.
    pub(super) fn locked(&self) -> Option<&'static str> {
        self.ci.then_some("--locked")
    }

    /// Leaves the machine as it was found.
    pub(super) fn finish(mut self) -> Result<()> {
        self.postgres = None;
        if self.started {
            self.cluster.down()
        } else {
            Ok(())
        }
    }

    fn binaries(&mut self) -> Result<Vec<Binary>> {
        if self.binaries.is_none() {
            self.binaries = Some(binaries::compile(&self.checkout, self.locked())?);
        }
        self.binaries.clone().context("compiled just now")
    }

    fn postgres(&mut self) -> Result<String, String> {
        let server = self
            .postgres
            .get_or_insert_with(|| Postgres::start().map_err(|error| format!("{error:#}")));
        server.as_ref().map(Postgres::url).map_err(Clone::clone)
    }

    fn logs(&self, layer: &str) -> PathBuf {
        self.checkout.join("target/verify").join(layer)
    }

    fn test(&mut self, layer: &str, choose: impl Fn(&Binary) -> bool) -> Result<Outcome> {
        let all = self.binaries()?;
        let chosen: Vec<&Binary> = all.iter().filter(|binary| choose(binary)).collect();
        let mut settings = Settings {
            limit: LIMIT,
            ..Settings::default()
        };
        match self.postgres() {
            Ok(url) => settings.environment.push((POSTGRES, url)),
            Err(why) => say(&format!("without PostgreSQL: {why}")),
        }
        self.run(layer, &chosen, &settings)
    }

    fn stories(&mut self, layer: &str, choose: impl Fn(&Binary) -> bool) -> Result<Outcome> {
        let all = self.binaries()?;
        let chosen: Vec<&Binary> = all.iter().filter(|binary| choose(binary)).collect();
        let environment = vec![
            (
                "KUBECONFIG",
                self.cluster.kubeconfig().display().to_string(),
            ),
            ("MOORING_STATE", self.cluster.state().display().to_string()),
        ];
        self.run(
            layer,
            &chosen,
            &Settings {
                environment,
                one_at_a_time: true,
                limit: STORY_LIMIT,
            },
        )
    }

    fn run(&self, layer: &str, chosen: &[&Binary], settings: &Settings) -> Result<Outcome> {
        if chosen.is_empty() {
            return Ok(Outcome::skipped("no tests"));
        }
        binaries::run(chosen, &self.checkout, &self.logs(layer), settings)
    }

    /// A running cluster with all images, for as long as this run lasts.
    fn provide_images(&mut self) -> Result<()> {
        if self.images_are_there {
            return Ok(());
        }
        if !matches!(self.cluster.status()?, Status::Up { .. }) {
            self.cluster.up()?;
            self.started = true;
        }
        all_images::provide(&self.cluster, &self.home, &self.checkout)?;
        self.images_are_there = true;
        Ok(())
    }
}
