//! A node: containerd, kubelet, kube-proxy and the NetworkPolicy engine, in the machine's network or in one of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cgroups;
use crate::cluster::Site;
use crate::command;
use crate::daemon::Daemon;
use crate::progress::step;
use crate::template::{Values, arguments, fill};

/// Address of the first node, the gateway of all pods, and where DNS listens.
pub(crate) const GATEWAY: &str = "10.244.0.1";

/// One of the nodes that a cluster can have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Node {
    /// Name in the cluster.
    pub name: &'static str,
    /// Where its kubelet is reached.
    pub address: &'static str,
    subnet: &'static str,
    /// Last address that pods get, so that the second node's own stays free.
    range_end: &'static str,
    /// The bridge that its pods hang on.
    pub(crate) bridge: &'static str,
    own_network: bool,
}

/// The nodes: the first comes with the cluster, the second on demand, for drills that lose or change a node.
pub const NODES: [Node; 2] = [
    Node {
        name: "node-1",
        address: GATEWAY,
        subnet: "10.244.0.0/24",
        range_end: "10.244.0.239",
        bridge: "mooring0",
        own_network: false,
    },
    Node {
        name: "node-2",
        address: "10.244.0.250",
        subnet: "10.244.1.0/24",
        range_end: "10.244.1.239",
        bridge: "mooring1",
        own_network: true,
    },
];

/// The machine's end of the cable to the second node.
const CABLE: &str = "mooring-node2";

impl Node {
    /// The socket of its containerd.
    pub(crate) fn socket(&self, state: &Path) -> PathBuf {
        state.join(self.name).join("containerd.sock")
    }

    /// The root of its pods' cgroups.
    pub(crate) fn cgroup(&self) -> String {
        format!("mooring-{}", self.name)
    }

    /// The file that holds its network namespace, if it has one of its own.
    pub(crate) fn netns(&self, state: &Path) -> Option<PathBuf> {
        self.own_network
            .then(|| state.join("netns").join(self.name))
    }

    /// Whether it has been added to the running cluster.
    pub(crate) fn is_present(&self, state: &Path) -> bool {
        self.socket(state).exists()
    }

    /// What starts on it, in this order.
    pub(crate) fn daemon_names(&self) -> [String; 4] {
        ["containerd", "kube-proxy", "kubelet", "kube-router"]
            .map(|program| format!("{program}-{}", self.name))
    }
}

/// Starts a node and waits until the cluster calls it ready. The images are imported before pods can come.
pub(crate) fn start(site: &Site, node: &Node, archives: &[PathBuf]) -> Result<()> {
    let values = prepare(site, node)?;
    let [containerd, proxy, kubelet, netpol] = node.daemon_names();
    let launch = |name: &str, program: &str, arguments| {
        Daemon::new(name, site.programs.join(program), arguments)
            .in_netns(node.netns(&site.state))
            .start(&site.state)
    };
    launch(
        &containerd,
        "containerd",
        vec![format!(
            "--config={}",
            site.state.join(node.name).join("containerd.toml").display()
        )],
    )?;
    let answers = || Ok(command::succeeds(ctr(site, node).arg("version")));
    site.wait(&format!("containerd of {} answers", node.name), answers)?;
    for archive in archives {
        import(site, node, archive)?;
    }
    launch(
        &proxy,
        "kube-proxy",
        arguments(include_str!("templates/kube-proxy.args"), &values)?,
    )?;
    launch(
        &kubelet,
        "kubelet",
        arguments(include_str!("templates/kubelet.args"), &values)?,
    )?;
    let known = || {
        Ok(command::succeeds(
            site.kubectl().args(["get", "node", node.name]),
        ))
    };
    site.wait(&format!("{} has registered", node.name), known)?;
    let range = format!("kube-router.io/pod-cidr={}", node.subnet);
    let annotated = || {
        Ok(command::succeeds(site.kubectl().args([
            "annotate",
            "--overwrite",
            "node",
            node.name,
            &range,
        ])))
    };
    site.wait(
        &format!("{} has its range of addresses", node.name),
        annotated,
    )?;
    launch(
        &netpol,
        "kube-router",
        arguments(include_str!("templates/kube-router.args"), &values)?,
    )?;
    let ready = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
    let is_ready = || {
        let said = command::capture(site.kubectl().args(["get", "node", node.name, "-o", ready]));
        Ok(said.is_ok_and(|said| said == "True"))
    };
    site.wait(&format!("{} is ready", node.name), is_ready)
}

/// Imports an archive of images into one node.
pub(crate) fn import(site: &Site, node: &Node, archive: &Path) -> Result<()> {
    let file = archive.file_name().unwrap_or_default().to_string_lossy();
    step(&format!("loading {file} into {}", node.name), || {
        command::run(
            ctr(site, node)
                .args(["-n", "k8s.io", "images", "import"])
                .arg(archive),
        )
    })
}

/// The images that a node has, by reference.
pub(crate) fn images(site: &Site, node: &Node) -> Result<Vec<String>> {
    let listed = command::capture(ctr(site, node).args(["-n", "k8s.io", "images", "ls", "-q"]))?;
    Ok(listed.lines().map(str::to_owned).collect())
}

/// The links that a cluster makes on the machine, besides those of pods.
pub(crate) fn links() -> impl Iterator<Item = &'static str> {
    NODES
        .iter()
        .filter(|node| !node.own_network)
        .map(|node| node.bridge)
        .chain([CABLE])
}

fn ctr(site: &Site, node: &Node) -> Command {
    let mut ctr = Command::new(site.programs.join("ctr"));
    ctr.arg("--address").arg(node.socket(&site.state));
    ctr
}

/// Files, certificates, network and cgroups of a node.
fn prepare(site: &Site, node: &Node) -> Result<Values> {
    let dir = site.state.join(node.name);
    for folder in ["cni", "kubelet", "plugins"] {
        fs::create_dir_all(dir.join(folder))?;
    }
    let values = values(site, node, &dir);
    fs::write(
        dir.join("containerd.toml"),
        fill(include_str!("templates/containerd.toml"), &values)?,
    )?;
    fs::write(
        dir.join("cni/10-bridge.conflist"),
        fill(include_str!("templates/cni.json"), &values)?,
    )?;
    fs::write(
        dir.join("kubelet.yaml"),
        fill(include_str!("templates/kubelet.yaml"), &values)?,
    )?;
    let name = node.name;
    let names = format!("DNS:{name},IP:{}", node.address);
    let server = if node.own_network {
        GATEWAY
    } else {
        "127.0.0.1"
    };
    site.user(
        name,
        &format!("/O=system:nodes/CN=system:node:{name}"),
        &names,
        server,
    )?;
    site.user(
        &format!("proxy-{name}"),
        "/CN=system:kube-proxy",
        "",
        server,
    )?;
    site.user(
        &format!("netpol-{name}"),
        &format!("/O=system:masters/CN=netpol-{name}"),
        "",
        server,
    )?;
    cgroups::create(&node.cgroup()).context("make the cgroup of the node's pods")?;
    match node.netns(&site.state) {
        Some(netns) => plug_in(node, &netns)?,
        None => bridge(node)?,
    }
    Ok(values)
}

fn values(site: &Site, node: &Node, dir: &Path) -> Values {
    let mut values = site.values();
    values.extend([
        ("node", node.name.to_owned()),
        ("dir", dir.display().to_string()),
        ("address", node.address.to_owned()),
        ("subnet", node.subnet.to_owned()),
        ("range_end", node.range_end.to_owned()),
        ("bridge", node.bridge.to_owned()),
        ("cgroup", format!("/{}", node.cgroup())),
    ]);
    values
}

/// The bridge exists before the first pod, because the DNS server and the apiserver's advertised address are on it.
fn bridge(node: &Node) -> Result<()> {
    let bridge = node.bridge;
    ip(&format!("link add {bridge} type bridge"))?;
    ip(&format!("addr add {}/24 dev {bridge}", node.address))?;
    ip(&format!("link set {bridge} up"))?;
    // Where the module is not loaded, bridged packets do not pass the rules anyway.
    let _ = fs::write("/proc/sys/net/bridge/bridge-nf-call-iptables", "1");
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("switch on forwarding")
}

/// A network namespace on a file of ours, with a cable to the first node's bridge.
fn plug_in(node: &Node, netns: &Path) -> Result<()> {
    fs::create_dir_all(netns.parent().context("a folder for namespaces")?)?;
    fs::File::create(netns)?;
    command::run(
        Command::new("unshare")
            .arg(format!("--net={}", netns.display()))
            .arg("true"),
    )?;
    let inside = |words: &str| {
        let mut enter = Command::new("nsenter");
        enter
            .arg(format!("--net={}", netns.display()))
            .arg("ip")
            .args(words.split(' '));
        command::run(&mut enter)
    };
    let us = std::process::id();
    inside(&format!(
        "link add eth0 type veth peer name {CABLE} netns {us}"
    ))?;
    ip(&format!("link set {CABLE} master {}", NODES[0].bridge))?;
    ip(&format!("link set {CABLE} up"))?;
    inside(&format!("addr add {}/24 dev eth0", node.address))?;
    inside("link set eth0 up")?;
    inside("link set lo up")?;
    inside(&format!("route add default via {GATEWAY}"))?;
    ip(&format!("route add {} via {}", node.subnet, node.address))?;
    forward_inside(netns)
}

/// Forwarding is a setting of each network namespace; /proc/sys shows the caller's.
fn forward_inside(netns: &Path) -> Result<()> {
    let mut enter = Command::new("nsenter");
    enter.arg(format!("--net={}", netns.display())).args([
        "sh",
        "-c",
        "echo 1 >/proc/sys/net/ipv4/ip_forward",
    ]);
    command::run(&mut enter)
}

fn ip(words: &str) -> Result<()> {
    command::run(Command::new("ip").args(words.split(' ')))
}

/// Pulls the second node's cable, or plugs it in again.
pub(crate) fn set_cable(up: bool) -> Result<()> {
    ip(&format!(
        "link set {CABLE} {}",
        if up { "up" } else { "down" }
    ))
}
