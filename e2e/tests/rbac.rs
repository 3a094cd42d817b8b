//! The operator uses exactly the permissions that its chart lists. Runs after all other stories, over all they did.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use e2e::audit::Permission;
use e2e::{operator, story};
use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

/// What is granted, and since when.
struct Granted {
    permissions: BTreeSet<Permission>,
    since: Timestamp,
}

impl Granted {
    fn add(&mut self, rules: &[PolicyRule], object: &impl kube::Resource) {
        for rule in rules {
            for group in rule.api_groups.iter().flatten() {
                for resource in rule.resources.iter().flatten() {
                    self.permissions
                        .extend(rule.verbs.iter().map(|verb| Permission {
                            group: group.clone(),
                            resource: resource.clone(),
                            verb: verb.clone(),
                        }));
                }
            }
        }
        // Requests of before the last change were judged by other rules.
        let changed = object
            .meta()
            .managed_fields
            .iter()
            .flatten()
            .filter_map(|field| field.time.as_ref());
        self.since = changed
            .map(|time| time.0)
            .max()
            .unwrap_or(self.since)
            .max(self.since);
    }
}

async fn granted(client: kube::Client) -> Result<Granted> {
    let mut granted = Granted {
        permissions: BTreeSet::new(),
        since: Timestamp::UNIX_EPOCH,
    };
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
            granted.add(&role.rules.clone().unwrap_or_default(), &role);
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
            granted.add(&role.rules.clone().unwrap_or_default(), &role);
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
        let (used, refused) = workspace
            .cluster
            .audit()
            .used(operator::USER, granted.since)?;
        ensure!(
            refused.is_empty(),
            "refused by RBAC:\n{}",
            refused.join("\n")
        );
        ensure!(
            used == granted.permissions,
            "granted and never used:\n{}used and not granted:\n{}",
            shown(&granted.permissions, &used),
            shown(&used, &granted.permissions)
        );
        Ok(())
    })
    .await
}
