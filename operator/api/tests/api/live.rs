//! People who look on: over TLS, as they do.

use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use protocol::{AttemptId, Event, EventBody, limits};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::bed::{Bed, DEADLINE, both};
use crate::board::{Voice, text, working_on};
use crate::tls::Server;

/// Somebody who looks on.
struct Looker {
    socket: WebSocketStream<TlsStream<TcpStream>>,
    /// Of the last message.
    number: u64,
}

/// Connects; gives the status of a refusal.
async fn connect(server: &Server, credential: &str) -> Result<Looker, u16> {
    let mut roots = RootCertStore::empty();
    roots.add(server.authority.der.clone()).unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(("127.0.0.1", server.port))
        .await
        .unwrap();
    let name = "localhost".try_into().unwrap();
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .unwrap();
    let url = format!(
        "wss://localhost:{}/api/v1/workspaces/team-a/live",
        server.port
    );
    let mut request = url.into_client_request().unwrap();
    let bearer = format!("Bearer {credential}").parse().unwrap();
    request.headers_mut().insert("authorization", bearer);
    match client_async(request, stream).await {
        Ok((socket, _)) => Ok(Looker { socket, number: 0 }),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

impl Looker {
    async fn say(&mut self, request: &Value) {
        let message = Message::text(request.to_string());
        self.socket.send(message).await.unwrap();
    }

    async fn subscribe(&mut self, id: &str, to: Value) {
        self.say(&json!({"do": "subscribe", "id": id, "to": to}))
            .await;
    }

    /// The next message; `None` once the server has closed.
    async fn next(&mut self) -> Option<Value> {
        loop {
            let next = tokio::time::timeout(DEADLINE, self.socket.next()).await;
            match next.expect("a message in time") {
                Some(Ok(Message::Text(text))) => {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    self.number += 1;
                    assert_eq!(message["number"], self.number, "no message is lost");
                    return Some(message);
                }
                Some(Ok(Message::Close(_))) | None | Some(Err(_)) => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// The next message of this kind.
    async fn until(&mut self, kind: &str) -> Value {
        loop {
            let message = self.next().await.expect("an open connection");
            if message["type"] == kind {
                return message;
            }
        }
    }

    /// Positions of the next events of a subscription, and the gaps between them.
    async fn positions(&mut self, count: usize) -> Vec<u64> {
        let mut positions = Vec::new();
        while positions.len() < count {
            let event = self.until("event").await;
            positions.push(event["item"]["position"].as_u64().unwrap());
        }
        positions
    }
}

pub(crate) async fn happen(bed: &Bed, attempt: AttemptId, seqs: std::ops::RangeInclusive<u64>) {
    let seqs: Vec<_> = seqs.collect();
    for part in seqs.chunks(limits::BATCH_EVENTS) {
        let event = |seq: &u64| Event {
            seq: *seq,
            at: bed.now(),
            body: EventBody::Text {
                content: format!("word {seq}"),
            },
        };
        let events: Vec<_> = part.iter().map(event).collect();
        bed.store.append(attempt, &events, bed.now()).await.unwrap();
    }
}

fn task(attempt: AttemptId, after: u64) -> Value {
    json!({"kind": "task", "task": attempt.task, "after": after})
}

both! {
    async fn a_task_is_followed_and_taken_up_again(bed: Bed) {
        Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let ada = bed.person("ada").await;
        let attempt = bed.running("x").await;
        happen(&bed, attempt, 1..=3).await;
        let mut looker = connect(&server, &ada).await.unwrap();
        looker.subscribe("t", task(attempt, 1)).await;
        assert_eq!(looker.next().await.unwrap(), json!({"number": 1, "id": "t", "type": "subscribed"}));
        assert_eq!(looker.positions(2).await, [2, 3]);
        let run = looker.next().await.unwrap();
        assert_eq!((&run["type"], &run["id"], &run["run"]["state"]), (&json!("run"), &json!("t"), &json!("running")));
        happen(&bed, attempt, 4..=100).await;
        assert_eq!(looker.positions(97).await, (4..=100).collect::<Vec<_>>());
        drop(looker);
        // From elsewhere, or after a lost connection.
        happen(&bed, attempt, 101..=102).await;
        let mut again = connect(&server, &ada).await.unwrap();
        again.subscribe("t", task(attempt, 100)).await;
        assert_eq!(again.positions(2).await, [101, 102]);
        again.until("run").await;
        let verdict = protocol::Verdict {
            outcome: protocol::Outcome::failed(protocol::FailureClass::Cancelled, "enough"),
            at: bed.now(),
            result: None,
        };
        happen(&bed, attempt, 103..=103).await;
        bed.store.verdict(attempt, verdict, bed.now()).await.unwrap();
        assert_eq!(again.positions(1).await, [103]);
        let run = again.until("run").await;
        assert_eq!(run["run"]["failure"], "Cancelled");
        again.say(&json!({"do": "unsubscribe", "id": "t"})).await;
        server.stop(&bed).await;
        // Nothing more, and the end when the server stops.
        assert_eq!(again.next().await, None);
    }

    async fn an_issue_and_a_workspace_are_followed(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let (mine, other) = (ada.issue("mine").await, ada.issue("other").await);
        let mut looker = connect(&server, &bed.person("ada").await).await.unwrap();
        looker.subscribe("i", json!({"kind": "issue", "key": mine})).await;
        looker.until("subscribed").await;
        let stands = looker.next().await.unwrap();
        assert_eq!((&stands["key"], &stands["revision"], &stands["comments"]), (&json!(mine), &json!(1), &json!(0)));
        ada.comment(&mine, "one").await;
        // What was told of its making may come only now.
        let mut changed = looker.until("issue").await;
        while changed["comments"] == 0 {
            changed = looker.until("issue").await;
        }
        assert_eq!((&changed["id"], &changed["comments"]), (&json!("i"), &json!(1)));
        looker.subscribe("w", json!({"kind": "workspace"})).await;
        looker.until("subscribed").await;
        ada.comment(&other, "two").await;
        let mut changed = looker.until("issue").await;
        while changed["key"] != other {
            changed = looker.until("issue").await;
        }
        assert_eq!(changed["id"], "w");
        // A task of the issue, for both.
        let path = format!("/issues/{mine}");
        let given = json!({"assignee": {"kind": "agent", "id": "reviewer"}});
        let saved = ada.patch(&path, &given).await.ok();
        let task = text(&saved["wakes"][0]["task"]);
        let mut told = Vec::new();
        while told.len() < 2 {
            let run = looker.until("run").await;
            assert_eq!(run["run"]["id"], task);
            told.push(text(&run["id"]));
        }
        told.sort();
        assert_eq!(told, ["i", "w"]);
        server.stop(&bed).await;
    }

    async fn a_reader_that_is_behind_is_told_of_the_gap_and_reads_it(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let attempt = bed.running("x").await;
        let last = limits::LIVE_BEHIND + 10;
        happen(&bed, attempt, 1..=last).await;
        let mut looker = connect(&server, &bed.person("ada").await).await.unwrap();
        looker.subscribe("t", task(attempt, 5)).await;
        let gap = looker.until("gap").await;
        assert_eq!((&gap["after"], &gap["until"]), (&json!(5), &json!(last)));
        let path = format!("/tasks/{}/events?after={}", attempt.task, gap["after"]);
        let page = ada.get(&path).await.ok();
        assert_eq!(page["items"][0]["position"], 6);
        happen(&bed, attempt, last + 1..=last + 2).await;
        assert_eq!(looker.positions(2).await, [last + 1, last + 2]);
        server.stop(&bed).await;
    }

    async fn who_takes_nothing_costs_nothing(bed: Bed) {
        Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let attempt = bed.running("x").await;
        let ada = bed.person("ada").await;
        let (mut slow, mut quick) = (connect(&server, &ada).await.unwrap(), connect(&server, &ada).await.unwrap());
        for looker in [&mut slow, &mut quick] {
            looker.subscribe("t", task(attempt, 0)).await;
        }
        // Far more than the system keeps for a connection that is not read.
        let long = "x".repeat(limits::EVENT_BYTES - 200);
        let count = 300;
        for seq in 1..=count {
            let body = EventBody::Text { content: long.clone() };
            let event = Event { seq, at: bed.now(), body };
            bed.store.append(attempt, &[event], bed.now()).await.unwrap();
        }
        assert_eq!(quick.positions(300).await, (1..=count).collect::<Vec<_>>());
        // Nothing was lost for the slow one either: it had not fallen behind far enough for a gap.
        assert_eq!(slow.positions(300).await, (1..=count).collect::<Vec<_>>());
        server.stop(&bed).await;
    }

    async fn who_reads_slowly_keeps_no_right_by_it(bed: Bed) {
        let bed = bed.with(|parts| parts.limits.live_check = Duration::from_millis(20));
        Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let attempt = bed.running("x").await;
        // Far more than the system keeps for a connection that is not read.
        let count = 300;
        for seq in 1..=count {
            let body = EventBody::Text { content: "x".repeat(limits::EVENT_BYTES - 200) };
            let event = Event { seq, at: bed.now(), body };
            bed.store.append(attempt, &[event], bed.now()).await.unwrap();
        }
        let mut looker = connect(&server, &bed.person("ada").await).await.unwrap();
        looker.subscribe("t", task(attempt, 0)).await;
        assert_eq!(looker.positions(1).await, [1]);
        bed.people.deny_all();
        bed.advance(Duration::from_secs(5));
        let (mut last, mut ended) = (0, false);
        while let Some(message) = looker.next().await {
            last = message["item"]["position"].as_u64().unwrap_or(last);
            ended |= message["code"] == "forbidden";
        }
        assert!(ended && last < count, "{ended} {last}");
        server.stop(&bed).await;
    }

    async fn a_right_that_is_taken_away_ends_it(bed: Bed) {
        let bed = bed.with(|parts| parts.limits.live_check = Duration::from_millis(20));
        Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let attempt = bed.running("x").await;
        let mut looker = connect(&server, &bed.person("ada").await).await.unwrap();
        looker.subscribe("t", task(attempt, 0)).await;
        looker.until("run").await;
        bed.people.deny_all();
        bed.advance(Duration::from_secs(5));
        let ended = looker.until("ended").await;
        assert_eq!(ended["code"], "forbidden");
        while looker.next().await.is_some() {}
        happen(&bed, attempt, 1..=1).await;
        server.stop(&bed).await;
    }

    async fn a_token_that_is_revoked_ends_it(bed: Bed) {
        let bed = bed.with(|parts| parts.limits.live_check = Duration::from_millis(20));
        let ada = Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let minted = ada.at(http::Method::POST, "/api/v1/tokens", &json!({"label": "x", "days": 1})).await.ok();
        let mut looker = connect(&server, minted["token"].as_str().unwrap()).await.unwrap();
        let id = text(&minted["record"]["id"]);
        ada.at(http::Method::DELETE, &format!("/api/v1/tokens/{id}"), &Value::Null).await;
        let ended = looker.until("ended").await;
        assert_eq!(ended["code"], "unauthenticated");
        assert_eq!(looker.next().await, None);
        server.stop(&bed).await;
    }

    async fn what_may_not_be_followed_is_refused(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let attempt = bed.running("x").await;
        let issue = ada.issue("mine").await;
        let agent = working_on(&bed, &issue).await;
        for (credential, wanted) in [
            (bed.token(agent).await, 403),
            (bed.credential(attempt).await, 403),
            (bed.person("stranger").await, 404),
            ("mrp_nothing".to_owned(), 401),
        ] {
            assert_eq!(connect(&server, &credential).await.err(), Some(wanted));
        }
        bed.people.allow("bob", "list", "issues");
        let mut bob = connect(&server, &bed.person("bob").await).await.unwrap();
        let nothing = uuid::Uuid::now_v7();
        let mut ada = connect(&server, &bed.person("ada").await).await.unwrap();
        let cases = [
            (true, task(attempt, 0), "forbidden"),
            (true, json!({"kind": "issue", "key": issue}), "forbidden"),
            (true, json!({"kind": "workspace"}), "forbidden"),
            (false, json!({"kind": "task", "task": nothing}), "notFound"),
            (false, json!({"kind": "issue", "key": "TEAMA-99"}), "notFound"),
        ];
        for (is_bob, to, wanted) in cases {
            let looker = if is_bob { &mut bob } else { &mut ada };
            looker.subscribe("s", to.clone()).await;
            let ended = looker.next().await.unwrap();
            assert_eq!((&ended["type"], &ended["code"], &ended["id"]), (&json!("ended"), &json!(wanted), &json!("s")), "{to}");
        }
        for wrong in [json!([]), json!({"do": "sing"}), json!({"do": "subscribe", "id": "", "to": {"kind": "workspace"}})] {
            ada.say(&wrong).await;
            let ended = ada.next().await.unwrap();
            assert_eq!((&ended["type"], &ended["code"]), (&json!("ended"), &json!("invalidRequest")), "{wrong}");
        }
        // Of each kind so many, and no more.
        for number in 0..=limits::LIVE_SUBSCRIPTIONS {
            ada.subscribe(&format!("t{number}"), task(attempt, 0)).await;
        }
        let ended = ada.until("ended").await;
        let last = format!("t{}", limits::LIVE_SUBSCRIPTIONS);
        assert_eq!((&ended["code"], &ended["id"]), (&json!("tooManyRequests"), &json!(last)));
        // A word that is in use stands for something else then.
        ada.subscribe("t0", json!({"kind": "workspace"})).await;
        assert_eq!(ada.until("subscribed").await["id"], "t0");
        server.stop(&bed).await;
    }

    async fn what_happens_in_a_chat_is_its_persons_alone(bed: Bed) {
        let ada = Voice::person(&bed, "ada").await;
        let eve = Voice::person(&bed, "eve").await;
        let server = Server::start(&bed).await;
        let sent = ada.post("/chats", &json!({"agent": "reviewer", "body": "x"})).await.ok();
        let task = text(&sent["wake"]["task"]);
        let target = json!({"kind": "task", "task": task});
        for (person, wanted) in [("ada", "subscribed"), ("eve", "ended")] {
            let mut looker = connect(&server, &bed.person(person).await).await.unwrap();
            looker.subscribe("t", target.clone()).await;
            assert_eq!(looker.next().await.unwrap()["type"], wanted, "{person}");
        }
        let path = format!("/tasks/{task}/events/1/text");
        assert_eq!(eve.get(&path).await.refusal(), (404, "notFound".to_owned()));
        server.stop(&bed).await;
    }

    async fn a_person_has_so_many_connections(bed: Bed) {
        Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let ada = bed.person("ada").await;
        let mut open = Vec::new();
        for _ in 0..limits::LIVE_PER_PERSON {
            open.push(connect(&server, &ada).await.unwrap());
        }
        assert_eq!(connect(&server, &ada).await.err(), Some(429));
        // They are none of the requests that are being answered.
        let path = "/api/v1/workspaces/team-a/issues";
        bed.get(path, &ada).await.ok();
        let mut gone = open.pop().unwrap();
        gone.socket.close(None).await.unwrap();
        while gone.next().await.is_some() {}
        let deadline = tokio::time::Instant::now() + DEADLINE;
        while connect(&server, &ada).await.is_err() {
            assert!(tokio::time::Instant::now() < deadline, "its place is given back");
            tokio::task::yield_now().await;
        }
        server.stop(&bed).await;
    }
}
