//! What a pod's status says about the program, pure.

use crds::CliFinding;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use protocol::paths;
use protocol::probe::{self, Catalog, Report};
use protocol::programs::{Program, version_in};

/// From the pod's creation on; an image that takes longer is asked for again later.
const PATIENCE_SECONDS: i64 = 240;
/// Reasons for which a container waits that will not pass while somebody looks.
const PULL_REFUSED: [&str; 4] = [
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "SignatureValidationFailed",
];
/// The shell's code where what is to be started is not there.
const NOT_FOUND: i32 = 127;
/// The shell's code where it cannot be.
const NOT_STARTED: i32 = 126;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// What it means.
    pub(super) finding: CliFinding,
    /// In words.
    pub(super) message: String,
    /// Which version it told.
    pub(super) version: Option<String>,
    /// What it says that it can be asked for.
    pub(super) catalog: Catalog,
}

impl Answer {
    fn new(finding: CliFinding, message: impl Into<String>) -> Self {
        Self {
            finding,
            message: message.into(),
            version: None,
            catalog: Catalog::default(),
        }
    }
}

/// The answer, or when to look again for one.
pub(super) fn answer(
    pod: &Pod,
    program: &Program,
    command: &str,
    now: Timestamp,
) -> Result<Answer, Timestamp> {
    if let Some(state) = container(pod, probe::CONTAINER).and_then(|found| found.state.as_ref())
        && let Some(ended) = &state.terminated
    {
        let message = ended.message.as_deref().unwrap_or_default();
        return Ok(match Report::from_message(message) {
            Some(report) => judge(report, program, command),
            // Our own program did not get to its end: the node, or a limit.
            None => Answer::new(
                CliFinding::NotAsked,
                format!(
                    "the pod that asks ended with {} ({})",
                    ended.exit_code,
                    ended.reason.as_deref().unwrap_or("no reason")
                ),
            ),
        });
    }
    if let Some((finding, words)) = waits(pod) {
        return Ok(Answer::new(finding, words));
    }
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Failed" | "Succeeded")) {
        let words = pod
            .status
            .as_ref()
            .and_then(|status| status.message.clone());
        let words = words.unwrap_or_else(|| "the pod that asks ended too early".to_owned());
        return Ok(Answer::new(CliFinding::NotAsked, words));
    }
    let made = pod
        .metadata
        .creation_timestamp
        .as_ref()
        .map_or(now, |time| time.0);
    let until = made + jiff::SignedDuration::from_secs(PATIENCE_SECONDS);
    if now < until {
        return Err(until);
    }
    let words =
        unscheduled(pod).unwrap_or_else(|| "the pod that asks did not start in time".to_owned());
    Ok(Answer::new(CliFinding::NotAsked, words))
}

fn judge(report: Report, program: &Program, command: &str) -> Answer {
    match report {
        Report::Missing => Answer::new(
            CliFinding::Missing,
            format!("the image has no program {command}"),
        ),
        Report::NotExecutable { why } => Answer::new(CliFinding::NotExecutable, why),
        Report::Late => Answer::new(
            CliFinding::Failed,
            format!(
                "{command} did not tell its version within {} s",
                probe::SECONDS
            ),
        ),
        Report::Ended {
            code,
            printed,
            catalog,
        } => Answer {
            catalog: catalog.unwrap_or_default(),
            ..ended(code, &printed, program, command)
        },
    }
}

fn ended(code: Option<i32>, printed: &str, program: &Program, command: &str) -> Answer {
    let version = version_in(printed);
    let is_broken = match code {
        Some(0) => false,
        // One that is not known to have the option may refuse it.
        Some(code) => program.tells_version || matches!(code, NOT_STARTED | NOT_FOUND),
        None => true,
    };
    if is_broken {
        let how = code.map_or_else(|| "by a signal".to_owned(), |code| format!("with {code}"));
        let said = printed.trim();
        return Answer::new(
            CliFinding::Failed,
            format!("{command} --version ended {how} and said: {said}"),
        );
    }
    let too_old = program
        .lowest
        .zip(version)
        .filter(|(lowest, version)| version < lowest);
    let answer = match too_old {
        Some((lowest, version)) => Answer::new(
            CliFinding::TooOld,
            format!("{command} is {version}, and versions before {lowest} are not driven"),
        ),
        None => Answer::new(CliFinding::Usable, String::new()),
    };
    Answer {
        version: version.map(|version| version.to_string()),
        ..answer
    }
}

/// Why no container starts, where that will not pass by itself.
fn waits(pod: &Pod) -> Option<(CliFinding, String)> {
    let names = [paths::INSTALL_CONTAINER, probe::CONTAINER];
    names.iter().find_map(|name| {
        let waiting = container(pod, name)?.state.as_ref()?.waiting.as_ref()?;
        let reason = waiting.reason.as_deref()?;
        let words = waiting.message.clone().unwrap_or_default();
        if PULL_REFUSED.contains(&reason) {
            return Some((CliFinding::ImagePullFailed, format!("{reason}: {words}")));
        }
        let is_refused = matches!(
            reason,
            "CreateContainerConfigError" | "CreateContainerError"
        );
        is_refused.then(|| (CliFinding::NotAsked, format!("{reason}: {words}")))
    })
}

fn unscheduled(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let found = conditions
        .iter()
        .find(|one| one.type_ == "PodScheduled" && one.status == "False");
    found?.message.clone()
}

fn container<'a>(pod: &'a Pod, name: &str) -> Option<&'a ContainerStatus> {
    let status = pod.status.as_ref()?;
    let init = status.init_container_statuses.iter().flatten();
    let all = init.chain(status.container_statuses.iter().flatten());
    all.into_iter().find(|found| found.name == name)
}

/// The image that a pod of a Runtime runs, as the kubelet names it.
#[must_use]
pub(crate) fn image_id(pod: &Pod) -> Option<String> {
    let names = [probe::CONTAINER, paths::AGENT_CONTAINER];
    let found = names.iter().find_map(|name| container(pod, name))?;
    Some(found.image_id.clone()).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use protocol::programs;
    use serde_json::{Value, json};

    use super::*;

    fn pod(state: Value) -> Pod {
        let pod = json!({
            "metadata": {"creationTimestamp": "2026-11-30T03:00:00Z"},
            "status": {"containerStatuses": [{
                "name": "probe", "image": "x", "imageID": "sha256:1", "ready": false, "restartCount": 0, "state": state,
            }]},
        });
        serde_json::from_value(pod).unwrap()
    }

    fn said(report: &Report) -> Value {
        json!({"terminated": {"exitCode": 0, "message": report.to_message()}})
    }

    fn printed(code: Option<i32>, printed: &str) -> Value {
        said(&Report::Ended {
            code,
            printed: printed.to_owned(),
            catalog: None,
        })
    }

    fn at(seconds: i64) -> Timestamp {
        let made: Timestamp = "2026-11-30T03:00:00Z".parse().unwrap();
        made + jiff::SignedDuration::from_secs(seconds)
    }

    #[test]
    fn findings_follow_from_what_was_reported() {
        use CliFinding as F;
        let missing = Report::Missing;
        let rights = Report::NotExecutable {
            why: "no rights".to_owned(),
        };
        let waiting = |reason: &str| json!({"waiting": {"reason": reason, "message": "why"}});
        for (provider, state, finding, version) in [
            (
                "claude",
                printed(Some(0), "2.1.332 (Claude Code)"),
                F::Usable,
                Some("2.1.332"),
            ),
            (
                "claude",
                printed(Some(0), "1.9.9 (Claude Code)"),
                F::TooOld,
                Some("1.9.9"),
            ),
            ("claude", printed(Some(0), "unknown"), F::Usable, None),
            (
                "claude",
                printed(Some(1), "libc.so is missing"),
                F::Failed,
                None,
            ),
            ("claude", printed(None, ""), F::Failed, None),
            (
                "traecli",
                printed(Some(2), "no such option"),
                F::Usable,
                None,
            ),
            (
                "traecli",
                printed(Some(127), "node: not found"),
                F::Failed,
                None,
            ),
            ("claude", said(&missing), F::Missing, None),
            ("claude", said(&rights), F::NotExecutable, None),
            ("claude", said(&Report::Late), F::Failed, None),
            (
                "claude",
                json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
                F::NotAsked,
                None,
            ),
            (
                "claude",
                waiting("ImagePullBackOff"),
                F::ImagePullFailed,
                None,
            ),
            ("claude", waiting("CreateContainerError"), F::NotAsked, None),
        ] {
            let answer = answer(&pod(state), &programs::of(provider), "it", at(1)).unwrap();
            assert_eq!(
                (answer.finding, answer.version.as_deref()),
                (finding, version),
                "{answer:?}"
            );
            assert_eq!(
                answer.message.is_empty(),
                finding == F::Usable,
                "{answer:?}"
            );
        }
    }

    #[test]
    fn one_that_does_not_start_is_given_up() {
        let pod = pod(json!({"waiting": {"reason": "ContainerCreating"}}));
        let program = programs::of("claude");
        assert_eq!(
            answer(&pod, &program, "it", at(1)),
            Err(at(PATIENCE_SECONDS))
        );
        let late = answer(&pod, &program, "it", at(PATIENCE_SECONDS)).unwrap();
        assert_eq!(late.finding, CliFinding::NotAsked);
        assert_eq!(image_id(&pod).as_deref(), Some("sha256:1"));
    }
}
