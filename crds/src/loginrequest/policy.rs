//! The policy on which logins stand: a `LoginRequest` names nobody but its creator.
//!
//! It says the same in every installation, so that the operator can compare what stands in the cluster with
//! what is written here, word for word. Every field that the apiserver would fill in is filled in.

use k8s_openapi::api::admissionregistration::v1::{
    MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicyBindingSpec,
    ValidatingAdmissionPolicySpec, Validation,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// What the chart calls policy and binding in the usual release.
pub const NAME: &str = "mooring-login";

/// The policy.
#[must_use]
pub fn policy() -> ValidatingAdmissionPolicySpec {
    let rule = NamedRuleWithOperations {
        api_groups: Some(vec![crate::GROUP.to_owned()]),
        api_versions: Some(vec!["*".to_owned()]),
        // An update by somebody else would be as good as a creation.
        operations: Some(vec!["CREATE".to_owned(), "UPDATE".to_owned()]),
        resources: Some(vec!["loginrequests".to_owned()]),
        resource_names: None,
        scope: Some("*".to_owned()),
    };
    ValidatingAdmissionPolicySpec {
        failure_policy: Some("Fail".to_owned()),
        match_constraints: Some(MatchResources {
            exclude_resource_rules: None,
            match_policy: Some("Equivalent".to_owned()),
            namespace_selector: Some(LabelSelector::default()),
            object_selector: Some(LabelSelector::default()),
            resource_rules: Some(vec![rule]),
        }),
        validations: Some(vec![
            refuse(
                "object.spec.user == request.userInfo.username",
                "spec.user is not your own name: kubectl auth whoami shows it",
            ),
            // Both ways: one group more would be a right more, one less somebody else's refusal.
            refuse(
                "object.spec.groups.all(group, group in request.userInfo.groups) && \
                 request.userInfo.groups.all(group, group in object.spec.groups)",
                "spec.groups are not your own groups: kubectl auth whoami shows them",
            ),
        ]),
        audit_annotations: None,
        match_conditions: None,
        param_kind: None,
        variables: None,
    }
}

/// The binding of the policy of this name.
#[must_use]
pub fn binding(policy: &str) -> ValidatingAdmissionPolicyBindingSpec {
    ValidatingAdmissionPolicyBindingSpec {
        policy_name: policy.to_owned(),
        validation_actions: vec!["Deny".to_owned()],
        match_resources: None,
        param_ref: None,
    }
}

fn refuse(unless: &str, message: &str) -> Validation {
    Validation {
        expression: unless.to_owned(),
        message: Some(message.to_owned()),
        message_expression: None,
        reason: Some("Forbidden".to_owned()),
    }
}
