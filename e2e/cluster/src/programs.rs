//! The programs of the cluster, built from published Go modules.
//!
//! They are kept under a key of their versions and of how they are built, so that checkouts share them and a change
//! of either builds again. Each program is moved into place when it is whole: an interrupted build goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::command;
use crate::home::Home;
use crate::progress::{say, step};

/// One published Go module and the programs we take from it.
#[derive(Debug)]
struct Module {
    name: &'static str,
    version: &'static str,
    /// Programs by name, each with its package.
    programs: &'static [(&'static str, &'static str)],
    ldflags: &'static str,
    tags: &'static str,
    cgo: &'static str,
}

const PLAIN: Module = Module {
    name: "",
    version: "",
    programs: &[],
    ldflags: "",
    tags: "",
    cgo: "0",
};

const MODULES: &[Module] = &[
    Module {
        name: "kubernetes",
        version: "1.37.2",
        programs: &[
            ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            (
                "kube-controller-manager",
                "k8s.io/kubernetes/cmd/kube-controller-manager",
            ),
            ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
            ("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
            ("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
            ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
        ],
        ldflags: "-X k8s.io/component-base/version.gitVersion=v1.37.2 -X k8s.io/component-base/version.gitMajor=1 \
                  -X k8s.io/component-base/version.gitMinor=37",
        ..PLAIN
    },
    Module {
        name: "etcd",
        version: "3.7.3",
        programs: &[("etcd", "go.etcd.io/etcd/server/v3")],
        ..PLAIN
    },
    Module {
        name: "containerd",
        version: "2.4.2",
        programs: &[
            (
                "containerd",
                "github.com/containerd/containerd/v2/cmd/containerd",
            ),
            (
                "containerd-shim-runc-v2",
                "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
            ),
            ("ctr", "github.com/containerd/containerd/v2/cmd/ctr"),
        ],
        ldflags: "-X github.com/containerd/containerd/v2/version.Version=2.4.2",
        tags: "no_btrfs no_devmapper no_zfs",
        ..PLAIN
    },
    Module {
        name: "runc",
        version: "1.5.3",
        programs: &[("runc", "github.com/opencontainers/runc")],
        tags: "seccomp",
        cgo: "1", // libseccomp
        ..PLAIN
    },
    Module {
        name: "helm",
        version: "4.3.1",
        programs: &[("helm", "helm.sh/helm/v4/cmd/helm")],
        ..PLAIN
    },
    Module {
        name: "kube-router",
        version: "2.1.0",
        programs: &[(
            "kube-router",
            "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router",
        )],
        ..PLAIN
    },
    Module {
        name: "coredns",
        version: "1.15.0",
        programs: &[("coredns", "github.com/coredns/coredns")],
        ..PLAIN
    },
    Module {
        name: "local-path",
        version: "0.0.30",
        programs: &[(
            "local-path-provisioner",
            "github.com/rancher/local-path-provisioner",
        )],
        ..PLAIN
    },
];

/// Kubernetes' own manifest points these at folders of its repository; ours names their published versions.
const KUBERNETES_LIBRARIES: &str = "api apiextensions-apiserver apimachinery apiserver cli-runtime client-go \
    cloud-provider cluster-bootstrap code-generator component-base component-helpers controller-manager cri-api \
    cri-client cri-streaming csi-translation-lib dynamic-resource-allocation endpointslice externaljwt kms \
    kube-aggregator kube-controller-manager kube-proxy kube-scheduler kubectl kubelet metrics mount-utils \
    pod-security-admission sample-apiserver sample-cli-plugin sample-controller streaming";

/// The folder of the programs with the versions of this checkout, whether they are built or not.
pub fn folder(home: &Home) -> PathBuf {
    let key = Sha256::digest(format!("{MODULES:?}{KUBERNETES_LIBRARIES}"));
    home.root().join("programs").join(&hex::encode(key)[..12])
}

/// Builds what is missing and returns the folder; nothing to do takes no time.
///
/// # Errors
/// When a module cannot be obtained or built.
pub fn ensure(home: &Home) -> Result<PathBuf> {
    let folder = folder(home);
    let unfinished: Vec<&Module> = MODULES
        .iter()
        .filter(|module| {
            module
                .programs
                .iter()
                .any(|(name, _)| !folder.join(name).exists())
        })
        .collect();
    if unfinished.is_empty() {
        return Ok(folder);
    }
    say(
        "building the cluster's programs from published Go modules (about ten minutes, once per version)",
    );
    let work = folder.join(".work");
    for module in unfinished {
        build(module, &work.join(module.name), &folder)
            .with_context(|| format!("build {} {}", module.name, module.version))?;
    }
    fs::remove_dir_all(&work).context("remove the folder of the build")?;
    Ok(folder)
}

fn build(module: &Module, work: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(work)?;
    match module.name {
        "kubernetes" => fs::write(work.join("go.mod"), kubernetes_manifest(module.version))?,
        _ => resolve(module, work)?,
    }
    for (name, package) in module.programs {
        if folder.join(name).exists() {
            continue;
        }
        let mut go = Command::new("go");
        go.current_dir(work).env("CGO_ENABLED", module.cgo).args([
            "build",
            "-mod=mod",
            "-trimpath",
        ]);
        go.args([
            "-tags",
            module.tags,
            "-ldflags",
            &format!("-s -w {}", module.ldflags),
            "-o",
            name,
            package,
        ]);
        step(&format!("building {name} {}", module.version), || {
            command::run(&mut go)
        })?;
        fs::rename(work.join(name), folder.join(name)).with_context(|| format!("keep {name}"))?;
    }
    Ok(())
}

/// A module of our own that names the packages as its tools, so that they resolve as their authors built them.
fn resolve(module: &Module, work: &Path) -> Result<()> {
    fs::write(work.join("go.mod"), "module local/tools\n\ngo 1.26\n")?;
    for (_, package) in module.programs {
        let tool = format!("{package}@v{}", module.version);
        step(&format!("fetching {tool}"), || {
            command::run(
                Command::new("go")
                    .current_dir(work)
                    .args(["get", "-tool", &tool]),
            )
        })?;
    }
    Ok(())
}

fn kubernetes_manifest(version: &str) -> String {
    let libraries = version.strip_prefix("1.").unwrap_or(version);
    let replaced: Vec<String> = KUBERNETES_LIBRARIES
        .split_whitespace()
        .map(|library| format!("\tk8s.io/{library} => k8s.io/{library} v0.{libraries}\n"))
        .collect();
    format!(
        "module local/tools\n\ngo 1.26\n\nrequire k8s.io/kubernetes v{version}\n\nreplace (\n{})\n",
        replaced.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_kubernetes_are_published_under_zero() {
        let manifest = kubernetes_manifest("1.37.2");
        assert!(manifest.contains("require k8s.io/kubernetes v1.37.2\n"));
        assert!(manifest.contains("\tk8s.io/api => k8s.io/api v0.37.2\n"));
        assert_eq!(manifest.matches(" => ").count(), 33);
    }

    #[test]
    fn programs_have_names_of_their_own() {
        let mut names: Vec<&str> = MODULES
            .iter()
            .flat_map(|module| module.programs)
            .map(|(name, _)| *name)
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
