//! Every rule of the custom resources on a real apiserver: what is good passes, what is bad is refused with our words.
//!
//! The cases are those of `crds/tests/rules.rs`, which evaluates the same rules without a cluster.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use e2e::{Workspace, on_apiserver};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde::Deserialize;
use serde_json::Value;

const CASES: &str = include_str!("../../crds/tests/rules/cases.yaml");

/// As in `crds/tests/rules.rs`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    kind: String,
    at: String,
    #[serde(default)]
    before: Option<Value>,
    #[serde(default)]
    good: Option<Value>,
    bad: Value,
    #[serde(default)]
    update: bool,
    message: String,
}

#[derive(Debug, Deserialize)]
struct File {
    base: BTreeMap<String, Value>,
    cases: Vec<Case>,
}

const REQUESTER: &str = "/spec/requestedBy";

#[tokio::test]
async fn each_rule_refuses_with_its_message() -> Result<()> {
    on_apiserver("rules", async |workspace| {
        let file: File = serde_yaml::from_str(CASES)?;
        let mut wrong = Vec::new();
        for case in &file.cases {
            let mut base = file.base.get(&case.kind).context("a base object")?.clone();
            if case.kind == "LoginRequest" {
                as_own(workspace, &mut base).await?;
            }
            if let Err(error) = try_case(workspace, &base, case).await {
                wrong.push(format!("{} {}: {error:#}", case.kind, case.at));
            }
        }
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    })
    .await
}

/// Where Mooring is installed, a `LoginRequest` of anybody else is refused before any rule is asked.
async fn as_own(workspace: &Workspace, request: &mut Value) -> Result<()> {
    let reviews = Api::<SelfSubjectReview>::all(workspace.cluster.client.clone());
    let review = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await?;
    let user = review.status.and_then(|status| status.user_info);
    let user = user.context("a user")?;
    request["spec"]["user"] = user.username.into();
    request["spec"]["groups"] = user.groups.into();
    Ok(())
}

async fn try_case(workspace: &Workspace, base: &Value, case: &Case) -> Result<()> {
    let objects = objects(workspace, base)?;
    let changed = |to: &Value| with(base, &case.at, to);
    let good = case
        .good
        .as_ref()
        .map_or_else(|| Ok(base.clone()), changed)?;
    let bad = changed(&case.bad)?;
    if !case.update {
        send(&objects, &good).await?.context("the good one")?;
        return refused(send(&objects, &bad).await?, &case.message);
    }
    let before = case
        .before
        .as_ref()
        .map_or_else(|| Ok(base.clone()), changed)?;
    let there = objects
        .create(&PostParams::default(), &serde_json::from_value(before)?)
        .await?;
    let name = there.metadata.name.as_deref().unwrap_or_default();
    // Where Mooring is installed, it says itself who made a task.
    let stamped = there
        .data
        .pointer(&case.at)
        .filter(|_| case.at == REQUESTER);
    let good = stamped.map_or(Ok(good), |value| with(base, &case.at, value))?;
    let answers = (
        replace(&objects, &there, &good).await?,
        replace(&objects, &there, &bad).await?,
    );
    objects.delete(name, &DeleteParams::default()).await?;
    answers.0.context("the good one")?;
    refused(answers.1, &case.message)
}

fn objects(workspace: &Workspace, base: &Value) -> Result<Api<DynamicObject>> {
    let kind = base["kind"].as_str().context("a kind")?;
    let kind = GroupVersionKind::gvk(crds::GROUP, crds::VERSION, kind);
    let resource = ApiResource::from_gvk(&kind);
    let client = workspace.cluster.client.clone();
    Ok(Api::namespaced_with(
        client,
        &workspace.namespace,
        &resource,
    ))
}

/// Creates an object without keeping it.
async fn send(objects: &Api<DynamicObject>, object: &Value) -> Result<Result<(), kube::Error>> {
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let object = serde_json::from_value(object.clone())?;
    Ok(objects.create(&dry, &object).await.map(drop))
}

/// Replaces an object without keeping the change.
async fn replace(
    objects: &Api<DynamicObject>,
    there: &DynamicObject,
    by: &Value,
) -> Result<Result<(), kube::Error>> {
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let mut object: DynamicObject = serde_json::from_value(by.clone())?;
    object.metadata.resource_version = there.metadata.resource_version.clone();
    let name = there.metadata.name.as_deref().unwrap_or_default();
    Ok(objects.replace(name, &dry, &object).await.map(drop))
}

fn refused(answer: Result<(), kube::Error>, message: &str) -> Result<()> {
    let Err(kube::Error::Api(status)) = answer else {
        bail!("the bad one was not refused: {answer:?}");
    };
    let causes: Vec<&str> = status
        .details
        .iter()
        .flat_map(|details| &details.causes)
        .map(|cause| cause.message.as_str())
        .collect();
    let said = matches!(causes[..], [cause] if cause.ends_with(message));
    ensure!(
        status.code == 422 && said,
        "wanted {message:?}, got {} {causes:?}",
        status.code
    );
    Ok(())
}

/// The object with a value put where a pointer points to. `"repeat:N:word"` stands for a text of N words.
fn with(base: &Value, pointer: &str, value: &Value) -> Result<Value> {
    let mut object = base.clone();
    let (parent, key) = pointer.rsplit_once('/').context("a pointer")?;
    let place = object.pointer_mut(parent).context("a parent")?;
    place[key] = expand(value);
    Ok(object)
}

fn expand(value: &Value) -> Value {
    if let Value::Object(fields) = value {
        let fields = fields
            .iter()
            .map(|(key, value)| (key.clone(), expand(value)));
        return Value::Object(fields.collect());
    }
    let long = value.as_str().and_then(|text| {
        let (count, word) = text.strip_prefix("repeat:")?.split_once(':')?;
        Some(word.repeat(count.parse().ok()?))
    });
    long.map_or_else(|| value.clone(), Value::from)
}
