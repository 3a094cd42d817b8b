//! Whether to ask, to wait, or to believe what was said, pure.

use std::sync::Arc;
use std::time::Duration;

use crds::{CliFinding, CliStatus, labels};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use protocol::programs::Program;

use super::read::{self, Answer};

/// What was found wanting is asked for again after this long: an image may have been pushed anew under its name.
/// An image that was seen to be another one is asked at most so often, since nodes may differ for ever.
pub(super) const AGAIN: Duration = Duration::from_secs(600);

/// What is seen of a Runtime.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Its UID.
    pub(super) uid: String,
    /// Its namespace and name, and its image.
    pub(super) place: Place,
    /// Names what is to be asked now.
    pub(super) key: String,
    /// The program that it starts.
    pub(super) program: Program,
    /// As it is called.
    pub(super) command: String,
    /// What its status says.
    pub(super) old: Option<CliStatus>,
    /// The pod that asks.
    pub(super) pod: Option<Arc<Pod>>,
    /// What another Runtime was told that runs the same.
    pub(super) shared: Option<CliStatus>,
    /// The image that a task's pod was last seen with.
    pub(super) moved_to: Option<String>,
}

/// What people need to know to put things right.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) image: String,
}

/// What is known, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::runtime) struct Plan {
    /// For the status.
    pub(in crate::runtime) cli: Option<CliStatus>,
    /// What to do once the status says so.
    pub(super) step: Step,
    /// When to look again.
    pub(in crate::runtime) again: Option<Duration>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing, and nothing runs.
    Nothing,
    /// A pod asks.
    Wait,
    /// Make the pod.
    Ask,
    /// The pod with this UID is of no use any more.
    Remove(String),
}

/// The plan.
pub(super) fn decide(seen: &Seen, now: Timestamp) -> Plan {
    let known = seen.old.clone().filter(|old| old.probed == seen.key);
    let plan = |cli, step, again| Plan { cli, step, again };
    if let Some(pod) = &seen.pod {
        if pod.metadata.deletion_timestamp.is_some() {
            return plan(known, Step::Wait, None);
        }
        let uid = pod.uid().unwrap_or_default();
        if !is_for(pod, seen) {
            return plan(known, Step::Remove(uid), None);
        }
        return match read::answer(pod, &seen.program, &seen.command, now) {
            Err(until) => plan(known, Step::Wait, Some(left(now, until))),
            Ok(answer) => {
                let cli = told(seen, pod, answer, now);
                let again = (cli.finding != CliFinding::Usable).then_some(AGAIN);
                plan(Some(cli), Step::Remove(uid), again)
            }
        };
    }
    let Some(known) = known else {
        let step = if seen.shared.is_some() {
            Step::Nothing
        } else {
            Step::Ask
        };
        return plan(seen.shared.clone(), step, None);
    };
    let has_moved =
        seen.moved_to.is_some() && known.image_id.is_some() && seen.moved_to != known.image_id;
    if !has_moved && known.finding == CliFinding::Usable {
        return plan(Some(known), Step::Nothing, None);
    }
    let due = known.probed_time.0 + AGAIN;
    if now < due {
        let again = Some(left(now, due));
        return plan(Some(known), Step::Nothing, again);
    }
    plan(Some(known), Step::Ask, None)
}

fn is_for(pod: &Pod, seen: &Seen) -> bool {
    let asked = pod.annotations().get(labels::PROBED);
    let mut owners = pod.owner_references().iter();
    asked == Some(&seen.key) && owners.any(|owner| owner.uid == seen.uid)
}

fn told(seen: &Seen, pod: &Pod, answer: Answer, now: Timestamp) -> CliStatus {
    let Answer {
        finding,
        message,
        version,
        catalog,
    } = answer;
    let mut message = match remedy(seen, finding) {
        Some(remedy) => format!("{message}. {remedy}"),
        None => message,
    };
    protocol::bound::cut(&mut message, crds::conditions::MESSAGE_BYTES);
    CliStatus {
        probed: seen.key.clone(),
        finding,
        message,
        version,
        models: catalog.models,
        models_left_out: i32::try_from(catalog.models_left_out).unwrap_or(i32::MAX),
        thinking_levels: catalog.thinking_levels,
        image_id: read::image_id(pod),
        // The pod's own, so that the same answer read twice says the same.
        probed_time: pod.metadata.creation_timestamp.clone().unwrap_or(Time(now)),
    }
}

/// What a person can do, as commands where there are some.
fn remedy(seen: &Seen, finding: CliFinding) -> Option<String> {
    let Place {
        namespace,
        name,
        image,
    } = &seen.place;
    // Of one that is known by no name it is known what this Runtime calls it.
    let called = seen.command.rsplit('/').next().unwrap_or_default();
    let program = seen.program.install.map_or(called, |_| seen.program.name);
    // A command that nobody has tried might install something else of that name.
    let install = seen.program.install.map_or_else(
        || format!("in the way in which who makes {program} has it installed"),
        |line| format!("RUN {line}"),
    );
    Some(match finding {
        CliFinding::Usable => return None,
        CliFinding::Missing => format!(
            "Put it into the image ({install}), or say where it is: kubectl patch runtime {name} --namespace {namespace} \
             --type merge --patch '{{\"spec\":{{\"command\":[\"/path/to/{program}\"]}}}}'"
        ),
        CliFinding::TooOld => format!("Put a newer one into the image: {install}"),
        CliFinding::NotExecutable => format!(
            "Build {image} for the architecture of the nodes, with all that the program needs to start, and executable for \
             everybody (RUN chmod 755)"
        ),
        CliFinding::Failed => format!(
            "Try it by hand: kubectl run try --namespace {namespace} --image {image} --restart Never --rm --attach \
             --command -- {} --version",
            seen.command
        ),
        CliFinding::ImagePullFailed => format!(
            "Push the image, or correct spec.image and spec.imagePullSecrets: kubectl edit runtime {name} --namespace {namespace}"
        ),
        CliFinding::NotAsked => {
            "It is asked again in ten minutes, and tasks are begun meanwhile".to_owned()
        }
    })
}

fn left(now: Timestamp, until: Timestamp) -> Duration {
    until
        .duration_since(now)
        .try_into()
        .unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use protocol::probe::{Catalog, Report};
    use protocol::programs;
    use serde_json::{Value, json};

    use super::*;

    const KEY: &str = "key";

    fn at(minutes: i64) -> Timestamp {
        let made: Timestamp = "2026-11-30T03:00:00Z".parse().unwrap();
        made + jiff::SignedDuration::from_mins(minutes)
    }

    fn seen() -> Seen {
        Seen {
            uid: "uid".to_owned(),
            place: Place {
                namespace: "team".to_owned(),
                name: "claude".to_owned(),
                image: "agent:1".to_owned(),
            },
            key: KEY.to_owned(),
            program: programs::of("claude"),
            command: "claude".to_owned(),
            old: None,
            pod: None,
            shared: None,
            moved_to: None,
        }
    }

    fn pod(key: &str, state: Value) -> Option<Arc<Pod>> {
        let pod = json!({
            "metadata": {
                "uid": "pod", "creationTimestamp": "2026-11-30T03:00:00Z", "annotations": {"mooring.dev/probed": key},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Runtime", "name": "claude", "uid": "uid"}],
            },
            "status": {"containerStatuses": [{
                "name": "probe", "image": "x", "imageID": "sha256:1", "ready": false, "restartCount": 0, "state": state,
            }]},
        });
        Some(Arc::new(serde_json::from_value(pod).unwrap()))
    }

    fn ended(report: &Report) -> Value {
        json!({"terminated": {"exitCode": 0, "message": report.to_message()}})
    }

    fn known(finding: CliFinding) -> Option<CliStatus> {
        Some(CliStatus {
            probed: KEY.to_owned(),
            finding,
            message: String::new(),
            version: Some("2.1.332".to_owned()),
            models: vec!["opus".to_owned()],
            models_left_out: 0,
            thinking_levels: vec!["high".to_owned()],
            image_id: Some("sha256:1".to_owned()),
            probed_time: Time(at(0)),
        })
    }

    #[test]
    fn it_is_asked_once() {
        let plan = decide(&seen(), at(0));
        assert_eq!((plan.cli, plan.step), (None, Step::Ask));
        let running = json!({"running": {}});
        let waits = Seen {
            pod: pod(KEY, running.clone()),
            ..seen()
        };
        let plan = decide(&waits, at(0));
        assert_eq!(
            (plan.step, plan.again),
            (Step::Wait, Some(Duration::from_secs(240)))
        );
        let version = Report::Ended {
            code: Some(0),
            printed: "2.1.332 (Claude Code)".to_owned(),
            catalog: Some(Catalog::new(["opus".to_owned()], ["high".to_owned()])),
        };
        let answered = Seen {
            pod: pod(KEY, ended(&version)),
            ..seen()
        };
        let plan = decide(&answered, at(1));
        assert_eq!(plan.cli, known(CliFinding::Usable));
        assert_eq!(
            (plan.step, plan.again),
            (Step::Remove("pod".to_owned()), None)
        );
        let knows = Seen {
            old: plan.cli,
            ..seen()
        };
        assert_eq!(decide(&knows, at(9999)).step, Step::Nothing);
        let changed = Seen {
            key: "other".to_owned(),
            ..knows
        };
        let plan = decide(&changed, at(1));
        assert_eq!((plan.cli, plan.step), (None, Step::Ask));
        let stale = Seen {
            pod: pod("other", running),
            ..seen()
        };
        assert_eq!(decide(&stale, at(0)).step, Step::Remove("pod".to_owned()));
    }

    #[test]
    fn who_runs_the_same_is_told_the_same() {
        let shared = Seen {
            shared: known(CliFinding::Usable),
            ..seen()
        };
        let plan = decide(&shared, at(0));
        assert_eq!(
            (plan.cli, plan.step),
            (known(CliFinding::Usable), Step::Nothing)
        );
    }

    #[test]
    fn what_was_wanting_or_has_moved_is_asked_again_after_a_while() {
        let missing = Seen {
            old: known(CliFinding::Missing),
            ..seen()
        };
        let plan = decide(&missing, at(4));
        assert_eq!(
            (plan.step, plan.again),
            (Step::Nothing, Some(Duration::from_secs(360)))
        );
        assert_eq!(decide(&missing, at(10)).step, Step::Ask);
        let mut moved = Seen {
            old: known(CliFinding::Usable),
            moved_to: Some("sha256:2".to_owned()),
            ..seen()
        };
        assert_eq!(decide(&moved, at(4)).step, Step::Nothing);
        let plan = decide(&moved, at(10));
        assert_eq!(
            (plan.cli, plan.step),
            (known(CliFinding::Usable), Step::Ask)
        );
        moved.moved_to = Some("sha256:1".to_owned());
        assert_eq!(decide(&moved, at(10)).step, Step::Nothing);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_do() {
        let words = |report: &Report| {
            let seen = Seen {
                pod: pod(KEY, ended(report)),
                ..seen()
            };
            decide(&seen, at(1)).cli.unwrap().message
        };
        let old = Report::Ended {
            code: Some(0),
            printed: "1.0.3".to_owned(),
            catalog: None,
        };
        let broken = Report::Ended {
            code: Some(1),
            printed: "boom\n".to_owned(),
            catalog: None,
        };
        let foreign = Report::NotExecutable {
            why: "/usr/bin/claude is made for aarch64, the node is x86_64".to_owned(),
        };
        let all = [Report::Missing, old, broken, foreign].map(|report| words(&report));
        insta::assert_snapshot!(all.join("\n\n"));
        // One that is known by no name is called as its Runtime calls it.
        let custom = Seen {
            program: programs::of("custom-rpc"),
            command: "/opt/house-agent".to_owned(),
            pod: pod(KEY, ended(&Report::Missing)),
            ..seen()
        };
        let message = decide(&custom, at(1)).cli.unwrap().message;
        let how = "(in the way in which who makes house-agent has it installed)";
        assert!(message.contains(how), "{message}");
        assert!(message.contains("/path/to/house-agent"), "{message}");
    }
}
