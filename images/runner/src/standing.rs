//! What a conversation was last told of its agent.
//!
//! Some programs keep their context file and their list of skills with the conversation and never look again, so what is
//! new is also said to one that goes on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{Outcome, Package};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use crate::brief;
use crate::conclude::Conclusion;
use crate::files;

/// On the session's volume, beside the outbox.
const FILE: &str = "told.json";
/// More than the file ever has.
const FILE_BYTES: u64 = 4096;

/// A volume that takes longer for it counts as one without it.
const LIMIT: Duration = Duration::from_secs(5);

/// Which conversation was told what, by its hash.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    session: String,
    sha256: String,
}

/// What an agent is told in every conversation.
#[derive(Clone, Debug)]
pub struct Standing {
    file: PathBuf,
    text: String,
    sha256: String,
}

impl Standing {
    /// That of a package, whose skills lie in this folder; `state` is our folder on the volume.
    #[must_use]
    pub fn of(package: &Package, skills: &Path, state: &Path) -> Self {
        let text = brief::standing(package, skills);
        let sha256 = hex::encode(Sha256::digest(&text));
        Self {
            file: state.join(FILE),
            text,
            sha256,
        }
    }

    /// What a conversation that goes on has to be told, unless it is known to have heard it.
    pub async fn news(&self, session: Option<&str>) -> Option<String> {
        let (standing, session) = (self.clone(), session?.to_owned());
        beside(move || standing.unheard(&session).map(str::to_owned)).await?
    }

    /// Takes note of what the conversation was told: one that has begun in this run, or that went on to a good end. Dying
    /// before it, or a volume that does not take it, only means that it is said once more.
    pub async fn note(self, conclusion: &Conclusion, asked: Option<&str>) {
        let Some(session) = &conclusion.session else {
            return;
        };
        let begun = asked != Some(&session.id);
        if begun || conclusion.outcome == Outcome::Succeeded {
            let session = session.id.clone();
            beside(move || self.heard(&session)).await;
        }
    }

    fn unheard(&self, session: &str) -> Option<&str> {
        let told = files::read(&self.file, FILE_BYTES).ok().flatten();
        let told = told.and_then(|bytes| serde_json::from_slice::<Told>(&bytes).ok());
        (told.as_ref() != Some(&self.told(session))).then_some(&self.text)
    }

    fn heard(&self, session: &str) {
        let told = serde_json::to_vec(&self.told(session));
        let _ = told.map(|bytes| files::replace(&self.file, &bytes, 0o600));
    }

    fn told(&self, session: &str) -> Told {
        Told {
            session: session.to_owned(),
            sha256: self.sha256.clone(),
        }
    }
}

/// Beside the only thread, since a volume can hang.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let work = tokio::task::spawn_blocking(work);
    timeout(LIMIT, work).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use protocol::{Evidence, FailureClass};

    use super::*;
    use crate::testing::{claude, package, words};

    fn ended(outcome: Outcome, session: Option<&str>) -> Conclusion {
        Conclusion {
            outcome,
            output: String::new(),
            session: session.map(claude),
            retired: Vec::new(),
            provider: Evidence::unknown(""),
            usage: BTreeMap::new(),
        }
    }

    #[tokio::test]
    async fn a_conversation_is_told_what_it_has_not_heard() {
        let state = tempfile::tempdir().unwrap();
        let standing = |instructions: &str, skills: &[&str]| {
            let mut package = package();
            package.agent.instructions = instructions.to_owned();
            package.agent.skills = words(skills);
            Standing::of(&package, Path::new("/h/skills"), state.path())
        };
        let failed = || Outcome::failed(FailureClass::ProviderNetwork, "it broke");
        let (old, new) = (standing("roses", &[]), standing("tulips", &[]));
        assert!(old.news(Some("s")).await.is_some(), "nobody knows");
        assert_eq!(old.news(None).await, None);

        let begun = ended(failed(), Some("s"));
        old.clone().note(&begun, None).await;
        assert_eq!(old.news(Some("s")).await, None, "it began with this");
        assert!(old.news(Some("t")).await.is_some());
        let news = new.news(Some("s")).await;
        assert!(news.is_some_and(|news| news.contains("tulips")));

        for (ended, heard) in [
            (ended(failed(), Some("s")), false),
            (ended(Outcome::Succeeded, None), false),
            (ended(Outcome::Succeeded, Some("s")), true),
        ] {
            new.clone().note(&ended, Some("s")).await;
            assert_eq!(new.news(Some("s")).await.is_none(), heard, "{ended:?}");
        }
        let news = standing("tulips", &["review"]).news(Some("s")).await;
        assert!(news.is_some_and(|news| news.contains("/h/skills/review")));
    }

    #[test]
    fn what_an_agent_writes_there_does_no_harm() {
        let state = tempfile::tempdir().unwrap();
        let standing = Standing::of(&package(), Path::new("/h"), state.path());
        std::os::unix::fs::symlink("/etc/passwd", state.path().join(FILE)).unwrap();
        assert!(standing.unheard("s").is_some());
        standing.heard("s");
        assert_eq!(standing.unheard("s"), None);
        std::fs::write(state.path().join(FILE), "{\"session\": 4").unwrap();
        assert!(standing.unheard("s").is_some());
    }
}
