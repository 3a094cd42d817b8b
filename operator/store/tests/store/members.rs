//! A person is a member from the first call on.

use store::Error;
use uuid::Uuid;

use crate::bed::{Bed, at, both};
use crate::board::{elsewhere, workspace};

both! {
    async fn the_first_call_makes_a_member_and_later_ones_find_it(bed: Bed) {
        let first = bed.store.member(&workspace(), "ada", at(1)).await.unwrap();
        assert_eq!((first.user.as_str(), first.since), ("ada", at(1)));
        let again = bed.store.member(&workspace(), "ada", at(9)).await.unwrap();
        assert_eq!(again, first);
        let found = bed.store.member_by_id(&workspace(), first.id).await.unwrap();
        assert_eq!(found, Some(first));
    }

    async fn first_calls_at_once_make_one_member(bed: Bed) {
        let calls = (0..8).map(|_| {
            let store = bed.store.clone();
            tokio::spawn(async move { store.member(&workspace(), "ada", at(1)).await.unwrap().id })
        });
        let mut ids = Vec::new();
        for call in calls.collect::<Vec<_>>() {
            ids.push(call.await.unwrap());
        }
        ids.dedup();
        assert_eq!(ids.len(), 1);
    }

    async fn a_workspace_knows_its_own_members_only(bed: Bed) {
        let here = bed.store.member(&workspace(), "ada", at(1)).await.unwrap();
        let there = bed.store.member(&elsewhere(), "ada", at(2)).await.unwrap();
        assert_ne!(here.id, there.id);
        assert_eq!(bed.store.member_by_id(&workspace(), there.id).await.unwrap(), None);
        let listed = bed.store.members(&elsewhere(), 9, None).await.unwrap();
        assert_eq!((listed.items, listed.next), (vec![there], None));
    }

    async fn members_come_in_pages_the_first_ones_first(bed: Bed) {
        let mut wanted = Vec::new();
        for (second, user) in (1..).zip(["eve", "dan", "cyd", "bob", "ada"]) {
            wanted.push(bed.store.member(&workspace(), user, at(second)).await.unwrap());
        }
        let (mut seen, mut pages, mut cursor) = (Vec::new(), 0, None);
        loop {
            let page = bed.store.members(&workspace(), 2, cursor.as_deref()).await.unwrap();
            seen.extend(page.items);
            (pages, cursor) = (pages + 1, page.next);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((seen, pages), (wanted, 3));
        for (limit, cursor) in [(0, None), (201, None), (2, Some("page 2"))] {
            let refused = bed.store.members(&workspace(), limit, cursor).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{limit} {cursor:?}");
        }
    }

    async fn what_is_no_user_name_is_refused(bed: Bed) {
        for wrong in ["", " ada", "ada\n", "a\u{1b}[31mda", "a\0", &"a".repeat(1025)] {
            let refused = bed.store.member(&workspace(), wrong, at(1)).await;
            assert!(matches!(refused, Err(Error::Invalid { what: "user name", .. })), "{wrong:?}");
        }
        let nobody = protocol::MemberId(Uuid::now_v7());
        assert_eq!(bed.store.member_by_id(&workspace(), nobody).await.unwrap(), None);
    }
}
