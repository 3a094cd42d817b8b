//! Who calls a route of the board: a person whom Kubernetes gives the right, or an agent within its task.

use std::marker::PhantomData;

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use protocol::board::{Author, AuthorKind, IssueKey};
use protocol::redact::Redactor;
use protocol::{AttemptId, MemberId, Subject, TokenScope};
use store::{Acting, WorkspaceRef};

use super::door::{self, Door};
use super::{Recipients, Right};
use crate::auth::{AgentCaller, Caller, PersonCaller, Presented};
use crate::error::Failure;
use crate::package;
use crate::people::{Action, Person};
use crate::state::{Inner, Shared};

/// Names the workspace of the caller's own task.
const OWN: &str = "-";

/// A person or an agent that has the right `R` in the workspace which the path names.
pub(crate) struct BoardCaller<R> {
    pub(crate) acting: Acting,
    who: Who,
    right: PhantomData<R>,
}

/// Which of the two.
enum Who {
    Person {
        member: MemberId,
        /// Holds the caller's place among those that are answered, too.
        caller: PersonCaller,
    },
    Agent {
        caller: AgentCaller,
        /// What its task is about; without one it has no issue of its own.
        issue: Option<IssueKey>,
        /// True when it is to write an issue.
        is_quick: bool,
        /// How far it sees beyond that.
        scope: TokenScope,
    },
}

impl<R: Right> Caller for BoardCaller<R> {}

impl<R: Right> FromRequestParts<Shared> for BoardCaller<R> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        // Who calls comes before what the path says: nobody unknown learns anything of it.
        let presented = Presented::from_request_parts(parts, state).await?;
        // Readiness keeps others away by then, but not at once, as when the operator's process is made anew in its
        // pod. A write would find no agent and wake nobody, for good.
        if !state.definitions.is_complete() {
            return Err(Failure::unavailable(
                "the operator has just started and does not know the cluster yet; try again",
            ));
        }
        let named = segment(parts, state, "w").await?;
        let (acting, who) = match presented {
            Presented::Person(caller) => as_person::<R>(state, caller, &named).await?,
            Presented::Agent(caller) => as_agent::<R>(state, caller, &named).await?,
        };
        Ok(Self {
            acting,
            who,
            right: PhantomData,
        })
    }
}

impl<R> BoardCaller<R> {
    /// Where the caller acts.
    pub(crate) fn workspace(&self) -> &WorkspaceRef {
        &self.acting.workspace
    }

    /// The person, where it is one.
    pub(crate) fn member(&self) -> Result<MemberId, Failure> {
        match &self.who {
            Who::Person { member, .. } => Ok(*member),
            Who::Agent { .. } => Err(Failure::forbidden("this route is for people")),
        }
    }

    /// Who it is, where it is a person.
    pub(crate) fn person(&self) -> Option<&Person> {
        match &self.who {
            Who::Person { caller, .. } => Some(&caller.person),
            Who::Agent { .. } => None,
        }
    }

    /// The attempt and the issue of an agent.
    pub(crate) fn agent(&self) -> Option<(AttemptId, Option<&IssueKey>)> {
        match &self.who {
            Who::Person { .. } => None,
            Who::Agent { caller, issue, .. } => Some((caller.attempt, issue.as_ref())),
        }
    }

    /// Refuses who has not this right as well.
    pub(crate) async fn also<M: Right>(&self, state: &Inner) -> Result<(), Failure> {
        if self.has::<M>(state).await? {
            return Ok(());
        }
        Err(match (&self.who, M::NOT_FOR_AGENTS) {
            (Who::Agent { .. }, Some(why)) => Failure::forbidden(why),
            (Who::Agent { .. }, None) | (Who::Person { .. }, _) => {
                lacks::<M>(&self.acting.workspace.namespace)
            }
        })
    }

    /// Whether the caller has this right as well.
    pub(crate) async fn has<M: Right>(&self, state: &Inner) -> Result<bool, Failure> {
        let Who::Person { caller, .. } = &self.who else {
            return Ok(M::NOT_FOR_AGENTS.is_none());
        };
        let action = Action {
            namespace: self.acting.workspace.namespace.clone(),
            verb: M::VERB,
            resource: M::RESOURCE,
        };
        state.rights.may(&caller.person, action, state.now()).await
    }

    /// Who can be woken from here.
    pub(crate) fn recipients<'a>(&'a self, state: &'a Inner) -> Recipients<'a> {
        Recipients::new(&*state.definitions, &self.acting.workspace.namespace)
    }

    /// Lets the caller's texts in. An agent's own credentials are taken out of them, by their value too.
    pub(crate) async fn door(&self, state: &Inner) -> Result<Door, Failure> {
        let Some((attempt, _)) = self.agent() else {
            return Ok(Door::new(None));
        };
        let gone = Failure::unauthenticated;
        let row = state.store.attempt(attempt).await?.ok_or_else(gone)?;
        let own = Redactor::new(state.key()?, attempt, row.salt);
        Ok(Door::new(Some(own)))
    }

    /// True for an agent that is to write an issue.
    pub(super) fn is_quick(&self) -> bool {
        match &self.who {
            Who::Person { .. } => false,
            Who::Agent { is_quick, .. } => *is_quick,
        }
    }

    /// How far an agent's token reaches, as its Agent says now; `None` for a person.
    pub(super) fn scope(&self) -> Option<TokenScope> {
        match &self.who {
            Who::Person { .. } => None,
            Who::Agent { scope, .. } => Some(*scope),
        }
    }
}

/// The issue that a task is about.
pub(crate) fn issue_of(subject: &Subject) -> Option<IssueKey> {
    (subject.kind == Subject::ISSUE)
        .then(|| subject.name.parse().ok())
        .flatten()
}

/// A part of the path, by its name in the route. One that is not UTF-8 names nothing.
pub(super) async fn segment(
    parts: &mut Parts,
    state: &Shared,
    name: &str,
) -> Result<String, Failure> {
    let named = RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|_| Failure::not_found())?;
    path_part(&named, name).map(str::to_owned)
}

/// The same, of a path that the route was given.
pub(crate) fn path_part<'a>(path: &'a RawPathParams, name: &str) -> Result<&'a str, Failure> {
    path.iter()
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
        .ok_or_else(Failure::not_found)
}

/// A person, if Kubernetes gives it the right. It is asked before the workspace is looked up: who may see
/// nothing is told the same whether there is one or not, and waits as long.
async fn as_person<R: Right>(
    state: &Inner,
    caller: PersonCaller,
    named: &str,
) -> Result<(Acting, Who), Failure> {
    if named == OWN {
        return Err(Failure::invalid(
            "`-` is the workspace of a task's token: name the workspace in the path",
        ));
    }
    if !door::is_name(named) {
        return Err(Failure::not_found());
    }
    let (person, now) = (&caller.person, state.now());
    let may = async |verb| {
        let action = Action {
            namespace: named.to_owned(),
            verb,
            resource: R::RESOURCE,
        };
        state.rights.may(person, action, now).await
    };
    let allowed = may(R::VERB).await?;
    let sees = allowed || may("list").await?;
    let uid = state.definitions.workspace(named).filter(|_| sees);
    let workspace = WorkspaceRef {
        namespace: named.to_owned(),
        namespace_uid: uid.ok_or_else(Failure::not_found)?,
    };
    if !allowed {
        return Err(lacks::<R>(named));
    }
    let member = state.store.member(&workspace, &person.user, now).await?;
    let acting = Acting {
        workspace,
        author: Author {
            kind: AuthorKind::Member,
            id: member.id.to_string(),
            name: member.user,
        },
        task: None,
        user: Some(person.user.clone()),
        groups: person.groups.clone(),
    };
    let who = Who::Person {
        member: member.id,
        caller,
    };
    Ok((acting, who))
}

fn lacks<R: Right>(namespace: &str) -> Failure {
    Failure::forbidden(format!(
        "you may not {verb} {resource} in {namespace}: ask for a role there that allows it, such as `edit`",
        verb = R::VERB,
        resource = R::RESOURCE
    ))
}

/// An agent, in the workspace of its task and in no other one.
async fn as_agent<R: Right>(
    state: &Inner,
    caller: AgentCaller,
    named: &str,
) -> Result<(Acting, Who), Failure> {
    if let Some(why) = R::NOT_FOR_AGENTS {
        return Err(Failure::forbidden(why));
    }
    // It was there when the token was looked up; that it is gone now means that the token is too.
    let gone = Failure::unauthenticated;
    let task = state
        .store
        .task(caller.attempt.task)
        .await?
        .ok_or_else(gone)?;
    let (namespace, namespace_uid) = (task.object.namespace, task.object.namespace_uid);
    if named != OWN && named != namespace {
        return Err(Failure::not_found());
    }
    let session = state.store.session(task.session).await?.ok_or_else(gone)?;
    let subject = &session.key.subject;
    let is_quick = subject.kind == Subject::QUICK_ISSUE;
    let issue = if is_quick {
        // What it was asked for, once it has made it.
        let asked = state.store.quick_cause(task.id).await?;
        asked.and_then(|asked| asked.issue)
    } else {
        issue_of(subject)
    };
    let definition = state.definitions.agent(&namespace, &task.agent);
    // Of an agent that is gone nobody knows that it may see more.
    let scope = definition.as_deref().map(package::token_scope);
    // What one person says to it in a chat is no reason to see what others do, whatever its Agent says.
    let scope = scope
        .filter(|_| subject.kind != Subject::CHAT)
        .unwrap_or_default();
    let name = definition.map_or_else(
        || task.agent.clone(),
        |definition| package::display_name(&definition),
    );
    let acting = Acting {
        workspace: WorkspaceRef {
            namespace,
            namespace_uid,
        },
        author: Author {
            kind: AuthorKind::Agent,
            id: task.agent,
            name: door::plain(name),
        },
        task: Some(task.id),
        user: None,
        groups: Vec::new(),
    };
    let who = Who::Agent {
        caller,
        issue,
        is_quick,
        scope,
    };
    Ok((acting, who))
}
