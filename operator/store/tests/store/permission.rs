//! Who may wake an agent: the person at the top of the chain counts, with the groups of its login.

use protocol::board::{CommentEdit, NewComment, NewIssue, Posted};
use protocol::{CommentId, Outcome};
use store::{Acting, Error};
use wake::{Access, AgentFacts, Directory};

use crate::bed::{Bed, both};
use crate::board::{acting, agent, titled, workspace};
use crate::talk::{Scene, task_of, to, verdicts};

/// `reviewer` is open to all; `writer` to its owner ada, to the group dev, and to what `say` says of agents.
struct Closed {
    webhooks: &'static [&'static str],
    agents: &'static [&'static str],
    strict: bool,
}

const CLOSED: Closed = Closed {
    webhooks: &[],
    agents: &[],
    strict: false,
};

impl Directory for Closed {
    fn agent(&self, name: &str) -> Option<AgentFacts> {
        let access = match name {
            "reviewer" => None,
            "writer" => Some(Access {
                owner: Some("ada".to_owned()),
                users: Vec::new(),
                groups: vec!["dev".to_owned()],
                agents: self.agents.iter().map(|name| (*name).to_owned()).collect(),
                webhooks: self
                    .webhooks
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect(),
            }),
            _ => return None,
        };
        Some(AgentFacts {
            display_name: name.to_owned(),
            access,
        })
    }

    fn requires_originator(&self) -> bool {
        self.strict
    }
}

async fn person(scene: &Scene, user: &str, groups: &[&str]) -> Acting {
    let mut acting = acting(&scene.bed.member(user).await);
    acting.groups = groups.iter().map(|group| (*group).to_owned()).collect();
    acting
}

/// Mooring itself, for a schedule or a delivery.
fn mooring() -> Acting {
    Acting::mooring(&workspace(), "schedule", "nightly")
}

async fn say(
    scene: &mut Scene,
    by: &Acting,
    body: &str,
    parent: Option<CommentId>,
    directory: &Closed,
) -> Posted {
    let new = NewComment {
        body: body.to_owned(),
        parent,
        ..NewComment::default()
    };
    let (key, now) = (scene.issue.key.clone(), scene.tick());
    let store = &scene.bed.store;
    let foreseen = store.preview_comment(by, &key, &new, directory, now).await;
    let posted = store
        .post_comment(by, &key, new, directory, now)
        .await
        .unwrap();
    assert_eq!(verdicts(&foreseen.unwrap().wakes), verdicts(&posted.wakes));
    posted
}

fn writer(how: &'static str) -> Vec<(String, &'static str)> {
    vec![("writer".to_owned(), how)]
}

both! {
    async fn only_those_who_are_named_wake_a_closed_agent(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let who = [
            (scene.ada.clone(), "queued"),
            (person(&scene, "dora", &["ops", "dev"]).await, "queued"),
            (person(&scene, "eve", &["ops"]).await, "notAvailable"),
            (person(&scene, "dev", &["writer"]).await, "notAvailable"),
        ];
        for (by, wanted) in who {
            let posted = say(&mut scene, &by, &to("writer"), None, &CLOSED).await;
            assert_eq!(verdicts(&posted.wakes), writer(wanted), "{:?}", by.user);
            // What can be given to it by whom is the same.
            let new = NewIssue { assignee: Some(agent("writer")), ..titled("for the writer") };
            let now = scene.tick();
            let made = scene.bed.store.create_issue(&by, new, &CLOSED, now).await;
            match made {
                Ok(saved) => assert_eq!(verdicts(&saved.wakes), writer(wanted)),
                Err(Error::Missing { .. }) => assert_eq!(wanted, "notAvailable"),
                Err(error) => panic!("{error}"),
            }
        }
    }

    async fn an_agent_asks_with_the_right_of_who_is_behind_it(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let (dora, eve) = (person(&scene, "dora", &["dev"]).await, person(&scene, "eve", &[]).await);
        for (by, directory, wanted) in [
            (&dora, CLOSED, "queued"),
            (&eve, CLOSED, "notAvailable"),
            // It may itself, whoever is behind it.
            (&eve, Closed { agents: &["reviewer"], ..CLOSED }, "queued"),
        ] {
            let root = say(&mut scene, by, &to("reviewer"), None, &directory).await.comment.id;
            let (run, reviewer) = scene.begin().await;
            let asked = say(&mut scene, &reviewer, &to("writer"), Some(root), &directory).await;
            assert_eq!(verdicts(&asked.wakes), writer(wanted), "{:?}", by.user);
            scene.end(run, Outcome::Succeeded).await;
            while let Some(attempt) = scene.claim().await {
                scene.open(attempt).await;
                scene.end(attempt, Outcome::Succeeded).await;
            }
        }
        scene.bed.sound().await;
    }

    async fn an_old_comment_is_edited_with_the_right_of_who_is_behind_the_edit(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let (dora, eve) = (person(&scene, "dora", &["dev"]).await, person(&scene, "eve", &[]).await);
        let root = say(&mut scene, &dora, &to("reviewer"), None, &CLOSED).await.comment.id;
        let (run, reviewer) = scene.begin().await;
        let old = say(&mut scene, &reviewer, "Done.", Some(root), &CLOSED).await.comment.id;
        scene.end(run, Outcome::Succeeded).await;
        say(&mut scene, &eve, &to("reviewer"), None, &CLOSED).await;
        let (_, reviewer) = scene.begin().await;
        let edit = CommentEdit { body: to("writer"), revision: None };
        let now = scene.tick();
        let edited = scene.bed.store.edit_comment(&reviewer, old, edit, &CLOSED, now).await.unwrap();
        assert_eq!(verdicts(&edited.wakes), writer("notAvailable"));
        scene.bed.sound().await;
    }

    async fn a_comment_that_waits_is_judged_again_by_its_edit(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let dora = person(&scene, "dora", &["dev"]).await;
        let waits = say(&mut scene, &dora, &to("writer"), None, &CLOSED).await;
        assert_eq!(verdicts(&waits.wakes), writer("queued"));
        // She is of the group no longer.
        let dora = person(&scene, "dora", &[]).await;
        let mut edited = async |by: &Acting| {
            let edit = CommentEdit { body: format!("{} Soon.", to("writer")), revision: None };
            let now = scene.tick();
            let store = &scene.bed.store;
            store.edit_comment(by, waits.comment.id, edit, &CLOSED, now).await.unwrap()
        };
        assert_eq!(verdicts(&edited(&dora).await.wakes), writer("notAvailable"));
        assert!(scene.claim().await.is_none(), "what she may no longer ask for is taken back");
        scene.bed.sound().await;
    }

    async fn the_newest_word_is_by_whose_right_an_agent_asks(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let (dora, eve) = (person(&scene, "dora", &["dev"]).await, person(&scene, "eve", &[]).await);
        let root = say(&mut scene, &dora, &to("reviewer"), None, &CLOSED).await.comment.id;
        let second = say(&mut scene, &eve, &to("reviewer"), Some(root), &CLOSED).await;
        assert_eq!(verdicts(&second.wakes), [("reviewer".to_owned(), "coalesced")]);
        // Taken back again before the agent began.
        let third = say(&mut scene, &eve, &to("reviewer"), Some(root), &CLOSED).await.comment.id;
        let now = scene.tick();
        for comment in [second.comment.id, third] {
            scene.bed.store.delete_comment(&eve, comment, now).await.unwrap();
        }
        let (run, reviewer) = scene.begin().await;
        assert_eq!(task_of(&second.wakes), run.task);
        let asked = say(&mut scene, &reviewer, &to("writer"), Some(root), &CLOSED).await;
        assert_eq!(verdicts(&asked.wakes), writer("queued"));
    }

    async fn nobody_is_behind_what_mooring_does_itself(bed: Bed) {
        let mut scene = Scene::new(bed).await;
        let strict = Closed { strict: true, ..CLOSED };
        // The issue is ada's, who owns the agent: nobody borrows her right.
        let webhook = Acting::webhook(&workspace(), "alerts");
        let named = Closed { webhooks: &["alerts"], ..CLOSED };
        for (by, directory, wanted) in [
            (mooring(), &CLOSED, "notAvailable"),
            (webhook.clone(), &CLOSED, "notAvailable"),
            (mooring(), &named, "notAvailable"),
            (Acting::webhook(&workspace(), "other"), &named, "notAvailable"),
            (webhook, &named, "queued"),
        ] {
            let posted = say(&mut scene, &by, &to("writer"), None, directory).await;
            assert_eq!(verdicts(&posted.wakes), writer(wanted), "{:?}", by.author);
        }
        for (name, wanted) in [("reviewer", "noOriginator"), ("writer", "notAvailable")] {
            let posted = say(&mut scene, &mooring(), &to(name), None, &strict).await;
            assert_eq!(verdicts(&posted.wakes), [(name.to_owned(), wanted)]);
        }
        let ada = scene.ada.clone();
        let posted = say(&mut scene, &ada, &to("writer"), None, &strict).await;
        assert_eq!(verdicts(&posted.wakes), writer("queued"));
        // An issue of its own is nobody's.
        let now = scene.tick();
        let own = scene.bed.store.create_issue(&mooring(), titled("nightly"), &CLOSED, now).await.unwrap();
        scene.issue = own.issue;
        for (name, wanted) in [("writer", "notAvailable"), ("reviewer", "queued")] {
            let posted = say(&mut scene, &mooring(), &to(name), None, &CLOSED).await;
            assert_eq!(verdicts(&posted.wakes), [(name.to_owned(), wanted)]);
        }
        // What an agent does that nobody is behind has nobody behind it.
        let mut last = None;
        while let Some(attempt) = scene.claim().await {
            scene.open(attempt).await;
            last = Some(attempt);
        }
        let reviewer = crate::board::acting_agent("reviewer", last.unwrap().task);
        for (directory, wanted) in [(CLOSED, "notAvailable"), (strict, "notAvailable")] {
            let asked = say(&mut scene, &reviewer, &to("writer"), None, &directory).await;
            assert_eq!(verdicts(&asked.wakes), writer(wanted));
        }
    }
}
