//! The operator uses exactly the permissions that its chart lists. Runs after all other stories, over all they did.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use e2e::audit::Permission;
use e2e::{install, operator, story};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

/// Used only when a watch is later than the answer to a request, which no story on a node can bring about. The
/// controller's stories on an apiserver in memory use them.
const ONLY_IN_RACES: [(&str, &str, &str); 2] = [
    ("get", "agentsessions", crds::GROUP),
    ("get", "agenttasks", crds::GROUP),
];

/// What rules grant.
fn add(granted: &mut BTreeSet<Permission>, rules: Option<Vec<PolicyRule>>) {
    for rule in rules.unwrap_or_default() {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                granted.extend(rule.verbs.iter().map(|verb| Permission {
                    group: group.clone(),
                    resource: resource.clone(),
                    verb: verb.clone(),
                }));
            }
        }
    }
}

async fn granted(client: kube::Client) -> Result<BTreeSet<Permission>> {
    let mut granted = BTreeSet::new();
    let is_ours = |subjects: &Option<Vec<k8s_openapi::api::rbac::v1::Subject>>| {
        subjects.iter().flatten().any(|subject| {
            subject.namespace.as_deref() == Some(operator::NAMESPACE)
                && subject.name == operator::NAME
        })
    };
    for binding in Api::<ClusterRoleBinding>::all(client.clone())
        .list(&ListParams::default())
        .await?
    {
        if is_ours(&binding.subjects) {
            let role = Api::<ClusterRole>::all(client.clone())
                .get(&binding.role_ref.name)
                .await?;
            add(&mut granted, role.rules);
        }
    }
    for binding in Api::<RoleBinding>::all(client.clone())
        .list(&ListParams::default())
        .await?
    {
        if is_ours(&binding.subjects) {
            let namespace = binding
                .namespace()
                .context("a role binding has a namespace")?;
            let role = Api::<Role>::namespaced(client.clone(), &namespace)
                .get(&binding.role_ref.name)
                .await?;
            add(&mut granted, role.rules);
        }
    }
    Ok(granted)
}

fn shown(permissions: &BTreeSet<Permission>, without: &BTreeSet<Permission>) -> String {
    let lines = permissions.difference(without).map(|permission| {
        let Permission {
            group,
            resource,
            verb,
        } = permission;
        format!("  {verb} {resource} of {group:?}\n")
    });
    lines.collect()
}

#[tokio::test]
async fn the_chart_lists_what_the_operator_uses_and_nothing_else() -> Result<()> {
    story("rbac", async |workspace| {
        let granted = granted(workspace.cluster.client.clone()).await?;
        let (mut used, refused) = workspace
            .cluster
            .audit()
            .used(operator::USER, install::since(&workspace.cluster).await?)?;
        ensure!(
            refused.is_empty(),
            "refused by RBAC:\n{}",
            refused.join("\n")
        );
        used.extend(ONLY_IN_RACES.map(|(verb, resource, group)| Permission {
            group: group.to_owned(),
            resource: resource.to_owned(),
            verb: verb.to_owned(),
        }));
        ensure!(
            used == granted,
            "granted and never used:\n{}used and not granted:\n{}",
            shown(&granted, &used),
            shown(&used, &granted)
        );
        Ok(())
    })
    .await
}
