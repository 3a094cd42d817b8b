//! Who looks on hears what happens, apart from what the controller hears.

use protocol::board::{IssueEdit, NewComment, NewIssue};
use protocol::{Outcome, TaskId};
use store::{Live, LiveChange};

use crate::bed::{Bed, DEADLINE, at, both, texts, told};
use crate::board::{AGENTS, elsewhere, titled, workspace};

/// Everything told up to and including this task, which is entered last and so is told last.
async fn until(bed: &Bed, live: &mut Live) -> Vec<LiveChange> {
    let mark = bed.enter("mark", "mark").await;
    let mut told = Vec::new();
    loop {
        let next = tokio::time::timeout(DEADLINE, live.next()).await;
        let change = next.expect("in time").expect("an open store");
        if change == LiveChange::Task(mark) {
            return told;
        }
        told.push(change);
    }
}

both! {
    async fn what_happens_in_a_task_is_told(bed: Bed) {
        let mut live = bed.store.live();
        let attempt = bed.running("reviewer", "hello").await;
        let step = LiveChange::Task(attempt.task);
        assert_eq!(until(&bed, &mut live).await, [step; 4]);
        bed.store.append(attempt, &texts(1..=3), at(13)).await.unwrap();
        assert_eq!(until(&bed, &mut live).await, [LiveChange::Events(attempt.task)]);
        // Nothing new, nothing told.
        bed.store.append(attempt, &texts(1..=3), at(14)).await.unwrap();
        bed.store.contact(attempt, at(15)).await.unwrap();
        assert_eq!(until(&bed, &mut live).await, []);
        bed.finish(attempt, told(Outcome::Succeeded, None)).await;
        assert_eq!(until(&bed, &mut live).await, [step; 2]);
        assert_eq!(bed.store.last_position(attempt.task).await.unwrap(), 3);
        assert_eq!(bed.store.last_position(TaskId(uuid::Uuid::nil())).await.unwrap(), 0);
    }

    async fn what_is_written_on_an_issue_is_told(bed: Bed) {
        let ada = bed.ada().await;
        let issue = bed.issue(&ada, titled("one"), at(1)).await;
        let mut live = bed.store.live();
        let told = LiveChange::Issue(issue.id);
        let new = NewComment { body: "hello".to_owned(), ..NewComment::default() };
        let posted = bed.store.post_comment(&ada, &issue.key, new, &AGENTS, at(2)).await.unwrap();
        assert!(until(&bed, &mut live).await.contains(&told));
        bed.store.resolve_comment(&ada, posted.comment.id, true).await.unwrap();
        assert!(until(&bed, &mut live).await.contains(&told));
        let edit = IssueEdit { title: Some("two".to_owned()), ..IssueEdit::default() };
        bed.store.edit_issue(&ada, &issue.key, edit, &AGENTS, at(4)).await.unwrap();
        assert!(until(&bed, &mut live).await.contains(&told));
        let part = NewIssue { parent: Some(issue.key.clone()), ..titled("part") };
        let part = bed.issue(&ada, part, at(5)).await;
        assert!(until(&bed, &mut live).await.contains(&LiveChange::Issue(part.id)));
    }

    async fn who_looks_on_finds_where_it_belongs(bed: Bed) {
        let ada = bed.ada().await;
        let issue = bed.issue(&ada, titled("one"), at(1)).await;
        let (namespace, found) = bed.store.issue_by_id(issue.id).await.unwrap().unwrap();
        assert_eq!((namespace, found.key), (workspace().namespace_uid, issue.key));
        let task = bed.enter("reviewer", "hello").await;
        let place = bed.store.place_of_task(task).await.unwrap().unwrap();
        assert_eq!((place.namespace_uid, place.issue), (workspace().namespace_uid, None));
        assert_ne!(workspace().namespace_uid, elsewhere().namespace_uid);
        assert_eq!(bed.store.place_of_task(TaskId(uuid::Uuid::nil())).await.unwrap(), None);
    }

    async fn who_looks_on_and_falls_behind_is_told_so(bed: Bed) {
        let (mut live, mut controller) = (bed.store.live(), bed.store.changes());
        let attempt = bed.running("reviewer", "hello").await;
        for seq in 1..1100 {
            bed.store.append(attempt, &texts(seq..=seq), at(13)).await.unwrap();
        }
        let mark = bed.enter("mark", "mark").await;
        // However much happens in tasks, the controller hears each of its own.
        for wanted in [attempt.task; 4].into_iter().chain([mark]) {
            let heard = tokio::time::timeout(DEADLINE, controller.next()).await.unwrap();
            assert_eq!(heard, Some(store::Change::Task(wanted)));
        }
        let first = tokio::time::timeout(DEADLINE, live.next()).await.unwrap();
        assert_eq!(first, Some(LiveChange::Resync));
    }
}
