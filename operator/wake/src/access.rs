//! Who may wake an agent.

use crate::AgentFacts;

/// Who may wake an agent, where that is not everybody: these, and nobody else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The user whose agent it is.
    pub owner: Option<String>,
    /// Users.
    pub users: Vec<String>,
    /// Groups of users.
    pub groups: Vec<String>,
    /// Agents, whoever is behind them.
    pub agents: Vec<String>,
    /// Webhooks, whoever sends through them.
    pub webhooks: Vec<String>,
}

/// As the Agent says it.
impl From<&crds::Access> for Access {
    fn from(stated: &crds::Access) -> Self {
        let crds::Access { owner, invokers } = stated.clone();
        Self {
            owner,
            users: invokers.users,
            groups: invokers.groups,
            agents: invokers.agents,
            webhooks: invokers.webhooks,
        }
    }
}

/// A user, with its groups as of its login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The user name that Kubernetes knows.
    pub user: String,
    /// Its groups.
    pub groups: Vec<String>,
}

/// By whose right an agent would be woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// A person's own.
    Person(Person),
    /// That of the person at the top of the chain of causes, or the agent's own where it was given one.
    Agent {
        /// Its resource name.
        name: String,
        /// Who is at the top; absent where that is no person.
        originator: Option<Person>,
    },
    /// A webhook's own: what comes through it is by nobody whom Mooring knows, on whosever issue.
    Webhook {
        /// Its resource name.
        name: String,
    },
    /// Mooring's own, for a schedule: nobody is behind it.
    Mooring,
}

impl Principal {
    /// True when a person is at the top of the chain of causes.
    #[must_use]
    pub fn has_originator(&self) -> bool {
        match self {
            Self::Person(_) => true,
            Self::Agent { originator, .. } => originator.is_some(),
            Self::Webhook { .. } | Self::Mooring => false,
        }
    }
}

/// Whether this agent may be woken by that right: it must exist, and let them. One answer for what does not exist
/// and for what is not allowed, so that guessing tells nothing.
#[must_use]
pub fn may_wake(agent: Option<&AgentFacts>, by: &Principal) -> bool {
    match agent.map(|agent| &agent.access) {
        None => false,
        Some(None) => true,
        Some(Some(access)) => access.lets(by),
    }
}

impl Access {
    fn lets(&self, by: &Principal) -> bool {
        match by {
            Principal::Person(person) => self.lets_person(person),
            Principal::Agent { name, originator } => {
                self.agents.contains(name)
                    || originator
                        .as_ref()
                        .is_some_and(|person| self.lets_person(person))
            }
            Principal::Webhook { name } => self.webhooks.contains(name),
            Principal::Mooring => false,
        }
    }

    fn lets_person(&self, person: &Person) -> bool {
        self.lets_user(&person.user)
            || person
                .groups
                .iter()
                .any(|group| self.groups.contains(group))
    }

    fn lets_user(&self, user: &str) -> bool {
        self.owner.as_deref() == Some(user) || self.users.iter().any(|known| known == user)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn person(user: &str, groups: &[&str]) -> Person {
        Person {
            user: user.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        }
    }

    fn agent(name: &str, originator: Option<Person>) -> Principal {
        Principal::Agent {
            name: name.to_owned(),
            originator,
        }
    }

    fn webhook(name: &str) -> Principal {
        Principal::Webhook {
            name: name.to_owned(),
        }
    }

    fn facts(access: Option<Access>) -> AgentFacts {
        AgentFacts {
            display_name: "A".to_owned(),
            access,
        }
    }

    #[test]
    fn every_way_in_and_no_other() {
        let closed = facts(Some(Access {
            owner: Some("ann".to_owned()),
            users: vec!["bob".to_owned()],
            groups: vec!["dev".to_owned()],
            agents: vec!["lead".to_owned()],
            webhooks: vec!["alerts".to_owned()],
        }));
        for (by, wanted) in [
            (Principal::Person(person("ann", &[])), true),
            (Principal::Person(person("bob", &[])), true),
            (Principal::Person(person("eve", &["ops", "dev"])), true),
            (Principal::Person(person("eve", &["ops"])), false),
            // A name is no group, and no agent.
            (Principal::Person(person("dev", &["ann", "bob"])), false),
            (Principal::Person(person("lead", &["lead"])), false),
            (agent("lead", None), true),
            (agent("lead", Some(person("eve", &[]))), true),
            (agent("other", None), false),
            (agent("ann", None), false),
            (agent("other", Some(person("bob", &[]))), true),
            (agent("other", Some(person("eve", &["dev"]))), true),
            (agent("other", Some(person("eve", &[]))), false),
            (webhook("alerts"), true),
            (webhook("ann"), false),
            (webhook("lead"), false),
            (agent("alerts", None), false),
            (Principal::Person(person("alerts", &["alerts"])), false),
            (Principal::Mooring, false),
        ] {
            assert_eq!(may_wake(Some(&closed), &by), wanted, "{by:?}");
            assert!(may_wake(Some(&facts(None)), &by), "{by:?}");
            assert!(!may_wake(None, &by), "{by:?}");
        }
    }

    #[test]
    fn an_empty_list_lets_nobody_in() {
        let shut = facts(Some(Access::default()));
        assert!(!may_wake(
            Some(&shut),
            &Principal::Person(person("ann", &["dev"]))
        ));
        assert!(!may_wake(
            Some(&shut),
            &agent("lead", Some(person("ann", &[])))
        ));
        assert!(!may_wake(Some(&shut), &webhook("ann")));
        assert!(!may_wake(Some(&shut), &Principal::Mooring));
    }

    #[test]
    fn only_people_are_at_the_top() {
        assert!(Principal::Person(person("ann", &[])).has_originator());
        assert!(agent("a", Some(person("ann", &[]))).has_originator());
        assert!(!agent("a", None).has_originator());
        assert!(!webhook("ann").has_originator());
        assert!(!Principal::Mooring.has_originator());
    }

    proptest! {
        /// An agent in between gives nobody a right, but the one that it has itself.
        #[test]
        fn an_agent_in_between_changes_nothing(
            owner in proptest::option::of("[ab]"), users in proptest::collection::vec("[ab]", 0..3),
            groups in proptest::collection::vec("[ab]", 0..3), user in "[abc]", of in proptest::collection::vec("[abc]", 0..3),
        ) {
            let closed = facts(Some(Access { owner, users, groups, agents: vec!["x".to_owned()], webhooks: Vec::new() }));
            let person = Person { user, groups: of };
            let itself = may_wake(Some(&closed), &Principal::Person(person.clone()));
            prop_assert_eq!(may_wake(Some(&closed), &agent("y", Some(person))), itself);
        }
    }
}
