//! What a refusal of the apiserver means for the attempt whose object it refused.

use protocol::{FailureClass, Outcome, limits};

use crate::kube_writes::{KubePoint, WriteError};

/// The failure that a refused create is; `None` when trying again may help.
#[must_use]
pub fn outcome(error: &WriteError) -> Option<Outcome> {
    let status = error.refusal()?;
    let class = class(error.point, status.code, &status.message)?;
    let mut message = status.message.clone();
    message.truncate(message.floor_char_boundary(limits::MESSAGE_BYTES));
    Some(Outcome::failed(class, message))
}

fn class(point: KubePoint, code: u16, message: &str) -> Option<FailureClass> {
    let says = |words: &str| message.contains(words);
    let passes = says("being terminated")
        || says("cannot create resource")
        || says("error looking up service account")
        || says("failed calling webhook");
    if passes {
        return None;
    }
    match code {
        403 if says("exceeded quota") || says("failed quota") => Some(FailureClass::QuotaExceeded),
        403 => Some(FailureClass::AdmissionDenied),
        400 | 422 if says("denied request") || says("denied the request") => {
            Some(FailureClass::AdmissionDenied)
        }
        400 | 422 => match point {
            KubePoint::CreateClaim => Some(FailureClass::VolumeNotReady),
            KubePoint::CreatePod | KubePoint::CreateSession => {
                Some(FailureClass::ContainerConfigInvalid)
            }
            KubePoint::RuntimeStatus
            | KubePoint::AgentStatus
            | KubePoint::QuotaStatus
            | KubePoint::ScheduleStatus
            | KubePoint::CreateScheduled
            | KubePoint::CreateWebhookSecret
            | KubePoint::WebhookStatus
            | KubePoint::TeamStatus
            | KubePoint::ProbePolicy
            | KubePoint::CreateProbe
            | KubePoint::DeleteProbe
            | KubePoint::BasePolicy
            | KubePoint::CreateTask
            | KubePoint::RuntimePolicy
            | KubePoint::CreateSecret
            | KubePoint::TaskStatus
            | KubePoint::DeleteSecret
            | KubePoint::DeletePod
            | KubePoint::SessionStatus
            | KubePoint::DeleteTask
            | KubePoint::CreateEvent => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart() {
        use FailureClass::*;
        use KubePoint::*;
        let cases = [
            (
                CreatePod,
                403,
                r#"pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5"#,
                Some(QuotaExceeded),
            ),
            (
                CreateClaim,
                403,
                r#"persistentvolumeclaims "x" is forbidden: exceeded quota: q"#,
                Some(QuotaExceeded),
            ),
            (
                CreatePod,
                403,
                r#"pods "x" is forbidden: violates PodSecurity "restricted:latest": seccompProfile"#,
                Some(AdmissionDenied),
            ),
            (
                CreatePod,
                422,
                "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
                Some(AdmissionDenied),
            ),
            (
                CreatePod,
                400,
                r#"admission webhook "w" denied the request: no"#,
                Some(AdmissionDenied),
            ),
            (
                CreatePod,
                422,
                r#"Pod "x" is invalid: spec.containers[0].env[0].name: Invalid value"#,
                Some(ContainerConfigInvalid),
            ),
            (
                CreateClaim,
                422,
                r#"PersistentVolumeClaim "x" is invalid: spec.resources"#,
                Some(VolumeNotReady),
            ),
            (
                CreatePod,
                403,
                r#"pods is forbidden: User "u" cannot create resource "pods""#,
                None,
            ),
            (
                CreatePod,
                403,
                r#"pods "x" is forbidden: error looking up service account ns/default"#,
                None,
            ),
            (
                CreatePod,
                403,
                r#"unable to create new content in namespace n because it is being terminated"#,
                None,
            ),
            (
                CreateTask,
                403,
                r#"agenttasks.mooring.dev "x" is forbidden: exceeded quota: q, requested: count/agenttasks.mooring.dev=1"#,
                Some(QuotaExceeded),
            ),
            (
                CreateTask,
                422,
                r#"AgentTask.mooring.dev "x" is invalid: spec"#,
                None,
            ),
            (CreatePod, 500, "etcd", None),
            (CreatePod, 409, "already exists", None),
        ];
        for (point, code, message, wanted) in cases {
            assert_eq!(class(point, code, message), wanted, "{message}");
        }
    }
}
