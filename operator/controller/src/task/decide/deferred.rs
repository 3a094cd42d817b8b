//! A task that is not to begin before a moment. The pass of its row comes back then: the queue of keys has one timer,
//! for the first of all of them.

use std::time::Duration;

use jiff::Timestamp;
use protocol::TaskState;

use super::Step;
use crate::task::failure;
use crate::task::observe::Seen;

/// The longest without a look: clocks are set, and that wakes no timer.
const LONGEST: Duration = Duration::from_secs(600);

/// From its time on it may be claimed.
pub(super) fn step(seen: &Seen, now: Timestamp) -> Option<Step> {
    let until = waits_until(seen)?;
    (until <= now).then_some(Step::Fire)
}

/// When it is looked at again.
pub(super) fn look_at(seen: &Seen, now: Timestamp) -> Option<Timestamp> {
    let until = waits_until(seen)?;
    Some(until.min(failure::after(now, LONGEST)))
}

fn waits_until(seen: &Seen) -> Option<Timestamp> {
    let is_queued = seen.row.state == TaskState::Queued;
    seen.row.deferred_until().filter(|_| is_queued)
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::*;
    use crate::fixtures;

    #[test]
    fn it_is_looked_at_when_its_time_comes_and_asks_for_no_claim_before() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut seen = fixtures::running();
        seen.row.state = TaskState::Queued;
        (seen.row.fire_at, seen.row.deferred) = (Some(at(5_000)), true);
        for (now, look_at) in [(4_900, 5_000), (1_010, 1_610)] {
            let plan = plan(&seen, at(now));
            assert_eq!((plan.claim, plan.look_at), (false, Some(at(look_at))));
            assert_eq!(super::super::step(&seen, at(now)), None);
        }
        assert_eq!(super::super::step(&seen, at(5_000)), Some(Step::Fire));
        seen.row.state = TaskState::Suspended;
        assert_ne!(super::super::step(&seen, at(5_000)), Some(Step::Fire));
        // Its time came: it waits as all do.
        (seen.row.state, seen.row.deferred) = (TaskState::Queued, false);
        assert!(plan(&seen, at(5_000)).claim);
    }
}
