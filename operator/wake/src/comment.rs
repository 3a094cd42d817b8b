//! Whom a comment means.

use protocol::board::{Author, AuthorKind, Recipient, RecipientKind};

use crate::mention::{is_note, mentions};

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
    /// Who began the thread.
    pub root: Author,
    /// The text that it begins with.
    pub root_text: String,
    /// Agents that were woken by that text, in the order in which they were.
    pub root_woke: Vec<String>,
}

/// Agents that a comment means, each once:
///
/// 1. a note: nobody;
/// 2. who is mentioned, and nobody else, also when it is only people;
/// 3. an agent that mentions nobody means nobody: its answer is for people, and for who reads the thread;
/// 4. a person who answers an agent means that agent;
/// 5. a person who answers in a thread that a person began means who its first text mentions first, else who
///    was woken by it; what Mooring itself said counts as part of the thread;
/// 6. a person who begins a thread means the agent that the issue is assigned to.
#[must_use]
pub fn aims(said: &Said<'_>) -> Vec<String> {
    if is_note(said.text) {
        return Vec::new();
    }
    let named = mentions(said.text);
    if !named.is_empty() {
        return named.agents;
    }
    match said.author.kind {
        AuthorKind::Agent | AuthorKind::System => Vec::new(),
        AuthorKind::Member => match said.thread {
            Some(thread) => of_thread(thread),
            None => said.assignee.into_iter().filter_map(agent).collect(),
        },
    }
}

fn of_thread(thread: &Thread) -> Vec<String> {
    let answered = match thread.parent.kind {
        AuthorKind::Agent | AuthorKind::Member => &thread.parent,
        AuthorKind::System => &thread.root,
    };
    if answered.kind == AuthorKind::Agent {
        return vec![answered.id.clone()];
    }
    match thread.root.kind {
        AuthorKind::Member | AuthorKind::System => {
            match mentions(&thread.root_text).agents.into_iter().next() {
                Some(first) => vec![first],
                None => thread.root_woke.clone(),
            }
        }
        // Two people who talk in a thread that an agent began.
        AuthorKind::Agent => Vec::new(),
    }
}

fn agent(recipient: &Recipient) -> Option<String> {
    match recipient.kind {
        RecipientKind::Agent => Some(recipient.id.clone()),
        RecipientKind::Member | RecipientKind::Team => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            root,
            root_text: root_text.to_owned(),
            root_woke: root_woke.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    const A: &str = "[a](mention://agent/a)";

    #[test]
    fn the_order_of_decision() {
        let assigned = Recipient {
            kind: RecipientKind::Agent,
            id: "boss".to_owned(),
        };
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
            assert_eq!(aims(&said), wanted, "{name}");
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
            assert!(aims(&said).is_empty());
        }
    }
}
