//! The life of a task in the cluster, driven from its row: observe, decide, apply, one step at a time.

pub mod apply;
pub mod birth;
pub mod bring_up;
pub mod build;
pub mod decide;
pub mod failure;
pub mod intake;
pub mod observe;
mod pod_events;
mod prompt;
pub mod refusal;
pub mod session_status;
pub mod status;

use protocol::TaskId;

use crate::context::Context;
use crate::error::Error;
use crate::quota;
use crate::schedule;
use crate::work::Done;

/// Steps of one pass at most; a task that still wants more gets another pass.
const STEPS: usize = 6;

/// One pass of a task.
///
/// # Errors
/// What could not be read or written; another pass starts from nothing.
pub async fn pass(ctx: &Context, task: TaskId) -> Result<Done, Error> {
    let mut was_stale = false;
    for _ in 0..STEPS {
        let now = ctx.clock.now();
        let Some(seen) = observe::observe(ctx, task, now).await? else {
            tracing::debug!(task.id = %task, "an object names a task that the store does not know");
            return Ok(Done::Settled);
        };
        quota::used(ctx, &seen.row.object.namespace, seen.row.state);
        if let Some(step) = decide::step(&seen, now) {
            match apply::step(ctx, &seen, step, now).await {
                // It was claimed, opened or ended since it was read: what follows from that is seen by reading again.
                Err(Error::Store(store::Error::Conflict { .. })) if !was_stale => was_stale = true,
                taken => taken?,
            }
            continue;
        }
        let plan = decide::plan(&seen, now);
        let has_verdict = seen.row.state.has_verdict();
        let issue = seen.cause.as_ref().and_then(|cause| cause.issue.clone());
        match apply::plan(ctx, &seen, plan, now).await? {
            apply::Next::Over(done) => {
                if has_verdict {
                    schedule::task_ended(ctx, &seen.row, issue.as_deref());
                }
                return Ok(done);
            }
            apply::Next::Again => {}
        }
    }
    Ok(Done::LookAgain(std::time::Duration::from_millis(100)))
}
