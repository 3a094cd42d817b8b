//! What workspaces share: parts by weight, limits that hold, and an order in which nobody waits for ever.

use std::collections::{HashMap, VecDeque};

use protocol::board::{NewChat, NewComment, NewQuickIssue};
use protocol::{AttemptId, FailureClass, TaskId};
use store::{Error, Held, Lane, Share, Waiting};

use crate::bed::{Bed, NAMESPACE, at, both, failed, lane, lane_of, new_task};
use crate::board::{AGENTS, titled};
use crate::talk::{Scene, to, verdicts};

/// Another workspace.
const OTHER: &str = "6f3f3a0c-2222-4222-8333-444455556666";

fn share(weight: u32, max_pods: u32) -> Share {
    Share {
        weight,
        max_pods: Some(max_pods),
        ..Share::default()
    }
}

/// A workspace in which no more tasks may wait.
struct Few(u32);

impl wake::Directory for Few {
    fn agent(&self, name: &str) -> Option<wake::AgentFacts> {
        AGENTS.agent(name)
    }

    fn max_queued(&self) -> Option<u32> {
        Some(self.0)
    }
}

/// The lane of a workspace.
fn of(namespace_uid: &str, share: Share) -> Lane {
    Lane {
        namespace_uid: namespace_uid.to_owned(),
        share,
        ..lane(&[("reviewer", 1000)], 1000)
    }
}

async fn enter(bed: &Bed, namespace_uid: &str, tasks: usize) {
    for number in 0..tasks {
        let mut new = new_task("reviewer", &format!("s{number}"));
        new.object.namespace_uid = namespace_uid.to_owned();
        new.session.namespace_uid = namespace_uid.to_owned();
        bed.enter_task(new).await;
    }
}

/// One claim of the workspace that has had least, as the controller gives turns out.
async fn turn(bed: &Bed, lanes: &[Lane]) -> Option<(String, AttemptId)> {
    let mut order = Vec::new();
    for lane in lanes {
        order.push((bed.store.served(&lane.namespace_uid).await.unwrap(), lane));
    }
    order.sort_by_key(|(served, _)| *served);
    for (_, lane) in order {
        let claimed = bed.store.claim_next(lane, &bed.key, at(10)).await.unwrap();
        if let Some(claimed) = claimed {
            let served = bed.store.served(&lane.namespace_uid).await.unwrap();
            assert_eq!(claimed.served, Some(served));
            return Some((lane.namespace_uid.clone(), claimed.attempt));
        }
    }
    None
}

/// So many claims with as many places; what is claimed ends when its place is needed.
async fn claims(bed: &Bed, lanes: &[Lane], places: usize, claims: usize) -> HashMap<String, usize> {
    let (mut held, mut had) = (VecDeque::new(), HashMap::new());
    for _ in 0..claims {
        if held.len() == places {
            assert_eq!(turn(bed, lanes).await, None, "no place is left");
            bed.finish(held.pop_front().unwrap(), failed(FailureClass::Unknown))
                .await;
        }
        let (namespace, attempt) = turn(bed, lanes).await.unwrap();
        *had.entry(namespace).or_insert(0) += 1;
        held.push_back(attempt);
    }
    for attempt in held {
        bed.finish(attempt, failed(FailureClass::Unknown)).await;
    }
    had
}

both! {
    async fn under_backlog_each_has_its_part(bed: Bed) {
        let lanes = [of(NAMESPACE, share(100, 4)), of(OTHER, share(300, 4))];
        enter(&bed, NAMESPACE, 140).await;
        enter(&bed, OTHER, 340).await;
        let had = claims(&bed, &lanes, 4, 400).await;
        assert!((95..=105).contains(&had[NAMESPACE]), "{had:?}");
        assert!((285..=315).contains(&had[OTHER]), "{had:?}");
        bed.sound().await;
    }

    async fn what_nobody_asked_for_is_not_saved_up(bed: Bed) {
        let lanes = [of(NAMESPACE, share(100, 2)), of(OTHER, share(100, 2))];
        enter(&bed, NAMESPACE, 100).await;
        assert_eq!(claims(&bed, &lanes, 2, 60).await[NAMESPACE], 60);
        enter(&bed, OTHER, 100).await;
        let had = claims(&bed, &lanes, 2, 40).await;
        assert!((19..=21).contains(&had[NAMESPACE]), "{had:?}");
    }

    async fn without_a_shared_number_nothing_is_paid(bed: Bed) {
        enter(&bed, NAMESPACE, 2).await;
        let lane = of(NAMESPACE, Share::default());
        let claimed = bed.store.claim_next(&lane, &bed.key, at(10)).await.unwrap().unwrap();
        assert_eq!(claimed.served, None);
        assert_eq!(bed.store.served(NAMESPACE).await.unwrap(), 0);
        assert_eq!(bed.store.held(&lane, at(10)).await.unwrap(), None);
    }

    async fn each_limit_holds_and_says_so(bed: Bed) {
        enter(&bed, NAMESPACE, 6).await;
        enter(&bed, OTHER, 1).await;
        let waits = bed.enter("reviewer", "last").await;
        let first = bed.claim(&of(NAMESPACE, Share::default())).await.unwrap();
        let concurrent = Share { max_concurrent: Some(1), ..Share::default() };
        let hour = Share { runs_per_hour: Some(1), ..Share::default() };
        // The claim was at the tenth second.
        let until = at(10 + 3600);
        for (share, held) in [
            (concurrent, Held::Concurrent { max: 1 }),
            (Share { max_concurrent: Some(0), ..hour }, Held::Concurrent { max: 0 }),
            (hour, Held::Hour { max: 1, until }),
            (Share { runs_per_hour: Some(2), ..share(100, 1) }, Held::AllPods { max: 1 }),
        ] {
            let lane = of(NAMESPACE, share);
            assert_eq!(bed.store.claim_next(&lane, &bed.key, at(20)).await.unwrap(), None, "{share:?}");
            assert_eq!(bed.store.held(&lane, at(20)).await.unwrap(), Some(held));
            assert_eq!(bed.store.waiting(waits, &lane, at(20)).await.unwrap(), Some(Waiting::Held(held)));
        }
        // What is one workspace's holds nobody else back; what is everybody's does.
        assert_eq!(bed.store.held(&of(OTHER, concurrent), at(20)).await.unwrap(), None);
        assert_eq!(bed.store.held(&of(OTHER, hour), at(20)).await.unwrap(), None);
        assert_eq!(bed.claim(&of(OTHER, share(100, 1))).await, None);
        assert_eq!(bed.store.load(NAMESPACE, 99).await.unwrap(), (6, 1));
        assert_eq!(bed.store.load(NAMESPACE, 4).await.unwrap(), (4, 1));
        // A pod that is ending has its place until it is gone.
        bed.store.verdict(first, failed(FailureClass::Unknown), at(20)).await.unwrap();
        assert_eq!(bed.claim(&of(NAMESPACE, concurrent)).await, None);
        bed.store.release(first, at(21)).await.unwrap();
        assert!(bed.claim(&of(NAMESPACE, concurrent)).await.is_some());
        // Two were begun; the hour moves.
        let lane = of(NAMESPACE, Share { runs_per_hour: Some(2), ..Share::default() });
        assert_eq!(bed.store.claim_next(&lane, &bed.key, at(3609)).await.unwrap(), None);
        assert!(bed.store.claim_next(&lane, &bed.key, until).await.unwrap().is_some());
        bed.sound().await;
    }

    async fn a_high_priority_goes_first_for_a_time(bed: Bed) {
        let enter = async |subject: &str, priority, created| {
            let mut new = new_task("reviewer", subject);
            (new.priority, new.created_at) = (priority, at(created));
            bed.enter_task(new).await
        };
        // A hundred points are an hour: the urgent ones that come within it overtake, later ones do not.
        let low = enter("low", 0, 0).await;
        let before = enter("before", 100, 3599).await;
        let after = enter("after", 100, 3601).await;
        let behind = [enter("one", 0, 0).await, enter("one", 100, 3601).await, enter("one", 100, 3599).await];
        let lane = lane(&[("reviewer", 9)], 9);
        let mut order: Vec<TaskId> = Vec::new();
        while let Some(attempt) = bed.claim(&lane).await {
            order.push(attempt.task);
            bed.finish(attempt, failed(FailureClass::Unknown)).await;
        }
        assert_eq!(order, [before, behind[2], low, behind[0], after, behind[1]]);
    }

    async fn what_finds_no_room_in_the_queue_is_refused_with_a_word(bed: Bed) {
        let scene = Scene::new(bed).await;
        let (bed, ada, key) = (&scene.bed, &scene.ada, &scene.issue.key);
        let say = async |body: String, parent, directory: &Few| {
            let new = NewComment { body, parent, ..NewComment::default() };
            let foreseen = bed.store.preview_comment(ada, key, &new, directory, at(5)).await.unwrap();
            let posted = bed.store.post_comment(ada, key, new, directory, at(5)).await.unwrap();
            assert_eq!(verdicts(&foreseen.wakes), verdicts(&posted.wakes));
            (posted.comment.id, verdicts(&posted.wakes))
        };
        let told = |agent: &str, word| (agent.to_owned(), word);
        let (root, woken) = say(format!("{} {}", to("reviewer"), to("writer")), None, &Few(1)).await;
        assert_eq!(woken, [told("reviewer", "queued"), told("writer", "queueFull")]);
        // What a waiting task takes in needs no room.
        let (_, woken) = say(to("reviewer"), Some(root), &Few(1)).await;
        assert_eq!(woken, [told("reviewer", "coalesced")]);
        let full = |answer| matches!(answer, Err(Error::Full { max: 1 }));
        let member = ada.author.id.parse().unwrap();
        let chat = NewChat { agent: "writer".to_owned(), body: "hello".to_owned(), title: None };
        assert!(full(bed.store.begin_chat(ada, member, &chat, &Few(1), at(6)).await.map(drop)));
        let quick = NewQuickIssue { agent: "writer".to_owned(), text: "hello".to_owned() };
        assert!(full(bed.store.ask_quick_issue(ada, member, &quick, &Few(1), at(6)).await.map(drop)));
        let new = new_task("writer", "a");
        assert!(full(bed.store.enter_within(new.clone(), Some(1)).await.map(drop)));
        let entered = bed.store.enter_within(new.clone(), Some(2)).await.unwrap();
        // What is there already asks for no room again.
        assert_eq!(bed.store.enter_within(new, Some(1)).await.unwrap().task, entered.task);
        bed.sound().await;
    }

    async fn many_writers_pass_no_limit_of_a_queue(bed: Bed) {
        let ada = bed.ada().await;
        let mut issues = Vec::new();
        for number in 0..6 {
            issues.push(bed.issue(&ada, titled("one"), at(number + 1)).await.key);
        }
        // Comments for both agents on each of six issues, and tasks that are entered, all at once.
        let mut writing: Vec<_> = issues.into_iter().map(|key| {
            let (bed, ada) = (bed.clone(), ada.clone());
            tokio::spawn(async move {
                let body = format!("{} {}", to("writer"), to("reviewer"));
                let new = NewComment { body, ..NewComment::default() };
                bed.store.post_comment(&ada, &key, new, &Few(4), at(20)).await.unwrap();
            })
        }).collect();
        writing.extend((0..6).map(|number| {
            let bed = bed.clone();
            tokio::spawn(async move {
                let new = new_task("reviewer", &format!("key-{number}"));
                match bed.store.enter_within(new, Some(4)).await {
                    Ok(_) | Err(Error::Full { .. }) => {}
                    Err(error) => panic!("{error:?}"),
                }
            })
        }));
        for writing in writing {
            writing.await.unwrap();
        }
        assert_eq!(bed.store.load(NAMESPACE, 99).await.unwrap().0, 4);
        bed.sound().await;
    }

    async fn lanes_tell_what_would_be_first(bed: Bed) {
        let mut entered = Vec::new();
        for (agent, created) in [("reviewer", 5), ("writer", 3)] {
            let mut new = new_task(agent, "a");
            new.created_at = at(created);
            entered.push(bed.enter_task(new).await);
        }
        let (one, other) = (lane(&[("reviewer", 1)], 1), lane_of("other", &[("writer", 1)], 1));
        let next = async |lane: &Lane| bed.store.next_in(lane).await.unwrap();
        assert!(next(&other).await.unwrap() < next(&one).await.unwrap());
        assert_eq!(bed.claim(&other).await.unwrap().task, entered[1]);
        assert_eq!(next(&other).await, None);
        assert!(next(&one).await.is_some());
    }

    async fn many_claimers_pass_no_shared_limit(bed: Bed) {
        enter(&bed, NAMESPACE, 20).await;
        enter(&bed, OTHER, 20).await;
        let limited = Share { max_concurrent: Some(2), ..share(100, 5) };
        let lanes = [of(NAMESPACE, limited), of(OTHER, share(100, 5))];
        let claiming: Vec<_> = (0..8).map(|number| {
            let (bed, lane) = (bed.clone(), lanes[number % 2].clone());
            tokio::spawn(async move {
                loop {
                    match bed.store.claim_next(&lane, &bed.key, at(10)).await {
                        Ok(Some(_)) | Err(Error::Conflict { .. }) => {}
                        Ok(None) => return,
                        Err(error) => panic!("{error:?}"),
                    }
                }
            })
        }).collect();
        for claiming in claiming {
            claiming.await.unwrap();
        }
        let held = [bed.store.load(NAMESPACE, 99).await.unwrap().1, bed.store.load(OTHER, 99).await.unwrap().1];
        assert!(held[0] <= 2, "{held:?}");
        assert_eq!(held[0] + held[1], 5, "{held:?}");
        bed.sound().await;
    }
}
