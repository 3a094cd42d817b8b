//! Teams: whoever asks one wakes its leader, as leader.

use protocol::board::{
    CommentEdit, Issue, IssueEdit, IssueStatus, NewComment, NewIssue, Posted, Recipient,
    RecipientKind, SavedIssue,
};
use protocol::{CommentId, Outcome};
use store::{Acting, Error};
use wake::{AgentFacts, Directory, TeamFacts};

use crate::bed::{Bed, both};
use crate::board::{agent, titled};
use crate::talk::{Scene, task_of, to, verdicts};

/// Two agents, and the team `core` that one of them leads.
struct Led(&'static str);

const LED: Led = Led("reviewer");

impl Directory for Led {
    fn agent(&self, name: &str) -> Option<AgentFacts> {
        ["reviewer", "writer"].contains(&name).then(|| AgentFacts {
            display_name: name.to_owned(),
            access: None,
        })
    }

    fn team(&self, name: &str) -> Option<TeamFacts> {
        (name == "core").then(|| TeamFacts {
            leader: self.0.to_owned(),
        })
    }
}

const TEAM: &str = "[core](mention://team/core) please";

fn team() -> Recipient {
    Recipient {
        kind: RecipientKind::Team,
        id: "core".to_owned(),
    }
}

fn given(to: Option<Recipient>) -> IssueEdit {
    IssueEdit {
        assignee: Some(to),
        ..IssueEdit::default()
    }
}

/// What happens with teams in it.
struct Play {
    scene: Scene,
    ada: Acting,
    led: Led,
}

impl Play {
    async fn new(bed: Bed) -> Self {
        let scene = Scene::new(bed).await;
        let ada = scene.ada.clone();
        Self {
            scene,
            ada,
            led: LED,
        }
    }

    async fn say(&mut self, by: &Acting, body: &str, parent: Option<CommentId>) -> Posted {
        let new = NewComment {
            body: body.to_owned(),
            parent,
            ..NewComment::default()
        };
        let (key, now) = (self.scene.issue.key.clone(), self.scene.tick());
        let store = &self.scene.bed.store;
        let foreseen = store.preview_comment(by, &key, &new, &self.led, now).await;
        let posted = store.post_comment(by, &key, new, &self.led, now).await;
        let posted = posted.unwrap();
        assert_eq!(verdicts(&foreseen.unwrap().wakes), verdicts(&posted.wakes));
        posted
    }

    async fn edit(&mut self, id: CommentId, body: &str) -> Posted {
        let edit = CommentEdit {
            revision: None,
            body: body.to_owned(),
        };
        let now = self.scene.tick();
        let store = &self.scene.bed.store;
        let edited = store
            .edit_comment(&self.ada, id, edit, &self.led, now)
            .await;
        edited.unwrap()
    }

    async fn change(&mut self, by: &Acting, issue: &Issue, edit: IssueEdit) -> SavedIssue {
        let now = self.scene.tick();
        let store = &self.scene.bed.store;
        let saved = store.edit_issue(by, &issue.key, edit, &self.led, now).await;
        saved.unwrap()
    }

    async fn make(&mut self, by: &Acting, new: NewIssue) -> Result<SavedIssue, Error> {
        let now = self.scene.tick();
        self.scene
            .bed
            .store
            .create_issue(by, new, &self.led, now)
            .await
    }

    fn part(&self, assignee: Option<Recipient>) -> NewIssue {
        NewIssue {
            parent: Some(self.scene.issue.key.clone()),
            assignee,
            ..titled("a part")
        }
    }

    /// Who waits or works, and which team they lead.
    async fn at_work(&self) -> Vec<(String, Option<String>)> {
        let mut found = Vec::new();
        for (agent, task) in self.scene.waiting().await {
            found.push((agent, self.scene.bed.store.led_team(task).await.unwrap()));
        }
        found
    }
}

fn leading(agent: &str) -> Vec<(String, Option<String>)> {
    vec![(agent.to_owned(), Some("core".to_owned()))]
}

fn plain(agent: &str) -> Vec<(String, Option<String>)> {
    vec![(agent.to_owned(), None)]
}

fn done() -> IssueEdit {
    IssueEdit {
        status: Some(IssueStatus::Done),
        ..IssueEdit::default()
    }
}

both! {
    async fn a_mention_wakes_the_leader_once(bed: Bed) {
        let mut play = Play::new(bed).await;
        let ada = play.ada.clone();
        let posted = play.say(&ada, &format!("{} {TEAM}", to("reviewer")), None).await;
        assert_eq!(posted.wakes.len(), 1, "{:?}", posted.wakes);
        assert_eq!((&posted.wakes[0].recipient, posted.wakes[0].executes.as_deref()), (&team(), Some("reviewer")));
        assert_eq!(play.at_work().await, leading("reviewer"));
        // What is said to itself meanwhile takes nothing from that, and gives nothing to a thread of its own.
        let root = posted.comment.id;
        let more = play.say(&ada, &to("reviewer"), Some(root)).await;
        assert_eq!(verdicts(&more.wakes), [("reviewer".to_owned(), "coalesced")]);
        assert_eq!(play.at_work().await, leading("reviewer"));
        let now = play.scene.tick();
        play.scene.bed.store.delete_comment(&ada, root, now).await.unwrap();
        assert_eq!(play.at_work().await, plain("reviewer"));
        play.scene.bed.sound().await;
    }

    async fn a_team_that_is_not_there_stays_the_recipient(bed: Bed) {
        let mut play = Play::new(bed).await;
        let ada = play.ada.clone();
        for body in ["[x](mention://team/gone)", "[x](mention://squad/gone) [y](mention://team/gone)"] {
            let posted = play.say(&ada, body, None).await;
            assert_eq!(verdicts(&posted.wakes), [("gone".to_owned(), "notAvailable")]);
            assert_eq!((posted.wakes[0].recipient.kind, &posted.wakes[0].executes), (RecipientKind::Team, &None));
        }
        play.led = Led("nobody");
        let posted = play.say(&ada, TEAM, None).await;
        assert_eq!(verdicts(&posted.wakes), [("core".to_owned(), "notAvailable")]);
        assert_eq!(posted.wakes[0].executes, None);
        for assignee in [team(), Recipient { id: "gone".to_owned(), ..team() }] {
            let new = NewIssue { assignee: Some(assignee), ..titled("for nobody") };
            assert!(matches!(play.make(&ada, new).await, Err(Error::Missing { .. })));
        }
    }

    async fn what_a_member_was_asked_comes_back_to_the_leader_as_leader(bed: Bed) {
        // #8719: success as well as failure.
        let mut play = Play::new(bed).await;
        let ada = play.ada.clone();
        let root = play.say(&ada, TEAM, None).await.comment.id;
        let (asking, lead) = play.scene.begin().await;
        let asked = play.say(&lead, &to("writer"), Some(root)).await;
        assert_eq!(verdicts(&asked.wakes), [("writer".to_owned(), "queued")]);
        play.scene.end(asking, Outcome::Succeeded).await;
        assert_eq!(play.at_work().await, plain("writer"));
        let (work, writer) = play.scene.begin().await;
        play.say(&writer, "It is written.", Some(root)).await;
        play.scene.end(work, Outcome::Succeeded).await;
        assert_eq!(play.at_work().await, leading("reviewer"));
        let (back, _) = play.scene.begin().await;
        play.scene.end(back, Outcome::Succeeded).await;
        // A person who answers the leader, and what is run again, goes on with the team.
        let answers = play.scene.comments(&play.scene.issue.key).await;
        let led = answers.iter().find(|comment| comment.author.id == "reviewer").unwrap().id;
        play.say(&ada, "and now?", Some(led)).await;
        assert_eq!(play.at_work().await, leading("reviewer"));
        play.scene.run().await;
        let now = play.scene.tick();
        let again = store::Again::Rerun;
        play.scene.bed.store.do_again(&ada, back.task, again, &play.led, now).await.unwrap();
        assert_eq!(play.at_work().await, leading("reviewer"));
        play.scene.run().await;
        // Whoever does not lead it any more is answered as itself.
        play.led = Led("writer");
        play.say(&ada, "and now?", Some(led)).await;
        assert_eq!(play.at_work().await, plain("reviewer"));
        play.scene.bed.sound().await;
    }

    async fn a_leader_does_not_wake_itself(bed: Bed) {
        let mut play = Play::new(bed).await;
        let ada = play.ada.clone();
        play.say(&ada, TEAM, None).await;
        let (_, lead) = play.scene.begin().await;
        let posted = play.say(&lead, TEAM, None).await;
        assert_eq!(verdicts(&posted.wakes), [("core".to_owned(), "selfTrigger")]);
    }

    async fn parts_of_an_issue_that_only_a_mention_drives_are_heard_of(bed: Bed) {
        // #5706: nobody has the issue.
        let mut play = Play::new(bed).await;
        let ada = play.ada.clone();
        play.say(&ada, TEAM, None).await;
        let (asking, lead) = play.scene.begin().await;
        let new = play.part(Some(agent("writer")));
        let part = play.make(&lead, new).await.unwrap().issue;
        play.scene.end(asking, Outcome::Succeeded).await;
        let (work, writer) = play.scene.begin().await;
        let closed = play.change(&writer, &part, done()).await;
        assert_eq!(verdicts(&closed.wakes), [("reviewer".to_owned(), "queued")]);
        play.scene.end(work, Outcome::Succeeded).await;
        assert_eq!(play.at_work().await, leading("reviewer"));
        play.scene.bed.sound().await;
    }

    async fn a_team_that_has_the_issue_hears_of_its_parts(bed: Bed) {
        let mut play = Play::new(bed).await;
        let ada = play.ada.clone();
        let issue = play.scene.issue.clone();
        let saved = play.change(&ada, &issue, given(Some(team()))).await;
        assert_eq!((&saved.wakes[0].recipient, saved.wakes[0].executes.as_deref()), (&team(), Some("reviewer")));
        play.scene.run().await;
        // A plain comment at the top is for who has it.
        let posted = play.say(&ada, "and hurry", None).await;
        assert_eq!(verdicts(&posted.wakes), [("core".to_owned(), "queued")]);
        assert_eq!(play.at_work().await, leading("reviewer"));
        play.scene.run().await;
        // A reply in that thread goes on with it, whoever leads now.
        play.led = Led("writer");
        play.say(&ada, "please", Some(posted.comment.id)).await;
        assert_eq!(play.at_work().await, leading("writer"));
        play.scene.run().await;
        let new = play.part(None);
        let part = play.make(&ada, new).await.unwrap().issue;
        let closed = play.change(&ada, &part, done()).await;
        assert_eq!((&closed.wakes[0].recipient, closed.wakes[0].executes.as_deref()), (&team(), Some("writer")));
        assert_eq!(play.at_work().await, leading("writer"));
        play.scene.bed.sound().await;
    }

    async fn what_was_given_to_a_team_can_be_taken_back_from_whom_it_woke(bed: Bed) {
        let mut play = Play::new(bed).await;
        let ada = play.ada.clone();
        let issue = play.scene.issue.clone();
        let task = task_of(&play.change(&ada, &issue, given(Some(team()))).await.wakes);
        // Another one leads it by then.
        play.led = Led("writer");
        play.change(&ada, &issue, given(None)).await;
        assert_eq!(play.at_work().await, []);
        assert!(play.scene.bed.task(task).await.state.has_verdict());
        // From the leader itself nothing is taken for what the team had, nor the other way round.
        play.led = LED;
        play.change(&ada, &issue, given(Some(team()))).await;
        play.change(&ada, &issue, given(Some(agent("reviewer")))).await;
        assert_eq!(play.at_work().await, plain("reviewer"));
        play.change(&ada, &issue, given(Some(team()))).await;
        assert_eq!(play.at_work().await, leading("reviewer"));
        play.scene.bed.sound().await;
    }

    async fn an_edit_changes_for_whom_one_works(bed: Bed) {
        let mut play = Play::new(bed).await;
        let ada = play.ada.clone();
        let posted = play.say(&ada, &to("reviewer"), None).await;
        let (id, task) = (posted.comment.id, task_of(&posted.wakes));
        let edited = play.edit(id, TEAM).await;
        assert_eq!((task_of(&edited.wakes), verdicts(&edited.wakes)), (task, vec![("core".to_owned(), "coalesced")]));
        assert_eq!(play.at_work().await, leading("reviewer"));
        play.edit(id, &to("reviewer")).await;
        assert_eq!(play.at_work().await, plain("reviewer"));
        play.edit(id, TEAM).await;
        // Who was woken for the team works for it, also when another one would lead it now.
        play.led = Led("writer");
        play.edit(id, &format!("{TEAM}, soon")).await;
        assert_eq!(play.at_work().await, leading("reviewer"));
        play.edit(id, "never mind").await;
        assert_eq!(play.at_work().await, []);
        play.scene.bed.sound().await;
    }
}
