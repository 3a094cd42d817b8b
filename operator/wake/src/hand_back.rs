//! What an agent asked of another one comes back to it, whether it went well or not.

/// How a run ended, as far as who asked for it must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Well.
    Succeeded,
    /// Somebody stopped it, who knows what to do next.
    Cancelled,
    /// Badly.
    Failed,
}

/// What goes back to the agent that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandBack {
    /// Nothing: nobody asked, or it knows already.
    Nothing,
    /// It is woken by the last comment of the run.
    Answer,
    /// Mooring says in its place how it ended, and wakes it by that.
    Word,
}

/// What goes back once a run is over.
///
/// `delegated`: an agent asked for it, and not as such an answer itself, or two agents would thank each other for
/// ever. `answered`: it wrote a comment on the issue. `told`: something that it wrote has woken who asked.
#[must_use]
pub fn hand_back(delegated: bool, ended: Ended, answered: bool, told: bool) -> HandBack {
    match (delegated, ended) {
        (false, _) | (true, Ended::Cancelled) => HandBack::Nothing,
        (true, Ended::Succeeded) if told => HandBack::Nothing,
        (true, Ended::Succeeded) if answered => HandBack::Answer,
        (true, Ended::Succeeded | Ended::Failed) => HandBack::Word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_comes_back_as_failure_does() {
        use Ended::{Cancelled, Failed, Succeeded};
        for (delegated, ended, answered, told, wanted) in [
            (false, Failed, false, false, HandBack::Nothing),
            (false, Succeeded, true, false, HandBack::Nothing),
            (true, Succeeded, false, false, HandBack::Word),
            (true, Succeeded, true, false, HandBack::Answer),
            (true, Succeeded, true, true, HandBack::Nothing),
            (true, Failed, false, false, HandBack::Word),
            // What it said before does not say that it failed after.
            (true, Failed, true, true, HandBack::Word),
            (true, Cancelled, false, false, HandBack::Nothing),
        ] {
            assert_eq!(
                hand_back(delegated, ended, answered, told),
                wanted,
                "{delegated} {ended:?} {answered} {told}"
            );
        }
    }
}
