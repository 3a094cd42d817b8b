//! Whose turn it is where workspaces share pods, or the Runtimes of one workspace share its quota.
//!
//! A lane that shares something does not claim by itself: it asks for a turn, and one pass gives turns out, one
//! claim after the other. The workspace comes next that has had least for its weight, and within it what has waited
//! longest. What is kept here may be lost: at the start every lane with something to claim asks again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use store::{Held, Lane, Place};

use crate::catalog::Catalog;
use crate::claimer;
use crate::context::{Context, Key, LaneKey};
use crate::error::Error;
use crate::work::Done;

/// Claims of one pass; then others get their turn.
const CLAIMS: usize = 64;

/// Lanes that want a turn. Bounded by the Runtimes that exist.
#[derive(Debug, Default)]
pub struct Turns(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    workspaces: HashMap<String, Line>,
    /// Workspaces of which it is not known yet how much they have had.
    new: BTreeSet<String>,
    /// Who comes next, by what each has had.
    order: BTreeSet<(i64, String)>,
}

/// What a workspace wants.
#[derive(Debug, Default)]
struct Line {
    /// Its lanes; true for one that has asked again since it was looked at.
    lanes: BTreeMap<String, bool>,
    /// Its place in the order; none while it is new or put aside.
    served: Option<i64>,
}

impl Turns {
    /// A lane wants a turn: something may be there to claim.
    fn ask(&self, lane: &LaneKey) {
        let mut inner = self.lock();
        let line = inner.workspaces.entry(lane.namespace.clone()).or_default();
        line.lanes.insert(lane.runtime.clone(), true);
        if line.served.is_none() {
            inner.new.insert(lane.namespace.clone());
        }
    }

    /// A workspace whose place is not known yet.
    fn new_one(&self) -> Option<String> {
        self.lock().new.first().cloned()
    }

    /// Gives a workspace its place.
    fn place(&self, namespace: &str, served: i64) {
        let mut inner = self.lock();
        inner.take_out(namespace);
        inner.new.remove(namespace);
        if let Some(line) = inner.workspaces.get_mut(namespace) {
            line.served = Some(served);
            inner.order.insert((served, namespace.to_owned()));
        }
    }

    /// The workspace whose turn it is, and its lanes.
    fn next(&self) -> Option<(String, Vec<LaneKey>)> {
        let mut inner = self.lock();
        let (_, namespace) = inner.order.first()?.clone();
        let line = inner.workspaces.get_mut(&namespace)?;
        let lanes = line.lanes.iter_mut().map(|(runtime, again)| {
            *again = false;
            LaneKey {
                namespace: namespace.clone(),
                runtime: runtime.clone(),
            }
        });
        let lanes = lanes.collect();
        Some((namespace, lanes))
    }

    /// There was nothing to claim in a lane; it stays when it has asked since.
    fn leave(&self, lane: &LaneKey) {
        let mut inner = self.lock();
        let Some(line) = inner.workspaces.get_mut(&lane.namespace) else {
            return;
        };
        if line.lanes.get(&lane.runtime) == Some(&false) {
            line.lanes.remove(&lane.runtime);
        }
        if line.lanes.is_empty() {
            inner.take_out(&lane.namespace);
            inner.new.remove(&lane.namespace);
            inner.workspaces.remove(&lane.namespace);
        }
    }

    /// A workspace has all that it may have; it stays in the order when one of its lanes has asked since.
    fn put_aside(&self, namespace: &str) {
        let mut inner = self.lock();
        let has_asked = |line: &Line| line.lanes.values().any(|again| *again);
        if !inner.workspaces.get(namespace).is_some_and(has_asked) {
            inner.take_out(namespace);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0
            .lock()
            .expect("no code panics while it holds this lock")
    }
}

impl Inner {
    fn take_out(&mut self, namespace: &str) {
        if let Some(line) = self.workspaces.get_mut(namespace)
            && let Some(served) = line.served.take()
        {
            self.order.remove(&(served, namespace.to_owned()));
        }
    }
}

/// Asks for a turn of a lane.
pub(crate) fn ask(ctx: &Context, lane: &LaneKey) {
    ctx.turns.ask(lane);
    ctx.queue.add(Key::Turns);
}

/// What became of a turn.
enum Turn {
    /// Something was claimed; what the workspace has had then.
    Claimed(Option<i64>),
    /// There was nothing to claim.
    Nothing,
    /// A limit is reached.
    Held(Held, LaneKey),
}

/// One pass: gives turns out until nobody wants one, or nothing is left.
///
/// # Errors
/// [`Error::Store`].
pub async fn pass(ctx: &Context) -> Result<Done, Error> {
    let catalog = Catalog::new(ctx.caches.clone());
    let mut lanes = HashMap::new();
    for _ in 0..CLAIMS {
        while let Some(namespace) = ctx.turns.new_one() {
            let served = match catalog.workspace_uid(&namespace) {
                Some(uid) => ctx.store.served(&uid).await?,
                None => 0,
            };
            ctx.turns.place(&namespace, served);
        }
        let Some((namespace, wanted)) = ctx.turns.next() else {
            return Ok(Done::Settled);
        };
        match turn(ctx, &wanted, &mut lanes).await? {
            Turn::Claimed(Some(served)) => ctx.turns.place(&namespace, served),
            Turn::Claimed(None) | Turn::Nothing => {}
            // A place that is given back asks for a pass.
            Turn::Held(Held::AllPods { .. }, _) => return Ok(Done::Settled),
            Turn::Held(Held::Concurrent { .. }, _) => ctx.turns.put_aside(&namespace),
            Turn::Held(Held::Hour { until, .. }, lane) => {
                ctx.turns.put_aside(&namespace);
                let wait = until.duration_since(ctx.clock.now());
                let wait = Duration::try_from(wait).unwrap_or(Duration::ZERO);
                ctx.queue.add_after(Key::Lane(lane), wait);
            }
        }
    }
    ctx.queue.add(Key::Turns);
    Ok(Done::Settled)
}

/// The turn of a workspace: claims what has waited longest in its lanes. `lanes` are those that this pass has
/// looked up already.
async fn turn(
    ctx: &Context,
    wanted: &[LaneKey],
    lanes: &mut HashMap<LaneKey, Option<Lane>>,
) -> Result<Turn, Error> {
    let mut best: Option<(Place, &LaneKey, &Lane)> = None;
    for key in wanted {
        if !lanes.contains_key(key) {
            let lane = claimer::lane_in_turn(ctx, key).await?;
            lanes.insert(key.clone(), lane);
        }
    }
    for key in wanted {
        let Some(lane) = lanes.get(key).and_then(Option::as_ref) else {
            ctx.turns.leave(key);
            continue;
        };
        match ctx.store.next_in(lane).await? {
            Some(place) if best.as_ref().is_none_or(|(first, ..)| place < *first) => {
                best = Some((place, key, lane));
            }
            Some(_) => {}
            None => {
                ctx.turns.leave(key);
                if claimer::has_left(ctx, key, lane).await? {
                    ctx.queue
                        .add_after(Key::Lane(key.clone()), claimer::SAFETY_LOOK);
                }
            }
        }
    }
    let Some((_, key, lane)) = best else {
        return Ok(Turn::Nothing);
    };
    let now = ctx.clock.now();
    if let Some(claimed) = ctx.store.claim_next(lane, &ctx.key, now).await? {
        claimer::claimed(ctx, &claimed);
        return Ok(Turn::Claimed(claimed.served));
    }
    Ok(match ctx.store.held(lane, now).await? {
        Some(held) => Turn::Held(held, key.clone()),
        // Somebody took it meanwhile; the next turn finds out what is left.
        None => Turn::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(namespace: &str, runtime: &str) -> LaneKey {
        LaneKey {
            namespace: namespace.to_owned(),
            runtime: runtime.to_owned(),
        }
    }

    fn next(turns: &Turns) -> Option<String> {
        turns.next().map(|(namespace, _)| namespace)
    }

    #[test]
    fn who_has_had_least_comes_next() {
        let turns = Turns::default();
        for (namespace, served) in [("a", 30), ("b", 10), ("c", 20)] {
            turns.ask(&lane(namespace, "r"));
            assert_eq!(turns.new_one().as_deref(), Some(namespace));
            turns.place(namespace, served);
        }
        assert_eq!(turns.new_one(), None);
        assert_eq!(next(&turns).as_deref(), Some("b"));
        turns.place("b", 25);
        assert_eq!(next(&turns).as_deref(), Some("c"));
        turns.leave(&lane("c", "r"));
        assert_eq!(next(&turns).as_deref(), Some("b"));
        turns.put_aside("b");
        assert_eq!(next(&turns).as_deref(), Some("a"));
        turns.leave(&lane("a", "r"));
        assert_eq!(next(&turns), None);
        // What was put aside comes back with all its lanes when one of them asks.
        turns.ask(&lane("b", "s"));
        turns.place("b", 25);
        let wanted = [lane("b", "r"), lane("b", "s")];
        assert_eq!(turns.next(), Some(("b".to_owned(), wanted.to_vec())));
    }

    #[test]
    fn who_asks_while_it_is_looked_at_is_looked_at_again() {
        let turns = Turns::default();
        let only = lane("a", "r");
        turns.ask(&only);
        turns.place("a", 0);
        turns.next();
        turns.ask(&only);
        turns.leave(&only);
        turns.put_aside("a");
        assert_eq!(next(&turns).as_deref(), Some("a"));
        turns.put_aside("a");
        assert_eq!(next(&turns), None);
        turns.ask(&only);
        assert_eq!(turns.new_one().as_deref(), Some("a"));
    }
}
