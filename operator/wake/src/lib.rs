//! Decides who is woken by what people and agents write. Pure functions over plain facts: no I/O, no clock; a
//! preview and a write ask the same ones.
//!
//! Four questions, in this order: whom does the write mean ([`aims`], [`assignment`], [`closed_stage`],
//! [`hand_back`]), who works for them ([`targets`]), may each of these be woken by this author ([`may_wake`]), and do
//! agents not wake each other for ever ([`judge`] with [`Limits`]).

mod access;
mod comment;
mod guard;
mod hand_back;
mod issue;
mod mention;
mod target;
mod words;

pub use access::{Access, Person, Principal, may_wake};
pub use comment::{Said, Thread, aims, meant};
pub use guard::{Asker, Candidate, Decision, Guard, Limits, judge};
pub use hand_back::{Ended, HandBack, hand_back};
pub use issue::{Before, ClosedStage, Stage, assignment, closed_stage, hears_of_children};
pub use mention::{Mentions, is_note, mentions};
pub use target::{Target, agent, targets};
pub use words::{children_done, delegate_ended, stopped};

use protocol::programs::Version;

/// What is known of an agent, where it is known at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFacts {
    /// What people call it.
    pub display_name: String,
    /// Who may wake it; everybody who may write here, where it does not say.
    pub access: Option<Access>,
}

/// What is known of a team, where it is known at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamFacts {
    /// The agent that is woken for it.
    pub leader: String,
}

/// The agents and teams of the workspace at hand, looked up without waiting for anything.
pub trait Directory: Send + Sync {
    /// The agent of this resource name; none when there is no such agent.
    fn agent(&self, name: &str) -> Option<AgentFacts>;

    /// The team of this resource name.
    fn team(&self, _name: &str) -> Option<TeamFacts> {
        None
    }

    /// Whether what a person says while this agent works is told to it at once.
    fn steers(&self, _agent: &str) -> bool {
        false
    }

    /// The version of the program of a Runtime, where it is known.
    fn version(&self, _runtime: &str) -> Option<Version> {
        None
    }

    /// Whether agents are woken only where a person is at the top of the chain of causes.
    fn requires_originator(&self) -> bool {
        false
    }

    /// Tasks that may wait in the workspace; none for no limit.
    fn max_queued(&self) -> Option<u32> {
        None
    }
}
