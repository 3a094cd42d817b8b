//! Short words for what is said on an issue, and whom that wakes.

use protocol::board::{
    BlockedReason, Comment, CommentEdit, CommentQuery, InboxEntry, Issue, IssueKey, Member,
    NewComment, Posted, SearchQuery, WakeOutcome, WakeVerdict,
};
use protocol::{AttemptId, CommentId, FailureClass, Outcome, TaskId};
use store::{Acting, Error, SearchScope};

use crate::bed::{Bed, at, failed, lane, told};
use crate::board::{AGENTS, acting, acting_agent, titled, workspace};

/// The agents of [`AGENTS`], with room for all they are asked.
pub(crate) fn room() -> store::Lane {
    lane(&[("reviewer", 99), ("writer", 99)], 99)
}

/// A mention of an agent.
pub(crate) fn to(agent: &str) -> String {
    format!("[{agent}](mention://agent/{agent}) please")
}

/// What became of each recipient: `queued`, `coalesced`, or the reason why not.
pub(crate) fn verdicts(wakes: &[WakeOutcome]) -> Vec<(String, &'static str)> {
    let word = |verdict: &WakeVerdict| match verdict {
        WakeVerdict::Queued { .. } => "queued",
        WakeVerdict::Coalesced { .. } => "coalesced",
        WakeVerdict::Deferred { .. } => "deferred",
        WakeVerdict::Steered { .. } => "steered",
        WakeVerdict::Blocked { reason } => match reason {
            BlockedReason::NotAvailable => "notAvailable",
            BlockedReason::Suppressed => "suppressed",
            BlockedReason::SelfTrigger => "selfTrigger",
            BlockedReason::DepthLimit => "depthLimit",
            BlockedReason::RateLimit => "rateLimit",
            BlockedReason::RoundLimit => "roundLimit",
            BlockedReason::RootLimit => "rootLimit",
            BlockedReason::TooManyRecipients => "tooManyRecipients",
            BlockedReason::NoOriginator => "noOriginator",
            BlockedReason::QueueFull => "queueFull",
        },
    };
    wakes
        .iter()
        .map(|wake| (wake.recipient.id.clone(), word(&wake.verdict)))
        .collect()
}

/// The task that was queued or takes it in.
pub(crate) fn task_of(wakes: &[WakeOutcome]) -> TaskId {
    match &wakes[0].verdict {
        WakeVerdict::Queued { task } => task.unwrap(),
        WakeVerdict::Coalesced { task } => *task,
        WakeVerdict::Deferred { task, .. }
        | WakeVerdict::Steered {
            follow_up: task, ..
        } => task.unwrap(),
        WakeVerdict::Blocked { reason } => panic!("{reason:?}"),
    }
}

/// A person and their issue.
pub(crate) struct Scene {
    pub(crate) bed: Bed,
    pub(crate) ada: Acting,
    pub(crate) issue: Issue,
    now: i64,
}

impl Scene {
    pub(crate) async fn new(bed: Bed) -> Self {
        let ada = bed.ada().await;
        let issue = bed.issue(&ada, titled("broken"), at(1)).await;
        let now = 100;
        Self {
            bed,
            ada,
            issue,
            now,
        }
    }

    /// Each thing happens a second after the one before.
    pub(crate) fn tick(&mut self) -> jiff::Timestamp {
        self.now += 1;
        at(self.now)
    }

    pub(crate) fn pass(&mut self, seconds: i64) {
        self.now += seconds;
    }

    pub(crate) async fn try_say(
        &mut self,
        by: &Acting,
        key: &IssueKey,
        body: &str,
        parent: Option<CommentId>,
    ) -> Result<Posted, Error> {
        let new = NewComment {
            body: body.to_owned(),
            parent,
            ..NewComment::default()
        };
        self.try_post(by, key, new).await
    }

    pub(crate) async fn try_post(
        &mut self,
        by: &Acting,
        key: &IssueKey,
        new: NewComment,
    ) -> Result<Posted, Error> {
        let body = new.body.clone();
        let now = self.tick();
        // A preview says what the write then does, whatever it is.
        let foreseen = self
            .bed
            .store
            .preview_comment(by, key, &new, &AGENTS, now)
            .await;
        let posted = self
            .bed
            .store
            .post_comment(by, key, new, &AGENTS, now)
            .await?;
        assert_eq!(
            verdicts(&foreseen?.wakes),
            verdicts(&posted.wakes),
            "{body}"
        );
        Ok(posted)
    }

    pub(crate) async fn say(&mut self, by: &Acting, body: &str) -> Posted {
        let key = self.issue.key.clone();
        self.try_say(by, &key, body, None).await.unwrap()
    }

    pub(crate) async fn answer(&mut self, by: &Acting, body: &str, parent: CommentId) -> Posted {
        let key = self.issue.key.clone();
        self.try_say(by, &key, body, Some(parent)).await.unwrap()
    }

    /// The next task is claimed.
    pub(crate) async fn claim(&mut self) -> Option<AttemptId> {
        let now = self.tick();
        let claimed = self
            .bed
            .store
            .claim_next(&room(), &self.bed.key, now)
            .await
            .unwrap();
        claimed.map(|claimed| claimed.attempt)
    }

    pub(crate) async fn open(&mut self, attempt: AttemptId) {
        let now = self.tick();
        let opened = self.bed.store.open_package(attempt, [1; 32], now).await;
        assert_eq!(opened.unwrap(), store::Opened::First);
    }

    /// The next task is claimed and opened: who works, and as whom.
    pub(crate) async fn begin(&mut self) -> (AttemptId, Acting) {
        let attempt = self.claim().await.unwrap();
        self.open(attempt).await;
        let agent = self.bed.task(attempt.task).await.agent;
        (attempt, acting_agent(&agent, attempt.task))
    }

    /// A run is over and cleared away.
    pub(crate) async fn end(&mut self, attempt: AttemptId, outcome: Outcome) {
        let now = self.tick();
        let store = &self.bed.store;
        let verdict = told(outcome, None);
        store.verdict(attempt, verdict, now).await.unwrap();
        store.release(attempt, now).await.unwrap();
    }

    /// A run that ends well without a word.
    pub(crate) async fn run(&mut self) -> TaskId {
        let (attempt, _) = self.begin().await;
        self.end(attempt, Outcome::Succeeded).await;
        attempt.task
    }

    pub(crate) async fn comments(&self, key: &IssueKey) -> Vec<Comment> {
        let query = CommentQuery {
            limit: Some(200),
            ..CommentQuery::default()
        };
        let page = self.bed.store.comments(&workspace(), key, &query).await;
        page.unwrap().items
    }

    /// What Mooring itself said on an issue.
    pub(crate) async fn words(&self, key: &IssueKey) -> Vec<String> {
        let comments = self.comments(key).await.into_iter();
        let own = comments.filter(|comment| comment.author.id.is_empty());
        own.map(|comment| comment.body).collect()
    }

    pub(crate) async fn inbox(&self, member: &Member) -> Vec<InboxEntry> {
        let store = &self.bed.store;
        let page = store.inbox(&workspace(), member.id, 50, None, true).await;
        page.unwrap().items
    }

    /// Agents that wait or work, oldest task first.
    pub(crate) async fn waiting(&self) -> Vec<(String, TaskId)> {
        let mut found = Vec::new();
        for task in self.bed.store.open_tasks(None, 99).await.unwrap() {
            found.push((self.bed.task(task).await.agent, task));
        }
        found
    }
}

/// What people say that the tests of crashes do not lose anything of: asked for by what is there, as a person does
/// who got no answer.
pub(crate) async fn speak(bed: &Bed) -> Result<(), Error> {
    let store = &bed.store;
    let ada = acting(&store.member(&workspace(), "ada", at(1)).await?);
    let key: IssueKey = "TEAMA-1".parse().unwrap();
    let all = CommentQuery::default();
    let said = store.comments(&workspace(), &key, &all).await?.items;
    let find = |text: &str| {
        said.iter()
            .find(|comment| comment.body.contains(text))
            .cloned()
    };
    let say = |body: String| NewComment {
        body,
        ..NewComment::default()
    };
    let asked = match find("please") {
        Some(asked) => asked,
        None => {
            let new = say(to("reviewer"));
            let posted = store.post_comment(&ada, &key, new, &AGENTS, at(80)).await?;
            posted.comment
        }
    };
    let edit = CommentEdit {
        revision: None,
        body: format!("{} now", to("reviewer")),
    };
    store
        .edit_comment(&ada, asked.id, edit, &AGENTS, at(81))
        .await?;
    store.resolve_comment(&ada, asked.id, true).await?;
    let slip = match find("slip") {
        Some(slip) => slip,
        None => {
            let new = say("/note a slip".to_owned());
            let posted = store.post_comment(&ada, &key, new, &AGENTS, at(82)).await?;
            posted.comment
        }
    };
    store.delete_comment(&ada, slip.id, at(83)).await?;
    let runs = store.runs_of_issue(&workspace(), &key, 9, None).await?;
    let Some(first) = runs.items.last() else {
        return Ok(());
    };
    store.bind_object(first.id, "uid of its object").await?;
    if !bed.task(first.id).await.state.has_verdict() {
        store.put_aside(first.id, at(84)).await?;
        store.let_go_on(first.id, at(84)).await?;
        let cancelled = failed(FailureClass::Cancelled);
        store.end_unclaimed(first.id, cancelled, at(84)).await?;
    }
    if runs.items.len() == 1 {
        let again = store::Again::Rerun;
        store
            .do_again(&ada, first.id, again, &AGENTS, at(85))
            .await?;
    }
    let runs = store.runs_of_issue(&workspace(), &key, 9, None).await?;
    for run in runs.items {
        let cancelled = failed(FailureClass::Cancelled);
        store.end_unclaimed(run.id, cancelled, at(86)).await?;
    }
    Ok(())
}

/// Nothing of it is lost, nothing is there twice.
pub(crate) async fn spoken(bed: &Bed) {
    let store = &bed.store;
    let key = "TEAMA-1".parse().unwrap();
    let said = store
        .comments(&workspace(), &key, &CommentQuery::default())
        .await;
    let said: Vec<_> = said
        .unwrap()
        .items
        .into_iter()
        .map(|comment| (comment.body, comment.revision, comment.resolved))
        .collect();
    assert_eq!(said, [(format!("{} now", to("reviewer")), 3, true)]);
    for (word, times) in [("now", 1), ("slip", 0)] {
        let asked = SearchQuery {
            q: word.to_owned(),
            ..SearchQuery::default()
        };
        let found = store
            .search(&workspace(), SearchScope::Workspace, &asked)
            .await;
        assert_eq!(found.unwrap().items.len(), times, "{word}");
    }
    let runs = store
        .runs_of_issue(&workspace(), &key, 9, None)
        .await
        .unwrap()
        .items;
    assert_eq!(runs.len(), 2);
    assert_eq!(
        store.task_by_object("uid of its object").await.unwrap(),
        Some(runs[1].id)
    );
}
