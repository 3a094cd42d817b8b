//! From whom a write means to who works for it: an agent itself, for a team its leader.

use protocol::board::{Recipient, RecipientKind};

use crate::Directory;

/// A recipient, and the agent that is woken for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Who is meant: an agent or a team.
    pub recipient: Recipient,
    /// The agent that is woken; none for a team that is not there.
    pub agent: Option<String>,
    /// The team that it is woken to lead.
    pub team: Option<String>,
}

impl Target {
    /// An agent that is meant itself.
    #[must_use]
    pub fn agent(name: &str) -> Self {
        Self {
            recipient: agent(name),
            agent: Some(name.to_owned()),
            team: None,
        }
    }

    /// An agent that is meant itself, to go on with leading a team.
    #[must_use]
    pub fn leading(name: &str, team: Option<&str>) -> Self {
        Self {
            team: team.map(str::to_owned),
            ..Self::agent(name)
        }
    }

    /// True when both are one run: the same agent works, or nobody does for the same team.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.agent, &other.agent) {
            (Some(one), Some(another)) => one == another,
            (None, None) => self.recipient == other.recipient,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

/// The agent of this name, as a recipient.
#[must_use]
pub fn agent(name: &str) -> Recipient {
    Recipient {
        kind: RecipientKind::Agent,
        id: name.to_owned(),
    }
}

/// Who works for those who are meant, each once: a leader who is also meant itself is woken once, as leader. People
/// are not woken.
pub fn targets<'a>(
    meant: impl IntoIterator<Item = &'a Recipient>,
    directory: &dyn Directory,
) -> Vec<Target> {
    let mut all: Vec<Target> = Vec::new();
    for recipient in meant {
        let target = match recipient.kind {
            RecipientKind::Member => continue,
            RecipientKind::Agent => Target::agent(&recipient.id),
            RecipientKind::Team => of_team(recipient, directory),
        };
        match all.iter_mut().find(|known| known.is_same(&target)) {
            Some(known) if known.team.is_none() => *known = target,
            Some(_) => {}
            None => all.push(target),
        }
    }
    all
}

fn of_team(recipient: &Recipient, directory: &dyn Directory) -> Target {
    let leader = directory.team(&recipient.id).map(|team| team.leader);
    Target {
        recipient: recipient.clone(),
        team: leader.is_some().then(|| recipient.id.clone()),
        agent: leader,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{AgentFacts, TeamFacts};

    /// The teams `core` and `docs`, both led by `lead`, and `ops`, led by `olga`.
    struct Teams;

    impl Directory for Teams {
        fn agent(&self, _name: &str) -> Option<AgentFacts> {
            None
        }

        fn team(&self, name: &str) -> Option<TeamFacts> {
            let leader = match name {
                "core" | "docs" => "lead",
                "ops" => "olga",
                _ => return None,
            };
            Some(TeamFacts {
                leader: leader.to_owned(),
            })
        }
    }

    fn meant(words: &str) -> Vec<Recipient> {
        words
            .split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect()
    }

    fn woken(words: &str) -> Vec<String> {
        let word = |target: Target| {
            let agent = target.agent.unwrap_or_else(|| "nobody".to_owned());
            match target.team {
                Some(team) => format!("{agent} for {team} by {}", target.recipient),
                None => format!("{agent} by {}", target.recipient),
            }
        };
        let targets = targets(&meant(words), &Teams);
        targets.into_iter().map(word).collect()
    }

    #[test]
    fn one_run_for_each_who_works() {
        for (words, wanted) in [
            ("agent:a", &["a by agent:a"][..]),
            ("team:core", &["lead for core by team:core"]),
            ("team:core agent:lead", &["lead for core by team:core"]),
            (
                "agent:lead agent:b team:core",
                &["lead for core by team:core", "b by agent:b"],
            ),
            ("team:core team:docs", &["lead for core by team:core"]),
            (
                "team:ops team:core",
                &["olga for ops by team:ops", "lead for core by team:core"],
            ),
            ("team:gone team:gone", &["nobody by team:gone"]),
            (
                "team:gone team:lost",
                &["nobody by team:gone", "nobody by team:lost"],
            ),
            ("member:7", &[]),
        ] {
            assert_eq!(woken(words), wanted, "{words}");
        }
    }

    proptest! {
        #[test]
        fn nobody_works_twice(words in proptest::collection::vec("(agent|team):(lead|olga|core|docs|ops|gone)", 0..12)) {
            let targets = targets(&meant(&words.join(" ")), &Teams);
            let mut agents: Vec<_> = targets.iter().filter_map(|target| target.agent.as_ref()).collect();
            let all = agents.len();
            agents.sort_unstable();
            agents.dedup();
            prop_assert_eq!(agents.len(), all);
            // A team that was named is led by somebody, or is not there.
            let led = targets.iter().any(|target| target.team.is_some());
            prop_assert_eq!(led, words.iter().any(|word| ["team:core", "team:docs", "team:ops"].contains(&word.as_str())));
        }
    }
}
