//! Many who write on one issue at once: nobody waits for ever, and nothing is decided twice.

use protocol::board::{IssueEdit, IssueKey, IssueStatus, NewComment, NewIssue};
use protocol::{CommentId, Outcome};
use store::Acting;

use crate::bed::{Bed, at, both, told};
use crate::board::{AGENTS, agent, titled, workspace};
use crate::talk::{room, to};

const WORKERS: i64 = 6;
const STEPS: i64 = 16;

/// One of the crowd.
struct Worker {
    bed: Bed,
    ada: Acting,
    whole: IssueKey,
    root: CommentId,
    parts: Vec<IssueKey>,
}

impl Worker {
    /// One step of many kinds. The store refuses none of them, be there ever so many others.
    async fn step(&mut self, kind: i64, now: jiff::Timestamp) {
        let (store, ada) = (&self.bed.store, &self.ada);
        match kind {
            0 => {
                let new = NewIssue {
                    parent: Some(self.whole.clone()),
                    assignee: Some(agent("writer")),
                    ..titled("a part")
                };
                let saved = store.create_issue(ada, new, &AGENTS, now).await.unwrap();
                self.parts.push(saved.issue.key);
            }
            1 => {
                if let Some(part) = self.parts.pop() {
                    let edit = status(IssueStatus::Done);
                    store
                        .edit_issue(ada, &part, edit, &AGENTS, now)
                        .await
                        .unwrap();
                }
            }
            2 => {
                let edit = IssueEdit {
                    assignee: Some(Some(agent(["reviewer", "writer"][self.parts.len() % 2]))),
                    ..IssueEdit::default()
                };
                store
                    .edit_issue(ada, &self.whole, edit, &AGENTS, now)
                    .await
                    .unwrap();
            }
            3 => self.say(&to("reviewer"), None, now).await,
            4 => self.say(&to("writer"), Some(self.root), now).await,
            _ => self.work(now).await,
        }
    }

    async fn say(&self, body: &str, parent: Option<CommentId>, now: jiff::Timestamp) {
        let new = NewComment {
            body: body.to_owned(),
            parent,
            ..NewComment::default()
        };
        let store = &self.bed.store;
        let posted = store
            .post_comment(&self.ada, &self.whole, new, &AGENTS, now)
            .await;
        posted.unwrap();
    }

    /// Claims what comes next, opens it and ends it.
    async fn work(&self, now: jiff::Timestamp) {
        let store = &self.bed.store;
        let claimed = store.claim_next(&room(), &self.bed.key, now).await.unwrap();
        let Some(claimed) = claimed else { return };
        store
            .open_package(claimed.attempt, [1; 32], now)
            .await
            .unwrap();
        let verdict = told(Outcome::Succeeded, None);
        store.verdict(claimed.attempt, verdict, now).await.unwrap();
        store.secret_gone(claimed.attempt).await.unwrap();
        store.release(claimed.attempt, now).await.unwrap();
    }
}

fn status(status: IssueStatus) -> IssueEdit {
    IssueEdit {
        status: Some(status),
        ..IssueEdit::default()
    }
}

/// A whole that the reviewer has, and its first comment.
async fn whole(bed: &Bed) -> (Acting, IssueKey, CommentId) {
    let ada = bed.ada().await;
    let new = NewIssue {
        assignee: Some(agent("reviewer")),
        status: IssueStatus::InProgress,
        no_start: true,
        ..titled("a whole")
    };
    let whole = bed.issue(&ada, new, at(1)).await.key;
    let new = NewComment {
        body: "/note here we are".to_owned(),
        ..NewComment::default()
    };
    let posted = bed
        .store
        .post_comment(&ada, &whole, new, &AGENTS, at(2))
        .await;
    (ada, whole, posted.unwrap().comment.id)
}

both! {
    async fn a_crowd_comes_to_its_end(bed: Bed) {
        let (ada, whole, root) = whole(&bed).await;
        let workers = (0..WORKERS).map(|worker| {
            let mut one = Worker { bed: bed.clone(), ada: ada.clone(), whole: whole.clone(), root, parts: Vec::new() };
            tokio::spawn(async move {
                for step in 0..STEPS {
                    one.step((worker * 5 + step * 7) % 6, at(100 + step)).await;
                }
            })
        });
        for worker in workers.collect::<Vec<_>>() {
            worker.await.unwrap();
        }
        bed.sound().await;
    }

    async fn parts_that_close_at_once_are_heard_of_once(bed: Bed) {
        let (ada, whole, _) = whole(&bed).await;
        let mut parts = Vec::new();
        for second in 3..9 {
            let new = NewIssue { parent: Some(whole.clone()), ..titled("a part") };
            parts.push(bed.issue(&ada, new, at(second)).await.key);
        }
        let closing = parts.into_iter().map(|part| {
            let (bed, ada) = (bed.clone(), ada.clone());
            tokio::spawn(async move {
                let edit = status(IssueStatus::Done);
                bed.store.edit_issue(&ada, &part, edit, &AGENTS, at(10)).await.unwrap().wakes.len()
            })
        });
        let mut woken = 0;
        for part in closing.collect::<Vec<_>>() {
            woken += part.await.unwrap();
        }
        let runs = bed.store.runs_of_issue(&workspace(), &whole, 9, None).await.unwrap();
        assert_eq!((woken, runs.items.len()), (1, 1));
        let said = bed.store.issue(&workspace(), &whole).await.unwrap().unwrap().comments;
        assert_eq!(said, 2, "the first comment, and that the parts are done");
        bed.sound().await;
    }
}
