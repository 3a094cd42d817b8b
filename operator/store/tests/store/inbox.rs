//! A person is told what others did for them, and puts it away.

use protocol::board::{InboxEntry, InboxKind, Issue, IssueEdit, Member, NewIssue};
use protocol::{InboxId, MemberId};
use store::{Acting, Error};
use uuid::Uuid;

use crate::bed::{Bed, at, both};
use crate::board::{AGENTS, acting, elsewhere, person, titled, workspace};

async fn entries(bed: &Bed, member: MemberId) -> Vec<InboxEntry> {
    let page = bed
        .store
        .inbox(&workspace(), member, 99, None, true)
        .await
        .unwrap();
    assert_eq!(page.next, None);
    page.items
}

async fn assigned(bed: &Bed, by: &Acting, to: &Member, second: i64) -> Issue {
    let new = NewIssue {
        assignee: Some(person(to)),
        ..titled("for you")
    };
    bed.issue(by, new, at(second)).await
}

both! {
    async fn who_is_given_an_issue_is_told(bed: Bed) {
        let (ada, bob) = (bed.member("ada").await, bed.member("bob").await);
        let issue = assigned(&bed, &acting(&ada), &bob, 1).await;
        let told = entries(&bed, bob.id).await;
        let wanted = InboxEntry {
            id: told[0].id,
            kind: InboxKind::Assignment,
            issue: Some(issue.key.clone()),
            title: "for you".to_owned(),
            text: None,
            task: None,
            comment: None,
            approval: None,
            author: acting(&ada).author,
            read: false,
            created: at(1),
        };
        assert_eq!(told, [wanted]);
        // Told again only when it comes back from somebody else, and once until he has looked.
        let edit = |to: Option<&Member>| IssueEdit { assignee: Some(to.map(person)), ..IssueEdit::default() };
        for (second, to, count) in
            [(2, Some(&bob), 1), (3, None, 1), (4, Some(&bob), 1), (5, Some(&ada), 1), (6, Some(&bob), 2), (7, None, 2), (8, Some(&bob), 2)]
        {
            if count == 2 {
                bed.store.read_inbox(bob.id, told[0].id).await.unwrap();
            }
            bed.store.edit_issue(&acting(&ada), &issue.key, edit(to), &AGENTS, at(second)).await.unwrap();
            assert_eq!(entries(&bed, bob.id).await.len(), count, "{second}");
        }
        // Another issue is another thing.
        assigned(&bed, &acting(&ada), &bob, 9).await;
        assert_eq!(entries(&bed, bob.id).await.len(), 3);
        assert_eq!(entries(&bed, ada.id).await, [], "she did it herself");
    }

    async fn what_is_put_away_is_gone_and_what_is_read_is_known(bed: Bed) {
        let (ada, bob) = (bed.member("ada").await, bed.member("bob").await);
        for second in 1..=3 {
            assigned(&bed, &acting(&ada), &bob, second).await;
        }
        let [third, second, first] = entries(&bed, bob.id).await.try_into().unwrap();
        assert_eq!([&third.created, &second.created, &first.created], [&at(3), &at(2), &at(1)]);
        for _ in 0..2 {
            bed.store.read_inbox(bob.id, second.id).await.unwrap();
            bed.store.archive_inbox(bob.id, third.id).await.unwrap();
        }
        let read = InboxEntry { read: true, ..second.clone() };
        assert_eq!(entries(&bed, bob.id).await, [read.clone(), first.clone()]);
        let page = bed.store.inbox(&workspace(), bob.id, 1, None, true).await.unwrap();
        assert_eq!(page.items, [read]);
        let page = bed.store.inbox(&workspace(), bob.id, 1, page.next.as_deref(), true).await.unwrap();
        assert_eq!((page.items, page.next), (vec![first.clone()], None));
        for (member, entry) in [(ada.id, first.id), (bob.id, InboxId(Uuid::now_v7()))] {
            let read = bed.store.read_inbox(member, entry).await;
            assert!(matches!(read, Err(Error::Missing { .. })));
            let archived = bed.store.archive_inbox(member, entry).await;
            assert!(matches!(archived, Err(Error::Missing { .. })));
        }
        assert!(matches!(bed.store.read_inbox(bob.id, third.id).await, Err(Error::Missing { .. })));
        let elsewhere = bed.store.inbox(&elsewhere(), bob.id, 9, None, true).await.unwrap();
        assert_eq!(elsewhere.items, []);
    }
}
