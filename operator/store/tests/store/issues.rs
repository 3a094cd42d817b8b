//! Issues are numbered without a gap, found by what they are asked for, and changed by who has read them.

use protocol::board::{Issue, IssueEdit, IssueKey, IssueQuery, IssueStatus, NewIssue, Recipient};
use protocol::limits;
use store::{CHILDREN, Error};

use crate::bed::{Bed, at, both};
use crate::board::{AGENTS, acting, agent, elsewhere, person, titled, workspace};

fn key(text: &str) -> IssueKey {
    text.parse().unwrap()
}

/// An issue as lists show it.
fn listed(issue: &Issue) -> Issue {
    Issue {
        description: String::new(),
        ..issue.clone()
    }
}

fn part_of(parent: &str, stage: Option<u32>) -> NewIssue {
    NewIssue {
        parent: Some(key(parent)),
        stage,
        ..titled("a part")
    }
}

/// Every issue that a query finds, in pages of two.
async fn all(bed: &Bed, query: &IssueQuery) -> Vec<Issue> {
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let asked = IssueQuery {
            limit: Some(2),
            cursor,
            ..query.clone()
        };
        let page = bed.store.issues(&workspace(), &asked).await.unwrap();
        assert!(page.items.len() == 2 || page.next.is_none());
        seen.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return seen;
        }
    }
}

both! {
    async fn an_issue_is_read_as_it_was_made(bed: Bed) {
        let (ada, bob) = (bed.ada().await, bed.member("bob").await);
        let parent = bed.issue(&ada, titled("whole"), at(1)).await;
        let new = NewIssue {
            title: " Grüße 🚢 ".to_owned(),
            description: "# Why\n\nBecause.".to_owned(),
            status: IssueStatus::InReview,
            priority: -7,
            assignee: Some(person(&bob)),
            parent: Some(parent.key.clone()),
            stage: Some(2),
            project: None,
            labels: vec!["ui".to_owned(), "bug".to_owned(), "ui".to_owned()],
            metadata: [("build".to_owned(), "17".to_owned())].into(),
            no_start: false,
        };
        let saved = bed.store.create_issue(&ada, new, &AGENTS, at(2)).await.unwrap();
        assert_eq!(saved.wakes, []);
        let made = saved.issue;
        let wanted = Issue {
            id: made.id,
            key: key("TEAMA-2"),
            title: "Grüße 🚢".to_owned(),
            description: "# Why\n\nBecause.".to_owned(),
            status: IssueStatus::InReview,
            priority: -7,
            assignee: Some(person(&bob)),
            creator: ada.author,
            parent: Some(key("TEAMA-1")),
            stage: Some(2),
            project: None,
            labels: vec!["bug".to_owned(), "ui".to_owned()],
            metadata: [("build".to_owned(), "17".to_owned())].into(),
            comments: 0,
            revision: 1,
            created: at(2),
            updated: at(2),
        };
        assert_eq!(made, wanted);
        assert_eq!(bed.store.issue(&workspace(), &made.key).await.unwrap(), Some(wanted));
    }

    async fn issues_are_numbered_without_a_gap_in_their_workspace(bed: Bed) {
        let ada = bed.ada().await;
        let makers = (0..8).map(|_| {
            let (bed, ada) = (bed.clone(), ada.clone());
            tokio::spawn(async move { bed.issue(&ada, titled("one of eight"), at(1)).await.key.number })
        });
        let mut numbers = Vec::new();
        for maker in makers.collect::<Vec<_>>() {
            numbers.push(maker.await.unwrap());
        }
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8]);
        // What is refused takes no number.
        let refused = bed.store.create_issue(&ada, part_of("TEAMA-99", None), &AGENTS, at(2)).await;
        assert!(matches!(refused, Err(Error::Missing { .. })));
        assert_eq!(bed.issue(&ada, titled("ninth"), at(2)).await.key, key("TEAMA-9"));
        let mut eve = acting(&bed.store.member(&elsewhere(), "eve", at(3)).await.unwrap());
        eve.workspace = elsewhere();
        assert_eq!(bed.issue(&eve, titled("first"), at(3)).await.key, key("TEAMB-1"));
    }

    async fn a_workspace_sees_its_own_issues_only(bed: Bed) {
        let made = bed.issue(&bed.ada().await, titled("here"), at(1)).await;
        for (workspace, key) in [
            (elsewhere(), made.key.clone()),
            (workspace(), key("TEAMB-1")),
            (workspace(), key("TEAMA-2")),
        ] {
            assert_eq!(bed.store.issue(&workspace, &key).await.unwrap(), None);
            let parts = bed.store.children(&workspace, &key, 9, None).await;
            assert!(matches!(parts, Err(Error::Missing { .. })));
        }
        let there = bed.store.issues(&elsewhere(), &IssueQuery::default()).await.unwrap();
        assert_eq!((there.items, there.next), (vec![], None));
    }

    async fn lists_hold_what_they_are_asked_for_newest_first(bed: Bed) {
        let (ada, bob) = (bed.ada().await, bed.member("bob").await);
        let owners = [None, Some(person(&bob)), Some(agent("writer"))];
        let mut made = Vec::new();
        for (second, status) in (1..).zip([IssueStatus::Backlog, IssueStatus::Done].into_iter().cycle().take(9)) {
            let new = NewIssue {
                description: "long".to_owned(),
                status,
                assignee: owners[usize::try_from(second).unwrap() % 3].clone(),
                no_start: true,
                ..titled("one of nine")
            };
            made.insert(0, listed(&bed.issue(&ada, new, at(second)).await));
        }
        for status in [None, Some(IssueStatus::Backlog), Some(IssueStatus::Done), Some(IssueStatus::Todo)] {
            for owner in &owners {
                let query = IssueQuery {
                    status,
                    assignee: owner.as_ref().map(Recipient::to_string),
                    ..IssueQuery::default()
                };
                let fits = |issue: &&Issue| {
                    status.is_none_or(|status| issue.status == status)
                        && (owner.is_none() || issue.assignee == *owner)
                };
                let wanted: Vec<_> = made.iter().filter(fits).cloned().collect();
                assert_eq!(all(&bed, &query).await, wanted, "{query:?}");
            }
        }
        for (assignee, project, limit, cursor) in [
            (Some("bob"), None, None, None), (Some("agent:a\0"), None, None, None), (None, Some("a\0"), None, None),
            (None, None, Some(0), None), (None, None, None, Some("-1")),
        ] {
            let wrong = IssueQuery {
                assignee: assignee.map(str::to_owned),
                project: project.map(str::to_owned),
                limit,
                cursor: cursor.map(str::to_owned),
                ..IssueQuery::default()
            };
            let refused = bed.store.issues(&workspace(), &wrong).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{wrong:?}");
        }
    }

    async fn what_no_issue_can_have_is_refused(bed: Bed) {
        let (ada, stranger) = (bed.ada().await, bed.store.member(&elsewhere(), "eve", at(0)).await.unwrap());
        let long = "x".repeat(limits::TITLE_BYTES + 1);
        let huge = "x".repeat(limits::DESCRIPTION_BYTES + 1);
        let assigned = |to: Recipient| NewIssue { assignee: Some(to), ..titled("a") };
        for (wrong, wanted) in [
            (titled(""), "title"),
            (titled(" \t"), "title"),
            (titled("two\nlines"), "title"),
            (titled("\u{1b}]0;title\u{7}"), "title"),
            (titled(&long), "title"),
            (NewIssue { description: huge, ..titled("a") }, "description"),
            (NewIssue { description: "a\0b".to_owned(), ..titled("a") }, "description"),
            (NewIssue { priority: 1001, ..titled("a") }, "priority"),
            (NewIssue { priority: i32::MIN, ..titled("a") }, "priority"),
            (NewIssue { stage: Some(1), ..titled("a") }, "stage"),
            (part_of("TEAMA-1", Some(0)), "stage"),
            (part_of("TEAMA-1", Some(1001)), "stage"),
        ] {
            let refused = bed.store.create_issue(&ada, wrong.clone(), &AGENTS, at(1)).await;
            assert!(matches!(refused, Err(Error::Invalid { what, .. }) if what == wanted), "{wrong:?}: {refused:?}");
        }
        for missing in [
            part_of("TEAMA-1", None),
            assigned(agent("nobody")),
            assigned(person(&stranger)),
            assigned(Recipient { id: "bob".to_owned(), ..person(&stranger) }),
        ] {
            let refused = bed.store.create_issue(&ada, missing.clone(), &AGENTS, at(1)).await;
            assert!(matches!(refused, Err(Error::Missing { .. })), "{missing:?}: {refused:?}");
        }
        assert_eq!(all(&bed, &IssueQuery::default()).await, []);
    }

    async fn an_edit_changes_what_it_names_and_nothing_else(bed: Bed) {
        let (ada, bob) = (bed.ada().await, bed.member("bob").await);
        let new = NewIssue { description: "why".to_owned(), assignee: Some(person(&bob)), ..titled("before") };
        let before = bed.issue(&ada, new, at(1)).await;
        let edit = IssueEdit {
            revision: Some(1),
            title: Some(" after ".to_owned()),
            status: Some(IssueStatus::InProgress),
            ..IssueEdit::default()
        };
        let after = bed.store.edit_issue(&ada, &before.key, edit, &AGENTS, at(5)).await.unwrap().issue;
        let wanted = Issue {
            title: "after".to_owned(),
            status: IssueStatus::InProgress,
            revision: 2,
            updated: at(5),
            ..before
        };
        assert_eq!(after, wanted);
        let edit = IssueEdit { assignee: Some(None), priority: Some(3), ..IssueEdit::default() };
        let after = bed.store.edit_issue(&ada, &wanted.key, edit, &AGENTS, at(6)).await.unwrap().issue;
        let wanted = Issue { assignee: None, priority: 3, revision: 3, updated: at(6), ..wanted };
        assert_eq!(after, wanted);
        assert_eq!(bed.store.issue(&workspace(), &wanted.key).await.unwrap(), Some(wanted));
    }

    async fn an_edit_that_changes_nothing_is_none(bed: Bed) {
        let ada = bed.ada().await;
        let issue = bed.issue(&ada, titled("same"), at(1)).await;
        let same = IssueEdit { title: Some("same ".to_owned()), assignee: Some(None), ..IssueEdit::default() };
        for edit in [IssueEdit::default(), same] {
            let saved = bed.store.edit_issue(&ada, &issue.key, edit, &AGENTS, at(5)).await.unwrap();
            assert_eq!((saved.issue, saved.wakes), (issue.clone(), vec![]));
        }
        assert_eq!(bed.store.issue(&workspace(), &issue.key).await.unwrap(), Some(issue));
    }

    async fn who_has_not_read_the_present_one_changes_nothing(bed: Bed) {
        let ada = bed.ada().await;
        let issue = bed.issue(&ada, titled("raced"), at(1)).await;
        let edits = (0..6).map(|number| {
            let (bed, ada, key) = (bed.clone(), ada.clone(), issue.key.clone());
            let edit = IssueEdit { revision: Some(1), priority: Some(number + 1), ..IssueEdit::default() };
            tokio::spawn(async move { bed.store.edit_issue(&ada, &key, edit, &AGENTS, at(2)).await })
        });
        let (mut won, mut lost) = (Vec::new(), 0);
        for edit in edits.collect::<Vec<_>>() {
            match edit.await.unwrap() {
                Ok(saved) => won.push(saved.issue),
                Err(Error::Revision { present: 2 }) => lost += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!((won.len(), lost), (1, 5));
        assert_eq!(bed.store.issue(&workspace(), &issue.key).await.unwrap(), won.pop());
        let nobodys = bed.store.edit_issue(&ada, &key("TEAMA-2"), IssueEdit::default(), &AGENTS, at(3)).await;
        assert!(matches!(nobodys, Err(Error::Missing { .. })));
        let unknown = IssueEdit { assignee: Some(Some(agent("nobody"))), ..IssueEdit::default() };
        let refused = bed.store.edit_issue(&ada, &issue.key, unknown, &AGENTS, at(3)).await;
        assert!(matches!(refused, Err(Error::Missing { .. })));
        let wrong = IssueEdit { title: Some(String::new()), ..IssueEdit::default() };
        let refused = bed.store.edit_issue(&ada, &issue.key, wrong, &AGENTS, at(3)).await;
        assert!(matches!(refused, Err(Error::Invalid { what: "title", .. })));
    }

    async fn parts_are_listed_in_the_order_of_their_making(bed: Bed) {
        let ada = bed.ada().await;
        bed.issue(&ada, titled("whole"), at(1)).await;
        let mut parts = Vec::new();
        for (second, stage) in (2..).zip([Some(2), None, Some(1)]) {
            parts.push(listed(&bed.issue(&ada, part_of("TEAMA-1", stage), at(second)).await));
        }
        bed.issue(&ada, part_of("TEAMA-2", None), at(9)).await;
        let first = bed.store.children(&workspace(), &key("TEAMA-1"), 2, None).await.unwrap();
        assert_eq!(first.items, parts[..2]);
        let rest = bed.store.children(&workspace(), &key("TEAMA-1"), 2, first.next.as_deref()).await.unwrap();
        assert_eq!((rest.items.as_slice(), rest.next), (&parts[2..], None));
        let none = bed.store.children(&workspace(), &key("TEAMA-3"), 2, None).await.unwrap();
        assert_eq!(none.items, []);
    }

    async fn an_issue_has_a_bounded_number_of_parts(bed: Bed) {
        // Made behind the store's back, since a thousand writes take long.
        const SQLITE: &str = "WITH RECURSIVE n (number) AS (SELECT 2 UNION ALL SELECT number + 1 FROM n WHERE number < 1000) \
            INSERT INTO issues (id, namespace_uid, number, title, description, status, priority, author_kind, author_id, \
            author_name, parent, revision, created_at, updated_at) SELECT randomblob(16), issues.namespace_uid, n.number, \
            'a part', '', 'todo', 0, author_kind, author_id, author_name, 1, 1, 0, 0 FROM n JOIN issues ON issues.number = 1";
        const POSTGRES: &str = "INSERT INTO issues (id, namespace_uid, number, title, description, status, priority, \
            author_kind, author_id, author_name, parent, revision, created_at, updated_at) SELECT gen_random_uuid(), \
            issues.namespace_uid, n, 'a part', '', 'todo', 0, author_kind, author_id, author_name, 1, 1, 0, 0 \
            FROM generate_series(2, 1000) AS n JOIN issues ON issues.number = 1";
        let ada = bed.ada().await;
        bed.issue(&ada, titled("whole"), at(1)).await;
        bed.execute_aside(if bed.is_sqlite() { SQLITE } else { POSTGRES }).await;
        bed.execute_aside("UPDATE workspaces SET last_number = 1000").await;
        assert_eq!(CHILDREN, 1000);
        bed.issue(&ada, part_of("TEAMA-1", None), at(2)).await;
        let refused = bed.store.create_issue(&ada, part_of("TEAMA-1", None), &AGENTS, at(3)).await;
        assert!(matches!(refused, Err(Error::Invalid { what: "parent", .. })));
        bed.issue(&ada, part_of("TEAMA-2", None), at(3)).await;
    }
}
