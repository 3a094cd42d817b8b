//! What holds an agent to its tools, in whatever way its CLI asks before it uses one: what is judged, what waits for a
//! person, and what came by here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use protocol::FailureClass;
use protocol::tools::{Folders, Judgement, ToolPolicy};
use serde_json::Value;

use super::ending::Fault;
use super::own::{self, Own};
use crate::adapter::Output;

/// Calls that are told apart. A turn with more of them ends: nobody could say any more that each was looked at.
pub(super) const CALLS: usize = 16_384;

/// The guard of one run. Without a policy it sees nothing.
#[derive(Debug)]
pub(super) struct Guard<W> {
    policy: ToolPolicy,
    /// The working directory.
    work: String,
    /// What no tool is for.
    own: Own,
    /// Questions that wait, by the id of the CLI's request.
    open: BTreeMap<String, Held<W>>,
    /// Ids of all questions: none is asked twice.
    asked: BTreeSet<String>,
    /// Calls that came by here.
    seen: BTreeSet<String>,
}

/// A use of a tool that waits for its answer.
#[derive(Debug)]
pub(super) struct Held<W> {
    /// In which way the CLI asks.
    pub(super) way: W,
    /// That of the CLI.
    pub(super) call: String,
    /// What the decision is on.
    pub(super) input: Value,
}

impl<W> Default for Guard<W> {
    fn default() -> Self {
        Self::new(ToolPolicy::default(), Path::new(""))
    }
}

impl<W> Guard<W> {
    /// For one run in this working directory.
    pub(super) fn new(policy: ToolPolicy, work: &Path) -> Self {
        Self {
            policy,
            work: work.to_string_lossy().into_owned(),
            own: Own::default(),
            open: BTreeMap::new(),
            asked: BTreeSet::new(),
            seen: BTreeSet::new(),
        }
    }

    /// The same, and no tool is for what is the program's own.
    pub(super) fn without(self, own: Own) -> Self {
        Self { own, ..self }
    }

    /// True when there is something to be held to.
    pub(super) fn holds(&self) -> bool {
        !self.policy.is_empty()
    }

    /// What is to be done about a use of a tool by a program that works in `now`. The call has come by with that.
    pub(super) fn judge(
        &mut self,
        call: &str,
        tool: &str,
        input: &Value,
        now: Option<&str>,
    ) -> Judgement {
        if self.seen.len() < CALLS {
            self.seen.insert(call.to_owned());
        }
        let now = now.unwrap_or(&self.work);
        if self.own.is_named(input, Path::new(now)) {
            return Judgement::Deny(own::WHY.to_owned());
        }
        let folders = Folders {
            work: &self.work,
            now,
        };
        self.policy.judge(tool, input, folders)
    }

    /// Asks a person. Given back when a question with this id was asked already: that one keeps its place.
    pub(super) fn ask(
        &mut self,
        id: &str,
        tool: &str,
        why: String,
        held: Held<W>,
        out: &mut Vec<Output>,
    ) -> Option<Held<W>> {
        if self.asked.len() == CALLS || !self.asked.insert(id.to_owned()) {
            return Some(held);
        }
        out.push(Output::Ask {
            id: id.to_owned(),
            tool: tool.to_owned(),
            input: held.input.clone(),
            why: Some(why),
        });
        self.open.insert(id.to_owned(), held);
        None
    }

    /// A question that waits has its answer.
    pub(super) fn decided(&mut self, id: &str) -> Option<Held<W>> {
        self.open.remove(id)
    }

    /// The CLI takes a question back.
    pub(super) fn withdraw(&mut self, id: &str, out: &mut Vec<Output>) {
        if self.open.remove(id).is_some() {
            out.push(Output::Withdrawn { id: id.to_owned() });
        }
    }

    /// The end of the run, when a tool was used without having come by here: then nothing holds the agent any more.
    pub(super) fn passed(&self, call: &str) -> Option<Fault> {
        if !self.holds() || self.seen.contains(call) {
            return None;
        }
        let message = format!(
            "a tool was used without being looked at first (call {call}), so the agent cannot be held to its tools: look \
             for what turns its hooks off"
        );
        Some(Fault::new(FailureClass::CliCrashed, message))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn guard() -> Guard<()> {
        let policy = ToolPolicy {
            require_approval: vec!["Bash".to_owned()],
            approval_seconds: 60,
            ..ToolPolicy::default()
        };
        Guard::new(policy, Path::new("/workspace/work"))
    }

    fn held(command: &str) -> Held<()> {
        Held {
            way: (),
            call: "a".to_owned(),
            input: json!({"command": command}),
        }
    }

    #[test]
    fn one_that_waits_keeps_its_place() {
        let (mut guard, mut out) = (guard(), Vec::new());
        let why = || "asked".to_owned();
        assert!(
            guard
                .ask("1", "Bash", why(), held("push"), &mut out)
                .is_none()
        );
        let second = guard.ask("1", "Bash", why(), held("force"), &mut out);
        assert_eq!(second.unwrap().input, json!({"command": "force"}));
        assert_eq!(out.len(), 1);
        assert_eq!(guard.decided("1").unwrap().input, held("push").input);
        guard.withdraw("1", &mut out);
        assert!(guard.decided("1").is_none() && out.len() == 1);
    }

    #[test]
    fn calls_that_nobody_looked_at_are_told() {
        let mut guard = guard();
        guard.judge("a", "Read", &Value::Null, None);
        assert!(guard.passed("a").is_none());
        let fault = guard.passed("b").unwrap();
        assert_eq!(fault.class, FailureClass::CliCrashed);
        assert!(Guard::<()>::default().passed("b").is_none());
    }

    #[test]
    fn no_tool_is_for_what_is_the_programs_own() {
        let launch = crate::testing::launch();
        let mut guard = guard().without(Own::of(&launch, &[]));
        let inside = json!({"file_path": "/run/mooring/../mooring/cli/x/settings.json"});
        let judgement = guard.judge("a", "Write", &inside, None);
        assert_eq!(judgement, Judgement::Deny(own::WHY.to_owned()));
        assert!(guard.passed("a").is_none());
    }

    /// Past so many of them none is known any more.
    #[test]
    fn calls_are_remembered_within_bounds() {
        let mut guard = guard();
        for call in 0..=CALLS {
            guard.judge(&call.to_string(), "Read", &Value::Null, None);
        }
        assert!(guard.passed("0").is_none());
        assert!(guard.passed(&CALLS.to_string()).is_some());
    }
}
