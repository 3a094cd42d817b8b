//! The same, when people write while others claim and work.

use std::collections::BTreeSet;

use protocol::board::{Issue, NewComment};
use protocol::{CommentId, Outcome};
use store::{Error, Opened};

use super::NAMES;
use crate::bed::{Bed, at, both};
use crate::board::{AGENTS, acting};
use crate::talk::{room, to};

both! {
    async fn who_writes_and_who_works_at_once_neither_lose_nor_repeat(bed: Bed) {
        let scene = crate::talk::Scene::new(bed.clone()).await;
        let issue = scene.issue.clone();
        let root = bed.store.post_comment(&scene.ada, &issue.key, plain("/note here"), &AGENTS, at(50)).await.unwrap().comment.id;
        let writing: Vec<_> = (0..4).map(|person| {
            tokio::spawn(write(bed.clone(), issue.clone(), root, person))
        }).collect();
        let working: Vec<_> = (0..2).map(|_| tokio::spawn(work(bed.clone(), 12))).collect();
        let mut written = Vec::new();
        for writing in writing {
            written.extend(writing.await.unwrap());
        }
        let mut told = Vec::new();
        for working in working {
            told.extend(working.await.unwrap());
        }
        told.extend(work(bed.clone(), 200).await);
        assert_eq!(bed.store.open_tasks(None, 9).await.unwrap(), []);
        let once: BTreeSet<_> = told.iter().cloned().collect();
        assert_eq!(once.len(), told.len(), "told twice");
        let wanted: BTreeSet<_> = written.into_iter().flat_map(|id| NAMES.map(|name| (id, name.to_owned()))).collect();
        assert_eq!(once, wanted);
        bed.sound().await;
    }
}

fn plain(body: &str) -> NewComment {
    NewComment {
        body: body.to_owned(),
        ..NewComment::default()
    }
}

/// A person who names both agents again and again, in one thread.
async fn write(bed: Bed, issue: Issue, root: CommentId, person: usize) -> Vec<CommentId> {
    let me = acting(&bed.member(&format!("person-{person}")).await);
    let mut written = Vec::new();
    for number in 0..2 {
        let new = NewComment {
            parent: Some(root),
            ..plain(&format!("{} {}", to("writer"), to("reviewer")))
        };
        let posted = bed
            .store
            .post_comment(&me, &issue.key, new, &AGENTS, at(100 + number))
            .await
            .unwrap();
        written.push(posted.comment.id);
    }
    written
}

/// A controller and its runners: claims, opens and ends what there is; says who was told of what.
async fn work(bed: Bed, rounds: i64) -> Vec<(CommentId, String)> {
    let mut told = Vec::new();
    for round in 0..rounds {
        let now = at(200 + round);
        let claimed = match bed.store.claim_next(&room(), &bed.key, now).await {
            Ok(claimed) => claimed,
            Err(Error::Conflict { .. }) => continue,
            Err(error) => panic!("{error:?}"),
        };
        let Some(claimed) = claimed else {
            tokio::task::yield_now().await;
            continue;
        };
        let (attempt, agent) = (claimed.attempt, claimed.session.key.agent);
        assert_eq!(
            bed.store.open_package(attempt, [1; 32], now).await.unwrap(),
            Opened::First
        );
        let cause = bed.store.cause(attempt.task).await.unwrap().unwrap();
        assert!(!cause.cut);
        let comments = cause.comment.into_iter().chain(cause.coalesced);
        told.extend(comments.map(|comment| (comment.id, agent.clone())));
        bed.store
            .verdict(attempt, crate::bed::told(Outcome::Succeeded, None), now)
            .await
            .unwrap();
        assert!(bed.store.release(attempt, now).await.unwrap());
    }
    told
}
