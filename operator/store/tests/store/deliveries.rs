//! What webhooks deliver: stored once, dealt with once.

use protocol::board::{CommentQuery, Issue, IssueQuery, NewIssue};
use store::{
    Acting, Become, Delivery, Error, NewDelivery, Nothing, Took, WAITING_DELIVERIES, WorkspaceRef,
};

use crate::bed::{Bed, at, both};
use crate::board::{AGENTS, agent, elsewhere, titled, workspace};

fn delivery(workspace: WorkspaceRef, id: &str) -> NewDelivery {
    NewDelivery {
        workspace,
        webhook: "alerts".to_owned(),
        delivery: id.to_owned(),
        event: "delivery".to_owned(),
        body: b"{}".to_vec(),
        body_hash: None,
    }
}

fn writer(on: &Delivery) -> Acting {
    Acting::webhook(&on.workspace, "alerts")
}

fn an_issue(title: &str, assignee: Option<&str>) -> Become {
    let new = NewIssue {
        assignee: assignee.map(agent),
        ..titled(title)
    };
    Become::Issue {
        new: Box::new(new),
        reference: Some("disk".to_owned()),
        comment: Some("again".to_owned()),
    }
}

async fn take(bed: &Bed, id: &str, second: i64) -> Delivery {
    let took = bed
        .store
        .take_delivery(delivery(workspace(), id), at(second))
        .await;
    assert_eq!(took.unwrap(), Took::New);
    let mut waiting = bed.store.waiting_deliveries(9).await.unwrap();
    waiting.pop().unwrap()
}

async fn issues(bed: &Bed, of: &WorkspaceRef) -> Vec<Issue> {
    let page = bed.store.issues(of, &IssueQuery::default()).await;
    page.unwrap().items
}

both! {
    async fn what_is_sent_again_is_known(bed: Bed) {
        let first = take(&bed, "one", 1).await;
        let again = || bed.store.take_delivery(delivery(workspace(), "one"), at(2));
        assert_eq!(again().await.unwrap(), Took::Known);
        bed.store.deliver(&first, (&writer(&first), an_issue("disk", None)), &AGENTS, at(3)).await.unwrap();
        assert_eq!(again().await.unwrap(), Took::Known);
        // Dealt with twice it is dealt with once.
        bed.store.deliver(&first, (&writer(&first), an_issue("disk", None)), &AGENTS, at(4)).await.unwrap();
        assert_eq!(issues(&bed, &workspace()).await.len(), 1);
        assert_eq!(bed.store.waiting_deliveries(9).await.unwrap(), []);

        let hashed = |id: &str| NewDelivery { body_hash: Some([1; 32]), ..delivery(workspace(), id) };
        assert_eq!(bed.store.take_delivery(hashed("two"), at(5)).await.unwrap(), Took::New);
        assert_eq!(bed.store.take_delivery(hashed("three"), at(6)).await.unwrap(), Took::Known);
        // Another workspace's webhook of that name is another one.
        let other = bed.store.take_delivery(delivery(elsewhere(), "one"), at(7)).await;
        assert_eq!(other.unwrap(), Took::New);
    }

    async fn one_that_failed_is_tried_again_when_it_is_sent_again(bed: Bed) {
        let first = take(&bed, "one", 1).await;
        bed.store.end_delivery(first.id, Nothing::Failed, "no such issue").await.unwrap();
        let last = bed.store.last_delivery(&workspace().namespace_uid, "alerts").await.unwrap().unwrap();
        assert_eq!((last.delivery.as_str(), last.taken, last.remark.as_str()), ("one", false, "no such issue"));
        take(&bed, "one", 2).await;
        let second = bed.store.waiting_deliveries(9).await.unwrap().remove(0);
        bed.store.end_delivery(second.id, Nothing::Ignored, "another label").await.unwrap();
        let again = bed.store.take_delivery(delivery(workspace(), "one"), at(3)).await;
        assert_eq!(again.unwrap(), Took::Known);
        assert!(bed.store.last_delivery(&workspace().namespace_uid, "alerts").await.unwrap().unwrap().taken);
    }

    async fn under_the_id_of_one_that_failed_comes_no_other_body(bed: Bed) {
        let hashed = |id: &str, hash: u8| NewDelivery { body_hash: Some([hash; 32]), ..delivery(workspace(), id) };
        let take = async |new| bed.store.take_delivery(new, at(1)).await.unwrap();
        for (id, hash, how) in [("done", 1, Nothing::Ignored), ("failed", 2, Nothing::Failed)] {
            assert_eq!(take(hashed(id, hash)).await, Took::New);
            let waits = bed.store.waiting_deliveries(9).await.unwrap().remove(0);
            bed.store.end_delivery(waits.id, how, "").await.unwrap();
        }
        assert_eq!(take(hashed("failed", 1)).await, Took::Known);
        assert_eq!(bed.store.waiting_deliveries(9).await.unwrap(), []);
        assert_eq!(take(hashed("failed", 2)).await, Took::New);
    }

    async fn a_reference_is_one_issue_and_one_thread(bed: Bed) {
        for (number, id) in ["one", "two", "three"].into_iter().enumerate() {
            let one = take(&bed, id, number as i64 + 1).await;
            let becomes = an_issue("disk", Some("reviewer"));
            bed.store.deliver(&one, (&writer(&one), becomes), &AGENTS, at(number as i64 + 1)).await.unwrap();
        }
        let made = issues(&bed, &workspace()).await;
        assert_eq!(made.len(), 1);
        let said = bed.store.comments(&workspace(), &made[0].key, &CommentQuery::default()).await.unwrap().items;
        assert_eq!(said.iter().map(|one| (one.body.as_str(), one.thread)).collect::<Vec<_>>(), [("again", said[0].id); 2]);
        // The agent that has it hears of all of it, and waits for one run.
        assert_eq!(bed.store.open_tasks_of_issue(made[0].id).await.unwrap().len(), 1);

        let on = take(&bed, "four", 9).await;
        let becomes = Become::CommentOnReference { reference: "other".to_owned(), body: "x".to_owned() };
        bed.store.deliver(&on, (&writer(&on), becomes), &AGENTS, at(9)).await.unwrap();
        let on = take(&bed, "five", 10).await;
        let becomes = Become::CommentOnIssue { issue: "TEAMA-9".parse().unwrap(), body: "x".to_owned() };
        let none = bed.store.deliver(&on, (&writer(&on), becomes), &AGENTS, at(10)).await;
        assert!(matches!(none, Err(Error::Missing { .. })), "{none:?}");
        bed.sound().await;
    }

    async fn no_more_wait_than_may(bed: Bed) {
        for number in 0..WAITING_DELIVERIES {
            let new = delivery(workspace(), &number.to_string());
            bed.store.take_delivery(new, at(1)).await.unwrap();
        }
        let more = bed.store.take_delivery(delivery(workspace(), "more"), at(1)).await;
        assert!(matches!(more, Err(Error::Conflict { .. })), "{more:?}");
    }

    async fn old_ones_are_forgotten(bed: Bed) {
        let old = take(&bed, "one", 1).await;
        bed.store.end_delivery(old.id, Nothing::Ignored, "").await.unwrap();
        take(&bed, "waits", 1).await;
        let later = 8 * 24 * 3600;
        bed.store.take_delivery(delivery(workspace(), "new"), at(later)).await.unwrap();
        let again = bed.store.take_delivery(delivery(workspace(), "one"), at(later)).await;
        assert_eq!(again.unwrap(), Took::New);
        let again = bed.store.take_delivery(delivery(workspace(), "waits"), at(later)).await;
        assert_eq!(again.unwrap(), Took::Known);
    }
}

/// What sender and controller do, asked for by what is there.
pub(crate) async fn speak(bed: &Bed) -> Result<(), Error> {
    let store = &bed.store;
    for id in ["issue", "nothing"] {
        store
            .take_delivery(delivery(elsewhere(), id), at(1))
            .await?;
    }
    for one in store.waiting_deliveries(9).await? {
        let made = issues(bed, &elsewhere()).await;
        if made.iter().any(|issue| issue.title == "disk") {
            store.end_delivery(one.id, Nothing::Ignored, "").await?;
        } else {
            let becomes = an_issue("disk", None);
            store
                .deliver(&one, (&writer(&one), becomes), &AGENTS, at(2))
                .await?;
        }
    }
    Ok(())
}

/// Each delivery was dealt with once.
pub(crate) async fn spoken(bed: &Bed) {
    let made = issues(bed, &elsewhere()).await;
    let made = made.iter().filter(|issue| issue.title == "disk");
    assert_eq!(made.count(), 1);
    assert_eq!(bed.store.waiting_deliveries(9).await.unwrap(), []);
}
