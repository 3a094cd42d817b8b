//! The policy on which logins stand, on a real apiserver: nobody makes a `LoginRequest` in another name, and what is
//! stored is word for word what the operator compares it with.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use crds::{LoginRequest, login_policy};
use e2e::cluster::run;
use e2e::{Workspace, on_apiserver, wait};
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const USER: &str = "ada";
const GROUP: &str = "dev";
/// What the apiserver gives to everybody.
const EVERYBODY: &str = "system:authenticated";
/// The apiserver takes a moment until it acts by a new policy.
const SETTLE: Duration = Duration::from_secs(45);

#[tokio::test]
async fn nobody_logs_in_in_another_name() -> Result<()> {
    on_apiserver("login", async |workspace| {
        let name = stand(workspace).await?;
        in_force(workspace).await?;
        let own = [GROUP, EVERYBODY];
        let refused: [(&str, &[&str], &str); 7] = [
            ("bob", &own, "not your own name"),
            ("kubernetes-admin", &["system:masters"], "not your own name"),
            (
                USER,
                &[GROUP, EVERYBODY, "system:masters"],
                "not your own groups",
            ),
            (USER, &["system:masters"], "not your own groups"),
            (USER, &[EVERYBODY], "not your own groups"),
            (USER, &[GROUP], "not your own groups"),
            ("Ada", &own, "not your own name"),
        ];
        for (user, groups, wanted) in refused {
            let said = attempt(workspace, user, groups).await;
            let said = said
                .err()
                .with_context(|| format!("{user} {groups:?} passed"))?;
            let said = format!("{said:#}");
            ensure!(said.contains(wanted), "{user} {groups:?}: {said}");
        }
        let requests = workspace.api::<LoginRequest>();
        assert_eq!(requests.list(&ListParams::default()).await?.items.len(), 0);

        attempt(workspace, USER, &own)
            .await
            .context("in her own name")?;
        attempt(workspace, USER, &[EVERYBODY, GROUP])
            .await
            .context("in another order")?;
        for request in requests.list(&ListParams::default()).await? {
            let name = request.name_any();
            // By the administrator, who may do anything but speak for others.
            for change in [
                json!({"spec": {"user": "bob"}}),
                json!({"metadata": {"annotations": {"a": "b"}}}),
            ] {
                let mut kubectl = workspace.kubectl();
                kubectl.args(["patch", "loginrequest", &name, "--type=merge", "--patch"]);
                kubectl.arg(change.to_string());
                let said = run(kubectl)
                    .await
                    .err()
                    .with_context(|| format!("{change}"))?;
                let said = format!("{said:#}");
                ensure!(
                    said.contains("never changes") || said.contains("not your own"),
                    "{change}: {said}"
                );
            }
        }
        is_stored_as_written(workspace, &name).await
    })
    .await
}

/// Makes policy and binding as the chart does, under a name of this test; they go with its namespace.
async fn stand(workspace: &Workspace) -> Result<String> {
    let name = format!("{}-login", workspace.namespace);
    let client = workspace.cluster.client.clone();
    let namespace = Api::<Namespace>::all(client.clone())
        .get(&workspace.namespace)
        .await?;
    let metadata = json!({
        "name": name,
        "ownerReferences": [{
            "apiVersion": "v1", "kind": "Namespace",
            "name": workspace.namespace, "uid": namespace.uid().context("a UID")?,
        }],
    });
    let policy = json!({"metadata": metadata, "spec": login_policy::policy()});
    create::<ValidatingAdmissionPolicy>(&Api::all(client.clone()), policy).await?;
    let binding = json!({"metadata": metadata, "spec": login_policy::binding(&name)});
    create::<ValidatingAdmissionPolicyBinding>(&Api::all(client), binding).await?;
    // As the chart gives it in the operator's namespace.
    let rules = json!([{
        "apiGroups": [crds::GROUP], "resources": ["loginrequests"], "verbs": ["create"],
    }]);
    let role = json!({"metadata": {"name": "login"}, "rules": rules});
    create::<Role>(&workspace.api(), role).await?;
    let binding = json!({
        "metadata": {"name": "login"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "login"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": EVERYBODY}],
    });
    create::<RoleBinding>(&workspace.api(), binding).await?;
    Ok(name)
}

async fn create<K>(objects: &Api<K>, object: Value) -> Result<()>
where
    K: Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    let object = serde_json::from_value(object)?;
    objects.create(&PostParams::default(), &object).await?;
    Ok(())
}

/// Waits until the apiserver acts by the policy.
async fn in_force(workspace: &Workspace) -> Result<()> {
    wait::polled("the policy is in force".to_owned(), SETTLE, async || {
        let said = create_as(workspace, "bob", &[EVERYBODY], &["--dry-run=server"]).await;
        Ok(said
            .err()
            .filter(|said| format!("{said:#}").contains("not your own name"))
            .map(drop))
    })
    .await
}

async fn attempt(workspace: &Workspace, user: &str, groups: &[&str]) -> Result<()> {
    create_as(workspace, user, groups, &[]).await
}

/// Makes a request in somebody's name, as ada.
async fn create_as(
    workspace: &Workspace,
    user: &str,
    groups: &[&str],
    arguments: &[&str],
) -> Result<()> {
    let request = json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "LoginRequest",
        "metadata": {"generateName": "login-"},
        "spec": {"user": user, "groups": groups, "nonceHash": crds::nonce_hash(&[1; 32])},
    });
    let file = workspace.file("login.json", &request.to_string())?;
    let mut kubectl = workspace.kubectl();
    kubectl.args(["create", "--filename", &file]);
    kubectl.args([&format!("--as={USER}"), &format!("--as-group={GROUP}")]);
    kubectl.args(arguments);
    run(kubectl).await.map(drop)
}

/// Else the operator would let nobody log in.
async fn is_stored_as_written(workspace: &Workspace, name: &str) -> Result<()> {
    for (kind, wanted) in [
        (
            "validatingadmissionpolicy",
            serde_json::to_value(login_policy::policy())?,
        ),
        (
            "validatingadmissionpolicybinding",
            serde_json::to_value(login_policy::binding(name))?,
        ),
    ] {
        let mut kubectl = workspace.kubectl();
        kubectl.args(["get", kind, name, "--output=json"]);
        let stored: Value = serde_json::from_str(&run(kubectl).await?)?;
        assert_eq!(stored["spec"], wanted, "{kind}");
    }
    Ok(())
}
