//! The middle of an attempt: prepare the workdir, run the CLI, once more where its conversation is refused.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use backon::BackoffBuilder as _;
use client::Client;
use protocol::programs::{self, Version};
use protocol::{Evidence, FailureClass, LogLevel, Outcome, Package, SessionPolicy, paths};
use secrecy::SecretString;
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use crate::adapter::{CommandLine, Launch, Place, Provider};
use crate::adapters;
use crate::approvals::{Api, Questions};
use crate::brief::{context, message};
use crate::conclude::{
    Conclusion, after_fresh_start, conclude, explain, may_start_fresh, on_full_volume,
};
use crate::disk;
use crate::environment::Environment;
use crate::host::Host;
use crate::journal::Journal;
use crate::launch_files;
use crate::layout::Layout;
use crate::ledger::Count;
use crate::life::{not_prepared, tell_foreign};
use crate::mcp::{self, McpServers};
use crate::open::{Given, Opened};
use crate::options;
use crate::prepare::{Preparation, Prepared, prepare};
use crate::processes::Reaper;
use crate::remarks::Told;
use crate::resume::{self, Decision, Found, decide};
use crate::settings::Settings;
use crate::signals::Blocked;
use crate::spawn::spawn;
use crate::standing::Standing;
use crate::start_files;
use crate::stop;
use crate::turn::{Surroundings, TurnEnd, drive};
use crate::upload::backoff;
use crate::watchdog::Windows;

/// For so long the files are read in which a CLI has written its tokens.
const COUNTING: Duration = Duration::from_secs(10);
/// Where that takes longer.
const NOT_COUNTED: &str = "the files in which the agent's program writes its tokens were not read in time: not all of them \
                           are counted";

/// What an attempt works with.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// Settings of the runner.
    pub settings: &'a Settings,
    /// Where everything lies.
    pub layout: &'a Layout,
    /// The container's environment.
    pub environment: &'a Environment,
    /// The API.
    pub client: &'a Client,
    /// What the pod was given.
    pub given: &'a Given,
    /// The package.
    pub opened: &'a Opened,
    /// When it was opened.
    pub opened_at: Instant,
    /// Buries processes.
    pub reaper: Arc<Reaper>,
    /// The signals that its child gets back.
    pub blocked: &'a Blocked,
    /// Takes what became of people's remarks.
    pub told: Told,
}

/// How the middle ended.
#[derive(Debug)]
pub struct Ran {
    /// What the CLI's run came to.
    pub conclusion: Conclusion,
    /// How long the CLI ran.
    pub duration: Duration,
    /// Whether the volume is the one of the last run.
    pub volume: Evidence,
    /// Whether the working directory was there.
    pub workdir: Evidence,
    /// Whether the conversation was in the CLI's store.
    pub session: Evidence,
}

impl Attempt<'_> {
    fn package(&self) -> &Package {
        &self.opened.package
    }

    /// Runs. Whatever happens is a result.
    pub async fn run(&self, journal: &mut Journal, host: &mut Host) -> Ran {
        let package = self.package();
        journal.note(&headline(package));
        let Some(provider) = adapters::find(&package.runtime.provider) else {
            let provider = &package.runtime.provider;
            return self.never_ran(not_prepared(format!(
                "this runner cannot drive the provider {provider:?}"
            )));
        };
        let prepared = match self.prepare(provider).await {
            Ok(prepared) => prepared,
            Err(message) => {
                let outcome = match disk::full(self.volume()) {
                    Some(words) => on_full_volume(not_prepared(message), &words),
                    None => not_prepared(message),
                };
                return self.never_ran(outcome);
            }
        };
        journal.keep_in(prepared.outbox);
        journal.keep_raw_in(&self.layout.state);
        for moved in &prepared.set_aside {
            journal.remark(LogLevel::Warn, moved.to_string());
        }
        tell_foreign(journal, &prepared.foreign);
        if prepared.gave_room {
            let mebibytes = disk::RESERVE_BYTES >> 20;
            let words = format!(
                "the session's volume is full: {mebibytes} MiB that were kept for this are given to this run, in which the \
                 agent can delete what it does not need"
            );
            journal.remark(LogLevel::Warn, words);
        }

        let (decision, session) = decide(package, |id| self.look(provider, id));
        info!(resumes = asked(&decision).is_some(), "the workdir stands");
        let started = Instant::now();
        let standing = self.standing(provider);
        let news = standing.news(asked(&decision)).await;
        let mut conclusion = self
            .converse(provider, decision, news.as_deref(), journal, host)
            .await;
        let asked = package.session.resume.as_ref();
        let asked = asked.map(|session| session.id.as_str());
        standing.note(&conclusion, asked).await;
        if let Some(words) = disk::full(self.volume()) {
            journal.remark(LogLevel::Warn, words.as_str());
            conclusion.outcome = on_full_volume(conclusion.outcome, &words);
        }
        Ran {
            conclusion,
            duration: started.elapsed(),
            volume: package.session.volume.clone(),
            workdir: prepared.workdir,
            session,
        }
    }

    /// The session's volume.
    fn volume(&self) -> &Path {
        let state = &self.layout.state;
        state.parent().unwrap_or(state)
    }

    fn never_ran(&self, outcome: Outcome) -> Ran {
        let session = &self.package().session;
        let why = "the workdir was not prepared";
        Ran {
            conclusion: Conclusion::never_ran(outcome, session.resume.clone()),
            duration: Duration::ZERO,
            volume: session.volume.clone(),
            workdir: Evidence::unknown(why),
            session: Evidence::unknown(why),
        }
    }

    async fn prepare(&self, provider: &dyn Provider) -> Result<Prepared, String> {
        let preparation = Preparation {
            layout: self.layout.clone(),
            package: self.package().clone(),
            context_file: provider.context_file(),
            skills: self.at(|place| provider.skills(place)),
            skill_list: self.at(|place| provider.skill_list(place)),
            token: self.given.token.clone(),
            ca: self.given.ca.clone(),
            key: self.opened.key.clone(),
        };
        let seconds = self.package().timeouts.prepare_seconds;
        // A volume that hangs would otherwise hang the runner.
        let work = tokio::task::spawn_blocking(move || prepare(&preparation));
        let left = (self.opened_at + Duration::from_secs(seconds.into())) - Instant::now();
        match timeout(left, work).await {
            Ok(Ok(prepared)) => prepared.map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(format!("preparing the workdir broke off: {error}")),
            Err(_) => Err(format!(
                "preparing the workdir took longer than {seconds} s"
            )),
        }
    }

    /// Asks something of the place where the CLI runs.
    fn at<T>(&self, ask: impl FnOnce(&Place<'_>) -> T) -> T {
        let environment = self.of_agent();
        ask(&Place {
            home: &self.layout.home,
            cwd: &self.layout.work,
            env: environment.variables(),
        })
    }

    /// The same of what may be much, or lie on a volume that hangs: beside the only thread, and for so long. `None` when it
    /// is not read by then.
    async fn read<T: Send + 'static>(
        &self,
        limit: Duration,
        ask: impl FnOnce(&Place<'_>) -> T + Send + 'static,
    ) -> Option<T> {
        let environment = self.of_agent();
        let (home, cwd) = (self.layout.home.clone(), self.layout.work.clone());
        let work = tokio::task::spawn_blocking(move || {
            ask(&Place {
                home: &home,
                cwd: &cwd,
                env: environment.variables(),
            })
        });
        timeout(limit, work).await.ok()?.ok()
    }

    fn of_agent(&self) -> Environment {
        self.environment
            .of_agent(self.layout, &self.settings.api, &[])
            .with(paths::ENV_SCOPE, self.package().agent.token_scope.as_str())
    }

    /// Whether the CLI's own store holds a session.
    fn look(&self, provider: &dyn Provider, session: &str) -> Found {
        let paths = self.at(|place| provider.session_files(place, session));
        resume::found(&paths)
    }

    async fn converse(
        &self,
        provider: &dyn Provider,
        decision: Decision,
        news: Option<&str>,
        journal: &mut Journal,
        host: &mut Host,
    ) -> Conclusion {
        let policy = self.package().session.policy;
        if let Decision::Unavailable(reason) = &decision {
            let outcome = Outcome::failed(FailureClass::SessionUnavailable, reason.as_str());
            return Conclusion::never_ran(outcome, self.package().session.resume.clone());
        }
        if let Some(outcome) = self.loose(provider) {
            return Conclusion::never_ran(outcome, self.package().session.resume.clone());
        }
        let servers = match self.servers(provider, host).await {
            Ok(servers) => servers,
            Err(outcome) => {
                return Conclusion::never_ran(outcome, self.package().session.resume.clone());
            }
        };
        let launch = self.launch(provider, &decision, news, servers);
        let end = match self.turn(provider, &launch, 1, journal, host).await {
            Ok(end) => end,
            Err(conclusion) => return conclusion,
        };
        let asked = asked(&decision);
        let fresh = may_start_fresh(&end, policy).map(str::to_owned);
        let first = conclude(end, provider.id(), asked, policy);
        let Some(words) = fresh else { return first };
        warn!("the conversation was refused; starting a new one");
        journal.remark(
            LogLevel::Warn,
            format!("the conversation cannot be continued ({words}): the turn starts anew"),
        );
        let decision = Decision::Fresh(Some(words));
        let launch = self.launch(provider, &decision, None, launch.mcp);
        match self.turn(provider, &launch, 2, journal, host).await {
            Ok(end) => {
                let second = conclude(end, provider.id(), None, SessionPolicy::Fresh);
                after_fresh_start(first, second)
            }
            Err(second) => after_fresh_start(first, second),
        }
    }

    /// One run of the CLI.
    async fn turn(
        &self,
        provider: &dyn Provider,
        launch: &Launch,
        run: u32,
        journal: &mut Journal,
        host: &mut Host,
    ) -> Result<TurnEnd, Conclusion> {
        let package = self.package();
        let refuse = |outcome| Conclusion::never_ran(outcome, package.session.resume.clone());
        if let Some(cause) = host.stopped() {
            return Err(refuse(cause.outcome()));
        }
        let (line, adapter) = provider.launch(launch);
        let facts = provider.facts();
        for words in options::left_out(facts, launch) {
            journal.remark(LogLevel::Warn, words);
        }
        for note in &line.notes {
            journal.record(note.clone());
        }
        let environment = self
            .environment
            .of_agent(self.layout, &self.settings.api, &line.env_defaults)
            .with(paths::ENV_SCOPE, self.package().agent.token_scope.as_str())
            .for_line(&line)
            .map_err(|error| refuse(not_prepared(error)))?;
        let environment = match launch.tools.is_empty() {
            true => environment,
            false => environment.with_no_start_files(),
        };
        set_start_files_aside(launch, journal).map_err(|error| refuse(not_prepared(error)))?;
        let mut files =
            launch_files::write(&line.files).map_err(|error| refuse(not_prepared(error)))?;
        launch_files::link(&line.links, &mut files).map_err(|error| refuse(not_prepared(error)))?;
        let count = self.count(provider, launch, &line, journal).await;
        let child = spawn(
            &line.argv,
            &environment,
            &self.layout.work,
            &self.reaper,
            self.blocked,
        )
        .map_err(|error| refuse(Outcome::failed(error.class(), error.to_string())))?;
        info!(pid = child.pid.as_raw_nonzero(), "the agent's program runs");
        tokio::spawn(tell_started(
            self.client.clone(),
            self.opened.credential.clone(),
        ));
        let seconds = package.timeouts.task_seconds;
        let mut around = Surroundings {
            journal,
            host,
            reaper: Arc::clone(&self.reaper),
            ladder: line.service.unwrap_or_else(|| provider.ladder()),
            served: line.service.is_some(),
            deaf: options::deaf(facts, launch.version),
            room: mcp::Room {
                environment: &environment,
                cwd: &self.layout.work,
                reaper: &self.reaper,
                blocked: self.blocked,
            },
            max_turns: launch.max_turns.filter(|_| !facts.counts_turns),
            grace: stop::budget(package.timeouts.grace_seconds),
            cgroup: &self.layout.cgroup,
            told: self.told.clone(),
            questions: self.questions(run),
            windows: Windows::of(facts, &package.timeouts),
            deadline: (
                Instant::now() + Duration::from_secs(seconds.into()),
                seconds,
            ),
        };
        let mut end = drive(child, line.stdin, adapter, &mut around).await;
        self.add_spent(count, &mut end, journal).await;
        Ok(end)
    }

    /// What there is to be counted from after a run that begins now.
    async fn count(
        &self,
        provider: &dyn Provider,
        launch: &Launch,
        line: &CommandLine,
        journal: &mut Journal,
    ) -> Count {
        let (ledger, file) = (provider.ledger(), line.usage_file.clone());
        let resume = launch.resume.clone();
        let count = self.read(COUNTING, move |place| {
            Count::of(ledger, file, place, resume.as_deref())
        });
        count.await.unwrap_or_else(|| {
            journal.remark(LogLevel::Warn, NOT_COUNTED);
            Count::default()
        })
    }

    /// Counts from it.
    async fn add_spent(&self, count: Count, end: &mut TurnEnd, journal: &mut Journal) {
        let limit = match end.stopped {
            Some(_) => stop::reserve(self.package().timeouts.grace_seconds) / 2,
            None => COUNTING,
        };
        let session = end.result.session.clone();
        let silent = end.result.outcome.class() == Some(FailureClass::EmptyOutput);
        let read = self.read(limit, move |place| {
            let session = session.as_deref();
            let why = silent.then(|| count.failure(place, session));
            (count.spent(place, session), why.flatten())
        });
        let Some((spent, why)) = read.await else {
            journal.remark(LogLevel::Warn, NOT_COUNTED);
            return;
        };
        end.result.usage = spent.unwrap_or_else(|| std::mem::take(&mut end.result.usage));
        explain(&mut end.result.outcome, why);
    }

    /// Where a run asks people about tools, if its Agent wants that.
    fn questions(&self, run: u32) -> Option<Questions<Api>> {
        let policy = self.package().agent.tools.as_ref()?;
        if policy.require_approval.is_empty() {
            return None;
        }
        let api = Api::new(self.client.clone(), self.opened.credential.clone());
        Some(Questions::new(api, policy.clone(), run))
    }

    /// Why the provider cannot be held to what the Agent says about tools; the operator has seen to that it can, but for
    /// a Runtime that has changed since.
    fn loose(&self, provider: &dyn Provider) -> Option<Outcome> {
        let policy = self.package().agent.tools.as_ref()?;
        let (id, name) = (provider.id(), &self.package().agent.name);
        let lacks = provider.facts().tools.lacks_of(policy);
        (!lacks.is_empty()).then(|| {
            not_prepared(format!(
                "{id} cannot be held to the tools of Agent {name}, not to {}: take that out of the Agent, or give it \
                 another Runtime",
                lacks.join(", not to ")
            ))
        })
    }

    /// The MCP servers that the run is given, once those without which it must not begin are there.
    async fn servers(
        &self,
        provider: &dyn Provider,
        host: &mut Host,
    ) -> Result<Option<McpServers>, Outcome> {
        let package = self.package();
        let Some(given) = &package.options.mcp_servers else {
            return Ok(None);
        };
        let servers = McpServers::resolve(given, self.environment).map_err(not_prepared)?;
        let held = package.agent.tools.as_ref();
        let held = held.is_some_and(|tools| !tools.is_empty());
        let support = provider.facts().servers(self.version(), held);
        if let Some(words) = servers.refused_by(provider.id(), support) {
            return Err(not_prepared(words));
        }
        let environment = self
            .environment
            .of_agent(self.layout, &self.settings.api, &[]);
        let room = mcp::Room {
            environment: &environment,
            cwd: &self.layout.work,
            reaper: &self.reaper,
            blocked: self.blocked,
        };
        let prepared_by = Duration::from_secs(package.timeouts.prepare_seconds.into());
        let left = (self.opened_at + prepared_by).saturating_duration_since(Instant::now());
        tokio::select! {
            ready = mcp::await_required(&servers, room, mcp::WAIT.min(left)) => ready.map_err(not_prepared)?,
            cause = host.stop() => return Err(cause.outcome()),
        }
        Ok(Some(servers))
    }

    /// The version of the program, where the operator knows it.
    fn version(&self) -> Option<Version> {
        let told = self.package().runtime.version.as_deref();
        told.and_then(programs::version_in)
    }

    /// What the agent is told in every conversation.
    fn standing(&self, provider: &dyn Provider) -> Standing {
        let skills = self.at(|place| provider.skills(place));
        Standing::of(self.package(), &skills, &self.layout.state)
    }

    /// What the agent is told: before it what is new of itself, for a CLI that reads no file all that stands in the context
    /// file.
    fn message(&self, provider: &dyn Provider, decision: &Decision, news: Option<&str>) -> String {
        let package = self.package();
        let message = message(package, decision);
        let whole = provider
            .reads_no_file()
            .then(|| context(package, str::to_owned));
        match whole.as_deref().or(news) {
            Some(first) => format!("{first}\n\n---\n\n{message}"),
            None => message,
        }
    }

    fn launch(
        &self,
        provider: &dyn Provider,
        decision: &Decision,
        news: Option<&str>,
        mcp: Option<McpServers>,
    ) -> Launch {
        let package = self.package();
        let skills = self.at(|place| provider.skills(place));
        let options = &package.options;
        Launch {
            command: package.runtime.command.clone(),
            version: self.version(),
            launch_prefix: package.runtime.launch_prefix.clone(),
            args: package.runtime.args.clone(),
            model: package.agent.model.clone(),
            cwd: self.layout.work.clone(),
            home: self.layout.home.clone(),
            root: rustix::process::geteuid().is_root(),
            resume: asked(decision).map(str::to_owned),
            new_session: uuid::Uuid::now_v7().to_string(),
            message: self.message(provider, decision, news),
            thinking: options.thinking_level.clone(),
            service_tier: options.service_tier.clone(),
            max_turns: options.max_turns,
            custom_args: options.args.clone(),
            mcp,
            tools: package.agent.tools.clone().unwrap_or_default(),
            skills: package
                .agent
                .skills
                .iter()
                .map(|name| skills.join(name))
                .collect(),
            private: self.layout.private.clone(),
            runner: std::env::current_exe().unwrap_or_else(|_| "mooring-runner".into()),
            env: self
                .environment
                .of_agent(self.layout, &self.settings.api, &[]),
        }
    }
}

fn asked(decision: &Decision) -> Option<&str> {
    match decision {
        Decision::Resume(id) => Some(id),
        Decision::Fresh(_) | Decision::Unavailable(_) => None,
    }
}

fn headline(package: &Package) -> String {
    format!(
        "= {}/{}: {} on {} {}, attempt {}",
        package.namespace,
        package.name,
        package.agent.display_name,
        package.subject.kind,
        package.subject.name,
        package.attempt.number
    )
}

/// Where tools are looked at, what programs run by themselves as they start does not count.
fn set_start_files_aside(launch: &Launch, journal: &mut Journal) -> Result<(), String> {
    if launch.tools.is_empty() {
        return Ok(());
    }
    for path in start_files::set_aside(&launch.home)? {
        let words = "what programs run by themselves as they start does not count where tools are looked at: it was moved aside as";
        journal.remark(LogLevel::Warn, format!("{words} {}", path.display()));
    }
    Ok(())
}

/// Says that the CLI runs, until the API has heard it or does not want to.
async fn tell_started(client: Client, credential: SecretString) {
    let mut waits = backoff().build();
    loop {
        match client.started(&credential).await {
            Ok(()) => return,
            Err(error) if error.retry() => {
                let wait = waits.next().unwrap_or(Duration::from_secs(2));
                tokio::time::sleep(wait).await;
            }
            Err(error) => {
                warn!(%error, "the API does not take the start");
                return;
            }
        }
    }
}
