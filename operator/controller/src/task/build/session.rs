//! The `AgentSession` of a conversation: its volume and ids are frozen as the Runtime has them now.

use crds::{
    AgentRef, AgentSession, AgentSessionSpec, RuntimeSpec, SessionIds, SessionVolume, Subject,
};

use super::{Kin, meta};

/// The session. No one owns it: it outlives tasks, and it owns its pod.
#[must_use]
pub fn session(kin: &Kin, subject: &Subject, runtime: &RuntimeSpec) -> AgentSession {
    let (pod, workdir) = (&runtime.pod, &runtime.workdir);
    AgentSession {
        metadata: meta(kin, kin.session.as_str(), &[], None),
        spec: AgentSessionSpec {
            agent_ref: AgentRef {
                name: kin.agent.clone(),
            },
            subject: subject.clone(),
            volume: SessionVolume {
                size: workdir.size.clone(),
                storage_class_name: workdir.storage_class_name.clone(),
                access_mode: workdir.access_mode,
            },
            ids: SessionIds {
                run_as_user: pod.run_as_user,
                run_as_group: pod.run_as_group,
                fs_group: pod.fs_group,
            },
        },
        status: None,
    }
}
