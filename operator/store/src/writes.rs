//! The one seam through which everything is written, numbered, and where tests put a crash or an error.

use std::fmt;
use std::sync::{Arc, Mutex};

use protocol::TaskId;
use tokio::sync::watch;

use crate::db::{Conn, Tx};
use crate::requests::Request;
use crate::{Error, LiveChange, Store, WorkspaceRef};

macro_rules! points {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {
        /// A place where the store is written: one transaction each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum WritePoint {
            $($(#[doc = $doc])+ $name,)+
        }

        impl WritePoint {
            /// Every place, in the order of a task's life.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Its name in errors and tests.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }
        }
    };
}

points! {
    /// [`Store::adopt_installation`].
    AdoptInstallation;
    /// [`Store::enter`].
    Enter;
    /// [`Store::set_priority`].
    SetPriority;
    /// [`Store::claim_next`].
    Claim;
    /// [`Store::next_generation`].
    NextGeneration;
    /// [`Store::record_claim`].
    RecordClaim;
    /// [`Store::record_pod`].
    RecordPod;
    /// [`Store::open_package`].
    Open;
    /// [`Store::started`].
    Started;
    /// [`Store::contact`].
    Contact;
    /// [`Store::append`].
    Append;
    /// [`Store::verdict`].
    Verdict;
    /// [`Store::end_unclaimed`].
    EndUnclaimed;
    /// [`Store::suspend`].
    Suspend;
    /// [`Store::resume`].
    Resume;
    /// [`Store::pod_absent`].
    PodAbsent;
    /// [`Store::secret_gone`].
    SecretGone;
    /// [`Store::release`].
    Release;
    /// [`Store::expire`].
    Expire;
    /// [`Store::member`].
    EnterMember;
    /// [`Store::create_issue`].
    CreateIssue;
    /// [`Store::edit_issue`].
    EditIssue;
    /// [`Store::read_inbox`].
    ReadInbox;
    /// [`Store::archive_inbox`].
    ArchiveInbox;
    /// [`Store::exchange_login`].
    ExchangeLogin;
    /// [`Store::mint_token`].
    MintToken;
    /// [`Store::authenticate_person`], when it notes the use.
    UseToken;
    /// [`Store::revoke_token`].
    RevokeToken;
    /// [`Store::post_comment`].
    PostComment;
    /// [`Store::edit_comment`].
    EditComment;
    /// [`Store::delete_comment`].
    DeleteComment;
    /// [`Store::resolve_comment`].
    ResolveComment;
    /// [`Store::bind_object`].
    BindObject;
    /// [`Store::do_again`].
    DoAgain;
    /// [`Store::put_aside`].
    PutAside;
    /// [`Store::let_go_on`].
    LetGoOn;
    /// [`Store::create_project`].
    CreateProject;
    /// [`Store::edit_project`].
    EditProject;
    /// [`Store::add_attachment`].
    AddAttachment;
    /// [`Store::delete_attachment`].
    DeleteAttachment;
    /// [`Store::heed_schedule`].
    HeedSchedule;
    /// [`Store::fire_issue`].
    FireIssue;
    /// [`Store::fire_task`].
    FireTask;
    /// [`Store::fired_task_made`].
    FiredTaskMade;
    /// [`Store::end_firing`].
    EndFiring;
    /// [`Store::forget_schedule`].
    ForgetSchedule;
    /// [`Store::take_delivery`].
    TakeDelivery;
    /// [`Store::deliver`].
    Deliver;
    /// [`Store::end_delivery`].
    EndDelivery;
    /// [`Store::begin_chat`].
    BeginChat;
    /// [`Store::send_chat`].
    SendChat;
    /// [`Store::edit_chat`].
    EditChat;
    /// [`Store::ask_quick_issue`].
    AskQuickIssue;
    /// [`Store::keep_text`].
    KeepText;
    /// [`Store::subscribe`].
    Subscribe;
    /// [`Store::unsubscribe`].
    Unsubscribe;
    /// [`Store::ask`].
    AskApproval;
    /// [`Store::decide`].
    DecideApproval;
    /// [`Store::settle`].
    SettleApproval;
    /// [`Store::steer`].
    Steer;
    /// [`Store::steered`].
    Steered;
    /// [`Store::fire`].
    Fire;
    /// [`Store::delete_project`].
    DeleteProject;
    /// A part of [`Store::delete_project`].
    DetachIssues;
    /// [`Store::keep_raw`].
    KeepRaw;
}

/// What a test lets happen at a [`WritePoint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is written; the caller gets an error.
    ErrorBefore,
    /// It is written; the caller gets an error all the same, as after a lost answer.
    ErrorAfter,
    /// It is written, then the process is as dead: this call never returns, nor does any later one on this
    /// store. [`Faults::crashed`] tells the test, which drops its tasks and the store and opens it again.
    CrashAfter,
}

type Decide = dyn Fn(WritePoint) -> Option<Fault> + Send + Sync;

/// Faults for tests, given to [`Store::open_with`]. The default has none and costs nothing.
#[derive(Clone, Default)]
pub struct Faults(Option<Arc<Plan>>);

struct Plan {
    decide: Box<Decide>,
    passed: Mutex<Vec<WritePoint>>,
    crashed: watch::Sender<bool>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Faults").field(&self.0.is_some()).finish()
    }
}

impl Faults {
    /// Asks `decide` at each write that is about to begin.
    pub fn new(decide: impl Fn(WritePoint) -> Option<Fault> + Send + Sync + 'static) -> Self {
        let (decide, passed) = (Box::new(decide), Mutex::new(Vec::new()));
        Self(Some(Arc::new(Plan {
            decide,
            passed,
            crashed: watch::Sender::new(false),
        })))
    }

    /// The first time that `point` is written, `fault` happens; never again.
    #[must_use]
    pub fn once(point: WritePoint, fault: Fault) -> Self {
        let armed = std::sync::atomic::AtomicBool::new(true);
        Self::new(move |at| {
            (at == point && armed.swap(false, std::sync::atomic::Ordering::AcqRel)).then_some(fault)
        })
    }

    /// The points at which a write was begun so far, in order. Empty for the default.
    #[must_use]
    pub fn passed(&self) -> Vec<WritePoint> {
        self.0
            .as_ref()
            .map(|plan| lock(&plan.passed).clone())
            .unwrap_or_default()
    }

    /// Returns once [`Fault::CrashAfter`] has happened; never for the default.
    pub async fn crashed(&self) {
        match &self.0 {
            // The plan holds the sender, so waiting ends with the crash or never.
            Some(plan) => {
                let _ = plan.crashed.subscribe().wait_for(|crashed| *crashed).await;
            }
            None => std::future::pending().await,
        }
    }

    /// True once [`Fault::CrashAfter`] has happened.
    #[must_use]
    pub fn has_crashed(&self) -> bool {
        self.0.as_ref().is_some_and(|plan| *plan.crashed.borrow())
    }

    /// A process that is gone does not go on.
    pub(crate) async fn stay_dead(&self) {
        if self.has_crashed() {
            std::future::pending::<()>().await;
        }
    }

    fn begin(&self, point: WritePoint) -> Option<Fault> {
        let plan = self.0.as_ref()?;
        lock(&plan.passed).push(point);
        (plan.decide)(point)
    }

    async fn crash(&self) {
        if let Some(plan) = &self.0 {
            plan.crashed.send_replace(true);
        }
        std::future::pending().await
    }
}

fn lock(passed: &Mutex<Vec<WritePoint>>) -> std::sync::MutexGuard<'_, Vec<WritePoint>> {
    passed
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// One write that has begun. Dropped without [`Write::commit`], it never was.
pub(crate) struct Write {
    store: Store,
    tx: Tx,
    point: WritePoint,
    fault: Option<Fault>,
    changed: Vec<TaskId>,
    live: Vec<LiveChange>,
    delivered: bool,
}

impl<'c> From<&'c mut Write> for Conn<'c> {
    fn from(write: &'c mut Write) -> Self {
        (&mut write.tx).into()
    }
}

impl Store {
    /// Begins a write: the only way to one.
    pub(crate) async fn write(&self, point: WritePoint) -> Result<Write, Error> {
        let inner = &self.inner;
        inner.faults.stay_dead().await;
        inner.writable()?;
        let fault = inner.faults.begin(point);
        if fault == Some(Fault::ErrorBefore) {
            return Err(Error::Injected {
                when: "before",
                point: point.as_str(),
            });
        }
        let tx = inner.db.begin(point.as_str()).await?;
        // The file may have gone while this write waited for its turn.
        inner.writable()?;
        Ok(Write {
            store: self.clone(),
            tx,
            point,
            fault,
            changed: Vec::new(),
            live: Vec::new(),
            delivered: false,
        })
    }
}

impl Write {
    /// Lets one write at a time go on from here under this name.
    pub(crate) async fn serialize(&mut self, name: &str) -> Result<(), Error> {
        self.tx.serialize(name).await
    }

    /// Waits for its turn where the number of tasks that may wait in a workspace is limited: two writes that count at
    /// once would both find the last place. It comes before every other lock, so that no two wait for each other.
    pub(crate) async fn queue(
        &mut self,
        workspace: &WorkspaceRef,
        directory: &dyn wake::Directory,
    ) -> Result<(), Error> {
        let is_limited = directory.max_queued().is_some();
        self.queue_if(is_limited, &workspace.namespace_uid).await
    }

    /// [`Write::queue`], where that is known.
    pub(crate) async fn queue_if(
        &mut self,
        is_limited: bool,
        namespace_uid: &str,
    ) -> Result<(), Error> {
        match is_limited {
            true => self.serialize(&format!("queue of {namespace_uid}")).await,
            false => Ok(()),
        }
    }

    /// How far agents may wake each other.
    pub(crate) fn limits(&self) -> wake::Limits {
        self.store.limits
    }

    /// The request that this write is for.
    pub(crate) fn request(&self) -> Option<Arc<Request>> {
        self.store.request.clone()
    }

    /// True when no other write can happen beside this one.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self.tx, Tx::Sqlite(_))
    }

    /// Says that those who listen should look at what webhooks delivered, once the write lasts.
    pub(crate) fn delivered(&mut self) {
        self.delivered = true;
    }

    /// Says that those who listen should look at this task, once the write lasts.
    pub(crate) fn changed(&mut self, task: TaskId) {
        if !self.changed.contains(&task) {
            self.changed.push(task);
        }
    }

    /// Says that those who look on should look at this, once the write lasts.
    pub(crate) fn happened(&mut self, change: LiveChange) {
        if !self.live.contains(&change) {
            self.live.push(change);
        }
    }

    /// Makes it last and tells who listens. Once begun it is not cut off: a caller that goes away while the
    /// database commits would leave a change that nobody is told of.
    pub(crate) async fn commit(self) -> Result<(), Error> {
        let (store, point, fault) = (self.store.clone(), self.point, self.fault);
        let lost = |_| Error::Unavailable {
            doing: point.as_str(),
            source: sqlx::Error::WorkerCrashed,
        };
        tokio::spawn(self.last()).await.map_err(lost)??;
        match fault {
            Some(Fault::ErrorAfter) => Err(Error::Injected {
                when: "after",
                point: point.as_str(),
            }),
            Some(Fault::CrashAfter) => {
                store.inner.faults.crash().await;
                Ok(())
            }
            Some(Fault::ErrorBefore) | None => Ok(()),
        }
    }

    async fn last(mut self) -> Result<(), Error> {
        let changes = &self.store.inner.changes;
        changes
            .announce(&mut self.tx, &self.changed, &self.live, self.delivered)
            .await?;
        self.tx.commit(self.point.as_str()).await?;
        changes.publish(&self.changed, &self.live, self.delivered);
        Ok(())
    }
}
