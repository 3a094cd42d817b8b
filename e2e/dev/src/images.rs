//! The images of Mooring: which there are, built and loaded into the cluster, and what tests are told of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cluster::images::{self, Image};
use cluster::{Cluster, Home};
use serde_json::{Value, json};

/// Images by the name that tests know them by, each with its own name and folder.
const IMAGES: [(&str, &str, &str); 10] = [
    ("operator", "operator", "images/operator"),
    ("runner", "runner", "images/runner"),
    ("agentFake", "agent-fake", "images/agent-fake"),
    ("agentClaude", "agent-claude", "images/agent-claude"),
    ("agentCodex", "agent-codex", "images/agent-codex"),
    ("agentPi", "agent-pi", "images/agent-pi"),
    ("agentAcp", "agent-acp", "images/agent-acp"),
    ("cliClaude", "cli-claude", "images/cli-claude"),
    ("scriptedModel", "scripted-model", "images/scripted-model"),
    ("gitServer", "git-server", "images/git-server"),
];

/// What there is to run.
pub(crate) struct Provided {
    /// Images by the name that tests know them by.
    pub(crate) images: Vec<(&'static str, Image)>,
    /// `moor` for this machine.
    pub(crate) moor: PathBuf,
}

/// Builds what has changed, loads it into every node, and writes down what is there (`e2e/README.md` has the form).
pub(crate) fn provide(cluster: &Cluster, home: &Home, checkout: &Path) -> Result<Provided> {
    let programs = images::programs(checkout)?;
    let mut built = Vec::new();
    for (key, name, folder) in IMAGES {
        let image = images::build(home, name, &checkout.join(folder), &programs)
            .with_context(|| format!("build the image {name}"))?;
        built.push((key, image));
    }
    let all: Vec<Image> = built.iter().map(|(_, image)| image.clone()).collect();
    cluster.load_images(&all)?;
    write_down(home, &built, &programs)?;
    let moor = programs
        .into_iter()
        .find(|program| program.ends_with("moor"));
    Ok(Provided {
        images: built,
        moor: moor.context("moor is among the programs")?,
    })
}

fn write_down(home: &Home, built: &[(&str, Image)], programs: &[PathBuf]) -> Result<()> {
    let references = built
        .iter()
        .map(|(key, image)| ((*key).to_owned(), Value::from(image.reference.clone())));
    let program = |name: &str| programs.iter().find(|program| program.ends_with(name));
    let file = json!({
        "images": references.collect::<serde_json::Map<_, _>>(),
        "programs": {
            "operator": program("mooring-operator"),
            "runner": program("mooring-runner"),
            "moor": program("moor"),
        },
    });
    let path = home.root().join("e2e.json");
    let partial = path.with_extension("partial");
    fs::write(&partial, serde_json::to_vec_pretty(&file)?).context("write down the images")?;
    fs::rename(&partial, &path).context("write down the images")
}
