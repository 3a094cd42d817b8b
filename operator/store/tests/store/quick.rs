//! Issues that agents write for people: linked by the task that makes them, and never lost.

use protocol::board::{
    InboxKind, IssueKey, Member, NewIssue, NewQuickIssue, QuickIssue, Recipient, RecipientKind,
};
use protocol::{FailureClass, Outcome, TaskState, limits};
use store::Error;

use crate::bed::{Bed, at, both, failed, told};
use crate::board::{AGENTS, acting, acting_agent, titled, workspace};
use crate::talk::room;

async fn ask(bed: &Bed, ada: &Member, text: &str) -> QuickIssue {
    let new = NewQuickIssue {
        agent: "reviewer".to_owned(),
        text: text.to_owned(),
    };
    let by = acting(ada);
    let asked = bed.store.ask_quick_issue(&by, ada.id, &new, &AGENTS, at(1));
    asked.await.unwrap()
}

async fn look(bed: &Bed, ada: &Member, asked: &QuickIssue) -> QuickIssue {
    let found = bed.store.quick_issue(ada.id, asked.task).await.unwrap();
    found.unwrap()
}

both! {
    async fn an_issue_is_linked_by_the_task_that_makes_it(bed: Bed) {
        let ada = bed.member("ada").await;
        let asked = ask(&bed, &ada, "The basement is wet\nsince Monday").await;
        let session = bed.session_of(asked.task).await;
        assert_eq!((session.key.subject.kind.as_str(), session.key.subject.name), ("QuickIssue", ada.id.to_string()));
        let attempt = bed.claim(&room()).await.unwrap();
        bed.start(attempt).await;
        let cause = bed.store.quick_cause(asked.task).await.unwrap().unwrap();
        assert_eq!((cause.author.name.as_str(), cause.text, cause.issue), ("ada", asked.text.clone(), None));
        let me = acting_agent("reviewer", asked.task);
        // Whom it gives the issue to acts for the person who asked.
        let writer = Recipient { kind: RecipientKind::Agent, id: "writer".to_owned() };
        let new = NewIssue { assignee: Some(writer), ..titled("Wet basement") };
        let issue = bed.issue(&me, new, at(12)).await;
        let woken = bed.claim(&room()).await.unwrap();
        let given = bed.store.cause(woken.task).await.unwrap().unwrap();
        assert_eq!((given.issue, given.originator.as_deref()), (issue.key.clone(), Some("ada")));
        assert_eq!(look(&bed, &ada, &asked).await.issue, Some(issue.key.clone()));
        // One issue was asked for; what else there is to do are parts of it.
        let second = bed.store.create_issue(&me, titled("Another one"), &AGENTS, at(13)).await;
        assert!(matches!(&second, Err(Error::Conflict { what }) if what.contains(&issue.key.to_string())), "{second:?}");
        bed.issue(&me, NewIssue { parent: Some(issue.key.clone()), ..titled("A part") }, at(14)).await;
        bed.finish(attempt, told(Outcome::Succeeded, None)).await;
        let entries = bed.store.inbox(&workspace(), ada.id, 9, None, true).await.unwrap().items;
        let told: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.issue.clone())).collect();
        assert_eq!(told, [(InboxKind::IssueMade, Some(issue.key))]);
        assert!(look(&bed, &ada, &asked).await.ended.is_some());
        bed.sound().await;
    }

    async fn what_was_not_made_comes_back_with_its_text(bed: Bed) {
        let (ada, bob) = (bed.member("ada").await, bed.member("bob").await);
        let text = "The roof\nis open";
        let verdicts = [
            failed(FailureClass::ProviderAuth), failed(FailureClass::Cancelled), told(Outcome::Succeeded, None),
        ];
        let mut failures = Vec::new();
        for verdict in verdicts {
            let asked = ask(&bed, &ada, text).await;
            let attempt = bed.claim(&room()).await.unwrap();
            bed.start(attempt).await;
            bed.finish(attempt, verdict).await;
            let over = look(&bed, &ada, &asked).await;
            assert_eq!((over.issue, over.text.as_str()), (None, text));
            failures.push(over.failure);
            // It has its chance: what comes later is no issue of the person's.
            let late = bed.issue(&acting_agent("reviewer", asked.task), titled("late"), at(30)).await;
            assert_eq!(look(&bed, &ada, &asked).await.issue, None, "{:?}", late.key);
        }
        assert_eq!(failures, [Some(FailureClass::ProviderAuth), Some(FailureClass::Cancelled), None]);
        // Also one that never began.
        let asked = ask(&bed, &ada, text).await;
        bed.store.end_unclaimed(asked.task, failed(FailureClass::AgentDeleted), at(31)).await.unwrap();
        assert_eq!(bed.task(asked.task).await.state, TaskState::Finished);
        let first = bed.store.inbox(&workspace(), ada.id, 3, None, true).await.unwrap();
        assert_eq!((first.items.len(), first.next.is_some()), (3, true));
        let rest = bed.store.inbox(&workspace(), ada.id, 3, first.next.as_deref(), true).await.unwrap();
        assert_eq!((rest.items.len(), rest.next), (1, None));
        let entry = &first.items[0];
        assert_eq!((entry.kind, &entry.issue, entry.title.as_str()), (InboxKind::Failure, &None, "The roof"));
        assert_eq!((entry.text.as_deref(), entry.task, entry.read), (Some(text), Some(asked.task), false));
        // They are read and put away like all others, and by nobody else.
        assert!(matches!(bed.store.read_inbox(bob.id, entry.id).await, Err(Error::Missing { .. })));
        bed.store.read_inbox(ada.id, entry.id).await.unwrap();
        assert!(bed.store.inbox(&workspace(), ada.id, 9, None, true).await.unwrap().items[0].read);
        bed.store.archive_inbox(ada.id, entry.id).await.unwrap();
        assert_eq!(bed.store.inbox(&workspace(), ada.id, 9, None, true).await.unwrap().items.len(), 3);
        assert_eq!(bed.store.inbox(&workspace(), bob.id, 9, None, true).await.unwrap().items, []);
        bed.sound().await;
    }

    async fn an_issue_to_be_written_is_its_persons_alone_and_bounded(bed: Bed) {
        let (ada, bob) = (bed.member("ada").await, bed.member("bob").await);
        let asked = ask(&bed, &ada, "x").await;
        assert_eq!(bed.store.quick_issue(bob.id, asked.task).await.unwrap(), None);
        let by = acting(&ada);
        let new = |agent: &str, text: &str| NewQuickIssue { agent: agent.to_owned(), text: text.to_owned() };
        for wrong in [new("reviewer", ""), new("reviewer", &"x".repeat(limits::COMMENT_BYTES + 1))] {
            let refused = bed.store.ask_quick_issue(&by, ada.id, &wrong, &AGENTS, at(2)).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        }
        let refused = bed.store.ask_quick_issue(&by, ada.id, &new("nobody", "x"), &AGENTS, at(2)).await;
        assert!(matches!(refused, Err(Error::Missing { .. })), "{refused:?}");
        for _ in 1..limits::QUICK_ISSUES_PER_PERSON {
            ask(&bed, &ada, "x").await;
        }
        let refused = bed.store.ask_quick_issue(&by, ada.id, &new("reviewer", "x"), &AGENTS, at(2)).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
        ask(&bed, &bob, "x").await;
        // What an agent makes in a task that is to write none is an issue like any other.
        let other = bed.enter("writer", "hello").await;
        let issue = bed.issue(&acting_agent("writer", other), titled("t"), at(3)).await;
        assert_eq!(issue.key, "TEAMA-1".parse::<IssueKey>().unwrap());
    }
}
