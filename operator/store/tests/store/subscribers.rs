//! Who has something to do with an issue is told of each comment on it, once, until they want no more of it.

use protocol::board::{
    CommentEdit, InboxEntry, InboxKind, IssueEdit, IssueKey, Member, NewComment, NewIssue,
};
use protocol::{CommentId, limits};
use store::{Acting, Error};

use crate::bed::{Bed, at, both};
use crate::board::{AGENTS, acting, elsewhere, person, titled, workspace};

async fn say(bed: &Bed, by: &Acting, key: &IssueKey, body: &str, second: i64) -> CommentId {
    let new = NewComment {
        body: body.to_owned(),
        ..NewComment::default()
    };
    let posted = bed
        .store
        .post_comment(by, key, new, &AGENTS, at(second))
        .await;
    posted.unwrap().comment.id
}

fn named(member: &Member) -> String {
    format!("[{}](mention://member/{}) look", member.user, member.id)
}

/// What a member was told, the first first.
async fn told(bed: &Bed, member: &Member) -> Vec<(InboxKind, Option<CommentId>)> {
    let page = bed
        .store
        .inbox(&workspace(), member.id, 200, None, true)
        .await
        .unwrap();
    assert_eq!(page.next, None);
    let of = |entry: &InboxEntry| (entry.kind, entry.comment);
    page.items.iter().rev().map(of).collect()
}

async fn followers(bed: &Bed, key: &IssueKey) -> Vec<String> {
    let page = bed
        .store
        .subscribers(&workspace(), key, 200, None)
        .await
        .unwrap();
    let mut users: Vec<_> = page.items.into_iter().map(|member| member.user).collect();
    users.sort();
    users
}

both! {
    async fn who_has_to_do_with_an_issue_is_told_of_each_comment_once(bed: Bed) {
        let [ada, bob, cyd, dan] = ["ada", "bob", "cyd", "dan"].map(|user| {
            let bed = bed.clone();
            async move { bed.member(user).await }
        });
        let (ada, bob, cyd, dan) = (ada.await, bob.await, cyd.await, dan.await);
        let new = NewIssue { assignee: Some(person(&bob)), ..titled("for all") };
        let key = bed.issue(&acting(&ada), new, at(1)).await.key;
        assert_eq!(followers(&bed, &key).await, ["ada", "bob"]);
        let first = say(&bed, &acting(&cyd), &key, "I have seen it too", 2).await;
        let second = say(&bed, &acting(&ada), &key, &named(&dan), 3).await;
        let third = say(&bed, &acting(&bob), &key, "thanks", 4).await;
        assert_eq!(followers(&bed, &key).await, ["ada", "bob", "cyd", "dan"]);
        let reply = |comment| (InboxKind::Reply, Some(comment));
        assert_eq!(told(&bed, &ada).await, [reply(first), reply(third)]);
        assert_eq!(told(&bed, &bob).await, [(InboxKind::Assignment, None), reply(first), reply(second)]);
        assert_eq!(told(&bed, &cyd).await, [reply(second), reply(third)]);
        // Named is told as such, and not once more.
        assert_eq!(told(&bed, &dan).await, [(InboxKind::Mention, Some(second)), reply(third)]);
        // Who gets it later follows it too; whoever calls everybody makes nobody follow.
        let eve = bed.member("eve").await;
        say(&bed, &acting(&ada), &key, "[all](mention://all/all)", 5).await;
        assert!(!followers(&bed, &key).await.contains(&"eve".to_owned()));
        let edit = IssueEdit { assignee: Some(Some(person(&eve))), ..IssueEdit::default() };
        bed.store.edit_issue(&acting(&ada), &key, edit, &AGENTS, at(6)).await.unwrap();
        assert!(followers(&bed, &key).await.contains(&"eve".to_owned()));
    }

    async fn who_wants_no_more_is_told_no_more_until_they_are_named(bed: Bed) {
        let (ada, bob) = (bed.member("ada").await, bed.member("bob").await);
        let key = bed.issue(&acting(&ada), titled("noisy"), at(1)).await.key;
        let old = say(&bed, &acting(&bob), &key, &format!("{} {}", named(&ada), named(&bob)), 2).await;
        for _ in 0..2 {
            bed.store.unsubscribe(&workspace(), &key, ada.id).await.unwrap();
        }
        let before = told(&bed, &ada).await;
        assert_eq!(before, [(InboxKind::Mention, Some(old))]);
        assert_eq!(followers(&bed, &key).await, ["bob"]);
        say(&bed, &acting(&bob), &key, "more noise", 3).await;
        // Her own word changes nothing, nor that an edit leaves her name where it was.
        say(&bed, &acting(&ada), &key, "enough", 4).await;
        let edit = CommentEdit { revision: None, body: format!("{} again", named(&ada)) };
        bed.store.edit_comment(&acting(&bob), old, edit, &AGENTS, at(5)).await.unwrap();
        say(&bed, &acting(&bob), &key, "still more", 6).await;
        assert_eq!(told(&bed, &ada).await, before);
        let again = say(&bed, &acting(&bob), &key, &named(&ada), 7).await;
        let last = say(&bed, &acting(&bob), &key, "you see?", 8).await;
        let since = [(InboxKind::Mention, Some(again)), (InboxKind::Reply, Some(last))];
        assert_eq!(told(&bed, &ada).await, [&before[..], &since].concat());
    }

    async fn to_follow_is_a_matter_of_ones_own(bed: Bed) {
        let (ada, bob) = (bed.member("ada").await, bed.member("bob").await);
        let key = bed.issue(&acting(&ada), titled("of interest"), at(1)).await.key;
        for _ in 0..2 {
            bed.store.subscribe(&workspace(), &key, bob.id).await.unwrap();
        }
        let comment = say(&bed, &acting(&ada), &key, "news", 2).await;
        assert_eq!(told(&bed, &bob).await, [(InboxKind::Reply, Some(comment))]);
        bed.store.unsubscribe(&workspace(), &key, bob.id).await.unwrap();
        bed.store.subscribe(&workspace(), &key, bob.id).await.unwrap();
        assert_eq!(followers(&bed, &key).await, ["ada", "bob"]);
        // Who never followed has nothing to give up.
        let cyd = bed.member("cyd").await;
        bed.store.unsubscribe(&workspace(), &key, cyd.id).await.unwrap();
        say(&bed, &acting(&cyd), &key, "me too", 3).await;
        assert_eq!(followers(&bed, &key).await, ["ada", "bob", "cyd"]);
        let absent: IssueKey = "TEAMA-99".parse().unwrap();
        for (place, key) in [(workspace(), &absent), (elsewhere(), &key)] {
            let missing = |done: Result<(), Error>| assert!(matches!(done, Err(Error::Missing { .. })));
            missing(bed.store.subscribe(&place, key, bob.id).await);
            missing(bed.store.unsubscribe(&place, key, bob.id).await);
            missing(bed.store.subscribers(&place, key, 9, None).await.map(drop));
        }
        let page = bed.store.subscribers(&workspace(), &key, 2, None).await.unwrap();
        let rest = bed.store.subscribers(&workspace(), &key, 2, page.next.as_deref()).await.unwrap();
        assert_eq!((page.items.len(), rest.items.len(), rest.next), (2, 1, None));
    }

    async fn a_comment_tells_a_thousand_and_an_issue_has_no_more(bed: Bed) {
        let ada = bed.member("ada").await;
        let key = bed.issue(&acting(&ada), titled("of everybody"), at(1)).await.key;
        let mut members = Vec::new();
        for number in 1..=limits::SUBSCRIBERS {
            members.push(bed.member(&format!("user-{number}")).await);
        }
        let last = members.pop().unwrap();
        for member in &members {
            bed.store.subscribe(&workspace(), &key, member.id).await.unwrap();
        }
        let refused = bed.store.subscribe(&workspace(), &key, last.id).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
        // Nobody is kept from writing by it.
        let comment = say(&bed, &acting(&last), &key, "full house", 2).await;
        for member in members.iter().chain([&ada]).step_by(100) {
            assert_eq!(told(&bed, member).await, [(InboxKind::Reply, Some(comment))]);
        }
        assert_eq!(told(&bed, &last).await, []);
    }
}
