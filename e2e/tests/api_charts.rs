//! The charts: what helm makes of them, and what it leaves when they go.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use cluster::{Cluster, Home};
use e2e::cluster::run;
use e2e::install::{self, CRDS_NAME};
use e2e::on_apiserver;
use e2e::operator::NAMESPACE;
use e2e::settings::{checkout, is_ci};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, ResourceExt as _};
use serde::Deserialize as _;
use serde_json::Value;

#[tokio::test]
async fn helm_finds_nothing_to_say() -> Result<()> {
    for chart in ["mooring", CRDS_NAME] {
        let Some(mut helm) = helm()? else {
            return Ok(());
        };
        helm.args(["lint", "--strict", "--quiet"])
            .arg(folder(chart));
        run(helm).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_chart_makes_these_objects() -> Result<()> {
    let Some(said) = template(&[]).await? else {
        return Ok(());
    };
    insta::assert_snapshot!(said);
    Ok(())
}

#[tokio::test]
async fn images_are_named_as_values_say() -> Result<()> {
    let cases = [
        (vec![], "mooring/operator:0.1.0"),
        (
            vec!["image.registry=example.org:5000/"],
            "example.org:5000/mooring/operator:0.1.0",
        ),
        (
            vec!["image.operator=localhost/operator:a1"],
            "localhost/operator:a1",
        ),
        (
            vec!["image.operator=localhost:5000/operator"],
            "localhost:5000/operator:0.1.0",
        ),
        (
            vec!["image.operator=operator@sha256:ab12"],
            "operator@sha256:ab12",
        ),
    ];
    for (values, wanted) in cases {
        let Some(said) = template(&values).await? else {
            return Ok(());
        };
        let deployment = objects(&said)?
            .into_iter()
            .find(|object| object["kind"] == "Deployment");
        let deployment = deployment.context("a Deployment")?;
        assert_eq!(
            deployment["spec"]["template"]["spec"]["containers"][0]["image"], wanted,
            "{values:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn wrong_values_are_refused() -> Result<()> {
    let cases = [
        ("image.tag=1", "additional properties 'tag' not allowed"),
        ("image.registry=example.org", "does not match pattern"),
        ("image.pullPolicy=Sometimes", "value must be one of"),
        ("storage.accessMode=ReadWriteMany", "value must be one of"),
        ("storage.size=0", "does not match pattern"),
        ("log=loud", "value must be one of"),
        ("login.portForward=sometimes", "got string, want boolean"),
        (
            "people.aggregates=x",
            "additional properties 'aggregates' not allowed",
        ),
    ];
    for (value, wanted) in cases {
        let Err(error) = template(&[value]).await else {
            ensure!(helm()?.is_none(), "{value} was accepted");
            return Ok(());
        };
        let said = format!("{error:#}");
        ensure!(said.contains(wanted), "{value}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn every_right_has_a_reason_and_none_is_a_wildcard() -> Result<()> {
    let mut rules = 0;
    for file in ["rbac.yaml", "login.yaml", "people.yaml"] {
        let source = std::fs::read_to_string(folder("mooring").join("templates").join(file))?;
        let lines: Vec<&str> = source.lines().collect();
        for pair in lines.windows(2) {
            if pair[1].starts_with("- apiGroups:") {
                rules += 1;
                ensure!(pair[0].starts_with("# "), "no reason before {}", pair[1]);
            }
        }
    }
    ensure!(rules > 20, "only {rules} rules were found");
    let Some(said) = template(&[]).await? else {
        return Ok(());
    };
    for role in objects(&said)? {
        for rule in role["rules"].as_array().into_iter().flatten() {
            ensure!(!rule.to_string().contains('*'), "a wildcard: {rule}");
            let verbs = rule["verbs"].as_array().context("verbs")?;
            let reads = verbs
                .iter()
                .any(|verb| verb != "create" && verb != "delete");
            let named = !rule["resourceNames"].is_null();
            ensure!(
                !(rule["resources"][0] == "secrets" && reads) || named,
                "Secrets can be read: {rule}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn uninstalling_the_definitions_keeps_them_and_their_objects() -> Result<()> {
    on_apiserver("keep", async |workspace| {
        let file = workspace.file("keep.yaml", include_str!("data/examples.yaml"))?;
        let mut apply = workspace.kubectl();
        apply.args(["apply", "--server-side", "--filename", &file]);
        run(apply).await?;
        let definitions = Api::<CustomResourceDefinition>::all(workspace.cluster.client.clone());
        let uid = async || {
            let name = crds::all()[0].name_any();
            anyhow::Ok(definitions.get(&name).await?.uid())
        };
        let before = uid().await?;
        let mut helm = workspace.cluster.helm();
        helm.args(["uninstall", CRDS_NAME, "--namespace", NAMESPACE, "--wait"]);
        run(helm).await?;
        assert_eq!(uid().await?, before, "the definition went with its chart");
        let there = workspace
            .api::<crds::AgentTask>()
            .list(&Default::default())
            .await?;
        assert_eq!(there.items.len(), 2, "objects went with the chart");
        install::install_crds(&workspace.cluster)
            .await
            .context("installing again over what was kept")?;
        assert_eq!(
            uid().await?,
            before,
            "installing again made new definitions"
        );
        Ok(())
    })
    .await
}

/// helm of the local cluster's programs. Without it the test says that it was skipped, except in CI.
#[expect(
    clippy::print_stdout,
    reason = "a test that was skipped says so where people look"
)]
fn helm() -> Result<Option<Command>> {
    let path = Cluster::new(Home::of_user()?, checkout())
        .programs()
        .join("helm");
    if path.exists() {
        return Ok(Some(Command::new(path)));
    }
    ensure!(!is_ci(), "there is no helm: cargo cluster up");
    println!("skipped: there is no helm: cargo cluster up");
    Ok(None)
}

fn folder(chart: &str) -> PathBuf {
    checkout().join("charts").join(chart)
}

async fn template(values: &[&str]) -> Result<Option<String>> {
    let Some(mut helm) = helm()? else {
        return Ok(None);
    };
    helm.args(["template", "mooring"]).arg(folder("mooring"));
    helm.args(["--namespace", NAMESPACE]);
    helm.args(values.iter().flat_map(|value| ["--set-string", value]));
    run(helm).await.map(Some)
}

fn objects(said: &str) -> Result<Vec<Value>> {
    serde_yaml::Deserializer::from_str(said)
        .map(|document| Ok(Value::deserialize(document)?))
        .collect()
}
