//! From rows and definitions to the package of an attempt. What woke the agent is added when it is open.

use crds::{Agent, AgentTask, Runtime};
use kube::ResourceExt as _;
use protocol::{AgentBrief, EndReason, Package, RuntimeBrief, TaskTimeouts, TokenScope};
use store::{AttemptRow, SessionRow, TaskRow};

use crate::conversation::{self, Past};

mod options;
mod tools;

/// What a package is made from.
pub(crate) struct Sources<'a> {
    pub(crate) task: &'a TaskRow,
    pub(crate) session: &'a SessionRow,
    pub(crate) attempt: &'a AttemptRow,
    /// Earlier attempts of the same task, newest first.
    pub(crate) earlier: &'a [AttemptRow],
    pub(crate) definition: &'a AgentTask,
    pub(crate) agent: &'a Agent,
    pub(crate) runtime: &'a Runtime,
}

/// Puts the package together. The same rows give the same package.
pub(crate) fn build(sources: &Sources<'_>) -> Package {
    let Sources {
        task,
        session,
        attempt,
        earlier,
        definition,
        agent,
        runtime,
    } = sources;
    let past = Past {
        policy: task.policy,
        session,
        attempt,
        earlier,
    };
    Package {
        attempt: attempt.id,
        namespace: task.object.namespace.clone(),
        name: task.object.name.clone(),
        agent: AgentBrief {
            name: task.agent.clone(),
            display_name: display_name(agent),
            instructions: agent.spec.instructions.clone(),
            skills: (agent.spec.skills.iter())
                .map(|skill| skill.name.clone())
                .collect(),
            model: options::model(definition, agent, runtime),
            tools: agent.spec.tools.as_ref().map(tools::policy),
            token_scope: token_scope(agent),
        },
        runtime: RuntimeBrief {
            name: attempt.runtime.clone(),
            // As it was claimed: the store files the conversation under this one.
            provider: attempt.provider.clone(),
            version: runtime.cli_version().map(str::to_owned),
            command: runtime.spec.command.clone(),
            launch_prefix: runtime.spec.launch_prefix.clone(),
            args: runtime.spec.args.clone(),
        },
        options: options::options(definition, agent, runtime),
        subject: session.key.subject.clone(),
        prompt: definition.spec.prompt.clone().unwrap_or_default(),
        cause: None,
        team: None,
        repositories: Vec::new(),
        chat: None,
        quick_issue: None,
        interrupted: earlier.iter().any(was_interrupted),
        session: conversation::decide(past),
        timeouts: timeouts(runtime),
    }
}

/// What people call an agent.
pub(crate) fn display_name(agent: &Agent) -> String {
    agent
        .spec
        .display_name
        .clone()
        .unwrap_or_else(|| agent.name_any())
}

/// How far the tokens of an agent's tasks reach.
pub(crate) fn token_scope(agent: &Agent) -> TokenScope {
    match agent.spec.token_scope {
        crds::TokenScope::Issue => TokenScope::Issue,
        crds::TokenScope::Project => TokenScope::Project,
        crds::TokenScope::Workspace => TokenScope::Workspace,
    }
}

/// True when the agent had begun and was stopped: only then it may have heard the prompt before.
fn was_interrupted(earlier: &AttemptRow) -> bool {
    let stopped = match earlier.end_reason {
        Some(EndReason::Suspended | EndReason::Failed | EndReason::TimedOut) => true,
        // After these no attempt follows.
        Some(EndReason::Cancelled | EndReason::AgentDeleted) => false,
        // Its own result ended it; that another attempt follows says that the result was a failure.
        None => earlier.ended_at.is_some(),
    };
    stopped && earlier.started_at.is_some()
}

fn timeouts(runtime: &Runtime) -> TaskTimeouts {
    let timeouts = &runtime.spec.timeouts;
    // The schema keeps them from being negative.
    let seconds = |given: i32| u32::try_from(given).unwrap_or(1);
    TaskTimeouts {
        prepare_seconds: seconds(timeouts.prepare_seconds),
        task_seconds: seconds(timeouts.task_seconds),
        grace_seconds: seconds(timeouts.grace_seconds),
        idle_seconds: seconds(timeouts.idle_seconds),
        tool_seconds: seconds(timeouts.tool_seconds),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use jiff::Timestamp;
    use protocol::{InstallationKey, ProviderSession, SessionPolicy, Subject};
    use serde_json::json;
    use store::{Lane, LaneAgent, NewTask, Pointer, SessionKey, Settings, Store, TaskObject};

    use super::*;

    /// Rows of a claimed task, from a real store: nothing else makes them. Tests change what they are about.
    pub(crate) struct Rows {
        pub(crate) task: TaskRow,
        pub(crate) session: SessionRow,
        pub(crate) attempt: AttemptRow,
        _folder: tempfile::TempDir,
    }

    /// The key that the credentials of these rows come from.
    pub(crate) fn key() -> InstallationKey {
        InstallationKey::new([1; 32])
    }

    /// The second run of a session whose first one left the conversation `s1` on the volume claim `c1`.
    pub(crate) async fn rows() -> Rows {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::Sqlite {
            path: folder.path().join("store.db"),
        };
        let store = Store::open(&settings).await.unwrap();
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let subject = Subject {
            kind: "Key".to_owned(),
            name: "hello".to_owned(),
        };
        let session = SessionKey {
            namespace_uid: "n".to_owned(),
            agent: "reviewer".to_owned(),
            subject,
        };
        let object = TaskObject {
            namespace: "team-a".to_owned(),
            namespace_uid: "n".to_owned(),
            name: "hello-1".to_owned(),
            uid: Some("u".to_owned()),
            spec_hash: "h".to_owned(),
        };
        let task = NewTask {
            object,
            session,
            priority: 0,
            policy: SessionPolicy::Resume,
            created_at: now,
            deadline_seconds: None,
            suspended: false,
            prompt: None,
            fire_at: None,
        };
        let id = store.enter(task).await.unwrap().task;
        let lane = Lane {
            namespace_uid: "n".to_owned(),
            runtime: "claude".to_owned(),
            provider: "claude".to_owned(),
            max_pods: 1,
            agents: vec![LaneAgent {
                name: "reviewer".to_owned(),
                max_concurrent: 1,
            }],
            share: store::Share::default(),
        };
        let claimed = store.claim_next(&lane, &key(), now).await.unwrap().unwrap();
        let mut rows = Rows {
            task: store.task(id).await.unwrap().unwrap(),
            session: claimed.session,
            attempt: store.attempt(claimed.attempt).await.unwrap().unwrap(),
            _folder: folder,
        };
        rows.session.runs = 2;
        rows.attempt.claim_uid = Some("c1".to_owned());
        rows.session.pointer = Some(Pointer {
            session: ProviderSession {
                provider: "claude".to_owned(),
                id: "s1".to_owned(),
            },
            claim_uid: Some("c1".to_owned()),
            task: id,
            at: now,
        });
        rows
    }

    fn object<T: serde::de::DeserializeOwned>(
        kind: &str,
        name: &str,
        spec: serde_json::Value,
    ) -> T {
        serde_json::from_value(json!({
            "apiVersion": "mooring.dev/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "team-a", "uid": "u"}, "spec": spec,
        }))
        .unwrap()
    }

    fn packed(rows: &Rows, earlier: &[AttemptRow]) -> Package {
        let prompt = json!({"agentRef": {"name": "reviewer"}, "subject": {"kind": "Key", "name": "hello"}, "prompt": "Do it."});
        let agent = json!({"displayName": "Reviewer", "instructions": "Be kind.", "runtimeRefs": [{"name": "claude"}], "model": "m"});
        let runtime = json!({
            "provider": "claude", "image": "i", "command": ["claude"], "launchPrefix": ["x"], "args": ["-y"],
            "timeouts": {"prepareSeconds": 5, "taskSeconds": 6, "graceSeconds": 7, "idleSeconds": 8, "toolSeconds": 0},
        });
        build(&Sources {
            task: &rows.task,
            session: &rows.session,
            attempt: &rows.attempt,
            earlier,
            definition: &object("AgentTask", "hello-1", prompt),
            agent: &object("Agent", "reviewer", agent),
            runtime: &object("Runtime", "claude", runtime),
        })
    }

    #[tokio::test]
    async fn a_package_says_all_and_nothing_secret() {
        let rows = rows().await;
        let package = packed(&rows, &[]);
        insta::assert_json_snapshot!(package, {".attempt.task" => "[task]"});
    }

    #[tokio::test]
    async fn the_provider_is_that_of_the_claim() {
        let mut rows = rows().await;
        rows.attempt.provider = "codex".to_owned();
        let package = packed(&rows, &[]);
        assert_eq!(
            (package.runtime.provider.as_str(), package.session.resume),
            ("codex", None)
        );
    }

    #[tokio::test]
    async fn only_who_had_begun_was_interrupted() {
        let mut rows = rows().await;
        rows.attempt.ended_at = Some(rows.attempt.claimed_at);
        for (started, reason, wanted) in [
            (true, Some(EndReason::Suspended), true),
            (true, Some(EndReason::Failed), true),
            (true, Some(EndReason::TimedOut), true),
            (true, None, true),
            (true, Some(EndReason::Cancelled), false),
            (false, Some(EndReason::Suspended), false),
            (false, None, false),
        ] {
            let mut earlier = rows.attempt.clone();
            earlier.end_reason = reason;
            earlier.started_at = started.then_some(earlier.claimed_at);
            assert_eq!(
                packed(&rows, &[earlier]).interrupted,
                wanted,
                "{started} {reason:?}"
            );
        }
        assert!(!packed(&rows, &[]).interrupted);
    }
}
