//! The cluster as its users see it: up, a second node, images, drills, down.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::command::wait_until;
use crate::daemon::{self, Daemon};
use crate::home::Home;
use crate::images::{self, Image};
use crate::node::{GATEWAY, NODES, Node};
use crate::pki::Pki;
use crate::progress::{say, step};
use crate::template::{Values, fill};
use crate::{addons, control_plane, leftovers, node, packages, programs};

/// Says, for all users of the machine, where the state of its cluster is.
const MARK: &str = "/run/mooring-cluster";
const START_LIMIT: Duration = Duration::from_secs(90);
const SERVICES: &str = "10.96.0.0/16";
const PODS: &str = "10.244.0.0/16";
const DNS: &str = "10.96.0.10";

/// The one cluster of this user, as seen from one checkout.
#[derive(Debug)]
pub struct Cluster {
    home: Home,
    checkout: PathBuf,
    site: Site,
}

/// What runs.
#[derive(Clone, Debug)]
pub enum Status {
    /// Nothing is left of any cluster.
    Down,
    /// Everything that was started runs and the apiserver is ready.
    Up {
        /// The checkout that started it.
        checkout: PathBuf,
        /// All programs.
        daemons: Vec<Daemon>,
    },
    /// Something is missing: `up` cleans and starts afresh.
    Broken {
        /// The checkout that started it, where that is known.
        checkout: Option<PathBuf>,
        /// What is wrong, one line each.
        faults: Vec<String>,
    },
}

/// Written when a cluster is whole.
#[derive(Debug, Deserialize, Serialize)]
struct Owner {
    checkout: PathBuf,
    programs: PathBuf,
    whole: bool,
}

impl Cluster {
    /// The cluster of a user's folder, for the checkout that asks.
    #[must_use]
    pub fn new(home: Home, checkout: PathBuf) -> Self {
        let site = Site {
            state: home.state(),
            programs: programs::folder(&home),
        };
        Self {
            home,
            checkout,
            site,
        }
    }

    /// Starts control plane, first node, names and volumes. A running cluster is left alone, a broken one is cleaned first.
    ///
    /// # Errors
    /// When another checkout's cluster is up, when something is missing on the machine, or when a program does not start.
    pub fn up(&self) -> Result<()> {
        packages::ensure(packages::CLUSTER)?;
        let _lock = self.home.lock()?;
        self.refuse_foreign()?;
        programs::ensure(&self.home)?;
        match self.status()? {
            Status::Up { .. } if self.runs_our_programs() => return Ok(()),
            Status::Up { .. } => {
                say("the cluster runs other versions than this checkout names: starting it afresh")
            }
            Status::Broken { faults, .. } => say(&format!(
                "cleaning up after a cluster that is not whole: {}",
                faults.join("; ")
            )),
            Status::Down => {}
        }
        self.clean()?;
        let archives = self.basic_images()?;
        step("starting the cluster", || self.start(&archives))
    }

    /// Adds the second node; one that is there is left alone.
    ///
    /// # Errors
    /// When no whole cluster of this checkout is up, or the node does not start.
    pub fn node2(&self) -> Result<()> {
        let _lock = self.home.lock()?;
        self.require_up()?;
        let second = &NODES[1];
        if second.is_present(&self.site.state) {
            return Ok(());
        }
        let archives = self.basic_images()?;
        step("starting node-2", || {
            node::start(&self.site, second, &archives)
        })
    }

    /// Imports archives of images into every node.
    ///
    /// # Errors
    /// When no whole cluster of this checkout is up, or an archive cannot be imported.
    pub fn load(&self, archives: &[PathBuf]) -> Result<()> {
        let _lock = self.home.lock()?;
        self.require_up()?;
        for node in self.nodes() {
            for archive in archives {
                node::import(&self.site, node, archive)?;
            }
        }
        Ok(())
    }

    /// Imports those images that a node does not have yet.
    ///
    /// # Errors
    /// As [`Cluster::load`].
    pub fn load_images(&self, images: &[Image]) -> Result<()> {
        let _lock = self.home.lock()?;
        self.require_up()?;
        for node in self.nodes() {
            let there = node::images(&self.site, node)?;
            for image in images
                .iter()
                .filter(|image| !there.contains(&image.reference))
            {
                node::import(&self.site, node, &image.archive)?;
            }
        }
        Ok(())
    }

    /// Ends everything and removes all traces; logs are kept in [`Home::last_logs`].
    ///
    /// # Errors
    /// When another checkout's cluster is up, or when something could not be removed: the message lists it.
    pub fn down(&self) -> Result<()> {
        packages::ensure(packages::CLUSTER)?;
        let _lock = self.home.lock()?;
        self.refuse_foreign()?;
        self.clean()
    }

    /// What runs now.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn status(&self) -> Result<Status> {
        let daemons = daemon::recorded(&self.site.state);
        let owner = self.owner();
        if daemons.is_empty() && owner.is_none() {
            let found = leftovers::leftovers(&self.home);
            return Ok(if found.is_empty() {
                Status::Down
            } else {
                Status::Broken {
                    checkout: None,
                    faults: found,
                }
            });
        }
        let mut faults: Vec<String> = daemons
            .iter()
            .filter(|daemon| !daemon.is_running())
            .map(|daemon| format!("{} does not run", daemon.name))
            .collect();
        let checkout = owner.as_ref().map(|owner| owner.checkout.clone());
        if !owner.is_some_and(|owner| owner.whole) {
            faults.push("it was not started to the end".to_owned());
        }
        if faults.is_empty() && !control_plane::is_ready(&self.site) {
            faults.push("the apiserver is not ready".to_owned());
        }
        match checkout {
            Some(checkout) if faults.is_empty() => Ok(Status::Up { checkout, daemons }),
            checkout => Ok(Status::Broken { checkout, faults }),
        }
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.site.state.join("admin.kubeconfig")
    }

    /// The kubeconfig of a person with a client certificate; made if it is not there. What the person may do is RBAC's.
    ///
    /// # Errors
    /// When the name is none, no cluster was ever up, or openssl fails.
    pub fn person(&self, name: &str, groups: &[String]) -> Result<PathBuf> {
        let is_word = |word: &str| {
            !word.is_empty()
                && word
                    .chars()
                    .all(|each| each.is_ascii_alphanumeric() || "-.@".contains(each))
        };
        if !is_word(name) || !groups.iter().all(|group| is_word(group)) {
            bail!("names of people and groups are letters, digits, hyphens, dots and @");
        }
        let mut file = format!("person-{name}");
        let mut subject = String::new();
        for group in groups {
            file.push_str(&format!("_{group}"));
            subject.push_str(&format!("/O={group}"));
        }
        subject.push_str(&format!("/CN={name}"));
        let kubeconfig = self.site.state.join(format!("{file}.kubeconfig"));
        if !kubeconfig.exists() {
            self.site.user(&file, &subject, "", "127.0.0.1")?;
        }
        Ok(kubeconfig)
    }

    /// The folder with logs, the audit log (`log/audit.jsonl`) and volumes.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.site.state
    }

    /// The folder with kubectl, helm and the cluster's own programs.
    #[must_use]
    pub fn programs(&self) -> &Path {
        &self.site.programs
    }

    /// kubectl as the administrator.
    #[must_use]
    pub fn kubectl(&self) -> Command {
        self.site.kubectl()
    }

    /// Kills one program of the cluster, for drills; [`Cluster::restart`] brings it back.
    ///
    /// # Errors
    /// When there is no such program, or it does not go away.
    pub fn kill(&self, name: &str) -> Result<()> {
        let daemon = self.daemon(name)?;
        daemon.kill();
        wait_until(&format!("{name} is gone"), START_LIMIT, || {
            Ok(!daemon.is_running())
        })
    }

    /// Starts a program of the cluster again as it was started before.
    ///
    /// # Errors
    /// When there is no such program, or it does not start.
    pub fn restart(&self, name: &str) -> Result<()> {
        let mut daemon = self.daemon(name)?;
        if daemon.is_running() {
            return Ok(());
        }
        daemon.start(&self.site.state)
    }

    /// Cuts the second node off the network, or connects it again.
    ///
    /// # Errors
    /// When there is no second node.
    pub fn connect_node2(&self, connected: bool) -> Result<()> {
        node::set_cable(connected)
    }

    fn start(&self, archives: &[PathBuf]) -> Result<()> {
        for folder in ["log", "run", "volumes", "plugins"] {
            fs::create_dir_all(self.site.state.join(folder))?;
        }
        self.record(false)?;
        fs::write(MARK, self.site.state.display().to_string())
            .context("mark the machine as taken")?;
        leftovers::remember_settings(&self.site.state)?;
        control_plane::start(&self.site)?;
        node::start(&self.site, &NODES[0], archives)?;
        addons::start(&self.site)?;
        self.record(true)
    }

    fn clean(&self) -> Result<()> {
        step("taking the cluster down", || leftovers::remove(&self.home))?;
        match fs::remove_file(MARK) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).context("clear the machine's mark")
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn basic_images(&self) -> Result<Vec<PathBuf>> {
        Ok(vec![
            images::pause(&self.home)?.archive,
            images::base(&self.home)?.archive,
        ])
    }

    fn nodes(&self) -> impl Iterator<Item = &'static Node> {
        NODES
            .iter()
            .filter(|node| node.is_present(&self.site.state))
    }

    fn daemon(&self, name: &str) -> Result<Daemon> {
        let mut all = daemon::recorded(&self.site.state).into_iter();
        all.find(|daemon| daemon.name == name)
            .with_context(|| format!("the cluster has no program {name}"))
    }

    fn owner(&self) -> Option<Owner> {
        serde_json::from_slice(&fs::read(self.site.state.join("owner.json")).ok()?).ok()
    }

    fn record(&self, whole: bool) -> Result<()> {
        let owner = Owner {
            checkout: self.checkout.clone(),
            programs: self.site.programs.clone(),
            whole,
        };
        fs::write(
            self.site.state.join("owner.json"),
            serde_json::to_vec_pretty(&owner)?,
        )
        .context("record the owner")
    }

    fn runs_our_programs(&self) -> bool {
        self.owner()
            .is_some_and(|owner| owner.programs == self.site.programs)
    }

    /// Addresses and bridges exist once, so another checkout's cluster must not be touched while anything of it runs.
    fn refuse_foreign(&self) -> Result<()> {
        let runs = |state: &Path| daemon::recorded(state).iter().any(Daemon::is_running);
        let state = fs::read_to_string(MARK).unwrap_or_default();
        let state = Path::new(state.trim());
        if state != self.site.state && runs(state) {
            bail!(
                "the cluster of another user is up on this machine: its state is in {}",
                state.display()
            );
        }
        let Some(owner) = self.owner() else {
            return Ok(());
        };
        if owner.checkout != self.checkout && owner.checkout.exists() && runs(&self.site.state) {
            let other = owner.checkout.display();
            bail!(
                "the cluster of another checkout is up: {other}\nend it with: cd {other} && cargo cluster down"
            );
        }
        Ok(())
    }

    fn require_up(&self) -> Result<()> {
        self.refuse_foreign()?;
        match self.status()? {
            Status::Up { .. } => Ok(()),
            Status::Down => bail!("no cluster is up: cargo cluster up"),
            Status::Broken { faults, .. } => {
                bail!(
                    "the cluster is not whole ({}): cargo cluster up starts it afresh",
                    faults.join("; ")
                )
            }
        }
    }
}

/// Where one cluster keeps its state and finds its programs.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) state: PathBuf,
    pub(crate) programs: PathBuf,
}

impl Site {
    pub(crate) fn pki(&self) -> Pki {
        Pki::new(self.state.join("pki"))
    }

    /// Values that every template may use.
    pub(crate) fn values(&self) -> Values {
        Values::from([
            ("state", self.state.display().to_string()),
            ("programs", self.programs.display().to_string()),
            ("pki", self.pki().folder()),
            ("gateway", GATEWAY.to_owned()),
            ("services", SERVICES.to_owned()),
            ("pods", PODS.to_owned()),
            ("dns", DNS.to_owned()),
            ("base_image", images::BASE.to_owned()),
        ])
    }

    pub(crate) fn kubectl(&self) -> Command {
        let mut kubectl = Command::new(self.programs.join("kubectl"));
        kubectl.arg(format!(
            "--kubeconfig={}",
            self.state.join("admin.kubeconfig").display()
        ));
        kubectl
    }

    /// Makes a user's certificate and kubeconfig.
    pub(crate) fn user(
        &self,
        name: &str,
        subject: &str,
        alternatives: &str,
        server: &str,
    ) -> Result<()> {
        self.pki().certificate(name, subject, alternatives)?;
        let mut values = self.values();
        values.extend([
            ("user", name.to_owned()),
            ("certificate", name.to_owned()),
            ("server", server.to_owned()),
        ]);
        let text = fill(include_str!("templates/kubeconfig.yaml"), &values)?;
        fs::write(self.state.join(format!("{name}.kubeconfig")), text).context("write a kubeconfig")
    }

    /// Waits for something to start; ends at once, with its last words, when a program of the cluster has died.
    pub(crate) fn wait(&self, what: &str, mut ready: impl FnMut() -> Result<bool>) -> Result<()> {
        wait_until(what, START_LIMIT, || {
            daemon::recorded(&self.state)
                .iter()
                .try_for_each(|daemon| daemon.check(&self.state))?;
            ready()
        })
        .with_context(|| format!("logs are in {}", self.state.join("log").display()))
    }
}
