//! etcd, apiserver, controller manager and scheduler.

use std::fs;

use anyhow::Result;

use crate::cluster::Site;
use crate::command;
use crate::daemon::Daemon;
use crate::node::GATEWAY;
use crate::template::{arguments, fill};

/// First address of the services' range, by which pods reach the apiserver.
const API_SERVICE: &str = "10.96.0.1";

/// Starts the control plane and waits until the apiserver is ready.
pub(crate) fn start(site: &Site) -> Result<()> {
    let values = site.values();
    site.pki().create()?;
    let names = format!(
        "DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:{API_SERVICE},IP:{GATEWAY}"
    );
    site.pki()
        .certificate("apiserver", "/CN=kube-apiserver", &names)?;
    site.user("admin", "/O=system:masters/CN=admin", "", "127.0.0.1")?;
    site.user(
        "controller-manager",
        "/CN=system:kube-controller-manager",
        "",
        "127.0.0.1",
    )?;
    site.user("scheduler", "/CN=system:kube-scheduler", "", "127.0.0.1")?;
    fs::write(
        site.state.join("audit-policy.yaml"),
        fill(include_str!("templates/audit-policy.yaml"), &values)?,
    )?;

    let launch = |program: &str, template: &str| {
        Daemon::new(
            program,
            site.programs.join(program),
            arguments(template, &values)?,
        )
        .start(&site.state)
    };
    launch("etcd", include_str!("templates/etcd.args"))?;
    launch(
        "kube-apiserver",
        include_str!("templates/kube-apiserver.args"),
    )?;
    site.wait("the apiserver is ready", || Ok(is_ready(site)))?;
    launch(
        "kube-controller-manager",
        include_str!("templates/kube-controller-manager.args"),
    )?;
    launch(
        "kube-scheduler",
        include_str!("templates/kube-scheduler.args"),
    )
}

/// Whether the apiserver answers that it is ready.
pub(crate) fn is_ready(site: &Site) -> bool {
    command::succeeds(
        site.kubectl()
            .args(["--request-timeout=5s", "get", "--raw", "/readyz"]),
    )
}
