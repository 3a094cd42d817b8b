//! The life of a task: states, and the one function that says which step leads where.

use protocol::TaskState;

/// What happens to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// A claim chose it: a new attempt holds the session.
    Claim,
    /// The runner of its attempt opened the package.
    Open,
    /// The agent's process of its attempt runs.
    Start,
    /// Its attempt has a verdict.
    Decide,
    /// It has a verdict without an attempt that could give one.
    End {
        /// True while an ended attempt of it still holds the session.
        holding: bool,
    },
    /// It is put aside.
    Suspend,
    /// It goes on.
    Resume,
    /// Its ended attempt let go of the session: the pod is dead and gone.
    Release,
}

/// The step does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where the task stands.
    pub state: TaskState,
    /// What was to happen.
    pub event: TaskEvent,
}

impl From<Refused> for crate::Error {
    fn from(refused: Refused) -> Self {
        Self::Conflict {
            what: format!(
                "{:?} does not apply to a task that is {}",
                refused.event,
                refused.state.as_str()
            ),
        }
    }
}

/// The state after `event`.
///
/// # Errors
/// [`Refused`] when the event does not apply in this state.
pub fn next(state: TaskState, event: TaskEvent) -> Result<TaskState, Refused> {
    use TaskEvent as E;
    use TaskState as S;
    match (state, event) {
        (S::Queued, E::Claim) => Ok(S::Claimed),
        (S::Claimed, E::Open) => Ok(S::Preparing),
        (S::Preparing, E::Start) => Ok(S::Running),
        (S::Claimed | S::Preparing | S::Running, E::Decide) => Ok(S::Finishing),
        // What its last attempt holds has to be cleared away first.
        (S::Queued | S::Suspended, E::End { holding: true }) => Ok(S::Finishing),
        (S::Queued | S::Suspended, E::End { holding: false }) => Ok(S::Finished),
        (S::Queued | S::Claimed | S::Preparing | S::Running, E::Suspend) => Ok(S::Suspended),
        (S::Suspended, E::Resume) => Ok(S::Queued),
        (S::Finishing, E::Release) => Ok(S::Finished),
        // The attempt that lets go was ended by a suspension; the task has moved on already.
        (S::Queued, E::Release) => Ok(S::Queued),
        (S::Suspended, E::Release) => Ok(S::Suspended),
        (S::Queued, E::Open | E::Start | E::Decide | E::Resume)
        | (S::Claimed, E::Claim | E::Start | E::End { .. } | E::Resume | E::Release)
        | (S::Preparing, E::Claim | E::Open | E::End { .. } | E::Resume | E::Release)
        | (S::Running, E::Claim | E::Open | E::Start | E::End { .. } | E::Resume | E::Release)
        | (S::Suspended, E::Claim | E::Open | E::Start | E::Decide | E::Suspend)
        | (
            S::Finishing,
            E::Claim | E::Open | E::Start | E::Decide | E::End { .. } | E::Suspend | E::Resume,
        )
        | (
            S::Finished,
            E::Claim
            | E::Open
            | E::Start
            | E::Decide
            | E::End { .. }
            | E::Suspend
            | E::Resume
            | E::Release,
        ) => Err(Refused { state, event }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event() -> impl Strategy<Value = TaskEvent> {
        prop_oneof![
            Just(TaskEvent::Claim),
            Just(TaskEvent::Open),
            Just(TaskEvent::Start),
            Just(TaskEvent::Decide),
            any::<bool>().prop_map(|holding| TaskEvent::End { holding }),
            Just(TaskEvent::Suspend),
            Just(TaskEvent::Resume),
            Just(TaskEvent::Release),
        ]
    }

    proptest! {
        #[test]
        fn no_order_of_events_breaks_the_life_cycle(events in proptest::collection::vec(event(), 0..60)) {
            let (mut state, mut verdicts, mut claims, mut ends) = (TaskState::Queued, 0, 0, 0);
            for event in events {
                let Ok(after) = next(state, event) else { continue };
                // A verdict is never taken back, and there is never a second one.
                prop_assert!(!state.has_verdict() || after.has_verdict());
                verdicts += i32::from(!state.has_verdict() && after.has_verdict());
                prop_assert!(verdicts <= 1);
                // A token begins with a claim only and ends once.
                prop_assert_eq!(!state.is_active() && after.is_active(), event == TaskEvent::Claim);
                claims += i32::from(event == TaskEvent::Claim);
                ends += i32::from(state.is_active() && !after.is_active());
                prop_assert_eq!(claims - ends, i32::from(after.is_active()));
                prop_assert_ne!(state, TaskState::Finished);
                state = after;
            }
        }
    }

    #[test]
    fn the_straight_way_and_the_way_back() {
        let walk = |events: &[TaskEvent]| {
            events
                .iter()
                .try_fold(TaskState::Queued, |state, event| next(state, *event))
        };
        use TaskEvent::*;
        assert_eq!(
            walk(&[Claim, Open, Start, Decide, Release]),
            Ok(TaskState::Finished)
        );
        assert_eq!(
            walk(&[Claim, Open, Start, Suspend, Resume, Release, Claim, Decide]),
            Ok(TaskState::Finishing)
        );
        assert_eq!(
            walk(&[Claim, Suspend, End { holding: true }, Release]),
            Ok(TaskState::Finished)
        );
        assert_eq!(
            walk(&[Suspend, End { holding: false }]),
            Ok(TaskState::Finished)
        );
        assert_eq!(
            walk(&[Claim, Decide, Decide]),
            Err(Refused {
                state: TaskState::Finishing,
                event: Decide
            })
        );
    }
}
