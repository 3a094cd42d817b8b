//! Files on issues, as they come and go over the wire.

use axum::body::Body;
use http::Method;
use http::header::{
    CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use store::Room;

use crate::bed::both;
use crate::board::{Voice, items, text, working_on};

fn sha256(content: &str) -> String {
    hex::encode(Sha256::digest(content))
}

/// How many files lie in the folder.
fn files(folder: &tempfile::TempDir) -> usize {
    std::fs::read_dir(folder.path()).unwrap().count()
}

both! {
    async fn a_file_comes_back_as_it_went(bed: Bed) {
        let (bed, folder) = bed.with_files();
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("with a file").await;
        let path = format!("/issues/{issue}/attachments");
        let content = json!({"any": "content"});
        let added = ada.post(&format!("{path}?name=%C3%A4%20b.json"), &content).await.ok();
        assert_eq!(
            (&added["name"], &added["bytes"], &added["sha256"], &added["author"]["name"]),
            (&json!("ä b.json"), &json!(17), &json!(sha256(&content.to_string())), &json!("ada"))
        );
        let one = format!("/attachments/{}", text(&added["id"]));
        let got = ada.get(&one).await;
        assert_eq!((got.status.as_u16(), got.text.clone()), (200, content.to_string()));
        for (name, wanted) in [
            (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
            (CONTENT_SECURITY_POLICY, "sandbox".to_owned()),
            (CONTENT_TYPE, "application/json".to_owned()),
            (CONTENT_DISPOSITION, "attachment; filename*=UTF-8''%C3%A4%20b.json".to_owned()),
            (ETAG, format!("\"{}\"", sha256(&content.to_string()))),
        ] {
            // What the tests send has no type of its own.
            if name != CONTENT_TYPE {
                assert_eq!(got.headers[&name], wanted, "{name}");
            }
        }
        // Sent again it is there once.
        let again = ada.post(&format!("{path}?name=%C3%A4%20b.json"), &content).await.ok();
        assert_eq!(again, added);
        assert_eq!((items(&ada.get(&path).await.ok()).len(), files(&folder)), (1, 1));
        ada.delete(&one).await.ok();
        assert_eq!(ada.get(&one).await.refusal(), (404, "notFound".to_owned()));
        assert_eq!((items(&ada.get(&path).await.ok()).len(), files(&folder)), (0, 0));
    }

    async fn what_is_refused_leaves_nothing(bed: Bed) {
        let (bed, folder) = bed.with_files();
        let bed = bed.with(|parts| {
            parts.files = Some(store::Files::open(folder.path()).unwrap());
            parts.limits.attachment_bytes = 20;
            parts.limits.room = Room { issue: 30, workspace: 35 };
        });
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("full").await;
        let put = async |issue: &str, query: &str, content: &Value| {
            let answer = ada.post(&format!("/issues/{issue}/attachments{query}"), content).await;
            (answer.status.as_u16() != 200).then(|| answer.refusal())
        };
        let invalid = Some((400, "invalidRequest".to_owned()));
        let body = json!("0123456789");
        for wrong in ["", "?name=", "?name=a%2Fb", "?name=..", "?name=a%1Bb",  "?name=a&x=1"] {
            assert_eq!(put(&issue, wrong, &body).await, invalid, "{wrong}");
        }
        let long = json!("0123456789012345678901234");
        assert_eq!(put(&issue, "?name=long", &long).await, Some((413, "bodyTooLarge".to_owned())));
        assert_eq!(put("TEAMA-99", "?name=a", &body).await, Some((404, "notFound".to_owned())));
        assert_eq!(files(&folder), 0);
        assert_eq!(put(&issue, "?name=a", &body).await, None);
        assert_eq!(put(&issue, "?name=b", &body).await, None);
        // The issue, and then the workspace, have no room for a third one.
        assert_eq!(put(&issue, "?name=c", &body).await, invalid);
        let other = ada.issue("another").await;
        assert_eq!(put(&other, "?name=c", &body).await, invalid);
        assert_eq!(files(&folder), 2);
    }

    async fn a_body_that_grows_past_its_bound_is_cut_off(bed: Bed) {
        let (bed, folder) = bed.with_files();
        let bed = bed.with(|parts| {
            parts.files = Some(store::Files::open(folder.path()).unwrap());
            parts.limits.attachment_bytes = 100;
        });
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("endless").await;
        let chunk = || Ok::<_, std::io::Error>(axum::body::Bytes::from(vec![b'x'; 60]));
        let endless = Body::from_stream(futures::stream::repeat_with(chunk));
        let path = format!("/api/v1/workspaces/team-a/issues/{issue}/attachments?name=x");
        let token = bed.person("ada").await;
        let answer = bed.call(Method::POST, &path, Some(&token), endless).await;
        assert_eq!(answer.refusal(), (413, "bodyTooLarge".to_owned()));
        let broken = futures::stream::iter([chunk(), Err(std::io::Error::other("gone"))]);
        let answer = bed.call(Method::POST, &path, Some(&token), Body::from_stream(broken)).await;
        assert_eq!(answer.refusal(), (400, "invalidRequest".to_owned()));
        assert_eq!(files(&folder), 0);
    }

    async fn an_agent_takes_back_its_own(bed: Bed) {
        let (bed, _folder) = bed.with_files();
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("shared").await;
        let agent = Voice::agent(&bed, working_on(&bed, &issue).await).await;
        let path = format!("/issues/{issue}/attachments?name=");
        let hers = ada.post(&format!("{path}hers"), &json!("hers")).await.ok();
        let its = agent.post(&format!("{path}its"), &json!("its")).await.ok();
        assert_eq!(its["author"]["kind"], "agent");
        let at = |attachment: &Value| format!("/attachments/{}", text(&attachment["id"]));
        assert_eq!(agent.get(&at(&hers)).await.text, "\"hers\"");
        assert_eq!(agent.delete(&at(&hers)).await.refusal(), (403, "forbidden".to_owned()));
        agent.delete(&at(&its)).await.ok();
        // One on an issue that it does not see is none.
        let hidden = ada.issue("hidden").await;
        let hidden = ada.post(&format!("/issues/{hidden}/attachments?name=x"), &json!("x")).await.ok();
        for answer in [agent.get(&at(&hidden)).await, agent.delete(&at(&hidden)).await] {
            assert_eq!(answer.refusal(), (404, "notFound".to_owned()));
        }
    }

    async fn without_a_folder_none_are_taken(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let issue = ada.issue("nowhere").await;
        let refused = ada.post(&format!("/issues/{issue}/attachments?name=x"), &json!("x")).await;
        assert_eq!(refused.refusal(), (503, "unavailable".to_owned()));
    }
}
