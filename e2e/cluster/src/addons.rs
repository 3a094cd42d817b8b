//! What a cluster offers beyond the control plane: names, and volumes of two kinds.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::DirBuilderExt;

use anyhow::{Context, Result};

use crate::cluster::Site;
use crate::command;
use crate::daemon::Daemon;
use crate::node::GATEWAY;
use crate::template::{arguments, fill};

const NETWORK_VOLUMES: usize = 4;

/// Starts the DNS server and the volume provisioner and waits until names are answered.
pub(crate) fn start(site: &Site) -> Result<()> {
    let mut values = site.values();
    for user in ["coredns", "local-path"] {
        site.user(
            user,
            &format!("/O=system:masters/CN={user}"),
            "",
            "127.0.0.1",
        )?;
    }
    for (file, template) in [
        ("Corefile", include_str!("templates/Corefile")),
        ("local-path.json", include_str!("templates/local-path.json")),
        ("helper-pod.yaml", include_str!("templates/helper-pod.yaml")),
    ] {
        fs::write(site.state.join(file), fill(template, &values)?)
            .with_context(|| format!("write {file}"))?;
    }
    let mut objects = fill(include_str!("templates/addons.yaml"), &values)?;
    for number in 1..=NETWORK_VOLUMES {
        let volume = format!("network-{number}");
        // Nobody else's: a volume that anyone may read would prove nothing about fsGroup.
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(site.state.join("volumes").join(&volume))?;
        values.insert("volume", volume);
        objects.push_str(&fill(
            include_str!("templates/network-volume.yaml"),
            &values,
        )?);
    }
    command::capture_with(site.kubectl().args(["apply", "-f", "-"]), &objects)?;

    for (name, program, template) in [
        ("coredns", "coredns", include_str!("templates/coredns.args")),
        (
            "local-path",
            "local-path-provisioner",
            include_str!("templates/local-path.args"),
        ),
    ] {
        Daemon::new(
            name,
            site.programs.join(program),
            arguments(template, &values)?,
        )
        .start(&site.state)?;
    }
    site.wait("names are answered", || {
        Ok(TcpStream::connect((GATEWAY, 53)).is_ok())
    })?;
    let account = || {
        Ok(command::succeeds(site.kubectl().args([
            "get",
            "serviceaccount",
            "default",
        ])))
    };
    site.wait("the default service account exists", account)
}
