//! What workspaces share: how many pods there may be in all, what each workspace may have of them, and whose turn
//! it is. A claim is paid for in virtual time, less of it the more its workspace weighs; who has had least comes
//! next. Who has not asked for a while begins at the present, so that nothing is saved up.

use jiff::{Timestamp, ToSpan as _};

use crate::claim::Lane;
use crate::db::{Conn, query};
use crate::wakes::Looks;
use crate::writes::Write;
use crate::{Error, Store};

/// What one claim costs a workspace of weight 1.
const COST: i64 = 1_000_000;

/// The name under which claims take their turn while all workspaces share a number of pods.
pub(crate) const ALL_PODS: &str = "pods of all workspaces";

/// What a workspace may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its part of what all workspaces share, beside that of the others.
    pub weight: u32,
    /// Sessions of it that may be held at the same time.
    pub max_concurrent: Option<u32>,
    /// Attempts that it may begin within an hour.
    pub runs_per_hour: Option<u32>,
    /// Sessions that may be held at the same time in all workspaces together.
    pub max_pods: Option<u32>,
}

impl Default for Share {
    fn default() -> Self {
        Self {
            weight: 100,
            max_concurrent: None,
            runs_per_hour: None,
            max_pods: None,
        }
    }
}

/// A limit of a [`Share`] that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The workspace has as many sessions held as it may.
    Concurrent {
        /// How many may be.
        max: u32,
    },
    /// The workspace has begun as many attempts within an hour as it may.
    Hour {
        /// How many may be begun.
        max: u32,
        /// When the next one may.
        until: Timestamp,
    },
    /// As many sessions are held in all workspaces together as may be.
    AllPods {
        /// How many may be.
        max: u32,
    },
}

impl Store {
    /// Which limit of its share keeps a lane from claiming anything now.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn held(&self, lane: &Lane, now: Timestamp) -> Result<Option<Held>, Error> {
        held(&mut self.reader().await?, lane, now).await
    }

    /// How much a workspace has had of what is shared: who has had least comes next.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn served(&self, namespace_uid: &str) -> Result<i64, Error> {
        let served = served(&mut self.reader().await?, namespace_uid).await?;
        Ok(served.unwrap_or(0))
    }

    /// Tasks of a workspace that wait, and sessions of it that are held; neither is counted further than to `most`.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn load(&self, namespace_uid: &str, most: u32) -> Result<(u32, u32), Error> {
        let mut reader = self.reader().await?;
        let waiting = waiting(&mut reader, namespace_uid, most).await?;
        Ok((waiting, holders(&mut reader, namespace_uid, most).await?))
    }
}

/// Asks no more than the share limits: a lane without limits costs nothing.
pub(crate) async fn held(
    on: &mut impl Looks,
    lane: &Lane,
    now: Timestamp,
) -> Result<Option<Held>, Error> {
    const ALL: &str = "SELECT count(*) AS counted FROM (SELECT 1 FROM sessions WHERE holder_task IS NOT NULL \
        LIMIT $1) AS counted";
    let share = &lane.share;
    if let Some(max) = share.max_concurrent
        && holders(on.conn(), &lane.namespace_uid, max).await? >= max
    {
        return Ok(Some(Held::Concurrent { max }));
    }
    if let Some(max) = share.runs_per_hour
        && let Some(until) = hour_is_full(on.conn(), &lane.namespace_uid, max, now).await?
    {
        return Ok(Some(Held::Hour { max, until }));
    }
    if let Some(max) = share.max_pods {
        let count = query("count all holders", ALL).bind(max);
        if count.one(on.conn()).await?.u32("counted")? >= max {
            return Ok(Some(Held::AllPods { max }));
        }
    }
    Ok(None)
}

async fn holders(on: impl Into<Conn<'_>>, namespace_uid: &str, most: u32) -> Result<u32, Error> {
    const COUNT: &str = "SELECT count(*) AS counted FROM (SELECT 1 FROM sessions WHERE namespace_uid = $1 \
        AND holder_task IS NOT NULL LIMIT $2) AS counted";
    let count = query("count the holders of a workspace", COUNT)
        .bind(namespace_uid)
        .bind(most);
    count.one(on).await?.u32("counted")
}

async fn waiting(on: impl Into<Conn<'_>>, namespace_uid: &str, most: u32) -> Result<u32, Error> {
    const COUNT: &str = "SELECT count(*) AS counted FROM (SELECT 1 FROM tasks WHERE namespace_uid = $1 \
        AND state = 'queued' LIMIT $2) AS counted";
    let count = query("count what waits in a workspace", COUNT)
        .bind(namespace_uid)
        .bind(most);
    count.one(on).await?.u32("counted")
}

/// Whether one more task may wait in a workspace. Who then queues it has taken its turn ([`Write::queue`]).
pub(crate) async fn has_room(
    on: impl Into<Conn<'_>>,
    namespace_uid: &str,
    max_queued: Option<u32>,
) -> Result<bool, Error> {
    Ok(match max_queued {
        Some(max) => waiting(on, namespace_uid, max).await? < max,
        None => true,
    })
}

/// Refuses a task for which there is no room.
pub(crate) async fn check_room(
    write: &mut Write,
    namespace_uid: &str,
    max_queued: Option<u32>,
) -> Result<(), Error> {
    match max_queued {
        Some(max) if !has_room(write, namespace_uid, max_queued).await? => Err(Error::Full { max }),
        Some(_) | None => Ok(()),
    }
}

/// When the workspace may begin the next attempt, where it has begun all that it may within an hour.
async fn hour_is_full(
    on: impl Into<Conn<'_>>,
    namespace_uid: &str,
    max: u32,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    // The one that has to be an hour old before there is room again.
    const OLDEST: &str = "SELECT claimed_at FROM attempts WHERE namespace_uid = $1 \
        ORDER BY claimed_at DESC LIMIT 1 OFFSET $2";
    let find = query("look back over an hour of a workspace", OLDEST)
        .bind(namespace_uid)
        .bind(max.saturating_sub(1));
    let Some(oldest) = find.optional(on).await? else {
        return Ok(None);
    };
    Ok(room_after(oldest.time("claimed_at")?, now))
}

/// When what was begun at `begun` is an hour old, unless it is.
fn room_after(begun: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let until = begun.checked_add(1.hour()).unwrap_or(Timestamp::MAX);
    (until > now).then_some(until)
}

/// Pays for a claim of a lane; gives what its workspace has had then. The caller holds the turn [`ALL_PODS`].
pub(crate) async fn pay(write: &mut Write, lane: &Lane) -> Result<i64, Error> {
    const CLOCK: &str = "SELECT passed FROM share_clock";
    const ADVANCE: &str = "UPDATE share_clock SET passed = $1";
    const PAY: &str = "INSERT INTO shares (namespace_uid, served) VALUES ($1, $2) \
        ON CONFLICT (namespace_uid) DO UPDATE SET served = excluded.served";
    let clock = query("read virtual time", CLOCK).one(&mut *write).await?;
    let passed: i64 = clock.get("passed")?;
    let served = served(&mut *write, &lane.namespace_uid).await?;
    let paid = price(passed, served, lane.share.weight);
    query("advance virtual time", ADVANCE)
        .bind(paid.passed)
        .execute(&mut *write)
        .await?;
    query("pay for a claim", PAY)
        .bind(lane.namespace_uid.as_str())
        .bind(paid.served)
        .execute(write)
        .await?;
    Ok(paid.served)
}

async fn served(on: impl Into<Conn<'_>>, namespace_uid: &str) -> Result<Option<i64>, Error> {
    const SERVED: &str = "SELECT served FROM shares WHERE namespace_uid = $1";
    let find = query("read what a workspace has had", SERVED).bind(namespace_uid);
    let found = find.optional(on).await?;
    found.map(|row| row.get("served")).transpose()
}

/// Virtual time after a claim, and what its workspace has had then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Paid {
    passed: i64,
    served: i64,
}

/// What a claim costs. It begins where the last one of its workspace has ended, or at the present where that is
/// later: what was not asked for is lost.
fn price(passed: i64, served: Option<i64>, weight: u32) -> Paid {
    let begins = served.unwrap_or(0).max(passed);
    Paid {
        passed: begins,
        served: begins.saturating_add(COST / i64::from(weight.max(1))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Claims of each workspace, in turn, while all of them want more than there is.
    fn turns(weights: &[u32], claims: usize) -> Vec<usize> {
        let (mut passed, mut served) = (0, vec![None; weights.len()]);
        (0..claims)
            .map(|_| next(&mut passed, &mut served, weights, |_| true))
            .collect()
    }

    fn next(
        passed: &mut i64,
        served: &mut [Option<i64>],
        weights: &[u32],
        wants: impl Fn(usize) -> bool,
    ) -> usize {
        let least = (0..weights.len()).filter(|at| wants(*at));
        let at = least.min_by_key(|at| (served[*at], *at)).unwrap();
        let paid = price(*passed, served[at], weights[at]);
        (*passed, served[at]) = (paid.passed, Some(paid.served));
        at
    }

    #[test]
    fn what_was_not_asked_for_is_lost() {
        let (mut passed, mut served) = (0, [None; 2]);
        for _ in 0..1000 {
            next(&mut passed, &mut served, &[1, 1], |at| at == 0);
        }
        let since: usize = (0..100)
            .map(|_| next(&mut passed, &mut served, &[1, 1], |_| true))
            .sum();
        assert!((49..=51).contains(&since), "{since} of 100 for the second");
    }

    #[test]
    fn an_hour_moves() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(room_after(at(0), at(3599)), Some(at(3600)));
        assert_eq!(room_after(at(0), at(3600)), None);
        assert!(room_after(Timestamp::MAX, at(0)).is_some());
    }

    proptest! {
        #[test]
        fn each_has_its_part_at_any_time(weights in proptest::collection::vec(1..=1000_u32, 1..6)) {
            let all: u32 = weights.iter().sum();
            let mut had = vec![0_i64; weights.len()];
            for (count, at) in turns(&weights, 400).into_iter().enumerate() {
                had[at] += 1;
                for (had, weight) in had.iter().zip(&weights) {
                    let part = (count as i64 + 1) * i64::from(*weight) / i64::from(all);
                    // No more than one claim of each ahead or behind, with what rounding takes.
                    prop_assert!((had - part).abs() <= weights.len() as i64 + 1, "{had} of {part}");
                }
            }
        }
    }
}
