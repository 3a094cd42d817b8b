//! Whom a comment means.

use protocol::board::{Author, AuthorKind, Recipient};

use crate::Directory;
use crate::mention::{is_note, mentions};
use crate::target::{Target, agent, targets};

/// A comment, as far as it matters for whom it means.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// Who wrote it.
    pub author: &'a Author,
    /// What.
    pub text: &'a str,
    /// What it answers; absent when it begins a thread.
    pub thread: Option<&'a Thread>,
    /// Who the issue is assigned to.
    pub assignee: Option<&'a Recipient>,
}

/// The thread that a comment answers in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Who wrote the comment that is answered.
    pub parent: Author,
    /// The team that it was woken to lead when it wrote that; of what Mooring itself said, who began the thread.
    pub leads: Option<String>,
    /// Who began the thread.
    pub root: Author,
    /// The text that it begins with.
    pub root_text: String,
    /// Whom that text woke, in the order in which they were.
    pub root_woke: Vec<Recipient>,
}

/// Who is woken for those whom a comment means. An agent that is answered in what it leads goes on leading it.
#[must_use]
pub fn meant(said: &Said<'_>, directory: &dyn Directory) -> Vec<Target> {
    let mut all = targets(&aims(said), directory);
    let leads = said.thread.and_then(|thread| thread.leads.as_deref());
    if let (Some(thread), Some(team)) = (said.thread, leads)
        && let Some(facts) = directory.team(team)
    {
        let answered = answered(thread);
        for target in &mut all {
            let is_answered =
                answered.kind == AuthorKind::Agent && target.agent.as_ref() == Some(&answered.id);
            if is_answered && target.team.is_none() && facts.leader == answered.id {
                target.team = Some(team.to_owned());
            }
        }
    }
    all
}

/// Agents and teams that a comment means, each once:
///
/// 1. a note: nobody;
/// 2. who is mentioned, and nobody else, also when it is only people;
/// 3. an agent that mentions nobody means nobody: its answer is for people, and for who reads the thread;
/// 4. a person who answers an agent means that agent;
/// 5. a person who answers in a thread that a person began means who its first text mentions first, else who
///    was woken by it; what Mooring itself said counts as part of the thread;
/// 6. a person who begins a thread means the agent or team that the issue is assigned to.
#[must_use]
pub fn aims(said: &Said<'_>) -> Vec<Recipient> {
    if is_note(said.text) {
        return Vec::new();
    }
    let named = mentions(said.text);
    if !named.is_empty() {
        return named.named;
    }
    match said.author.kind {
        AuthorKind::Agent | AuthorKind::System => Vec::new(),
        AuthorKind::Member => match said.thread {
            Some(thread) => of_thread(thread),
            None => said.assignee.into_iter().cloned().collect(),
        },
    }
}

/// Who is answered: what Mooring itself said is a part of the thread.
fn answered(thread: &Thread) -> &Author {
    match thread.parent.kind {
        AuthorKind::Agent | AuthorKind::Member => &thread.parent,
        AuthorKind::System => &thread.root,
    }
}

fn of_thread(thread: &Thread) -> Vec<Recipient> {
    let answered = answered(thread);
    if answered.kind == AuthorKind::Agent {
        return vec![agent(&answered.id)];
    }
    match thread.root.kind {
        AuthorKind::Member | AuthorKind::System => {
            match mentions(&thread.root_text).named.into_iter().next() {
                Some(first) => vec![first],
                None => thread.root_woke.clone(),
            }
        }
        // Two people who talk in a thread that an agent began.
        AuthorKind::Agent => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use protocol::board::RecipientKind;

    use super::*;
    use crate::{AgentFacts, TeamFacts};

    fn author(kind: AuthorKind, id: &str) -> Author {
        Author {
            kind,
            id: id.to_owned(),
            name: id.to_owned(),
        }
    }

    fn member(id: &str) -> Author {
        author(AuthorKind::Member, id)
    }

    fn bot(id: &str) -> Author {
        author(AuthorKind::Agent, id)
    }

    fn thread(parent: Author, root: Author, root_text: &str, root_woke: &[&str]) -> Thread {
        Thread {
            parent,
            leads: None,
            root,
            root_text: root_text.to_owned(),
            root_woke: root_woke.iter().map(|name| agent(name)).collect(),
        }
    }

    const A: &str = "[a](mention://agent/a)";

    #[test]
    fn the_order_of_decision() {
        let assigned = agent("boss");
        let system = author(AuthorKind::System, "");
        let everybody = "hello [all](mention://all/all)";
        let in_agents_thread = thread(member("eve"), bot("c"), A, &["a"]);
        type Case<'a> = (&'a str, Author, &'a str, Option<Thread>, &'a [&'a str]);
        let cases: Vec<Case<'_>> = vec![
            (
                "a top-level comment is for who is assigned",
                member("ann"),
                "go on",
                None,
                &["boss"],
            ),
            (
                "a mention is for who it names",
                member("ann"),
                A,
                None,
                &["a"],
            ),
            (
                "a note is for nobody",
                member("ann"),
                "/note [a](mention://agent/a)",
                None,
                &[],
            ),
            ("everybody are people", member("ann"), everybody, None, &[]),
            ("an agent's mention counts", bot("x"), A, None, &["a"]),
            (
                "an agent's plain word wakes nobody",
                bot("x"),
                "done",
                None,
                &[],
            ),
            (
                "nor in a thread",
                bot("x"),
                "done",
                Some(thread(bot("b"), member("ann"), A, &["a"])),
                &[],
            ),
            (
                "Mooring's own word wakes nobody",
                system.clone(),
                "stopped",
                None,
                &[],
            ),
            (
                "who answers an agent means it",
                member("ann"),
                "and?",
                Some(thread(bot("b"), member("ann"), A, &["a"])),
                &["b"],
            ),
            (
                "a mention goes before the answered",
                member("ann"),
                A,
                Some(thread(bot("b"), member("ann"), "", &[])),
                &["a"],
            ),
            (
                "a thread goes on with whom it began",
                member("ann"),
                "and?",
                Some(thread(member("eve"), member("ann"), A, &["z"])),
                &["a"],
            ),
            (
                "or with whom it woke",
                member("ann"),
                "and?",
                Some(thread(member("ann"), member("ann"), "hi", &["boss", "z"])),
                &["boss", "z"],
            ),
            (
                "people among themselves wake nobody",
                member("ann"),
                "yes",
                Some(thread(member("eve"), member("eve"), "hi", &[])),
                &[],
            ),
            (
                "also where an agent began",
                member("ann"),
                "yes",
                Some(in_agents_thread),
                &[],
            ),
            (
                "what Mooring says is part of the thread",
                member("ann"),
                "go on",
                Some(thread(system.clone(), bot("c"), "", &[])),
                &["c"],
            ),
            (
                "and may begin one",
                member("ann"),
                "go on",
                Some(thread(system.clone(), system, "stage 1 is done", &["boss"])),
                &["boss"],
            ),
        ];
        for (name, author, text, thread, wanted) in cases {
            let said = Said {
                author: &author,
                text,
                thread: thread.as_ref(),
                assignee: Some(&assigned),
            };
            let aims: Vec<_> = aims(&said).into_iter().map(|each| each.id).collect();
            assert_eq!(aims, wanted, "{name}");
        }
    }

    #[test]
    fn an_issue_of_a_person_or_of_nobody_wakes_nobody() {
        let human = Recipient {
            kind: RecipientKind::Member,
            id: "eve".to_owned(),
        };
        for assignee in [None, Some(&human)] {
            let said = Said {
                author: &member("ann"),
                text: "hello",
                thread: None,
                assignee,
            };
            assert!(meant(&said, &Core).is_empty());
        }
    }

    /// The team `core`, which `lead` leads.
    struct Core;

    impl Directory for Core {
        fn agent(&self, _name: &str) -> Option<AgentFacts> {
            None
        }

        fn team(&self, name: &str) -> Option<TeamFacts> {
            (name == "core").then(|| TeamFacts {
                leader: "lead".to_owned(),
            })
        }
    }

    #[test]
    fn who_leads_goes_on_leading() {
        let ann = member("ann");
        let team = "team:core".parse::<Recipient>().unwrap();
        let text = "[c](mention://team/core)";
        let led = |mut thread: Thread, by: &str| {
            thread.leads = Some(by.to_owned());
            Some(thread)
        };
        let lead_answered = || thread(bot("lead"), ann.clone(), text, &[]);
        let mut woken = thread(ann.clone(), ann.clone(), "hi", &[]);
        woken.root_woke = vec![team.clone()];
        for (name, text, thread, assignee, wanted) in [
            ("a team is named", text, None, None, Some("core")),
            (
                "a team has the issue",
                "go on",
                None,
                Some(&team),
                Some("core"),
            ),
            (
                "a thread begins with a team",
                "and?",
                Some(thread(ann.clone(), ann.clone(), text, &[])),
                None,
                Some("core"),
            ),
            ("or has woken one", "and?", Some(woken), None, Some("core")),
            (
                "its leader is answered",
                "and?",
                led(lead_answered(), "core"),
                None,
                Some("core"),
            ),
            (
                "as an agent of its own",
                "and?",
                Some(lead_answered()),
                None,
                None,
            ),
            (
                "of a team that it led",
                "and?",
                led(lead_answered(), "gone"),
                None,
                None,
            ),
            (
                "where Mooring has the last word",
                "and?",
                led(
                    thread(author(AuthorKind::System, ""), bot("lead"), "", &[]),
                    "core",
                ),
                None,
                Some("core"),
            ),
        ] {
            let said = Said {
                author: &ann,
                text,
                thread: thread.as_ref(),
                assignee,
            };
            let meant = meant(&said, &Core);
            let found: Vec<_> = meant
                .iter()
                .map(|target| (target.agent.as_deref(), target.team.as_deref()))
                .collect();
            assert_eq!(found, [(Some("lead"), wanted)], "{name}");
        }
    }
}
