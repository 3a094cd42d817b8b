//! The typed client follows a task over TLS, past connections that break.

use std::time::Duration;

use client::{Follow, Told, Workspace};
use protocol::{AttemptId, FailureClass, Outcome, TaskState, Verdict, limits};
use secrecy::SecretString;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::bed::{Bed, DEADLINE, both};
use crate::board::Voice;
use crate::live::happen;
use crate::tls::Server;

/// Between client and server, to break what goes through it.
struct Between {
    port: u16,
    broken: watch::Sender<()>,
}

impl Between {
    async fn start(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (broken, breaks) = watch::channel(());
        let there = server.port;
        tokio::spawn(async move {
            while let Ok((mut here, _)) = listener.accept().await {
                let mut breaks = breaks.clone();
                breaks.mark_unchanged();
                tokio::spawn(async move {
                    let mut there = TcpStream::connect(("127.0.0.1", there)).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut here, &mut there) => {}
                        _ = breaks.changed() => {}
                    }
                });
            }
        });
        Self { port, broken }
    }
}

/// Who follows, through what can break.
struct Reader {
    client: client::Client,
    token: SecretString,
    workspace: Workspace,
    follow: Follow,
    /// What was told, in its order.
    positions: Vec<u64>,
}

impl Reader {
    async fn new(server: &Server, between: &Between, bed: &Bed, follow: Follow) -> Self {
        let settings = client::Settings {
            api: format!("https://localhost:{}", between.port),
            ca: server.authority.pem.clone().into_bytes(),
        };
        Self {
            client: client::Client::new(&settings).unwrap(),
            token: bed.person("ada").await.into(),
            workspace: "team-a".parse().unwrap(),
            follow,
            positions: Vec::new(),
        }
    }

    async fn next(&mut self) -> Result<Told, client::Error> {
        let board = self.client.board(&self.token, &self.workspace);
        let told = tokio::time::timeout(DEADLINE, self.follow.next(&board)).await;
        let told = told.expect("something in time");
        if let Ok(Told::Events(events)) = &told {
            assert!(!events.is_empty());
            self.positions
                .extend(events.iter().map(|event| event.position));
        }
        told
    }

    /// Reads until this position was told; what breaks meanwhile must be what can be tried again.
    async fn until(&mut self, position: u64) {
        while self.positions.last().is_none_or(|last| *last < position) {
            if let Err(error) = self.next().await {
                assert!(error.retry(), "{error}");
            }
        }
    }

    /// Reads until the task stands so.
    async fn stands(&mut self, state: TaskState) {
        loop {
            match self.next().await {
                Ok(Told::Stands(run)) if run.state == state => return,
                Ok(Told::Stands(_) | Told::Events(_)) => {}
                Err(error) => assert!(error.retry(), "{error}"),
            }
        }
    }
}

async fn cancelled(bed: &Bed, attempt: AttemptId) {
    let verdict = Verdict {
        outcome: Outcome::failed(FailureClass::Cancelled, "enough"),
        at: bed.now(),
        result: None,
    };
    bed.store
        .verdict(attempt, verdict, bed.now())
        .await
        .unwrap();
}

both! {
    async fn a_task_is_followed_past_connections_that_break(bed: Bed) {
        Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let between = Between::start(&server).await;
        let attempt = bed.running("x").await;
        happen(&bed, attempt, 1..=3).await;
        let follow = Follow::new(attempt.task, 1);
        let mut reader = Reader::new(&server, &between, &bed, follow).await;
        reader.until(3).await;
        reader.stands(TaskState::Running).await;
        // While it waits, and while nothing is connected.
        between.broken.send_replace(());
        let error = reader.next().await.unwrap_err();
        assert!(error.retry(), "{error}");
        happen(&bed, attempt, 4..=5).await;
        reader.until(5).await;
        // While it is told.
        happen(&bed, attempt, 6..=200).await;
        reader.until(10).await;
        between.broken.send_replace(());
        reader.until(200).await;
        assert_eq!(reader.positions, (2..=200).collect::<Vec<_>>());
        // Nothing is told for a while, and then the end.
        assert!(tokio::time::timeout(Duration::ZERO, reader.stands(TaskState::Finishing)).await.is_err());
        cancelled(&bed, attempt).await;
        reader.stands(TaskState::Finishing).await;
        assert_eq!(reader.positions.len(), 199);
        // A server that stops is told from one that refuses.
        bed.shutdown.cancel();
        let error = reader.next().await.unwrap_err();
        assert!(error.retry(), "{error}");
        server.stop(&bed).await;
    }

    async fn what_is_too_much_to_be_told_is_read(bed: Bed) {
        Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let between = Between::start(&server).await;
        let attempt = bed.running("x").await;
        let last = limits::LIVE_BEHIND + 300;
        happen(&bed, attempt, 1..=last).await;
        let follow = Follow::new(attempt.task, 5);
        let mut reader = Reader::new(&server, &between, &bed, follow).await;
        reader.until(20).await;
        happen(&bed, attempt, last + 1..=last + 2).await;
        reader.until(last + 2).await;
        assert_eq!(reader.positions, (6..=last + 2).collect::<Vec<_>>());
        server.stop(&bed).await;
    }

    async fn who_may_not_follow_is_told_why_and_asks_no_more(bed: Bed) {
        Voice::person(&bed, "ada").await;
        let server = Server::start(&bed).await;
        let between = Between::start(&server).await;
        let nothing = protocol::TaskId(uuid::Uuid::now_v7());
        let mut reader = Reader::new(&server, &between, &bed, Follow::new(nothing, 0)).await;
        let error = reader.next().await.unwrap_err();
        assert_eq!((error.code(), error.retry()), (Some("notFound"), false));
        let attempt = bed.running("x").await;
        reader.follow = Follow::new(attempt.task, 0);
        bed.people.deny_all();
        bed.advance(Duration::from_secs(10));
        let error = reader.next().await.unwrap_err();
        assert!(error.code().is_some() && !error.retry(), "{error}");
        server.stop(&bed).await;
    }
}
