//! A tool waits for a person's decision.

use protocol::tools::ToolPolicy;
use protocol::{EndReason, EventBody, FailureClass, Outcome, Package, ToolStatus};

use crate::api::{Api, Told, said};
use crate::pod::{Pod, package};

/// A policy by which people are asked about these.
pub(crate) fn asks(patterns: &[&str]) -> ToolPolicy {
    ToolPolicy {
        require_approval: patterns.iter().map(|word| (*word).to_owned()).collect(),
        approval_seconds: 600,
        ..ToolPolicy::default()
    }
}

fn task(prompt: &str, policy: ToolPolicy) -> Package {
    let mut package = package(prompt);
    package.agent.tools = Some(policy);
    package
}

/// What tools gave, and how they ended.
pub(crate) fn results(told: &Told) -> Vec<(String, Option<ToolStatus>)> {
    let result = |body: &EventBody| {
        let EventBody::ToolResult { output, status, .. } = body else {
            return None;
        };
        Some((output.clone(), *status))
    };
    told.events
        .iter()
        .filter_map(|event| result(&event.body))
        .collect()
}

async fn asked(api: &Api) -> Told {
    api.until("a question", |told| !told.asked.is_empty()).await
}

#[tokio::test]
async fn what_a_person_approves_runs_and_what_they_deny_does_not() {
    for allow in [true, false] {
        let pod = Pod::new();
        let api = Api::serve(task(
            "do: run echo done > out; echo rope\n",
            asks(&["Bash"]),
        ))
        .await;
        let running = pod.start(&api);
        let told = asked(&api).await;
        let question = &told.asked[0];
        assert_eq!((question.tool.as_str(), question.seconds), ("Bash", 600));
        assert_eq!(question.input["command"], "echo done > out; echo rope");
        assert!(!pod.at("workspace/work/out").exists(), "it waits");
        api.decide(1, allow, Some("because"));
        running.end().await;
        let told = api.told();
        assert_eq!(told.results[0].outcome, Outcome::Succeeded);
        assert_eq!(pod.at("workspace/work/out").exists(), allow);
        let wanted = match allow {
            true => ("rope\n".to_owned(), Some(ToolStatus::Completed)),
            false => (
                "the tool may not be used".to_owned(),
                Some(ToolStatus::Failed),
            ),
        };
        assert_eq!(results(&told), [wanted]);
        let word = if allow {
            "Bash may be used: approved"
        } else {
            "Bash is refused: denied"
        };
        assert!(
            said(&told.events).contains(&format!("{word} by ada: because")),
            "{}",
            said(&told.events)
        );
        assert_eq!(told.settled, []);
    }
}

/// What looks like a secret would be taken out of what a person sees, and run all the same.
#[tokio::test]
async fn what_cannot_be_shown_whole_is_not_asked() {
    let command = "echo rope # API_KEY=a1b2c3&touch evil";
    let prompt = format!("do: run {command}\n");
    let (pod, api) = (Pod::new(), Api::serve(task(&prompt, asks(&["Bash"]))).await);
    pod.run(&api).await;
    let told = api.told();
    assert!(told.asked.is_empty(), "{:?}", told.asked);
    assert_eq!(results(&told)[0].1, Some(ToolStatus::Failed));
    assert!(said(&told.events).contains("cannot be shown whole"));
    assert!(!pod.at("workspace/work/evil").exists());
}

#[tokio::test]
async fn only_what_is_named_is_asked_about() {
    let mut policy = asks(&["Bash(touch:*)"]);
    policy.deny.push("Bash(mkdir:*)".to_owned());
    let prompt = "do: run echo rope\ndo: run mkdir made\ndo: run touch it\n";
    let (pod, api) = (Pod::new(), Api::serve(task(prompt, policy)).await);
    let running = pod.start(&api);
    let told = asked(&api).await;
    assert_eq!(told.asked[0].input["command"], "touch it");
    api.decide(1, true, None);
    running.end().await;
    let told = api.told();
    assert_eq!(told.asked.len(), 1);
    let how: Vec<_> = results(&told)
        .into_iter()
        .map(|(_, status)| status)
        .collect();
    assert_eq!(
        how,
        [
            Some(ToolStatus::Completed),
            Some(ToolStatus::Failed),
            Some(ToolStatus::Completed)
        ]
    );
    assert!(!pod.at("workspace/work/made").exists());
    assert!(pod.at("workspace/work/it").exists());
}

#[tokio::test]
async fn a_decision_outlives_a_broken_connection() {
    let pod = Pod::new();
    let api = Api::serve(task("do: run echo rope\n", asks(&["*"]))).await;
    let running = pod.start(&api);
    asked(&api).await;
    api.set_away(true);
    api.decide(1, true, None);
    api.until("the runner to ask in vain", |told| told.turned_away > 0)
        .await;
    api.set_away(false);
    running.end().await;
    let told = api.told();
    assert_eq!(
        results(&told),
        [("rope\n".to_owned(), Some(ToolStatus::Completed))]
    );
    assert_eq!(told.asked.len(), 1, "the same question is one");
}

#[tokio::test]
async fn nobody_decides_and_the_agent_is_told_so() {
    for allow_on_timeout in [false, true] {
        let mut policy = asks(&["Bash"]);
        policy.approval_seconds = 1;
        policy.allow_on_timeout = allow_on_timeout;
        let (pod, api) = (
            Pod::new(),
            Api::serve(task("do: run echo rope\n", policy)).await,
        );
        pod.run(&api).await;
        let told = api.told();
        assert_eq!(told.settled.len(), 1);
        let ran = results(&told)[0].1 == Some(ToolStatus::Completed);
        assert_eq!(ran, allow_on_timeout);
        assert!(said(&told.events).contains("nobody decided within 1 s"));
    }
}

#[tokio::test]
async fn a_task_that_waits_can_be_stopped() {
    let pod = Pod::new();
    let api = Api::serve(task("do: run touch it\n", asks(&["Bash"]))).await;
    let running = pod.start(&api);
    asked(&api).await;
    api.stop(EndReason::Cancelled);
    running.end().await;
    let told = api.told();
    assert_eq!(
        told.results[0].outcome.class(),
        Some(FailureClass::Cancelled)
    );
    assert!(!pod.at("workspace/work/it").exists());
}

#[tokio::test]
async fn who_cannot_be_held_to_it_is_not_run() {
    let mut package = task("do: run touch it\n", asks(&["Bash"]));
    package.runtime.provider = "acp".to_owned();
    let (pod, api) = (Pod::new(), Api::serve(package).await);
    pod.run(&api).await;
    let outcome = &api.told().results[0].outcome;
    assert_eq!(outcome.class(), Some(FailureClass::PrepareFailed));
    assert!(
        format!("{outcome:?}").contains("acp cannot be held to the tools of Agent"),
        "{outcome:?}"
    );
    assert!(!pod.at("workspace/work/it").exists());
}
