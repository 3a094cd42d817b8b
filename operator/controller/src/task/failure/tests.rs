use k8s_openapi::api::core::v1::Pod;
use protocol::FailureClass::{self, *};
use serde_json::{Value, json};

use super::*;

const CREATED: &str = "2026-11-30T03:00:00Z";

fn now(seconds: i64) -> Timestamp {
    let created: Timestamp = CREATED.parse().unwrap();
    after(
        created,
        Duration::from_secs(u64::try_from(seconds).unwrap()),
    )
}

fn limits_of_ten() -> Limits {
    let seconds = Duration::from_secs;
    Limits {
        schedule: seconds(10),
        image_pull: seconds(20),
        prepare: seconds(30),
        task: seconds(40),
        grace: seconds(5),
    }
}

fn calm() -> Progress {
    Progress {
        opened_at: None,
        started_at: None,
        last_contact_at: None,
        node: NodeHealth::Ready,
    }
}

fn pod(spec: Value, status: Value) -> Pod {
    let object = json!({
        "metadata": {"name": "p", "namespace": "n", "creationTimestamp": CREATED}, "spec": spec, "status": status,
    });
    let mut pod: Value = object;
    pod["spec"]["containers"] = json!([]);
    serde_json::from_value(pod).unwrap()
}

fn container(name: &str, state: Value) -> Value {
    json!({"name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state})
}

fn bound(status: Value) -> Pod {
    pod(json!({"nodeName": "node-1"}), status)
}

/// The agent's container waits.
fn waits(reason: &str, message: &str) -> Pod {
    let state = json!({"waiting": {"reason": reason, "message": message}});
    bound(json!({"phase": "Pending", "containerStatuses": [container("agent", state)]}))
}

/// The agent's container ended.
fn ended(reason: &str, code: i32) -> Pod {
    let state = json!({"terminated": {"reason": reason, "exitCode": code, "message": "words"}});
    bound(json!({"phase": "Failed", "containerStatuses": [container("agent", state)]}))
}

fn install_ended(reason: &str, code: i32) -> Pod {
    let state = json!({"terminated": {"reason": reason, "exitCode": code}});
    bound(json!({"phase": "Failed", "initContainerStatuses": [container("install", state)]}))
}

fn running() -> Pod {
    let state = json!({"running": {"startedAt": CREATED}});
    bound(json!({"phase": "Running", "containerStatuses": [container("agent", state)]}))
}

fn disrupted(reason: &str) -> Pod {
    bound(
        json!({"phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": reason}]}),
    )
}

fn rejected(reason: &str) -> Pod {
    bound(json!({"phase": "Failed", "reason": reason, "message": "words"}))
}

fn unscheduled(message: &str) -> Pod {
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
    pod(
        json!({}),
        json!({"phase": "Pending", "conditions": [condition]}),
    )
}

fn deleted() -> Pod {
    let mut pod = running();
    pod.metadata.deletion_timestamp = pod.metadata.creation_timestamp.clone();
    pod
}

fn class_at(pod: &Pod, progress: &Progress, seconds: i64) -> Option<FailureClass> {
    match judge(pod, progress, &limits_of_ten(), now(seconds)) {
        Judgement::Fine { .. } => None,
        Judgement::Failed(outcome) => outcome.class(),
    }
}

#[test]
fn what_a_pod_shows_at_once() {
    let cases = [
        (
            "image refused",
            waits("ErrImagePull", "rpc error: code = NotFound: x: not found"),
            Some(ImagePullFailed),
        ),
        (
            "image denied",
            waits("ImagePullBackOff", "Back-off pulling: pull access denied"),
            Some(ImagePullFailed),
        ),
        (
            "image name",
            waits("InvalidImageName", "couldn't parse image name"),
            Some(ImagePullFailed),
        ),
        (
            "registry away",
            waits("ErrImagePull", "dial tcp: connection refused"),
            None,
        ),
        (
            "object missing",
            waits("CreateContainerConfigError", r#"secret "s" not found"#),
            Some(ContainerConfigInvalid),
        ),
        (
            "cache slow",
            waits(
                "CreateContainerConfigError",
                "failed to sync secret cache: timed out",
            ),
            None,
        ),
        (
            "no program",
            waits("CreateContainerError", "exec: not found"),
            Some(ContainerStartFailed),
        ),
        ("starting", waits("ContainerCreating", ""), None),
        (
            "start error",
            ended("StartError", 128),
            Some(ContainerStartFailed),
        ),
        (
            "out of memory, all",
            ended("OOMKilled", 137),
            Some(OOMKilled),
        ),
        (
            "out of memory, a child",
            ended("OOMKilled", 1),
            Some(OOMKilled),
        ),
        ("runner crashed", ended("Error", 137), Some(RunnerCrashed)),
        ("runner silent", ended("Completed", 0), Some(RunnerCrashed)),
        (
            "node forgot",
            ended("ContainerStatusUnknown", 137),
            Some(NodeLost),
        ),
        (
            "installer failed",
            install_ended("Error", 1),
            Some(PrepareFailed),
        ),
        (
            "installer out of memory",
            install_ended("OOMKilled", 137),
            Some(OOMKilled),
        ),
        (
            "installer missing",
            install_ended("StartError", 128),
            Some(ContainerStartFailed),
        ),
        (
            "preempted",
            disrupted("PreemptionByScheduler"),
            Some(Preempted),
        ),
        (
            "drained",
            disrupted("EvictionByEvictionAPI"),
            Some(Preempted),
        ),
        ("pressure", disrupted("TerminationByKubelet"), Some(Evicted)),
        ("taint", disrupted("DeletionByTaintManager"), Some(NodeLost)),
        ("collected", disrupted("DeletionByPodGC"), Some(NodeLost)),
        ("evicted", rejected("Evicted"), Some(Evicted)),
        ("backstop", rejected("DeadlineExceeded"), Some(TaskTimeout)),
        ("no processor", rejected("OutOfcpu"), Some(Unschedulable)),
        ("affinity", rejected("NodeAffinity"), Some(Unschedulable)),
        ("unknown", rejected("SomethingNew"), Some(Unknown)),
        ("deleted", deleted(), Some(PodDeleted)),
        ("running", running(), None),
    ];
    for (what, pod, wanted) in cases {
        assert_eq!(class_at(&pod, &calm(), 1), wanted, "{what}");
    }
}

#[test]
fn what_takes_too_long() {
    let opened = Progress {
        opened_at: Some(now(0)),
        ..calm()
    };
    let started = Progress {
        started_at: Some(now(0)),
        ..opened
    };
    let not_ready = bound(json!({"phase": "Pending", "conditions": [
        {"type": "PodReadyToStartContainers", "status": "False"},
    ]}));
    let pulling = bound(json!({"phase": "Pending", "conditions": [
        {"type": "PodReadyToStartContainers", "status": "True"},
    ]}));
    let volumes = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
    let both =
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had volume node affinity conflict.";
    let cases = [
        (
            "no node",
            unscheduled("0/1 nodes are available: 1 Insufficient cpu."),
            calm(),
            10,
            Unschedulable,
        ),
        (
            "no volume",
            unscheduled(volumes),
            calm(),
            10,
            VolumeNotReady,
        ),
        (
            "processors before volumes",
            unscheduled(both),
            calm(),
            10,
            Unschedulable,
        ),
        ("mount", not_ready, calm(), 30, VolumeNotReady),
        ("slow image", pulling, calm(), 20, ImagePullFailed),
        (
            "registry away",
            waits("ErrImagePull", "dial tcp: refused"),
            calm(),
            20,
            ImagePullFailed,
        ),
        (
            "cache slow",
            waits("CreateContainerConfigError", "failed to sync"),
            calm(),
            30,
            ContainerConfigInvalid,
        ),
        ("never opened", running(), calm(), 30, ClaimExpired),
        ("never started", running(), opened, 45, PrepareFailed),
        ("endless", running(), started, 60, TaskTimeout),
    ];
    for (what, pod, progress, seconds, wanted) in cases {
        assert_eq!(
            class_at(&pod, &progress, seconds - 1),
            None,
            "{what}: too early"
        );
        assert_eq!(class_at(&pod, &progress, seconds), Some(wanted), "{what}");
        let Judgement::Fine { look_at, .. } =
            judge(&pod, &progress, &limits_of_ten(), now(seconds - 1))
        else {
            panic!("{what}")
        };
        assert_eq!(look_at, Some(now(seconds)), "{what}: the next look");
    }
}

#[test]
fn a_silent_node_is_lost_with_its_runner() {
    let heard = |seconds| Progress {
        last_contact_at: Some(now(seconds)),
        opened_at: Some(now(0)),
        ..calm()
    };
    let with = |node, seconds| Progress {
        node,
        ..heard(seconds)
    };
    assert_eq!(
        class_at(&running(), &with(NodeHealth::Silent, 10), 20),
        None,
        "the runner was heard"
    );
    assert_eq!(class_at(&running(), &with(NodeHealth::Silent, 0), 44), None);
    let late = Progress {
        started_at: Some(now(0)),
        ..with(NodeHealth::Silent, 0)
    };
    assert_eq!(class_at(&running(), &late, 45), Some(NodeLost));
    assert_eq!(
        class_at(&running(), &with(NodeHealth::Gone, 10), 11),
        Some(NodeLost)
    );
    assert_eq!(
        class_at(&running(), &with(NodeHealth::OutOfService, 10), 11),
        Some(NodeLost)
    );
}

#[test]
fn exit_codes_and_words_of_the_agent() {
    let Judgement::Failed(Outcome::Failed {
        message,
        exit_code,
        signal,
        ..
    }) = judge(&ended("Error", 137), &calm(), &limits_of_ten(), now(1))
    else {
        panic!("no failure")
    };
    assert_eq!((exit_code, signal), (Some(137), Some(9)));
    assert!(
        !message.contains("words"),
        "the agent's own words are no evidence: {message}"
    );
}

#[test]
fn who_is_dead() {
    let two = |agent: Value, sidecar: Value| {
        bound(
            json!({"phase": "Running", "containerStatuses": [container("agent", agent), container("side", sidecar)]}),
        )
    };
    let over = json!({"terminated": {"exitCode": 0}});
    let alive = json!({"running": {}});
    let lied = bound(
        json!({"phase": "Failed", "containerStatuses": [container("agent", json!({"running": {}}))]}),
    );
    let cases = [
        ("ended", ended("Error", 1), true),
        ("running", running(), false),
        ("a sidecar lives", two(over.clone(), alive), false),
        ("all terminated", two(over.clone(), over), true),
        ("no status", bound(json!({})), false),
        ("ended by the control plane", lied, false),
        (
            "collected with a lost node",
            disrupted("DeletionByPodGC"),
            false,
        ),
        ("not bound", unscheduled("x"), false),
    ];
    for (what, pod, wanted) in cases {
        assert_eq!(is_dead(&pod), wanted, "{what}");
    }
    assert!(was_never_bound(&unscheduled("x")) && !was_never_bound(&running()));
}

#[test]
fn a_pod_that_vanished() {
    let cases = [
        (None, NodeHealth::Ready, PodDeleted),
        (None, NodeHealth::Gone, NodeLost),
        (None, NodeHealth::OutOfService, NodeLost),
        (
            Some(disrupted("PreemptionByScheduler")),
            NodeHealth::Ready,
            Preempted,
        ),
        (Some(running()), NodeHealth::Ready, PodDeleted),
    ];
    for (last, node, wanted) in cases {
        assert_eq!(vanished(last.as_ref(), node).class(), Some(wanted));
    }
}
