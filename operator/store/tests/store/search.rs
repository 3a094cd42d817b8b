//! What was written is found by its words, within what one may see, as it stands now.

use protocol::board::{
    CommentEdit, IssueEdit, IssueKey, NewComment, NewIssue, SearchHit, SearchQuery,
};
use protocol::{CommentId, limits};
use store::{Acting, Error, SearchScope, WorkspaceRef};

use crate::bed::{Bed, at, both};
use crate::board::{AGENTS, elsewhere, titled, workspace};

fn query(words: &str) -> SearchQuery {
    SearchQuery {
        q: words.to_owned(),
        ..SearchQuery::default()
    }
}

async fn search(
    bed: &Bed,
    place: &WorkspaceRef,
    scope: SearchScope<'_>,
    words: &str,
) -> Vec<SearchHit> {
    let page = bed.store.search(place, scope, &query(words)).await.unwrap();
    assert_eq!(page.next, None);
    page.items
}

/// Numbers of the issues in which words are found, and whether in a comment.
async fn found(bed: &Bed, words: &str) -> Vec<(u32, Option<CommentId>)> {
    let hits = search(bed, &workspace(), SearchScope::Workspace, words).await;
    hits.into_iter()
        .map(|hit| (hit.issue.number, hit.comment))
        .collect()
}

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

fn described(title: &str, description: &str) -> NewIssue {
    NewIssue {
        description: description.to_owned(),
        ..titled(title)
    }
}

both! {
    async fn titles_descriptions_and_comments_are_found_newest_first(bed: Bed) {
        let ada = bed.ada().await;
        let one = bed.issue(&ada, described("Login is slow", "It takes\n\nforever in **Berlin**."), at(1)).await;
        let two = bed.issue(&ada, titled("Colours of the login page"), at(2)).await;
        let comment = say(&bed, &ada, &one.key, "The log-in of `src/main.rs:17` waits in berlin, too.", 3).await;
        assert_eq!(found(&bed, "login").await, [(two.key.number, None), (one.key.number, None)]);
        assert_eq!(found(&bed, "BERLIN").await, [(1, Some(comment)), (1, None)]);
        assert_eq!(found(&bed, "main.rs").await, [(1, Some(comment))]);
        assert_eq!(found(&bed, "17 berlin waits").await, [(1, Some(comment))]);
        // All of them in one text.
        assert_eq!(found(&bed, "slow berlin").await, [(1, None)]);
        assert_eq!(found(&bed, "colours berlin").await, []);
        assert_eq!(found(&bed, "logi").await, [], "whole words");
        assert_eq!(found(&bed, "LOGI* pag*").await, [(two.key.number, None)], "or how they begin");
        assert_eq!(found(&bed, "*ogin gin*").await, [], "and not how they end");
        let hits = search(&bed, &workspace(), SearchScope::Workspace, "forever").await;
        let wanted = SearchHit {
            issue: one.key,
            title: "Login is slow".to_owned(),
            status: one.status,
            comment: None,
            author: ada.author.clone(),
            created: at(1),
            snippet: "It takes forever in **Berlin**.".to_owned(),
        };
        assert_eq!(hits, [wanted]);
    }

    async fn what_is_changed_is_found_anew_and_what_is_deleted_is_not(bed: Bed) {
        let ada = bed.ada().await;
        let issue = bed.issue(&ada, titled("apples"), at(1)).await;
        let comment = say(&bed, &ada, &issue.key, "cherries", 2).await;
        let root = say(&bed, &ada, &issue.key, "cherries in a thread", 3).await;
        let answer = NewComment { body: "plums".to_owned(), parent: Some(root), ..NewComment::default() };
        bed.store.post_comment(&ada, &issue.key, answer, &AGENTS, at(4)).await.unwrap();
        let edit = IssueEdit { title: Some("pears".to_owned()), ..IssueEdit::default() };
        bed.store.edit_issue(&ada, &issue.key, edit, &AGENTS, at(5)).await.unwrap();
        let edit = CommentEdit { revision: None, body: "dates".to_owned() };
        bed.store.edit_comment(&ada, comment, edit, &AGENTS, at(6)).await.unwrap();
        assert_eq!(found(&bed, "apples").await, []);
        assert_eq!(found(&bed, "pears").await, [(1, None)]);
        assert_eq!(found(&bed, "cherries").await, [(1, Some(root))]);
        assert_eq!(found(&bed, "dates").await, [(1, Some(comment))]);
        // Also one whose place stays because it has replies.
        for gone in [comment, root] {
            bed.store.delete_comment(&ada, gone, at(7)).await.unwrap();
        }
        assert_eq!(found(&bed, "dates").await, []);
        assert_eq!(found(&bed, "cherries").await, []);
        assert_eq!(found(&bed, "plums").await.len(), 1);
    }

    async fn nothing_is_found_beyond_what_one_may_see(bed: Bed) {
        let ada = bed.ada().await;
        let whole = bed.issue(&ada, titled("secret whole"), at(1)).await;
        let own = bed.issue(&ada, NewIssue { parent: Some(whole.key.clone()), ..titled("secret own") }, at(2)).await;
        let part = bed.issue(&ada, NewIssue { parent: Some(own.key.clone()), ..titled("secret part") }, at(3)).await;
        let below = bed.issue(&ada, NewIssue { parent: Some(part.key.clone()), ..titled("secret below") }, at(4)).await;
        let other = bed.issue(&ada, titled("secret other"), at(5)).await;
        for issue in [&whole, &own, &part, &below, &other] {
            say(&bed, &ada, &issue.key, &format!("secret word on {}", issue.title), 6).await;
        }
        let hits = search(&bed, &workspace(), SearchScope::Issue(&own.key), "secret").await;
        let seen: Vec<_> = hits.iter().map(|hit| (hit.issue.number, hit.comment.is_some())).collect();
        assert_eq!(seen, [(3, true), (2, true), (3, false), (2, false)]);
        assert_eq!(found(&bed, "secret").await.len(), 10);
        assert_eq!(search(&bed, &elsewhere(), SearchScope::Workspace, "secret").await, []);
        assert_eq!(search(&bed, &elsewhere(), SearchScope::Issue(&own.key), "secret").await, []);
        // The index's own words are nobody's.
        let place = workspace().namespace_uid.replace('-', "");
        for word in [format!("w{place}"), format!("i{place}x2")] {
            assert_eq!(found(&bed, &word).await, []);
        }
    }

    async fn a_search_comes_in_pages(bed: Bed) {
        let ada = bed.ada().await;
        for number in 1..=7 {
            bed.issue(&ada, titled(&format!("needle {number}")), at(number)).await;
        }
        let mut asked = SearchQuery { limit: Some(3), ..query("needle") };
        let mut numbers = Vec::new();
        loop {
            let page = bed.store.search(&workspace(), SearchScope::Workspace, &asked).await.unwrap();
            numbers.push(page.items.iter().map(|hit| hit.issue.number).collect::<Vec<_>>());
            asked.cursor = page.next;
            if asked.cursor.is_none() {
                break;
            }
            // What comes meanwhile is newer, and moves nothing.
            bed.issue(&ada, titled("needle, too"), at(9)).await;
        }
        assert_eq!(numbers, [vec![7, 6, 5], vec![4, 3, 2], vec![1]]);
    }

    async fn what_is_typed_is_words_and_nothing_else(bed: Bed) {
        let ada = bed.ada().await;
        bed.issue(&ada, described("Größe der ÜBERSICHT", "naïve Ελληνικά 日本語 c++ NEAR"), at(1)).await;
        for words in ["größe", "Größe", "übersicht", "Übersicht", "ÜBERSICHT", "NAÏVE", "Ελληνικά", "日本語", "c++", "near"] {
            assert_eq!(found(&bed, words).await, [(1, None)], "{words}");
        }
        for hostile in [
            "near\" OR \"x", "near* x", "NEAR(a b)", "-near x", "words:near", "place : w1", "near') | ('x", "a' & !'b",
            "(a+)+$", "\\", "near\\", "%_", "{words} : x", "^near x", "near AND", "a:*", "' near", "\u{1b}[31mx",
        ] {
            let answer = bed.store.search(&workspace(), SearchScope::Workspace, &query(hostile)).await;
            match answer {
                // `AND` is a word that does not stand there.
                Ok(page) => assert!(page.items.is_empty() || hostile == "' near" || hostile == "near\\", "{hostile}"),
                Err(error) => assert!(matches!(error, Error::Invalid { .. }), "{hostile}: {error}"),
            }
        }
        for (wrong, limit, cursor) in [
            ("", None, None), ("?!", None, None), ("x", Some(0), None), ("x", Some(201), None), ("x", None, Some("y")),
        ] {
            let wrong = SearchQuery { limit, cursor: cursor.map(str::to_owned), ..query(wrong) };
            let refused = bed.store.search(&workspace(), SearchScope::Workspace, &wrong).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{wrong:?}");
        }
    }

    async fn the_longest_texts_are_found_by_their_last_word(bed: Bed) {
        let ada = bed.ada().await;
        // As many different words as a text can hold.
        let mut words: String = (0..).map(|number| format!("{number:x} ")).take(50_000).collect();
        words.truncate(limits::DESCRIPTION_BYTES - 7);
        bed.issue(&ada, described("long", &format!("{words} needle")), at(1)).await;
        let issue = bed.issue(&ada, described("short", "of one word"), at(2)).await;
        let body = format!("{}needle", "x".repeat(limits::COMMENT_BYTES - 7) + " ");
        say(&bed, &ada, &issue.key, &body, 3).await;
        let hits = search(&bed, &workspace(), SearchScope::Workspace, "needle").await;
        let snippets: Vec<_> = hits.iter().map(|hit| hit.snippet.ends_with("needle")).collect();
        assert_eq!(snippets, [true, true]);
    }
}
