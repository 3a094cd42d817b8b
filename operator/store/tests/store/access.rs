//! A person's token is shown once, works until its end, and can be ended.

use jiff::{Timestamp, ToSpan as _};
use protocol::board::{MintedToken, NewAccessToken};
use protocol::{Credential, TokenId, limits};
use store::{Error, TokenHolder, TokenKind};

use crate::bed::{Bed, at, both};

const LIFE: i64 = limits::LOGIN_LIFE.as_secs() as i64;

fn groups() -> Vec<String> {
    ["devs", "system:authenticated"].map(str::to_owned).to_vec()
}

fn for_days(days: u32) -> NewAccessToken {
    NewAccessToken {
        label: "nightly".to_owned(),
        days,
    }
}

async fn login(bed: &Bed, object: &str, user: &str, now: Timestamp) -> Option<MintedToken> {
    bed.store
        .exchange_login(object, user, &groups(), now)
        .await
        .unwrap()
}

async fn mint(bed: &Bed, user: &str, days: u32, now: Timestamp) -> Result<MintedToken, Error> {
    bed.store
        .mint_token(user, &groups(), &for_days(days), now)
        .await
}

async fn holder(bed: &Bed, minted: &MintedToken, now: Timestamp) -> Option<TokenHolder> {
    let hash = Credential::token_hash(&minted.token.clone().into());
    bed.store.authenticate_person(hash, now).await.unwrap()
}

async fn listed(bed: &Bed, user: &str, now: Timestamp) -> Vec<TokenId> {
    let page = bed.store.access_tokens(user, 200, None, now).await.unwrap();
    assert_eq!(page.next, None);
    page.items.iter().map(|token| token.id).collect()
}

both! {
    async fn a_login_is_exchanged_once(bed: Bed) {
        let minted = login(&bed, "object", "ada", at(0)).await.unwrap();
        assert_eq!((minted.user.as_str(), minted.record.label.as_str()), ("ada", "login"));
        assert!(minted.token.starts_with("mrp_") && minted.token.starts_with(&minted.record.prefix));
        assert_eq!(minted.record.prefix.len(), 8);
        let wanted = TokenHolder {
            id: minted.record.id,
            user: "ada".to_owned(),
            groups: groups(),
            kind: TokenKind::Login,
            expires: at(LIFE),
        };
        assert_eq!(holder(&bed, &minted, at(1)).await, Some(wanted));
        assert!(login(&bed, "object", "ada", at(2)).await.is_none());
        assert!(login(&bed, "object", "eve", at(2)).await.is_none());
        assert_eq!(listed(&bed, "ada", at(3)).await, [minted.record.id]);
        let second = login(&bed, "object 2", "ada", at(4)).await.unwrap();
        assert_ne!(second.token, minted.token);
    }

    async fn of_exchanges_at_once_one_succeeds(bed: Bed) {
        let exchanges = (0..6).map(|_| {
            let bed = bed.clone();
            tokio::spawn(async move { login(&bed, "object", "ada", at(0)).await.is_some() })
        });
        let mut succeeded = 0;
        for exchange in exchanges.collect::<Vec<_>>() {
            succeeded += usize::from(exchange.await.unwrap());
        }
        assert_eq!((succeeded, listed(&bed, "ada", at(1)).await.len()), (1, 1));
    }

    async fn a_token_works_until_its_end_and_not_after(bed: Bed) {
        let token = mint(&bed, "ada", 1, at(0)).await.unwrap();
        let end = 24 * 3600;
        let found = holder(&bed, &token, at(end - 1)).await.unwrap();
        assert_eq!((found.kind, found.expires), (TokenKind::Personal, at(end)));
        assert_eq!(holder(&bed, &token, at(end)).await, None);
        assert_eq!(listed(&bed, "ada", at(end)).await, []);
        assert_eq!(bed.store.authenticate_person([0; 32], at(1)).await.unwrap(), None);
    }

    async fn its_use_is_noted_to_the_minute(bed: Bed) {
        let token = mint(&bed, "ada", 1, at(0)).await.unwrap();
        for (second, noted) in [(10, 10), (69, 10), (70, 70), (200, 200), (100, 200)] {
            holder(&bed, &token, at(second)).await.unwrap();
            let page = bed.store.access_tokens("ada", 9, None, at(second)).await.unwrap();
            assert_eq!(page.items[0].last_used, Some(at(noted)), "{second}");
        }
    }

    async fn its_owner_ends_it_and_nobody_else(bed: Bed) {
        let token = mint(&bed, "ada", 1, at(0)).await.unwrap();
        assert!(!bed.store.revoke_token("eve", token.record.id).await.unwrap());
        assert!(holder(&bed, &token, at(1)).await.is_some());
        assert!(bed.store.revoke_token("ada", token.record.id).await.unwrap());
        assert_eq!(holder(&bed, &token, at(2)).await, None);
        assert!(!bed.store.revoke_token("ada", token.record.id).await.unwrap());
    }

    async fn tokens_are_listed_newest_first_and_ones_own_only(bed: Bed) {
        let mut wanted = Vec::new();
        for second in 1..=3 {
            wanted.insert(0, mint(&bed, "ada", 1, at(second)).await.unwrap().record);
            mint(&bed, "eve", 1, at(second)).await.unwrap();
        }
        let first = bed.store.access_tokens("ada", 2, None, at(9)).await.unwrap();
        assert_eq!(first.items, wanted[..2]);
        let rest = bed.store.access_tokens("ada", 2, first.next.as_deref(), at(9)).await.unwrap();
        assert_eq!((rest.items.as_slice(), rest.next), (&wanted[2..], None));
        let refused = bed.store.access_tokens("ada", 2, Some("x"), at(9)).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })));
    }

    async fn a_person_has_a_bounded_number_of_them(bed: Bed) {
        let most = limits::TOKENS_PER_PERSON;
        mint(&bed, "ada", 2, at(0)).await.unwrap();
        for _ in 1..most {
            mint(&bed, "ada", 1, at(0)).await.unwrap();
        }
        let refused = mint(&bed, "ada", 1, at(1)).await;
        assert!(matches!(refused, Err(Error::Invalid { what: "token", .. })));
        mint(&bed, "eve", 1, at(1)).await.unwrap();
        // What has ended makes room, and so does what is ended.
        let day = at(0).checked_add(24.hours()).unwrap();
        let last = mint(&bed, "ada", 1, day).await.unwrap();
        assert_eq!(listed(&bed, "ada", day).await.len(), 2);
        assert!(bed.store.revoke_token("ada", last.record.id).await.unwrap());
    }

    async fn one_more_login_ends_the_oldest(bed: Bed) {
        let most = i64::from(limits::TOKENS_PER_PERSON);
        let script = mint(&bed, "ada", 1, at(0)).await.unwrap();
        let mut logins = Vec::new();
        for number in 0..=most {
            logins.push(login(&bed, &format!("object {number}"), "ada", at(number)).await.unwrap());
        }
        assert_eq!(holder(&bed, &logins[0], at(most)).await, None);
        for kept in logins[1..].iter().chain([&script]) {
            assert!(holder(&bed, kept, at(most)).await.is_some());
        }
    }

    async fn what_no_token_can_have_is_refused(bed: Bed) {
        for days in [0, limits::TOKEN_DAYS + 1] {
            let refused = mint(&bed, "ada", days, at(0)).await;
            assert!(matches!(refused, Err(Error::Invalid { what: "days", .. })));
        }
        for label in ["", "two\nlines", &"x".repeat(201)] {
            let new = NewAccessToken { label: label.to_owned(), days: 1 };
            let refused = bed.store.mint_token("ada", &groups(), &new, at(0)).await;
            assert!(matches!(refused, Err(Error::Invalid { what: "label", .. })), "{label:?}");
        }
        for (user, group) in [("", "devs"), (" ada", "devs"), ("ada", "de\u{1b}vs")] {
            let refused = bed.store.exchange_login("object", user, &[group.to_owned()], at(0)).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{user:?} {group:?}");
        }
        let many = vec!["g".to_owned(); 1025];
        let refused = bed.store.exchange_login("object", "ada", &many, at(0)).await;
        assert!(matches!(refused, Err(Error::Invalid { what: "groups", .. })));
        assert!(login(&bed, "object", "ada", at(0)).await.is_some(), "a refused one is not used up");
    }
}
