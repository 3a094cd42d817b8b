//! Whether each agent that is meant is woken: it must be there, the author must not have left it out, it must
//! not wake itself, and agents must not wake each other for ever.

use protocol::board::BlockedReason;
use protocol::limits::RECIPIENTS;

use crate::{Directory, Principal, Target, may_wake};

/// How far agents may wake each other before a person has to say something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Length of a chain of agents that wake each other.
    pub depth: u32,
    /// Runs that agents may cause on one issue in an hour, and one task of an agent on whichever issues.
    pub runs: u32,
    /// How often the same two agents may wake each other, there and back.
    pub rounds: u32,
    /// Runs that agents may cause in all, on whichever issues, after one thing that a person did.
    pub root: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 8,
            runs: 30,
            rounds: 3,
            root: 100,
        }
    }
}

/// A limit that holds agents back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// [`Limits::depth`].
    Depth,
    /// [`Limits::runs`].
    Runs,
    /// [`Limits::rounds`].
    Rounds,
    /// [`Limits::root`].
    Root,
}

impl Guard {
    /// The word kept in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Runs => "runs",
            Self::Rounds => "rounds",
            Self::Root => "root",
        }
    }

    /// How the author is told.
    #[must_use]
    pub fn reason(self) -> BlockedReason {
        match self {
            Self::Depth => BlockedReason::DepthLimit,
            Self::Runs => BlockedReason::RateLimit,
            Self::Rounds => BlockedReason::RoundLimit,
            Self::Root => BlockedReason::RootLimit,
        }
    }

    /// The guard behind a reason, where there is one.
    #[must_use]
    pub fn of(reason: BlockedReason) -> Option<Self> {
        match reason {
            BlockedReason::DepthLimit => Some(Self::Depth),
            BlockedReason::RateLimit => Some(Self::Runs),
            BlockedReason::RoundLimit => Some(Self::Rounds),
            BlockedReason::RootLimit => Some(Self::Root),
            BlockedReason::NotAvailable
            | BlockedReason::Suppressed
            | BlockedReason::SelfTrigger
            | BlockedReason::TooManyRecipients
            | BlockedReason::NoOriginator
            | BlockedReason::QueueFull => None,
        }
    }
}

/// Who would wake them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A person: nothing but what the person may do holds it back.
    Person,
    /// An agent, or Mooring on what an agent did.
    Agent {
        /// Its resource name.
        name: String,
        /// True when its own task is about the issue at hand, so that waking itself would be going on for ever.
        here: bool,
        /// How long the chain of agents would be with the wake at hand; 1 when a person woke this one.
        depth: u32,
        /// Runs that agents have caused on the issue, or this one's task has on all of them, whichever are more, in
        /// the last hour and since a person last said something.
        runs: u32,
        /// Runs that agents have caused since what the person at the top of the chain did.
        of_root: u32,
    },
}

/// Somebody who is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Who, and who works for them.
    pub target: Target,
    /// How often the one who works and the asking agent have woken each other, there and back, since a person last said
    /// something.
    pub rounds: u32,
}

/// What is decided for one candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Who, and who works for them.
    pub target: Target,
    /// Why it is not woken; none when it is.
    pub blocked: Option<BlockedReason>,
}

/// Decides for each candidate, in their order.
#[must_use]
pub fn judge(
    asker: &Asker,
    by: &Principal,
    candidates: &[Candidate],
    suppress: &[String],
    directory: &dyn Directory,
    limits: Limits,
) -> Vec<Decision> {
    let mut woken = 0;
    candidates
        .iter()
        .map(|candidate| {
            let target = candidate.target.clone();
            let agent = target.agent.as_deref().unwrap_or_default();
            let blocked = if is_self(asker, agent) {
                Some(BlockedReason::SelfTrigger)
            } else if !may_wake(directory.agent(agent).as_ref(), by) {
                Some(BlockedReason::NotAvailable)
            } else if suppress.iter().any(|left_out| left_out == agent) {
                Some(BlockedReason::Suppressed)
            } else if directory.requires_originator() && !by.has_originator() {
                Some(BlockedReason::NoOriginator)
            } else if let Some(guard) = tripped(asker, candidate, woken, limits) {
                Some(guard.reason())
            } else if woken as usize >= RECIPIENTS {
                Some(BlockedReason::TooManyRecipients)
            } else {
                woken += 1;
                None
            };
            Decision { target, blocked }
        })
        .collect()
}

fn is_self(asker: &Asker, agent: &str) -> bool {
    match asker {
        Asker::Person => false,
        Asker::Agent { name, here, .. } => *here && name == agent,
    }
}

/// The guard that holds this one back; `woken` are woken by the same write already.
fn tripped(asker: &Asker, candidate: &Candidate, woken: u32, limits: Limits) -> Option<Guard> {
    match asker {
        Asker::Person => None,
        Asker::Agent { depth, .. } if *depth > limits.depth => Some(Guard::Depth),
        Asker::Agent { .. } if candidate.rounds >= limits.rounds => Some(Guard::Rounds),
        Asker::Agent { runs, of_root, .. } => {
            let over = |caused: &u32, limit: u32| caused.saturating_add(woken) >= limit;
            let runs = over(runs, limits.runs).then_some(Guard::Runs);
            runs.or(over(of_root, limits.root).then_some(Guard::Root))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Access, AgentFacts, Person};

    /// Every agent but one.
    struct AllBut(&'static str);

    impl Directory for AllBut {
        fn agent(&self, name: &str) -> Option<AgentFacts> {
            (name != self.0).then(|| AgentFacts {
                display_name: name.to_owned(),
                access: None,
            })
        }
    }

    fn asker(depth: u32, runs: u32) -> Asker {
        Asker::Agent {
            name: "me".to_owned(),
            here: true,
            depth,
            runs,
            of_root: 0,
        }
    }

    /// One whose chain has caused so many runs.
    fn spent(of_root: u32) -> Asker {
        Asker::Agent {
            name: "me".to_owned(),
            here: true,
            depth: 1,
            runs: 0,
            of_root,
        }
    }

    fn ann() -> Principal {
        Principal::Person(Person {
            user: "ann".to_owned(),
            groups: Vec::new(),
        })
    }

    fn candidate(agent: &str, rounds: u32) -> Candidate {
        Candidate {
            target: Target::agent(agent),
            rounds,
        }
    }

    fn one(asker: &Asker, candidate: Candidate) -> Option<BlockedReason> {
        let suppress = ["quiet".to_owned()];
        judge(
            asker,
            &ann(),
            &[candidate],
            &suppress,
            &AllBut("gone"),
            Limits::default(),
        )
        .remove(0)
        .blocked
    }

    #[test]
    fn every_reason_and_its_border() {
        use BlockedReason as R;
        for (asker, candidate, wanted) in [
            (Asker::Person, candidate("a", 99), None),
            (Asker::Person, candidate("gone", 0), Some(R::NotAvailable)),
            (Asker::Person, candidate("quiet", 0), Some(R::Suppressed)),
            (asker(1, 0), candidate("me", 0), Some(R::SelfTrigger)),
            (asker(8, 29), candidate("a", 2), None),
            (asker(9, 0), candidate("a", 0), Some(R::DepthLimit)),
            (asker(1, 30), candidate("a", 0), Some(R::RateLimit)),
            (asker(1, 0), candidate("a", 3), Some(R::RoundLimit)),
            (asker(9, 30), candidate("gone", 3), Some(R::NotAvailable)),
            (spent(99), candidate("a", 0), None),
            (spent(100), candidate("a", 0), Some(R::RootLimit)),
        ] {
            assert_eq!(
                one(&asker, candidate.clone()),
                wanted,
                "{asker:?} {candidate:?}"
            );
        }
        let elsewhere = Asker::Agent {
            name: "me".to_owned(),
            here: false,
            depth: 1,
            runs: 0,
            of_root: 0,
        };
        assert_eq!(one(&elsewhere, candidate("me", 0)), None);
    }

    /// A workspace that wakes agents for people only; `mine` is ann's.
    struct Strict;

    impl Directory for Strict {
        fn agent(&self, name: &str) -> Option<AgentFacts> {
            Some(AgentFacts {
                display_name: name.to_owned(),
                access: (name == "mine").then(|| Access {
                    owner: Some("ann".to_owned()),
                    ..Access::default()
                }),
            })
        }

        fn requires_originator(&self) -> bool {
            true
        }
    }

    #[test]
    fn who_is_behind_it_is_looked_at() {
        use BlockedReason as R;
        let mooring = || Principal::Mooring;
        let eve = Principal::Person(Person {
            user: "eve".to_owned(),
            groups: Vec::new(),
        });
        let nobody_behind = Principal::Agent {
            name: "me".to_owned(),
            originator: None,
        };
        for (by, agent, wanted) in [
            (ann(), "mine", None),
            (ann(), "a", None),
            (eve.clone(), "mine", Some(R::NotAvailable)),
            (eve, "a", None),
            (mooring(), "a", Some(R::NoOriginator)),
            // What may not be woken looks like what is not there, whatever else holds.
            (mooring(), "mine", Some(R::NotAvailable)),
            (nobody_behind, "a", Some(R::NoOriginator)),
        ] {
            let judged = judge(
                &Asker::Person,
                &by,
                &[candidate(agent, 0)],
                &[],
                &Strict,
                Limits::default(),
            );
            assert_eq!(judged[0].blocked, wanted, "{by:?} {agent}");
        }
        let gone = Candidate {
            target: Target {
                recipient: "team:gone".parse().unwrap(),
                agent: None,
                team: None,
            },
            rounds: 0,
        };
        let judged = judge(
            &Asker::Person,
            &ann(),
            &[gone],
            &[],
            &AllBut(""),
            Limits::default(),
        );
        assert_eq!(judged[0].blocked, Some(R::NotAvailable));
    }

    #[test]
    fn one_write_wakes_a_bounded_number() {
        let many: Vec<_> = (0..30)
            .map(|number| candidate(&format!("a{number}"), 0))
            .collect();
        let decided = judge(
            &Asker::Person,
            &ann(),
            &many,
            &[],
            &AllBut(""),
            Limits::default(),
        );
        let blocked = |decision: &Decision| decision.blocked.is_some();
        assert_eq!(
            decided.iter().filter(|each| !blocked(each)).count(),
            RECIPIENTS
        );
        assert_eq!(
            decided[RECIPIENTS].blocked,
            Some(BlockedReason::TooManyRecipients)
        );
        // What one write wakes counts against the hour at once.
        let decided = judge(
            &asker(1, 28),
            &ann(),
            &many,
            &[],
            &AllBut(""),
            Limits::default(),
        );
        assert_eq!(decided.iter().filter(|each| !blocked(each)).count(), 2);
    }

    #[test]
    fn every_guard_has_its_reason() {
        for guard in [Guard::Depth, Guard::Runs, Guard::Rounds, Guard::Root] {
            assert_eq!(Guard::of(guard.reason()), Some(guard));
        }
    }

    proptest! {
        #[test]
        fn agents_stop_and_people_never_do(
            depth in 1..20_u32, runs in 0..60_u32, rounds in proptest::collection::vec(0..6_u32, 0..40),
        ) {
            let candidates: Vec<_> = rounds.iter().enumerate().map(|(at, rounds)| candidate(&format!("a{at}"), *rounds)).collect();
            let limits = Limits::default();
            let decide = |asker: &Asker| judge(asker, &ann(), &candidates, &[], &AllBut(""), limits);
            let woken = decide(&asker(depth, runs)).iter().filter(|each| each.blocked.is_none()).count();
            prop_assert!(woken as u32 <= limits.runs.saturating_sub(runs));
            prop_assert!(depth <= limits.depth || woken == 0);
            let people = decide(&Asker::Person).iter().filter(|each| each.blocked.is_none()).count();
            prop_assert_eq!(people, candidates.len().min(RECIPIENTS));
        }
    }
}
