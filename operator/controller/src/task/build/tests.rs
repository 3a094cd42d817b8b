use std::sync::Arc;

use crds::names::{claim_name, secret_name, session_name};
use crds::{AgentSession, Subject, SubjectKind};
use protocol::{InstallationKey, Salt, TaskId};
use serde_json::json;

use super::*;
use crate::fixtures;

const TASK: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

fn kin() -> Kin {
    Kin {
        installation: fixtures::installation(),
        namespace: "team".to_owned(),
        session: session_name("reviewer", "Key", "hello", "namespace-uid").unwrap(),
        agent: "reviewer".to_owned(),
    }
}

fn names(kin: &Kin) -> AttemptNames {
    let attempt = AttemptId {
        task: TASK.parse::<TaskId>().unwrap(),
        number: 2,
    };
    AttemptNames {
        attempt,
        secret: secret_name(TASK, 2).unwrap(),
        claim: claim_name(&kin.session, 1),
    }
}

fn session_object(kin: &Kin) -> AgentSession {
    let subject = Subject {
        kind: SubjectKind::Key,
        name: "hello".to_owned(),
    };
    let mut made = session(kin, &subject, &fixtures::runtime("claude").spec);
    made.metadata.uid = Some("session-uid".to_owned());
    made
}

fn install() -> Install {
    Install {
        image: "runner:1".to_owned(),
        pull_policy: Some("IfNotPresent".to_owned()),
        api_url: "https://mooring.mooring.svc:8443".to_owned(),
    }
}

fn built(
    runtime: &crds::Runtime,
    skills: &[Arc<crds::Skill>],
    last_node: Option<&str>,
) -> k8s_openapi::api::core::v1::Pod {
    built_for(runtime, None, skills, last_node)
}

fn built_for(
    runtime: &crds::Runtime,
    agent: Option<&crds::AgentSpec>,
    skills: &[Arc<crds::Skill>],
    last_node: Option<&str>,
) -> k8s_openapi::api::core::v1::Pod {
    let kin = kin();
    let session = session_object(&kin);
    let (names, install) = (names(&kin), install());
    // Whoever has skills here has a repository with a Secret as well.
    let git = skills.iter().map(|_| "git-app".to_owned()).collect();
    let parts = PodParts {
        names: &names,
        runtime_name: "claude",
        runtime: &runtime.spec,
        agent,
        skills,
        git_secrets: &git,
        ids: session.spec.ids,
        owner: owner(&session).unwrap(),
        last_node,
        install: &install,
    };
    pod(&kin, &parts)
}

#[test]
fn a_plain_pod() {
    insta::assert_yaml_snapshot!("pod_plain", built(&fixtures::runtime("claude"), &[], None));
}

#[test]
fn a_pod_with_everything_a_runtime_can_say() {
    let mut runtime = fixtures::runtime("claude");
    runtime.spec.image_pull_policy = Some(crds::ImagePullPolicy::Always);
    runtime.spec.image_pull_secrets = vec![crds::LocalRef {
        name: "pull".to_owned(),
    }];
    runtime.spec.pod = serde_json::from_value(json!({
        "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "runAsUser": 2000, "runAsGroup": 2001, "fsGroup": 2002,
        "env": [
            {"name": "A", "value": "b"},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "envFrom": [{"prefix": "P_", "configMapRef": {"name": "c"}}],
    }))
    .unwrap();
    let skill = serde_json::from_value(json!({
        "apiVersion": "mooring.dev/v1alpha1", "kind": "Skill", "metadata": {"name": "review"},
        "spec": {"description": "d", "files": [
            {"configMap": {"name": "review"}}, {"configMap": {"name": "review-scripts"}, "folder": "scripts"}]},
    }));
    let skill = Arc::new(skill.unwrap());
    insta::assert_yaml_snapshot!("pod_full", built(&runtime, &[skill], Some("node-7")));
}

#[test]
fn an_agents_variables_take_the_place_of_the_runtimes() {
    let mut runtime = fixtures::runtime("claude");
    let list = |list| serde_json::from_value(list).unwrap();
    runtime.spec.pod.env = serde_json::from_value(json!([
        {"name": "A", "value": "of-runtime"}, {"name": "B", "value": "b"}]))
    .unwrap();
    runtime.spec.pod.env_from =
        serde_json::from_value(json!([{"secretRef": {"name": "of-runtime"}}])).unwrap();
    let secret = json!({"secretKeyRef": {"name": "tools", "key": "token"}});
    runtime.spec.mcp_servers = list(json!([
        {"name": "files", "command": "files", "env": [{"name": "T", "valueFrom": secret}]}]));
    let agent = json!({
        "runtimeRefs": [{"name": "claude"}],
        "env": [{"name": "A", "value": "of-agent"}, {"name": "C", "value": "c"}],
        "envFrom": [{"secretRef": {"name": "of-agent"}}],
        "mcpServers": [
            {"name": "web", "url": "https://web", "headers": [{"name": "T", "valueFrom": secret}]}],
    });
    let agent: crds::AgentSpec = serde_json::from_value(agent).unwrap();
    let pod = built_for(&runtime, Some(&agent), &[], None);
    let container = pod.spec.unwrap().containers.remove(0);
    insta::assert_yaml_snapshot!("env_of_agent", (container.env, container.env_from));
}

#[test]
fn ids_come_from_the_session_not_from_the_runtime() {
    let mut runtime = fixtures::runtime("claude");
    runtime.spec.pod.run_as_user = 4242;
    let context = built(&runtime, &[], None)
        .spec
        .unwrap()
        .security_context
        .unwrap();
    assert_eq!(context.run_as_user, Some(10001));
}

#[test]
fn session_claim_and_secret() {
    let kin = kin();
    let session = session_object(&kin);
    let made = claim(&kin, &names(&kin).claim, 1, &session.spec.volume);
    assert_eq!(
        made.metadata.owner_references, None,
        "nobody owns the volume"
    );
    let key = InstallationKey::new([3; 32]);
    let token = key.task_token(names(&kin).attempt, Salt([5; 16]));
    let secret = secret(
        &kin,
        &names(&kin),
        owner(&fixtures::task_object()).unwrap(),
        &token,
        "CA\n",
    );
    insta::assert_yaml_snapshot!("session", session);
    insta::assert_yaml_snapshot!("claim", made);
    insta::assert_yaml_snapshot!("secret", secret, {".data.token" => "[token]"});
    let bytes = &secret.data.unwrap()["token"].0;
    assert!(bytes.starts_with(b"mrt_"));
}

#[test]
fn the_backstop_comes_after_everything_else() {
    let timeouts = crds::Timeouts::default();
    assert_eq!(
        backstop_seconds(&timeouts),
        300 + 600 + 2 * 120 + 7200 + 15 + 120
    );
}
