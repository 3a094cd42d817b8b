//! What an agent asks a person finds exactly one end.

use protocol::board::{ApprovalQuery, ApprovalState, InboxKind};
use protocol::runner::Settled;
use protocol::{AttemptId, FailureClass, MemberId};
use serde_json::json;
use store::{Error, Question, Store};

use crate::bed::{Bed, at, both, failed};
use crate::board::{acting, workspace};
use crate::talk::{Scene, to};

fn question(call_id: &str) -> Question {
    Question {
        call_id: call_id.to_owned(),
        tool: "Bash".to_owned(),
        input: json!({"command": "git push"}),
        why: "Bash needs approval".to_owned(),
        seconds: 60,
    }
}

/// Asks, decides and lets go, as runner and person do who got no answer.
pub(crate) async fn speak(store: &Store, attempt: AttemptId) -> Result<(), Error> {
    let ada = store.member(&workspace(), "ada", at(1)).await?;
    let decided = store.ask(attempt, &question("decided"), at(16)).await?;
    let answer = (true, Some("go on"));
    let approved = store
        .decide(&acting(&ada), ada.id, decided.approval, answer, at(17))
        .await?;
    assert_eq!(approved.state, ApprovalState::Approved);
    let left = store.ask(attempt, &question("left"), at(16)).await?;
    let settled = store
        .settle(attempt, left.approval, Settled::Expired, at(18))
        .await?;
    assert_eq!(settled.state, ApprovalState::Expired);
    store.ask(attempt, &question("open"), at(16)).await?;
    Ok(())
}

/// Every question has its end, and the runner was told of a decision once.
pub(crate) async fn spoken(bed: &Bed, attempts: [AttemptId; 2]) {
    let ada = bed.member("ada").await;
    let asked = ApprovalQuery {
        all: true,
        ..ApprovalQuery::default()
    };
    let all = bed.store.approvals(&workspace(), ada.id, &asked).await;
    let all = all.unwrap().items;
    for attempt in attempts {
        let of = |approval: &&protocol::board::Approval| {
            (approval.task, approval.attempt) == (attempt.task, attempt.number)
        };
        let mut states: Vec<_> = all
            .iter()
            .filter(of)
            .map(|each| each.state.as_str())
            .collect();
        states.sort_unstable();
        assert_eq!(states, ["approved", "expired", "withdrawn"]);
        let commands = bed.store.commands(attempt, 0).await.unwrap();
        let decisions = commands
            .iter()
            .filter(|command| format!("{command:?}").contains("Decide"));
        assert_eq!(decisions.count(), 1, "{commands:?}");
    }
}

async fn pending(store: &Store, member: MemberId) -> usize {
    let all = ApprovalQuery::default();
    let page = store.approvals(&workspace(), member, &all).await.unwrap();
    page.items.len()
}

both! {
    async fn of_many_answers_at_once_one_wins(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let asked = bed.store.ask(attempt, &question("1"), at(20)).await.unwrap();
        let mut answers = Vec::new();
        for number in 0..8 {
            let who = bed.member(&format!("user-{number}")).await;
            let store = bed.store.clone();
            answers.push(tokio::spawn(async move {
                let answer = (number % 2 == 0, None);
                store.decide(&acting(&who), who.id, asked.approval, answer, at(21)).await
            }));
        }
        let mut won = Vec::new();
        for answer in answers {
            match answer.await.unwrap() {
                Ok(approval) => won.push(approval),
                Err(Error::Conflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(won.len(), 1);
        let commands = bed.store.commands(attempt, 0).await.unwrap();
        assert_eq!(commands.len(), 1);
        let allow = won[0].state == ApprovalState::Approved;
        assert!(format!("{:?}", commands[0]).contains(&format!("allow: {allow}")), "{commands:?}");
    }

    async fn whatever_ends_an_attempt_withdraws_what_it_asked(bed: Bed) {
        let ada = bed.member("ada").await;
        let first = bed.running("reviewer", "one").await;
        let second = bed.running("reviewer", "two").await;
        for attempt in [first, second] {
            bed.store.ask(attempt, &question("1"), at(20)).await.unwrap();
            assert_eq!(bed.store.awaited_tools(attempt.task).await.unwrap(), ["Bash"]);
        }
        assert_eq!(pending(&bed.store, ada.id).await, 2);
        bed.store.suspend(first.task, at(21)).await.unwrap();
        bed.store.verdict(second, failed(FailureClass::Cancelled), at(21)).await.unwrap();
        assert_eq!(pending(&bed.store, ada.id).await, 0);
        for attempt in [first, second] {
            assert_eq!(bed.store.awaited_tools(attempt.task).await.unwrap(), [] as [&str; 0]);
            let late = bed.store.ask(attempt, &question("2"), at(22)).await;
            assert!(matches!(late, Err(Error::Conflict { .. })), "{late:?}");
        }
    }

    async fn who_follows_the_issue_is_told_until_it_is_decided(bed: Bed) {
        let mut scene = Scene::new(bed.clone()).await;
        let (ada, bob) = (bed.member("ada").await, bed.member("bob").await);
        bed.store.subscribe(&workspace(), &scene.issue.key, bob.id).await.unwrap();
        let say = scene.ada.clone();
        scene.say(&say, &to("reviewer")).await;
        let (attempt, _) = scene.begin().await;
        bed.store.unsubscribe(&workspace(), &scene.issue.key, bob.id).await.unwrap();
        let asked = bed.store.ask(attempt, &question("1"), at(300)).await.unwrap();
        let told = scene.inbox(&ada).await;
        assert_eq!((told[0].kind, told[0].approval, told[0].issue.as_ref()), (InboxKind::Approval, Some(asked.approval), Some(&scene.issue.key)));
        assert!(scene.inbox(&bob).await.iter().all(|entry| entry.kind != InboxKind::Approval));
        bed.store.read_inbox(ada.id, told[0].id).await.unwrap();
        assert!(scene.inbox(&ada).await[0].read);
        let page = bed.store.inbox(&workspace(), ada.id, 9, None, false).await.unwrap();
        assert!(page.items.iter().all(|entry| entry.kind != InboxKind::Approval), "who may not decide is not told");
        bed.store.decide(&acting(&bob), bob.id, asked.approval, (false, None), at(301)).await.unwrap();
        assert!(scene.inbox(&ada).await.iter().all(|entry| entry.kind != InboxKind::Approval));
    }

    async fn another_question_by_the_same_name_is_none(bed: Bed) {
        let attempt = bed.running("reviewer", "hello").await;
        let asked = bed.store.ask(attempt, &question("1"), at(20)).await.unwrap();
        assert_eq!(bed.store.ask(attempt, &question("1"), at(21)).await.unwrap(), asked);
        let force = Question { input: json!({"command": "git push --force"}), ..question("1") };
        let tool = Question { tool: "Shell".to_owned(), ..question("1") };
        for other in [force, tool] {
            let refused = bed.store.ask(attempt, &other, at(22)).await;
            assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
        }
    }

    async fn who_is_asked_again_and_again_reads_of_it_once(bed: Bed) {
        let mut scene = Scene::new(bed.clone()).await;
        let ada = bed.member("ada").await;
        let say = scene.ada.clone();
        scene.say(&say, &to("reviewer")).await;
        let (attempt, _) = scene.begin().await;
        let told = async || {
            let inbox = scene.inbox(&ada).await;
            let entries = inbox.iter().filter_map(|entry| entry.approval);
            entries.collect::<Vec<_>>()
        };
        let mut last = None;
        for number in 0..3_i64 {
            let call = question(&number.to_string());
            let asked = bed.store.ask(attempt, &call, at(300 + number)).await.unwrap();
            bed.store.settle(attempt, asked.approval, Settled::Expired, at(300 + number)).await.unwrap();
            last = Some(asked.approval);
        }
        assert_eq!(told().await, [last.unwrap()]);
        let first = bed.store.ask(attempt, &question("a"), at(310)).await.unwrap();
        let second = bed.store.ask(attempt, &question("b"), at(311)).await.unwrap();
        assert_eq!(told().await, [second.approval, first.approval], "those that wait stay");
    }

    async fn nobody_decides_elsewhere_or_too_late(bed: Bed) {
        let ada = bed.member("ada").await;
        let attempt = bed.running("reviewer", "hello").await;
        let asked = bed.store.ask(attempt, &question("1"), at(20)).await.unwrap();
        let mut stranger = acting(&ada);
        stranger.workspace = crate::board::elsewhere();
        let refused = bed.store.decide(&stranger, ada.id, asked.approval, (true, None), at(21)).await;
        assert!(matches!(refused, Err(Error::Missing { .. })), "{refused:?}");
        let late = bed.store.decide(&acting(&ada), ada.id, asked.approval, (true, None), asked.expires).await;
        assert!(matches!(late, Err(Error::Conflict { .. })), "{late:?}");
        assert_eq!(bed.store.commands(attempt, 0).await.unwrap(), []);
    }
}
