//! Files on issues: each there once, within its room, and never a row without its file.

use std::time::Duration;

use jiff::Timestamp;
use protocol::board::{Attachment, CommentQuery, History, IssueKey, NewComment};
use protocol::{AttachmentId, limits};
use sha2::{Digest as _, Sha256};
use store::{ATTACHMENTS, Acting, Added, Error, Files, Kept, Room};
use tokio::io::AsyncReadExt as _;
use uuid::Uuid;

use crate::bed::{Bed, at, both};
use crate::board::{AGENTS, elsewhere, titled, workspace};

const ROOM: Room = Room {
    issue: 1000,
    workspace: 2000,
};
const TEXT: (&str, &str) = ("notes.txt", "text/plain");

fn kept(number: u128, bytes: u64) -> Kept {
    Kept {
        id: AttachmentId(Uuid::from_u128(number)),
        bytes,
        digest: Sha256::digest(number.to_string()).into(),
    }
}

async fn add(bed: &Bed, by: &Acting, key: &IssueKey, file: Kept) -> Result<Added, Error> {
    bed.store
        .add_attachment(by, key, TEXT, file, ROOM, at(2))
        .await
}

async fn added(bed: &Bed, by: &Acting, key: &IssueKey, file: Kept) -> Attachment {
    match add(bed, by, key, file).await.unwrap() {
        Added::New(attachment) => attachment,
        Added::Before(before) => panic!("it was there before: {before:?}"),
    }
}

async fn all(bed: &Bed, key: &IssueKey) -> Vec<Attachment> {
    let page = bed.store.attachments(&workspace(), key, 200, None).await;
    page.unwrap().items
}

/// Asked for by what is there, as who got no answer does: one stays, one goes.
pub(crate) async fn speak(bed: &Bed, ada: &Acting, key: &IssueKey) -> Result<(), Error> {
    let store = &bed.store;
    for (number, bytes) in [(1, 10), (2, 20)] {
        add(bed, ada, key, kept(number, bytes)).await?;
    }
    if let Some((_, there)) = store.attachment(&workspace(), kept(2, 20).id).await? {
        store.delete_attachment(&workspace(), &there).await?;
    }
    let left = store.attachments(&workspace(), key, 9, None).await?;
    assert_eq!(left.items.len(), 1);
    Ok(())
}

both! {
    async fn a_comment_names_files_of_its_issue(bed: Bed) {
        let ada = bed.ada().await;
        let store = &bed.store;
        let issue = bed.issue(&ada, titled("one"), at(1)).await;
        let other = bed.issue(&ada, titled("other"), at(1)).await;
        let (one, two) = (added(&bed, &ada, &issue.key, kept(1, 10)).await, added(&bed, &ada, &issue.key, kept(2, 10)).await);
        let foreign = added(&bed, &ada, &other.key, kept(3, 10)).await;
        let with = |files: &[AttachmentId]| NewComment {
            body: "see the files".to_owned(),
            attachments: files.to_vec(),
            ..NewComment::default()
        };
        let post = async |files: &[AttachmentId], second| {
            store.post_comment(&ada, &issue.key, with(files), &AGENTS, at(second)).await
        };
        // Nothing is written where one of them is not there.
        for wrong in [vec![foreign.id], vec![one.id, AttachmentId(Uuid::nil())], vec![one.id; limits::COMMENT_FILES + 1]] {
            let refused = post(&wrong, 3).await;
            assert!(matches!(refused, Err(Error::Missing { .. } | Error::Invalid { .. })), "{refused:?}");
        }
        let query = CommentQuery::default();
        let listed = async || store.comments(&workspace(), &issue.key, &query).await.unwrap().items;
        assert_eq!(listed().await, []);
        let first = post(&[two.id, one.id, two.id], 3).await.unwrap().comment;
        assert_eq!(first.attachments, [one.clone(), two.clone()]);
        let second = post(&[one.id], 4).await.unwrap().comment;
        let none = post(&[], 5).await.unwrap().comment;
        assert_eq!(listed().await, [first.clone(), second.clone(), none]);
        let (_, found) = store.comment(&workspace(), first.id).await.unwrap().unwrap();
        assert_eq!(found, first);
        let history = store.history(&workspace(), &issue.key, 9, None).await.unwrap();
        let said = history.items.into_iter().filter_map(|entry| match entry.what {
            History::Comment { comment } => Some(comment.attachments.len()),
            History::Run { .. } => None,
        });
        assert_eq!(said.collect::<Vec<_>>(), [0, 1, 2]);
        // What is deleted comes with nothing any more, and a deleted comment with no file; the file stays.
        store.delete_attachment(&workspace(), &one).await.unwrap();
        let left: Vec<_> = listed().await.into_iter().map(|comment| comment.attachments).collect();
        assert_eq!(left, [vec![two.clone()], vec![], vec![]]);
        let reply = NewComment { parent: Some(first.id), ..with(&[]) };
        store.post_comment(&ada, &issue.key, reply, &AGENTS, at(6)).await.unwrap();
        store.delete_comment(&ada, first.id, at(7)).await.unwrap();
        assert_eq!(listed().await[0].attachments, []);
        assert_eq!(all(&bed, &issue.key).await, [two]);
    }

    async fn a_file_is_on_its_issue(bed: Bed) {
        let ada = bed.ada().await;
        let issue = bed.issue(&ada, titled("here"), at(1)).await;
        let file = kept(7, 42);
        let made = added(&bed, &ada, &issue.key, file).await;
        let wanted = Attachment {
            id: file.id,
            name: "notes.txt".to_owned(),
            media_type: "text/plain".to_owned(),
            bytes: 42,
            sha256: hex(file.digest),
            author: ada.author.clone(),
            created: at(2),
        };
        assert_eq!(made, wanted);
        assert_eq!(all(&bed, &issue.key).await, std::slice::from_ref(&wanted));
        let found = bed.store.attachment(&workspace(), file.id).await.unwrap();
        assert_eq!(found, Some((issue.key.clone(), wanted)));
        assert_eq!(bed.store.attachment(&elsewhere(), file.id).await.unwrap(), None);
        let absent = add(&bed, &ada, &"TEAMA-99".parse().unwrap(), kept(8, 1)).await;
        assert!(matches!(absent, Err(Error::Missing { .. })));
    }

    async fn the_same_file_is_there_once(bed: Bed) {
        let ada = bed.ada().await;
        let issue = bed.issue(&ada, titled("here"), at(1)).await;
        let first = added(&bed, &ada, &issue.key, kept(7, 600)).await;
        let again = Kept { id: AttachmentId(Uuid::from_u128(8)), ..kept(7, 600) };
        // Also where the issue would have no room for it.
        let found = add(&bed, &ada, &issue.key, again).await.unwrap();
        assert_eq!(found, Added::Before(first));
        let store = &bed.store;
        let named = store.add_attachment(&ada, &issue.key, ("other.txt", "text/plain"), Kept { bytes: 5, ..again }, ROOM, at(3));
        assert!(matches!(named.await.unwrap(), Added::New(_)));
        assert_eq!(all(&bed, &issue.key).await.len(), 2);
    }

    async fn room_is_kept_and_given_back(bed: Bed) {
        let ada = bed.ada().await;
        let one = bed.issue(&ada, titled("one"), at(1)).await.key;
        let two = bed.issue(&ada, titled("two"), at(1)).await.key;
        let three = bed.issue(&ada, titled("three"), at(1)).await.key;
        let full = added(&bed, &ada, &one, kept(1, 1000)).await;
        let refused = |result: Result<Added, Error>| matches!(result, Err(Error::Invalid { what: "attachment", .. }));
        assert!(refused(add(&bed, &ada, &one, kept(2, 1)).await));
        added(&bed, &ada, &two, kept(3, 1000)).await;
        // The workspace is full, whichever issue it is.
        assert!(refused(add(&bed, &ada, &three, kept(4, 1)).await));
        bed.store.delete_attachment(&workspace(), &full).await.unwrap();
        let again = bed.store.delete_attachment(&workspace(), &full).await;
        assert!(matches!(again, Err(Error::Missing { .. })));
        added(&bed, &ada, &three, kept(5, 1000)).await;
        assert!(refused(add(&bed, &ada, &one, kept(6, 1)).await));
    }

    async fn an_issue_has_so_many_files_and_no_more(bed: Bed) {
        let ada = bed.ada().await;
        let key = bed.issue(&ada, titled("here"), at(1)).await.key;
        for number in 0..u128::from(ATTACHMENTS) {
            added(&bed, &ada, &key, kept(number + 1, 1)).await;
        }
        let refused = add(&bed, &ada, &key, kept(1_000_000, 1)).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })));
        let first = bed.store.attachments(&workspace(), &key, 60, None).await.unwrap();
        let rest = bed.store.attachments(&workspace(), &key, 60, first.next.as_deref()).await.unwrap();
        assert_eq!((first.items.len(), rest.items.len(), rest.next), (60, 40, None));
    }

    async fn a_name_is_no_path(bed: Bed) {
        let ada = bed.ada().await;
        let key = bed.issue(&ada, titled("here"), at(1)).await.key;
        let long = "x".repeat(limits::FILE_NAME_BYTES + 1);
        for wrong in ["", "..", ".", "a/b", "..\\x", "a\nb", &long] {
            let refused = bed.store.add_attachment(&ada, &key, (wrong, "text/plain"), kept(1, 1), ROOM, at(2)).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{wrong:?}");
        }
    }

    async fn a_file_without_a_row_goes_and_one_with_a_row_stays(bed: Bed) {
        let ada = bed.ada().await;
        let key = bed.issue(&ada, titled("here"), at(1)).await.key;
        let folder = tempfile::tempdir().unwrap();
        let files = Files::open(&folder.path().join("attachments")).unwrap();
        let mut ids = Vec::new();
        for content in ["stays", "goes"] {
            let mut incoming = files.begin(at(2)).await.unwrap();
            incoming.write(content.as_bytes()).await.unwrap();
            ids.push(incoming.keep().await.unwrap());
        }
        add(&bed, &ada, &key, ids[0]).await.unwrap();
        let path = folder.path().join("attachments").join(ids[1].id.to_string());
        let now = Timestamp::try_from(path.metadata().unwrap().modified().unwrap()).unwrap();
        // It may still be on its way to its row.
        assert_eq!(files.sweep(&bed.store, now).await.unwrap(), 0);
        let later = now + Duration::from_secs(2 * 3600);
        assert_eq!(files.sweep(&bed.store, later).await.unwrap(), 1);
        files.read(ids[0].id).await.unwrap();
        assert!(matches!(files.read(ids[1].id).await, Err(Error::File { .. })));
    }
}

#[tokio::test]
async fn a_file_is_kept_as_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("attachments");
    let files = Files::open(&root).unwrap();
    let mut incoming = files.begin(at(1)).await.unwrap();
    for chunk in ["one ", "two"] {
        incoming.write(chunk.as_bytes()).await.unwrap();
    }
    let kept = incoming.keep().await.unwrap();
    assert_eq!(kept.bytes, 7);
    assert_eq!(kept.digest, <[u8; 32]>::from(Sha256::digest("one two")));
    let mut content = String::new();
    let mut file = files.read(kept.id).await.unwrap();
    file.read_to_string(&mut content).await.unwrap();
    assert_eq!(content, "one two");
    files.remove(kept.id).await.unwrap();
    files.remove(kept.id).await.unwrap();
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
}

#[tokio::test]
async fn what_was_on_its_way_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::open(folder.path()).unwrap();
    let mut incoming = files.begin(at(1)).await.unwrap();
    incoming.write(b"half").await.unwrap();
    drop(incoming);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // Nor when the operator died over it.
    let mut incoming = files.begin(at(1)).await.unwrap();
    incoming.write(b"half").await.unwrap();
    std::mem::forget(incoming);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    Files::open(folder.path()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(files.has_room(1).unwrap());
    assert!(!files.has_room(u64::MAX).unwrap());
}

fn hex(digest: [u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
