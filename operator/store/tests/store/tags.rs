//! Labels and metadata: a set and a map that edits change part by part, and lists that go by a label.

use std::collections::BTreeMap;

use protocol::board::{Issue, IssueEdit, IssueQuery, IssueStatus, NewIssue};
use protocol::limits;
use store::{Acting, Error};

use crate::bed::{Bed, at, both};
use crate::board::{AGENTS, elsewhere, titled, workspace};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

async fn edit(bed: &Bed, by: &Acting, issue: &Issue, edit: IssueEdit) -> Result<Issue, Error> {
    let saved = bed
        .store
        .edit_issue(by, &issue.key, edit, &AGENTS, at(9))
        .await;
    saved.map(|saved| saved.issue)
}

async fn labelled(bed: &Bed, asked: IssueQuery) -> Vec<u32> {
    let page = bed.store.issues(&workspace(), &asked).await.unwrap();
    page.items.iter().map(|issue| issue.key.number).collect()
}

fn with(label: &str) -> IssueQuery {
    IssueQuery {
        label: Some(label.to_owned()),
        ..IssueQuery::default()
    }
}

both! {
    async fn an_edit_changes_labels_and_metadata_part_by_part(bed: Bed) {
        let ada = bed.ada().await;
        let new = NewIssue {
            labels: words(&["ui", "bug"]),
            metadata: BTreeMap::from([("build".to_owned(), "17".to_owned()), ("host".to_owned(), "a".to_owned())]),
            ..titled("tagged")
        };
        let issue = bed.issue(&ada, new, at(1)).await;
        assert_eq!(issue.labels, ["bug", "ui"]);
        let change = IssueEdit {
            add_labels: words(&["area/api"]),
            remove_labels: words(&["ui", "never-there"]),
            metadata: BTreeMap::from([("build".to_owned(), Some("18".to_owned())), ("host".to_owned(), None)]),
            ..IssueEdit::default()
        };
        let after = edit(&bed, &ada, &issue, change.clone()).await.unwrap();
        assert_eq!(after.labels, ["area/api", "bug"]);
        assert_eq!(after.metadata, BTreeMap::from([("build".to_owned(), "18".to_owned())]));
        assert_eq!((after.revision, after.updated), (2, at(9)));
        assert_eq!(bed.store.issue(&workspace(), &issue.key).await.unwrap().as_ref(), Some(&after));
        // The same once more changes nothing.
        assert_eq!(edit(&bed, &ada, &issue, change).await.unwrap(), after);
        let listed = bed.store.issues(&workspace(), &with("bug")).await.unwrap().items;
        let wanted = Issue { metadata: BTreeMap::new(), description: String::new(), ..after };
        assert_eq!(listed, [wanted]);
        assert!(labelled(&bed, with("ui")).await.is_empty());
    }

    async fn lists_go_by_a_label_and_the_rest(bed: Bed) {
        let ada = bed.ada().await;
        for number in 1..=9 {
            let mut labels = vec!["all".to_owned()];
            if number % 3 == 0 {
                labels.push("third".to_owned());
            }
            let status = if number % 2 == 0 { IssueStatus::Done } else { IssueStatus::Todo };
            bed.issue(&ada, NewIssue { labels, status, ..titled("one of nine") }, at(number)).await;
        }
        assert_eq!(labelled(&bed, with("third")).await, [9, 6, 3]);
        let done = IssueQuery { status: Some(IssueStatus::Done), ..with("third") };
        assert_eq!(labelled(&bed, done).await, [6]);
        let theirs = IssueQuery { assignee: Some("agent:reviewer".to_owned()), ..with("third") };
        assert!(labelled(&bed, theirs).await.is_empty());
        let mut found = Vec::new();
        let mut asked = IssueQuery { limit: Some(2), ..with("all") };
        loop {
            let page = bed.store.issues(&workspace(), &asked).await.unwrap();
            found.extend(page.items.iter().map(|issue| issue.key.number));
            asked.cursor = page.next;
            if asked.cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, [9, 8, 7, 6, 5, 4, 3, 2, 1]);
        let others = bed.store.issues(&elsewhere(), &with("all")).await.unwrap();
        assert_eq!(others.items, []);
        assert!(matches!(bed.store.issues(&workspace(), &with("No Label")).await, Err(Error::Invalid { .. })));
    }

    async fn what_an_issue_cannot_have_changes_nothing(bed: Bed) {
        let ada = bed.ada().await;
        let issue = bed.issue(&ada, titled("plain"), at(1)).await;
        let many: Vec<_> = (0..=limits::LABELS).map(|each| format!("l{each}")).collect();
        for wrong in [
            IssueEdit { add_labels: words(&["Bug"]), ..IssueEdit::default() },
            IssueEdit { add_labels: many, ..IssueEdit::default() },
            IssueEdit {
                metadata: BTreeMap::from([("k".to_owned(), Some("x".repeat(limits::METADATA_BYTES)))]),
                ..IssueEdit::default()
            },
        ] {
            let refused = edit(&bed, &ada, &issue, wrong).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        }
        assert_eq!(bed.store.issue(&workspace(), &issue.key).await.unwrap(), Some(issue));
    }
}
