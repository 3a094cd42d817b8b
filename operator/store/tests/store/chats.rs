//! Chats: what is written waits for one run, and what that says is the answer.

use jiff::Timestamp;
use protocol::board::{
    Author, AuthorKind, CauseKind, ChatCause, ChatEdit, ChatMessageKind, ChatQuery, ChatSent,
    Member, NewChat, NewQuickIssue, WakeVerdict,
};
use protocol::{AttemptId, ChatId, FailureClass, Outcome, TaskId, TaskState, Verdict, limits};
use store::{Error, Request};

use crate::bed::{Bed, at, both, failed, told};
use crate::board::{AGENTS, acting, workspace};
use crate::talk::room;

/// A person and their chat.
struct Scene {
    bed: Bed,
    ada: Member,
    chat: ChatId,
    first: ChatSent,
}

fn task(sent: &ChatSent) -> TaskId {
    match sent.wake.verdict {
        WakeVerdict::Queued { task } => task.unwrap(),
        WakeVerdict::Coalesced { task } => task,
        WakeVerdict::Deferred { .. }
        | WakeVerdict::Steered { .. }
        | WakeVerdict::Blocked { .. } => panic!("{:?}", sent.wake),
    }
}

fn new(body: &str) -> NewChat {
    NewChat {
        agent: "reviewer".to_owned(),
        title: None,
        body: body.to_owned(),
    }
}

fn said(text: &str) -> Verdict {
    let mut verdict = told(Outcome::Succeeded, Some("s1"));
    verdict.result.as_mut().unwrap().output = text.to_owned();
    verdict
}

impl Scene {
    async fn new(bed: Bed) -> Self {
        let ada = bed.member("ada").await;
        let first = bed
            .store
            .begin_chat(
                &acting(&ada),
                ada.id,
                &new("What is it?\nTell me."),
                &AGENTS,
                at(1),
            )
            .await
            .unwrap();
        Self {
            bed,
            chat: first.chat.id,
            ada,
            first,
        }
    }

    async fn send(&self, body: &str, now: Timestamp) -> Result<ChatSent, Error> {
        let by = acting(&self.ada);
        let store = &self.bed.store;
        store
            .send_chat(&by, self.ada.id, self.chat, body, &AGENTS, now)
            .await
    }

    async fn begin(&self) -> (AttemptId, ChatCause) {
        let attempt = self.bed.claim(&room()).await.unwrap();
        self.bed.start(attempt).await;
        let cause = self.bed.store.chat_cause(attempt.task).await.unwrap();
        (attempt, cause.unwrap())
    }

    /// What was written, oldest first: by whom, as what, and the words.
    async fn words(&self) -> Vec<(AuthorKind, ChatMessageKind, String)> {
        let page = self.bed.store.chat_messages(self.chat, 200, None).await;
        let newest_first = page.unwrap().items.into_iter();
        let mut words: Vec<_> = newest_first
            .map(|message| (message.author.kind, message.kind, message.body))
            .collect();
        words.reverse();
        words
    }
}

fn bodies(cause: &ChatCause) -> Vec<&str> {
    cause
        .messages
        .iter()
        .map(|message| message.body.as_str())
        .collect()
}

both! {
    async fn what_waits_is_one_batch_and_the_last_text_is_the_answer(bed: Bed) {
        use {AuthorKind::{Agent, Member}, ChatMessageKind::{Message, NoResponse}};
        let scene = Scene::new(bed).await;
        let one = task(&scene.first);
        assert_eq!(scene.first.wake.verdict, WakeVerdict::Queued { task: Some(one) });
        assert_eq!((scene.first.chat.title.as_str(), scene.first.chat.waiting), ("What is it?", 1));
        let row = scene.bed.task(one).await;
        assert_eq!((row.state, row.object.uid, row.object.name), (TaskState::Queued, None, format!("reviewer-{}", &one.to_string()[24..])));
        let session = scene.bed.session_of(one).await;
        assert_eq!((session.key.subject.kind.as_str(), session.key.subject.name), ("Chat", scene.chat.to_string()));
        // Queued, then claimed: it takes in what comes until its package is open.
        let second = scene.send("And why?", at(2)).await.unwrap();
        assert_eq!(second.wake.verdict, WakeVerdict::Coalesced { task: one });
        let (attempt, cause) = scene.begin().await;
        assert_eq!((attempt.task, bodies(&cause)), (one, vec!["What is it?\nTell me.", "And why?"]));
        assert_eq!((cause.before, cause.cut, cause.member.name.as_str()), (0, false, "ada"));
        // What comes now is for the next one, which waits for the session.
        let third = scene.send("Hello?", at(30)).await.unwrap();
        assert_ne!(task(&third), one);
        assert_eq!(scene.bed.claim(&room()).await, None);
        scene.bed.finish(attempt, said(" A boat. \n")).await;
        let (next, cause) = scene.begin().await;
        assert_eq!((next.task, bodies(&cause), cause.before), (task(&third), vec!["Hello?"], 2));
        scene.bed.finish(next, said("NO_RESPONSE")).await;
        let wanted = [
            (Member, Message, "What is it?\nTell me."), (Member, Message, "And why?"), (Member, Message, "Hello?"),
            (Agent, Message, "A boat."), (Agent, NoResponse, ""),
        ];
        assert_eq!(scene.words().await, wanted.map(|(who, what, words)| (who, what, words.to_owned())));
        let chat = scene.bed.store.chat(&workspace(), scene.ada.id, scene.chat).await.unwrap().unwrap();
        assert_eq!((chat.messages, chat.waiting), (5, 0));
        assert_eq!(scene.bed.claim(&room()).await, None);
        scene.bed.sound().await;
    }

    async fn what_a_failed_run_took_in_waits_again(bed: Bed) {
        let scene = Scene::new(bed).await;
        let (attempt, _) = scene.begin().await;
        scene.bed.finish(attempt, failed(FailureClass::ProviderServerError)).await;
        let words = scene.words().await;
        assert_eq!(words.last().map(|(who, what, _)| (*who, *what)), Some((AuthorKind::Agent, ChatMessageKind::Failed)));
        let page = scene.bed.store.chat_messages(scene.chat, 9, None).await.unwrap();
        assert_eq!((page.items[0].failure, page.items[0].task), (Some(FailureClass::ProviderServerError), Some(attempt.task)));
        assert_eq!(scene.bed.claim(&room()).await, None, "nobody is woken by a failure");
        scene.send("Again", at(40)).await.unwrap();
        let (attempt, cause) = scene.begin().await;
        assert_eq!(bodies(&cause), ["What is it?\nTell me.", "Again"]);
        // Who stops a run that has begun does not want to ask the same again.
        scene.bed.finish(attempt, failed(FailureClass::Cancelled)).await;
        scene.send("Another thing", at(50)).await.unwrap();
        // One that was stopped before it had begun has taken nothing away.
        let waits = scene.send("and more", at(51)).await.unwrap();
        assert!(scene.bed.store.end_unclaimed(task(&waits), failed(FailureClass::Cancelled), at(52)).await.unwrap());
        scene.send("so?", at(53)).await.unwrap();
        let (_, cause) = scene.begin().await;
        assert_eq!(bodies(&cause), ["Another thing", "and more", "so?"]);
        scene.bed.sound().await;
    }

    async fn a_chat_in_which_as_many_wait_as_may_goes_on(bed: Bed) {
        let scene = Scene::new(bed).await;
        for number in 1..limits::CHAT_WAITING {
            scene.send(&number.to_string(), at(2)).await.unwrap();
        }
        let (attempt, _) = scene.begin().await;
        scene.bed.finish(attempt, failed(FailureClass::ProviderServerError)).await;
        // Nothing is queued that could take them in.
        scene.send("Again", at(40)).await.unwrap();
        let refused = scene.send("and again", at(41)).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
        let (_, cause) = scene.begin().await;
        assert_eq!(bodies(&cause).last(), Some(&"Again"));
        scene.bed.sound().await;
    }

    async fn an_answer_that_no_database_takes_ends_its_task(bed: Bed) {
        let scene = Scene::new(bed).await;
        let (attempt, _) = scene.begin().await;
        scene.bed.finish(attempt, said("a\0b")).await;
        assert_eq!(scene.words().await.pop().map(|(.., words)| words), Some("a\u{fffd}b".to_owned()));
        scene.bed.sound().await;
    }

    async fn a_second_attempt_is_given_what_the_first_one_was(bed: Bed) {
        let scene = Scene::new(bed).await;
        let (attempt, first) = scene.begin().await;
        scene.send("Later", at(15)).await.unwrap();
        scene.bed.store.suspend(attempt.task, at(16)).await.unwrap();
        scene.bed.store.secret_gone(attempt).await.unwrap();
        scene.bed.store.release(attempt, at(17)).await.unwrap();
        scene.bed.store.resume(attempt.task, at(18)).await.unwrap();
        let (again, second) = scene.begin().await;
        assert_eq!((again.task, again.number, second), (attempt.task, 2, first));
        scene.bed.sound().await;
    }

    async fn what_is_written_to_a_task_that_is_put_aside_is_for_another_one(bed: Bed) {
        let scene = Scene::new(bed).await;
        let aside = task(&scene.first);
        scene.bed.store.put_aside(aside, at(2)).await.unwrap();
        let sent = scene.send("Hello?", at(3)).await.unwrap();
        assert_ne!(task(&sent), aside);
        let (attempt, cause) = scene.begin().await;
        assert_eq!((attempt.task, bodies(&cause)), (task(&sent), vec!["What is it?\nTell me.", "Hello?"]));
        scene.bed.store.let_go_on(aside, at(20)).await.unwrap();
        scene.bed.finish(attempt, said("Yes.")).await;
        // Nothing is left for it; it says so by having nothing to answer.
        let (attempt, cause) = scene.begin().await;
        assert_eq!((attempt.task, cause.messages.len(), cause.before), (aside, 0, 3));
        scene.bed.finish(attempt, said("NO_RESPONSE")).await;
        scene.bed.sound().await;
    }

    async fn a_chat_is_its_persons_alone(bed: Bed) {
        let scene = Scene::new(bed).await;
        let (store, bob) = (scene.bed.store.clone(), scene.bed.member("bob").await);
        assert_eq!(store.chat(&workspace(), bob.id, scene.chat).await.unwrap(), None);
        assert_eq!(store.chats(&workspace(), bob.id, &ChatQuery::default()).await.unwrap().items, []);
        let sent = store.send_chat(&acting(&bob), bob.id, scene.chat, "x", &AGENTS, at(3)).await;
        assert!(matches!(sent, Err(Error::Missing { .. })), "{sent:?}");
        let edited = store.edit_chat(&workspace(), bob.id, scene.chat, &ChatEdit { archived: Some(true), title: None }).await;
        assert!(matches!(edited, Err(Error::Missing { .. })), "{edited:?}");
        let elsewhere = crate::board::elsewhere();
        assert_eq!(store.chat(&elsewhere, scene.ada.id, scene.chat).await.unwrap(), None);
        let (owner, chat) = store.chat_of_task(task(&scene.first)).await.unwrap().unwrap();
        let author = Author { kind: AuthorKind::Member, id: scene.ada.id.to_string(), name: "ada".to_owned() };
        assert_eq!((owner, chat.id, chat.member), (scene.ada.id, scene.chat, author));
        let other = scene.bed.enter("writer", "hello").await;
        assert_eq!(store.chat_of_task(other).await.unwrap(), None);
        assert_eq!(store.chat_cause(other).await.unwrap(), None);
    }

    async fn what_was_put_away_comes_back_with_a_message(bed: Bed) {
        let scene = Scene::new(bed).await;
        let store = scene.bed.store.clone();
        let edit = ChatEdit { archived: Some(true), title: Some(" Boats ".to_owned()) };
        let chat = store.edit_chat(&workspace(), scene.ada.id, scene.chat, &edit).await.unwrap();
        assert_eq!((chat.archived, chat.title.as_str()), (true, "Boats"));
        let list = async |archived| {
            let query = ChatQuery { archived, ..ChatQuery::default() };
            store.chats(&workspace(), scene.ada.id, &query).await.unwrap().items
        };
        assert_eq!((list(false).await.len(), list(true).await), (0, vec![chat]));
        let sent = scene.send("Are you there?", at(9)).await.unwrap();
        assert_eq!((sent.chat.archived, sent.chat.last_activity, list(true).await.len()), (false, at(9), 0));
    }

    async fn nothing_grows_without_end(bed: Bed) {
        let scene = Scene::new(bed).await;
        let by = acting(&scene.ada);
        for wrong in ["", " \n", "a\0"] {
            assert!(matches!(scene.send(wrong, at(2)).await, Err(Error::Invalid { .. })), "{wrong:?}");
        }
        let long = "x".repeat(limits::COMMENT_BYTES + 1);
        assert!(matches!(scene.send(&long, at(2)).await, Err(Error::Invalid { .. })));
        let nobody = NewChat { agent: "nobody".to_owned(), ..new("x") };
        let refused = scene.bed.store.begin_chat(&by, scene.ada.id, &nobody, &AGENTS, at(2)).await;
        assert!(matches!(refused, Err(Error::Missing { .. })), "{refused:?}");
        for number in 1..limits::CHAT_WAITING {
            scene.send(&format!("message {number}"), at(3)).await.unwrap();
        }
        let refused = scene.send("one more", at(3)).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
        // The package holds the newest, and says that there are more.
        let (_, cause) = scene.begin().await;
        assert_eq!((cause.messages.len(), cause.cut, cause.before), (limits::CHAT_BATCH, true, limits::CHAT_WAITING - 10));
        assert_eq!(cause.messages.last().map(|last| last.body.as_str()), Some("message 49"));
        scene.send(&"y".repeat(limits::COMMENT_BYTES), at(30)).await.unwrap();
    }
}

/// Writes in a chat and asks for an issue, each once however often this is begun.
pub(crate) async fn speak(bed: &Bed) -> Result<(), Error> {
    let store = &bed.store;
    let cyd = store.member(&workspace(), "cyd", at(1)).await?;
    let by = acting(&cyd);
    let once = |key: &str| {
        store.for_request(Some(Request {
            key: key.to_owned(),
            digest: [0; 32],
        }))
    };
    let begun = once("begin")
        .begin_chat(&by, cyd.id, &new("What is it?"), &AGENTS, at(90))
        .await?;
    let chat = begun.chat.id;
    once("send")
        .send_chat(&by, cyd.id, chat, "And why?", &AGENTS, at(91))
        .await?;
    let edit = ChatEdit {
        title: Some("Boats".to_owned()),
        archived: None,
    };
    store.edit_chat(&workspace(), cyd.id, chat, &edit).await?;
    let asked = NewQuickIssue {
        agent: "reviewer".to_owned(),
        text: "The roof is open".to_owned(),
    };
    once("ask")
        .ask_quick_issue(&by, cyd.id, &asked, &AGENTS, at(92))
        .await?;
    for run in store.runs(&workspace(), 200, None).await?.items {
        if matches!(run.cause, Some(CauseKind::Chat | CauseKind::QuickIssue)) {
            let cancelled = failed(FailureClass::Cancelled);
            store.end_unclaimed(run.id, cancelled, at(93)).await?;
        }
    }
    Ok(())
}

/// All of it is there once.
pub(crate) async fn spoken(bed: &Bed) {
    let store = &bed.store;
    let cyd = store.member(&workspace(), "cyd", at(1)).await.unwrap();
    let all = ChatQuery::default();
    let chats = store.chats(&workspace(), cyd.id, &all).await.unwrap().items;
    assert_eq!((chats.len(), chats[0].title.as_str()), (1, "Boats"));
    let messages = store.chat_messages(chats[0].id, 9, None).await.unwrap();
    let kinds: Vec<_> = messages.items.iter().map(|message| message.kind).collect();
    let (said, stopped) = (ChatMessageKind::Message, ChatMessageKind::Failed);
    assert_eq!(kinds, [stopped, said, said]);
    let inbox = store
        .inbox(&workspace(), cyd.id, 9, None, true)
        .await
        .unwrap();
    let texts: Vec<_> = inbox
        .items
        .iter()
        .map(|entry| entry.text.as_deref())
        .collect();
    assert_eq!(texts, [Some("The roof is open")]);
}
