//! Packet rules that kube-proxy, kube-router and the CNI plugins leave in the kernel.

use std::process::Command;

use anyhow::Result;

use crate::command;

const FAMILIES: [&str; 2] = ["iptables", "ip6tables"];
const TABLES: [&str; 2] = ["ip kube-proxy", "ip6 kube-proxy"];

/// All that is there, one line each.
pub(crate) fn found() -> Vec<String> {
    let mut found = Vec::new();
    for family in FAMILIES {
        let chains = saved(family)
            .lines()
            .filter(|line| line.starts_with(':') && is_ours(line))
            .count();
        if chains > 0 {
            found.push(format!("{chains} chains of {family}"));
        }
    }
    found.extend(sets().into_iter().map(|set| format!("ipset {set}")));
    found.extend(
        tables()
            .into_iter()
            .map(|table| format!("nft table {table}")),
    );
    found
}

/// Removes them; other rules of the machine stay.
pub(crate) fn remove() -> Result<()> {
    for family in FAMILIES {
        let before = saved(family);
        let after: Vec<&str> = before.lines().filter(|line| !is_ours(line)).collect();
        if after.len() < before.lines().count() {
            // kube-router's own clean-up crashes.
            command::capture_with(
                &mut Command::new(format!("{family}-restore")),
                &format!("{}\n", after.join("\n")),
            )?;
            drop_empty_tables(family, &after)?;
        }
    }
    for set in sets() {
        command::run(Command::new("ipset").args(["destroy", &set]))?;
    }
    for table in tables() {
        command::run(
            Command::new("nft")
                .args(["delete", "table"])
                .args(table.split(' ')),
        )?;
    }
    Ok(())
}

/// Whether a line of a saved rule set names a chain of Kubernetes or of its network plugins.
fn is_ours(line: &str) -> bool {
    ["KUBE-", "CNI-"].iter().any(|prefix| line.contains(prefix))
}

/// iptables makes its tables when first used; those that hold nothing any more need not stay.
fn drop_empty_tables(family: &str, rules: &[&str]) -> Result<()> {
    let holds_nothing = rules.iter().all(|line| match line.as_bytes().first() {
        Some(b'-') => false,
        Some(b':') => line.contains(" ACCEPT "),
        _ => true,
    });
    if !holds_nothing {
        return Ok(());
    }
    let kind = if family == "ip6tables" { "ip6" } else { "ip" };
    let ours = |table: &&String| {
        ["filter", "nat", "mangle", "raw"]
            .iter()
            .any(|name| **table == format!("{kind} {name}"))
    };
    for table in all_tables().iter().filter(ours) {
        command::run(
            Command::new("nft")
                .args(["delete", "table"])
                .args(table.split(' ')),
        )?;
    }
    Ok(())
}

fn saved(family: &str) -> String {
    command::capture(&mut Command::new(format!("{family}-save"))).unwrap_or_default()
}

fn sets() -> Vec<String> {
    let listed = command::capture(Command::new("ipset").args(["list", "-n"])).unwrap_or_default();
    let ours = |set: &&str| {
        let name = set.trim_start_matches("inet6:");
        name.starts_with("KUBE-") || name.starts_with("kube-")
    };
    listed.lines().filter(ours).map(str::to_owned).collect()
}

fn tables() -> Vec<String> {
    all_tables()
        .into_iter()
        .filter(|table| TABLES.contains(&table.as_str()))
        .collect()
}

fn all_tables() -> Vec<String> {
    let listed = command::capture(Command::new("nft").args(["list", "tables"])).unwrap_or_default();
    listed
        .lines()
        .filter_map(|line| line.strip_prefix("table "))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chains_of_the_cluster_are_ours() {
        for (line, ours) in [
            (":KUBE-ROUTER-INPUT - [0:0]", true),
            (
                "-A INPUT -m comment --comment \"kube-router netpol\" -j KUBE-ROUTER-INPUT",
                true,
            ),
            ("-A POSTROUTING -j CNI-HOSTPORT-MASQ", true),
            (":INPUT ACCEPT [0:0]", false),
            ("-A INPUT -p tcp --dport 22 -j ACCEPT", false),
        ] {
            assert_eq!(is_ours(line), ours, "{line}");
        }
    }
}
