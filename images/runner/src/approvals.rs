//! Uses of tools for which a person is asked: on their way to the API and back.
//!
//! A question is followed by a task of its own. It asks until the API has it, then waits for a person's decision, which
//! comes as a command, or for its time to be over, which the API is told and may contradict: a person may have been
//! faster. Where the API cannot be reached for too long the answer is no: the CLI must have one before it gives up
//! waiting, since what it does then is its own affair.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use backon::BackoffBuilder as _;
use client::{Client, Error};
use protocol::board::ApprovalState;
use protocol::runner::{AskRequest, AskResponse, SettleRequest, SettleResponse, Settled};
use protocol::tools::ToolPolicy;
use protocol::{ApprovalId, limits};
use secrecy::SecretString;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{info, warn};

use crate::upload::backoff;

/// The API is waited for so long beyond the time that a person has.
const SLACK: Duration = Duration::from_secs(120);
/// How long the API is tried to be told that nobody is waited for, however late it is.
const LAST_WORD: Duration = Duration::from_secs(10);
/// A CLI that waits by itself is told to wait so long beyond the time that a person has: longer than [`SLACK`].
pub const CLI_SLACK: Duration = Duration::from_secs(600);
/// Answers that may wait for the run.
const ANSWERS: usize = limits::APPROVALS_PENDING as usize;

/// Who is asked.
pub trait Office: Clone + Send + Sync + 'static {
    /// Asks; the same again is safe.
    fn ask(&self, request: &AskRequest) -> impl Future<Output = Result<AskResponse, Error>> + Send;
    /// Says that nobody is waited for any more.
    fn settle(
        &self,
        request: SettleRequest,
    ) -> impl Future<Output = Result<SettleResponse, Error>> + Send;
}

/// The API.
#[derive(Clone, Debug)]
pub struct Api {
    client: Client,
    credential: SecretString,
}

impl Api {
    /// With the runner's credential.
    #[must_use]
    pub fn new(client: Client, credential: SecretString) -> Self {
        Self { client, credential }
    }
}

impl Office for Api {
    async fn ask(&self, request: &AskRequest) -> Result<AskResponse, Error> {
        self.client.ask(&self.credential, request).await
    }

    async fn settle(&self, request: SettleRequest) -> Result<SettleResponse, Error> {
        self.client.settle(&self.credential, &request).await
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// That of the adapter.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What the tool is given, redacted.
    pub input: serde_json::Value,
    /// Why it is asked.
    pub why: String,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// That of the adapter.
    pub id: String,
    /// Whether the tool may be used.
    pub allow: bool,
    /// What the agent is told beside it.
    pub why: String,
}

/// A person's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Yes or no.
    pub allow: bool,
    /// Who.
    pub by: String,
    /// What they said to it.
    pub reason: Option<String>,
}

impl Decision {
    fn answer(self, id: String) -> Answer {
        let Self { allow, by, reason } = self;
        let word = if allow { "approved" } else { "denied" };
        let why = match reason {
            Some(reason) => format!("{word} by {by}: {reason}"),
            None => format!("{word} by {by}"),
        };
        Answer { id, allow, why }
    }
}

type Decisions = BTreeMap<ApprovalId, Decision>;

/// The questions of one run. Dropped, it lets the API know that nobody waits any more.
#[derive(Debug)]
pub struct Questions<O> {
    office: O,
    policy: ToolPolicy,
    /// Makes ids of this run others than those of another one in the same attempt.
    run: u32,
    open: BTreeMap<String, Open>,
    decisions: watch::Sender<Decisions>,
    send: mpsc::Sender<Answer>,
    answers: mpsc::Receiver<Answer>,
}

/// One that waits.
#[derive(Debug)]
struct Open {
    tool: String,
    /// Dropped with it: then its task withdraws.
    _waits: oneshot::Sender<()>,
}

impl<O: Office> Questions<O> {
    /// For the run with this number in its attempt.
    #[must_use]
    pub fn new(office: O, policy: ToolPolicy, run: u32) -> Self {
        let (send, answers) = mpsc::channel(ANSWERS);
        Self {
            office,
            policy,
            run,
            open: BTreeMap::new(),
            decisions: watch::Sender::default(),
            send,
            answers,
        }
    }

    /// Asks. An answer follows, unless it is given at once.
    ///
    /// # Errors
    /// Why nobody is asked: then it is not allowed.
    pub fn ask(&mut self, question: Question) -> Result<(), String> {
        let Question {
            id,
            tool,
            input,
            why,
        } = question;
        if self.open.contains_key(&id) {
            return Err("it waits for a decision already".to_owned());
        }
        if self.open.len() >= ANSWERS {
            return Err(format!("{ANSWERS} decisions are waited for already"));
        }
        if input.to_string().len() > limits::APPROVAL_INPUT_BYTES {
            return Err(format!(
                "what {tool} is to be given is longer than the {} KiB that a person can be shown: do it in smaller steps",
                limits::APPROVAL_INPUT_BYTES >> 10
            ));
        }
        let request = AskRequest {
            call_id: format!("{}-{id}", self.run),
            tool: tool.clone(),
            input,
            why,
            seconds: self.policy.approval_seconds,
        };
        let (waits, given_up) = oneshot::channel();
        let follows = Follow {
            office: self.office.clone(),
            id: id.clone(),
            decisions: self.decisions.subscribe(),
            policy: self.policy.clone(),
            until: Instant::now()
                + Duration::from_secs(self.policy.approval_seconds.into())
                + SLACK,
        };
        tokio::spawn(follows.run(request, given_up, self.send.clone()));
        let _waits = waits;
        self.open.insert(id, Open { tool, _waits });
        Ok(())
    }

    /// Takes a person's decision.
    pub fn decide(&self, approval: ApprovalId, decision: Decision) {
        self.decisions.send_modify(|known| {
            // The API lets nobody ask more often.
            if known.len() < limits::APPROVALS_PER_ATTEMPT as usize {
                known.insert(approval, decision);
            }
        });
    }

    /// The CLI does not wait for this one any more. The tool, if it did.
    pub fn withdraw(&mut self, id: &str) -> Option<String> {
        self.open.remove(id).map(|open| open.tool)
    }

    /// The next answer, of a question that waits. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Answer {
        match self.answers.recv().await {
            Some(answer) => answer,
            // It holds a sender itself.
            None => std::future::pending().await,
        }
    }
}

/// One question on its way.
struct Follow<O> {
    office: O,
    id: String,
    decisions: watch::Receiver<Decisions>,
    policy: ToolPolicy,
    /// Then the answer is no.
    until: Instant,
}

impl<O: Office> Follow<O> {
    async fn run(
        mut self,
        request: AskRequest,
        mut given_up: oneshot::Receiver<()>,
        send: mpsc::Sender<Answer>,
    ) {
        let (office, until) = (self.office.clone(), self.until);
        let asked = match insist(until, || office.ask(&request)).await {
            Ok(asked) => asked,
            Err(why) => {
                let _ = send.send(self.no(why)).await;
                return;
            }
        };
        let approval = asked.approval;
        // The API counts from when it was asked, the CLI from when it did. Who was asked late has less time.
        let given = Instant::now() + Duration::from_millis(asked.milliseconds);
        let time = sleep_until(given.min(until - SLACK));
        let how = tokio::select! {
            biased;
            _ = &mut given_up => Settled::Withdrawn,
            decision = decision(&mut self.decisions, approval) => match decision {
                Some(decision) => {
                    let _ = send.send(decision.answer(self.id)).await;
                    return;
                }
                // The run is over.
                None => Settled::Withdrawn,
            },
            () = time => Settled::Expired,
        };
        let request = SettleRequest { approval, how };
        let until = until.max(Instant::now() + LAST_WORD);
        let stands = insist(until, || office.settle(request)).await;
        if how == Settled::Expired {
            let _ = send.send(self.late(stands)).await;
        }
    }

    fn no(&self, why: String) -> Answer {
        Answer {
            id: self.id.clone(),
            allow: false,
            why,
        }
    }

    /// Its time is over; what the API says about it.
    fn late(self, stands: Result<SettleResponse, String>) -> Answer {
        let SettleResponse { state, by, reason } = match stands {
            Ok(stands) => stands,
            Err(why) => return self.no(why),
        };
        let seconds = self.policy.approval_seconds;
        let decided = |allow| Decision {
            allow,
            by: by.unwrap_or_else(|| "somebody".to_owned()),
            reason,
        };
        match state {
            ApprovalState::Approved => decided(true).answer(self.id),
            ApprovalState::Denied => decided(false).answer(self.id),
            ApprovalState::Expired if self.policy.allow_on_timeout => Answer {
                id: self.id,
                allow: true,
                why: format!("nobody decided within {seconds} s, and the Agent says to go on then"),
            },
            ApprovalState::Expired => self.no(format!(
                "nobody decided within {seconds} s: do without it, or say what is missing"
            )),
            ApprovalState::Withdrawn | ApprovalState::Pending => {
                self.no("it is not asked any more".to_owned())
            }
        }
    }
}

/// Calls the API until it answers, or it is too late.
async fn insist<T, F>(until: Instant, call: impl Fn() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut waits = backoff().build();
    while Instant::now() < until {
        let error = tokio::select! {
            answer = call() => match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            },
            () = sleep_until(until) => break,
        };
        if !error.retry() {
            warn!(%error, "the API does not take a question");
            return Err(format!("nobody can be asked: {error}"));
        }
        info!(%error, "a question waits for the API");
        sleep(waits.next().unwrap_or(Duration::from_secs(2))).await;
    }
    Err("the API could not be reached in time".to_owned())
}

/// Waits for the decision on this one; `None` when nobody is left who could tell.
async fn decision(
    decisions: &mut watch::Receiver<Decisions>,
    approval: ApprovalId,
) -> Option<Decision> {
    let decided = |known: &Decisions| known.contains_key(&approval);
    let known = decisions.wait_for(decided).await.ok()?;
    known.get(&approval).cloned()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use uuid::Uuid;

    use super::*;

    const APPROVAL: ApprovalId = ApprovalId(Uuid::from_u128(5));

    /// Answers as it was told to, and keeps what it was asked.
    #[derive(Clone)]
    struct Fake {
        /// None: it cannot be reached.
        state: Option<ApprovalState>,
        /// It can be reached after this long.
        away: Duration,
        heard: Arc<Mutex<Vec<String>>>,
    }

    impl Fake {
        fn new(state: Option<ApprovalState>) -> Self {
            Self {
                state,
                away: Duration::ZERO,
                heard: Arc::default(),
            }
        }
    }

    impl Office for Fake {
        async fn ask(&self, request: &AskRequest) -> Result<AskResponse, Error> {
            self.heard.lock().unwrap().push(request.call_id.clone());
            sleep(self.away).await;
            if self.state.is_none() {
                std::future::pending::<()>().await;
            }
            Ok(AskResponse {
                approval: APPROVAL,
                milliseconds: 60_000,
            })
        }

        async fn settle(&self, request: SettleRequest) -> Result<SettleResponse, Error> {
            self.heard
                .lock()
                .unwrap()
                .push(format!("{:?}", request.how));
            Ok(SettleResponse {
                state: self.state.unwrap_or(ApprovalState::Expired),
                by: Some("ada".to_owned()),
                reason: None,
            })
        }
    }

    fn questions(office: &Fake, allow_on_timeout: bool) -> Questions<Fake> {
        let policy = ToolPolicy {
            approval_seconds: 60,
            allow_on_timeout,
            ..ToolPolicy::default()
        };
        Questions::new(office.clone(), policy, 1)
    }

    fn question() -> Question {
        Question {
            id: "r".to_owned(),
            tool: "Bash".to_owned(),
            input: serde_json::json!({"command": "git push"}),
            why: "Bash needs approval".to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_decision_is_the_answer_even_when_it_comes_first() {
        for early in [true, false] {
            let office = Fake::new(Some(ApprovalState::Pending));
            let mut questions = questions(&office, false);
            let decision = Decision {
                allow: true,
                by: "ada".to_owned(),
                reason: Some("go on".to_owned()),
            };
            if early {
                questions.decide(APPROVAL, decision.clone());
            }
            questions.ask(question()).unwrap();
            if !early {
                questions.decide(APPROVAL, decision);
            }
            let answer = questions.next().await;
            assert_eq!(
                (answer.allow, answer.why.as_str()),
                (true, "approved by ada: go on")
            );
            assert_eq!(*office.heard.lock().unwrap(), ["1-r"]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_api_says_stands_when_the_time_is_over() {
        for (state, on_timeout, allow) in [
            (Some(ApprovalState::Expired), false, false),
            (Some(ApprovalState::Expired), true, true),
            (Some(ApprovalState::Approved), false, true),
            (Some(ApprovalState::Denied), true, false),
            (Some(ApprovalState::Withdrawn), true, false),
            (None, true, false),
        ] {
            let begun = Instant::now();
            let mut questions = questions(&Fake::new(state), on_timeout);
            questions.ask(question()).unwrap();
            let answer = questions.next().await;
            assert_eq!(answer.allow, allow, "{state:?} {answer:?}");
            let took = begun.elapsed();
            assert!(
                took >= Duration::from_secs(60) && took < Duration::from_secs(60) + CLI_SLACK,
                "{took:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_asked_late_has_less_time_and_the_api_is_told() {
        for away in [30, 100, 179] {
            let mut office = Fake::new(Some(ApprovalState::Expired));
            office.away = Duration::from_secs(away);
            let begun = Instant::now();
            let mut questions = questions(&office, false);
            questions.ask(question()).unwrap();
            let answer = questions.next().await;
            assert!(!answer.allow);
            let most = Duration::from_secs(away.max(60) + 1);
            assert!(begun.elapsed() <= most, "{away} {:?}", begun.elapsed());
            assert_eq!(*office.heard.lock().unwrap(), ["1-r", "Expired"], "{away}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_waits_for_is_withdrawn() {
        for dropped in [true, false] {
            let office = Fake::new(Some(ApprovalState::Withdrawn));
            let mut asked = questions(&office, false);
            asked.ask(question()).unwrap();
            tokio::task::yield_now().await;
            if dropped {
                drop(asked);
            } else {
                assert_eq!(asked.withdraw("r").as_deref(), Some("Bash"));
                assert_eq!(asked.withdraw("r"), None);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(*office.heard.lock().unwrap(), ["1-r", "Withdrawn"]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_can_look_at_is_not_asked() {
        let office = Fake::new(Some(ApprovalState::Pending));
        let mut questions = questions(&office, true);
        let mut long = question();
        long.input = "x".repeat(limits::APPROVAL_INPUT_BYTES).into();
        assert!(questions.ask(long).unwrap_err().contains("smaller steps"));
        for number in 0..ANSWERS {
            let id = number.to_string();
            questions.ask(Question { id, ..question() }).unwrap();
        }
        let twice = Question {
            id: "0".to_owned(),
            ..question()
        };
        assert!(questions.ask(twice).unwrap_err().contains("already"));
        let more = questions.ask(question()).unwrap_err();
        assert!(more.contains("decisions are waited for"), "{more}");
    }
}
