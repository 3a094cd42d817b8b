//! Finishing touches on derived schemas, and the definitions as they are installed.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt as _;

use crate::{
    Agent, AgentQuota, AgentSchedule, AgentSession, AgentTask, AgentTeam, AgentWebhook,
    LoginRequest, Runtime, Skill,
};

/// Every definition, in the form and order in which they are installed.
#[must_use]
pub fn all() -> Vec<CustomResourceDefinition> {
    [
        Runtime::crd(),
        Agent::crd(),
        AgentQuota::crd(),
        AgentTeam::crd(),
        Skill::crd(),
        AgentTask::crd(),
        AgentSession::crd(),
        AgentSchedule::crd(),
        AgentWebhook::crd(),
        LoginRequest::crd(),
    ]
    .into_iter()
    .map(finish)
    .collect()
}

fn finish(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        if let Some(schema) = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
        {
            walk(schema);
        }
    }
    definition
}

/// Removes `nullable`, which the derive puts on every optional field: without it the apiserver drops a null on
/// admission, so that no client ever reads one.
fn walk(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    for field in schema.properties.iter_mut().flatten() {
        walk(field.1);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => walk(items),
        Some(JSONSchemaPropsOrArray::Schemas(list)) => list.iter_mut().for_each(walk),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        walk(values);
    }
}
