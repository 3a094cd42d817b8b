//! Who somebody is to Mooring, and what it may do, is what Kubernetes says: at the login, and ten seconds later.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use crds::LoginRequest;
use e2e::cluster::run;
use e2e::operator::NAMESPACE;
use e2e::token::ApiClient;
use e2e::{Cluster, Workspace, story_within, wait};
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const USER: &str = "grace";
const GROUP: &str = "dev";
const POLICY: &str = "mooring-login";
/// A right is believed for ten seconds after it was taken away.
const RIGHTS: Duration = Duration::from_secs(25);
/// The operator trusts a policy five seconds after it was made.
const SETTLE: Duration = Duration::from_secs(40);

#[tokio::test]
async fn a_login_is_what_kubernetes_says_and_ends_with_the_right() -> Result<()> {
    story_within(Duration::from_secs(150), "login", async |workspace| {
        let api = ApiClient::published(&workspace.cluster).await?;
        bind(workspace).await?;
        let (name, nonce) = request(workspace, USER).await?;
        let wrong = hex::encode([0; 32]);
        assert_eq!(exchange(&api, &name, &wrong).await?.0, 401, "another nonce");
        let (code, answer) = exchange(&api, &name, &nonce).await?;
        assert_eq!((code, &answer["user"]), (200, &json!(USER)), "{answer}");
        assert_eq!(exchange(&api, &name, &nonce).await?.0, 401, "a second time");
        let requests = Api::<LoginRequest>::namespaced(workspace.cluster.client.clone(), NAMESPACE);
        ensure!(
            requests.get_opt(&name).await?.is_none(),
            "the object is still there"
        );

        let token: SecretString = answer["token"].as_str().context("a token")?.into();
        let (_, who) = get(&api, "/api/v1/whoami", &token).await?;
        assert_eq!(
            (&who["user"], &who["groups"]),
            (&json!(USER), &json!([GROUP, "system:authenticated"]))
        );
        let issues = format!("/api/v1/workspaces/{}/issues", workspace.namespace);
        assert_eq!(get(&api, &issues, &token).await?.0, 200);
        unbind(workspace).await?;
        wait::polled("the right is gone".to_owned(), RIGHTS, async || {
            let (code, _) = get(&api, &issues, &token).await?;
            Ok((code == 404).then_some(()))
        })
        .await?;
        // Who it is has not changed by that.
        assert_eq!(get(&api, "/api/v1/whoami", &token).await?.0, 200);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_service_account_calls_with_a_token_that_is_made_for_mooring() -> Result<()> {
    story_within(Duration::from_secs(60), "ci", async |workspace| {
        let api = ApiClient::published(&workspace.cluster).await?;
        let token = async |audience: &[&str]| {
            let mut kubectl = workspace.kubectl();
            kubectl.args(["create", "token", "default"]).args(audience);
            anyhow::Ok(SecretString::from(run(kubectl).await?.trim()))
        };
        let ours = token(&["--audience=mooring"]).await?;
        let (code, who) = get(&api, "/api/v1/whoami", &ours).await?;
        let user = format!("system:serviceaccount:{}:default", workspace.namespace);
        assert_eq!((code, &who["user"]), (200, &json!(user)), "{who}");
        let issues = format!("/api/v1/workspaces/{}/issues", workspace.namespace);
        assert_eq!(get(&api, &issues, &ours).await?.0, 404, "without any right");
        // One that is good at the apiserver must be worth nothing here.
        let theirs = token(&[]).await?;
        assert_eq!(get(&api, "/api/v1/whoami", &theirs).await?.0, 401);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn without_the_policy_nobody_logs_in() -> Result<()> {
    story_within(Duration::from_secs(150), "no-policy", async |workspace| {
        let cluster = &workspace.cluster;
        let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(cluster.client.clone());
        let binding = bindings.get(POLICY).await?;
        bindings.delete(POLICY, &DeleteParams::default()).await?;
        let api = ApiClient::published(cluster).await?;
        let closed = closed(workspace, &api).await;
        // Whatever was seen: the other stories log in, too.
        let mut again = binding.clone();
        again.metadata = serde_json::from_value(json!({
            "name": POLICY, "labels": binding.labels(), "annotations": binding.annotations(),
        }))?;
        bindings.create(&PostParams::default(), &again).await?;
        let (forged, nonce) = closed?;
        let (code, said) = exchange(&api, &forged, &nonce).await?;
        assert_eq!(code, 503, "a request from the time without policy: {said}");
        open_again(cluster, workspace, &api).await?;
        // Its time is still not over, and the policy stands.
        let (code, said) = exchange(&api, &forged, &nonce).await?;
        assert_eq!(code, 503, "a request from the time without policy: {said}");
        Ok(())
    })
    .await
}

/// Makes a request in another name, which passes, and sees that it is worth nothing.
async fn closed(workspace: &Workspace, api: &ApiClient) -> Result<(String, String)> {
    let forged = wait::polled("the policy is no more".to_owned(), SETTLE, async || {
        Ok(request(workspace, "kubernetes-admin").await.ok())
    });
    let (name, nonce) = forged.await?;
    let (code, answer) = exchange(api, &name, &nonce).await?;
    let said = answer["error"]["message"].as_str().unwrap_or_default();
    ensure!(
        code == 503 && said.contains("nobody can log in") && said.contains(POLICY),
        "{code} {answer}"
    );
    Ok((name, nonce))
}

async fn open_again(cluster: &Cluster, workspace: &Workspace, api: &ApiClient) -> Result<()> {
    wait::polled("logins are possible".to_owned(), SETTLE, async || {
        let Ok((name, nonce)) = request(workspace, USER).await else {
            return Ok(None);
        };
        let (code, _) = exchange(api, &name, &nonce).await?;
        if code != 200 {
            let requests = Api::<LoginRequest>::namespaced(cluster.client.clone(), NAMESPACE);
            requests.delete(&name, &DeleteParams::default()).await?;
        }
        Ok((code == 200).then_some(()))
    })
    .await
}

/// Makes a request in somebody's name, as grace; name and nonce of it.
async fn request(workspace: &Workspace, user: &str) -> Result<(String, String)> {
    let nonce: [u8; 32] = Sha256::digest(format!("{} {}", workspace.namespace, wait::now())).into();
    let request = json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "LoginRequest",
        "metadata": {"generateName": "login-"},
        "spec": {"user": user, "groups": [GROUP, "system:authenticated"], "nonceHash": crds::nonce_hash(&nonce)},
    });
    let file = workspace.file("login.json", &request.to_string())?;
    let mut kubectl = workspace.cluster.kubectl();
    kubectl.args(["create", "--filename", &file, "--namespace", NAMESPACE]);
    kubectl.args([&format!("--as={USER}"), &format!("--as-group={GROUP}")]);
    kubectl.arg("--output=jsonpath={.metadata.name}");
    Ok((run(kubectl).await?.trim().to_owned(), hex::encode(nonce)))
}

async fn exchange(api: &ApiClient, name: &str, nonce: &str) -> Result<(u16, Value)> {
    let body = json!({"namespace": NAMESPACE, "name": name, "nonce": nonce});
    let answer = api.send(Method::POST, "/api/v1/login", None, Some(&body));
    let (code, text) = answer.await?;
    Ok((code, serde_json::from_str(&text)?))
}

async fn get(api: &ApiClient, path: &str, token: &SecretString) -> Result<(u16, Value)> {
    let (code, text) = api.send(Method::GET, path, Some(token), None).await?;
    Ok((code, serde_json::from_str(&text)?))
}

/// Gives grace Kubernetes' own role edit in the workspace.
async fn bind(workspace: &Workspace) -> Result<()> {
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"name": USER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    }))?;
    let bindings = workspace.api::<RoleBinding>();
    bindings.create(&PostParams::default(), &binding).await?;
    Ok(())
}

async fn unbind(workspace: &Workspace) -> Result<()> {
    let bindings = workspace.api::<RoleBinding>();
    bindings.delete(USER, &DeleteParams::default()).await?;
    Ok(())
}
