//! Names of the objects that belong to a task, derived so that creating twice is creating once. Each kind of
//! name is a type of its own: the compiler keeps a claim's name from a pod's.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// Longest name of an Agent or a Runtime.
pub const AGENT_NAME: usize = 40;
/// Longest name of a session: with `-g` and ten digits behind it a claim's name still is a DNS label.
pub const SESSION_NAME: usize = 51;
/// Characters of a task's id in the name of its AgentTask; in a `UUIDv7` the last ones are random.
const ID_END: usize = 12;
/// Characters of the hash that makes a session's name its own.
const HASH: usize = 10;
/// No vowels, so no words; no digits that look like letters. The same choice as Kubernetes' `generateName`.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// The name as Kubernetes takes it.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    };
}

name!(
    /// Name of an AgentSession and of the pod of its active task: `<agent>-<subject>-<hash>`.
    SessionName
);
name!(
    /// Name of a session's volume claim: `<session>-g<generation>`.
    ClaimName
);
name!(
    /// Name of an attempt's Secret: `task-<task id>-a<attempt>`.
    SecretName
);
name!(
    /// Name of the AgentTask of a task that was born in the store: `<agent>-<end of the task id>`.
    TaskName
);

/// A word that cannot be part of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not a DNS label of at most [`AGENT_NAME`] characters.
    #[error("{0:?} is not a DNS label of at most {AGENT_NAME} characters")]
    Agent(String),
    /// Not a UUID in its usual form.
    #[error("{0:?} is not a task id")]
    TaskId(String),
}

/// The name of the session of this agent and this subject, in the namespace with this UID.
///
/// # Errors
///
/// [`NameError::Agent`] when the agent's name is none.
pub fn session_name(
    agent: &str,
    subject_kind: &str,
    subject_name: &str,
    namespace_uid: &str,
) -> Result<SessionName, NameError> {
    if agent.len() > AGENT_NAME || !is_label(agent) {
        return Err(NameError::Agent(agent.to_owned()));
    }
    let hash = hash(&[namespace_uid, agent, subject_kind, subject_name]);
    let room = SESSION_NAME - agent.len() - 1 - HASH;
    let slug = slug(subject_name, room.saturating_sub(1));
    Ok(SessionName(if slug.is_empty() {
        format!("{agent}-{hash}")
    } else {
        format!("{agent}-{slug}-{hash}")
    }))
}

impl SessionName {
    /// Takes the name of an AgentSession that exists.
    ///
    /// # Errors
    ///
    /// [`NameError::Agent`] when it cannot be the name of a session.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        if name.len() <= SESSION_NAME && is_label(name) {
            Ok(Self(name.to_owned()))
        } else {
            Err(NameError::Agent(name.to_owned()))
        }
    }
}

/// The name of a session's volume claim of this generation.
#[must_use]
pub fn claim_name(session: &SessionName, generation: u32) -> ClaimName {
    ClaimName(format!("{session}-g{generation}"))
}

/// The name of an attempt's Secret. `task_id` is the id of the store in its usual, hyphenated form.
///
/// # Errors
///
/// [`NameError::TaskId`] when it is none.
pub fn secret_name(task_id: &str, attempt: u32) -> Result<SecretName, NameError> {
    if !is_uuid(task_id) {
        return Err(NameError::TaskId(task_id.to_owned()));
    }
    Ok(SecretName(format!("task-{task_id}-a{attempt}")))
}

/// The name of the AgentTask that is made for a task which was born in the store. `task_id` is the id of the
/// store in its usual, hyphenated form.
///
/// # Errors
///
/// [`NameError::Agent`] when the agent's name is none, [`NameError::TaskId`] when the id is none.
pub fn task_name(agent: &str, task_id: &str) -> Result<TaskName, NameError> {
    if agent.len() > AGENT_NAME || !is_label(agent) {
        return Err(NameError::Agent(agent.to_owned()));
    }
    let end = task_id.get(task_id.len().saturating_sub(ID_END)..);
    match end.filter(|_| is_uuid(task_id)) {
        Some(end) => Ok(TaskName(format!("{agent}-{end}"))),
        None => Err(NameError::TaskId(task_id.to_owned())),
    }
}

/// The name of the AgentTask of one time of a schedule: `<schedule>-<hash>`. `uid` is that of the schedule's object,
/// `time` the time as RFC 3339.
#[must_use]
pub fn fired_task_name(schedule: &str, uid: &str, time: &str) -> String {
    format!("{schedule}-{}", hash(&[uid, time]))
}

/// The name of the Secret with a webhook's key: `webhook-<name>-<hash>`. `uid` is that of the webhook's object.
#[must_use]
pub fn webhook_secret_name(name: &str, uid: &str, version: i32) -> String {
    // What the key follows from is in the name: a Secret holds for ever what it was made with.
    format!(
        "webhook-{name}-{}",
        hash(&["v2", uid, &version.to_string()])
    )
}

fn is_uuid(text: &str) -> bool {
    let hyphens = [8, 13, 18, 23];
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| {
            if hyphens.contains(&at) {
                byte == b'-'
            } else {
                byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
            }
        })
}

/// True for what RFC 1123 calls a label, as the apiserver checks it.
#[must_use]
pub fn is_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len())
        && name.bytes().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// What people recognise of a subject: its letters and digits, joined by single hyphens.
fn slug(name: &str, room: usize) -> String {
    let mut slug = String::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        if slug.len() >= room {
            break;
        }
        if character.is_ascii_lowercase() || character.is_ascii_digit() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// A hash of the parts, each with its length so that no two lists of parts look alike.
fn hash(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    let digest = hasher.finalize();
    let mut number = digest
        .iter()
        .take(16)
        .fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let base = ALPHABET.len() as u128;
    (0..HASH)
        .map(|_| {
            let index = usize::try_from(number % base).unwrap_or_default();
            number /= base;
            char::from(ALPHABET[index])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMESPACE: &str = "0b6b3c1e-0000-4000-8000-000000000001";

    #[test]
    fn names_are_these_for_ever() {
        let session = session_name("reviewer", "Key", "hello", NAMESPACE).unwrap();
        assert_eq!(session.as_str(), "reviewer-hello-6ct2gf98lr");
        assert_eq!(
            claim_name(&session, 1).as_str(),
            "reviewer-hello-6ct2gf98lr-g1"
        );
        let secret = secret_name("01890a5d-ac96-774b-bcce-b302099a8057", 2).unwrap();
        assert_eq!(
            secret.as_str(),
            "task-01890a5d-ac96-774b-bcce-b302099a8057-a2"
        );
        let task = task_name("reviewer", "01890a5d-ac96-774b-bcce-b302099a8057").unwrap();
        assert_eq!(task.as_str(), "reviewer-b302099a8057");
    }

    #[test]
    fn every_part_makes_another_session() {
        let name = |agent, kind, subject, namespace| {
            session_name(agent, kind, subject, namespace).unwrap()
        };
        let all = [
            name("a", "Key", "x", NAMESPACE),
            name("b", "Key", "x", NAMESPACE),
            name("a", "Issue", "x", NAMESPACE),
            name("a", "Key", "X", NAMESPACE),
            name("a", "Key", "x", "another"),
            name("a", "Ke", "yx", NAMESPACE),
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn foreign_words_are_refused() {
        for agent in ["", "-a", "a-", "A", "a.b", "ä", &"a".repeat(41)] {
            assert!(
                session_name(agent, "Key", "x", NAMESPACE).is_err(),
                "{agent}"
            );
            let id = "01890a5d-ac96-774b-bcce-b302099a8057";
            assert!(task_name(agent, id).is_err(), "{agent}");
        }
        for id in [
            "",
            "x",
            "01890A5D-AC96-774B-BCCE-B302099A8057",
            "../../../../../../../../../../../../",
            "01890a5d-ac96-774b-bcce-b302099a805-",
        ] {
            assert!(secret_name(id, 1).is_err(), "{id}");
            assert!(task_name("a", id).is_err(), "{id}");
        }
        assert!(SessionName::parse("reviewer-hello-2").is_ok());
        assert!(SessionName::parse(&"a".repeat(52)).is_err());
    }

    proptest! {
        #[test]
        fn names_are_always_valid(
            agent in "[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?",
            kind in "Key|Issue|Chat",
            subject in "\\PC{1,128}",
            generation: u32,
        ) {
            let session = session_name(&agent, &kind, &subject, NAMESPACE).unwrap();
            prop_assert!(is_label(session.as_str()) && session.as_str().len() <= SESSION_NAME, "{}", session);
            prop_assert!(session.as_str().starts_with(&agent));
            let claim = claim_name(&session, generation);
            prop_assert!(is_label(claim.as_str()), "{}", claim);
            prop_assert_eq!(SessionName::parse(session.as_str()), Ok(session));
        }

        #[test]
        fn secrets_and_tasks_have_valid_names(id: u128, attempt: u32, agent in "[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?") {
            let hex = format!("{id:032x}");
            let id = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
            prop_assert!(is_label(secret_name(&id, attempt).unwrap().as_str()));
            prop_assert!(is_label(task_name(&agent, &id).unwrap().as_str()));
        }
    }
}
