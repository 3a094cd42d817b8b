//! Tasks that are born here without an issue: whoever makes one writes beside it what it is for.

use jiff::Timestamp;
use protocol::{SessionId, SessionPolicy, Subject, TaskId};
use wake::{Directory, Person, Principal};

use crate::sessions::{self, SessionKey};
use crate::shares;
use crate::tasks::{self, NewTask, TaskObject, new_id};
use crate::writes::Write;
use crate::{Acting, Error, WorkspaceRef, wakes};

/// A task to be queued.
pub(crate) struct Birth<'a> {
    pub(crate) workspace: &'a WorkspaceRef,
    pub(crate) agent: &'a str,
    pub(crate) subject: Subject,
    pub(crate) policy: SessionPolicy,
    pub(crate) priority: i32,
    /// Tasks that may wait in the workspace for it to be one more.
    pub(crate) max_queued: Option<u32>,
    pub(crate) now: Timestamp,
}

impl Birth<'_> {
    fn key(&self) -> SessionKey {
        SessionKey {
            namespace_uid: self.workspace.namespace_uid.clone(),
            agent: self.agent.to_owned(),
            subject: self.subject.clone(),
        }
    }

    /// Finds or makes its session, and locks it.
    pub(crate) async fn session(&self, write: &mut Write) -> Result<SessionId, Error> {
        let id = new_id(self.now)?;
        sessions::enter(write, &self.key(), &self.workspace.namespace, id).await
    }

    /// Queues it, where there is room. The controller makes its object.
    pub(crate) async fn task(
        &self,
        write: &mut Write,
        session: SessionId,
    ) -> Result<TaskId, Error> {
        shares::check_room(write, &self.workspace.namespace_uid, self.max_queued).await?;
        let task = TaskId(new_id(self.now)?);
        let new = NewTask {
            object: TaskObject {
                namespace: self.workspace.namespace.clone(),
                namespace_uid: self.workspace.namespace_uid.clone(),
                name: wakes::object_name(self.agent, task),
                uid: None,
                spec_hash: String::new(),
            },
            session: self.key(),
            priority: self.priority,
            policy: self.policy,
            created_at: self.now,
            deadline_seconds: None,
            suspended: false,
            prompt: None,
            fire_at: None,
        };
        // Its own id, until it has an object.
        tasks::insert(write, task, &task.to_string(), &new).await?;
        sessions::choose_head(write, session).await?;
        write.changed(task);
        Ok(task)
    }
}

/// Whoever is asked must be there, and let the person ask: one word for both, so that guessing tells nothing.
pub(crate) fn check_agent(
    by: &Acting,
    agent: &str,
    directory: &dyn Directory,
) -> Result<(), Error> {
    let person = Person {
        user: by.user.clone().unwrap_or_default(),
        groups: by.groups.clone(),
    };
    let facts = directory.agent(agent);
    if wake::may_wake(facts.as_ref(), &Principal::Person(person)) {
        return Ok(());
    }
    Err(Error::Missing {
        what: format!("agent {agent}"),
    })
}
