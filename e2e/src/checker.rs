//! The invariant checker, `mooring-operator check`, as the operator's own user in the operator's own pod.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::cluster::{Cluster, run};
use crate::operator;

/// A state between two writes may look broken; what is still broken after this long is.
const SETTLE: Duration = Duration::from_secs(45);

/// Asks the checker until it is silent.
///
/// # Errors
/// When it still names violations in the end, or cannot be run; the message holds its lines.
pub async fn is_silent(cluster: &Cluster) -> Result<()> {
    let mut last = String::new();
    let silent = crate::wait::polled("the checker is silent", SETTLE, async || {
        let mut check = cluster.kubectl();
        let target = format!("deployment/{}", operator::NAME);
        check.args([
            "exec",
            "--namespace",
            operator::NAMESPACE,
            &target,
            "--",
            "/mooring-operator",
            "check",
        ]);
        Ok(match run(check).await {
            Ok(said) if said.trim().is_empty() => Some(()),
            Ok(said) => {
                last = said;
                None
            }
            Err(error) => {
                last = format!("{error:#}");
                None
            }
        })
    });
    match silent.await {
        Ok(()) => Ok(()),
        Err(_) => bail!("the invariant checker says:\n{last}"),
    }
}
