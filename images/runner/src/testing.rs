//! Values for tests.

use protocol::{
    AgentBrief, AttemptId, Evidence, Package, ProviderSession, RuntimeBrief, SessionBrief,
    SessionPolicy, Subject, TaskId, TaskTimeouts,
};

/// A first task of an agent, with nothing to resume.
pub(crate) fn package() -> Package {
    Package {
        attempt: AttemptId {
            task: TaskId(uuid::Uuid::from_u128(7)),
            number: 1,
        },
        namespace: "team".into(),
        name: "hello".into(),
        agent: AgentBrief {
            name: "reviewer".into(),
            display_name: "Reviewer".into(),
            instructions: "Read the diff before you speak.".into(),
            model: None,
        },
        runtime: RuntimeBrief {
            name: "claude".into(),
            provider: "claude".into(),
            command: Vec::new(),
            launch_prefix: Vec::new(),
            args: Vec::new(),
        },
        subject: Subject {
            kind: "Key".into(),
            name: "hello".into(),
        },
        prompt: "Say hello.".into(),
        cause: None,
        interrupted: false,
        session: SessionBrief {
            policy: SessionPolicy::Resume,
            resume: None,
            not_resumable: None,
            volume: Evidence::no("the volume is new"),
            has_past: false,
        },
        timeouts: TaskTimeouts {
            prepare_seconds: 60,
            task_seconds: 600,
            grace_seconds: 20,
        },
    }
}

/// A conversation of `claude`.
pub(crate) fn claude(id: &str) -> ProviderSession {
    ProviderSession {
        provider: "claude".into(),
        id: id.into(),
    }
}
