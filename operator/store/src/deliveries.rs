//! What webhooks deliver: stored before the sender is answered, and then dealt with once, in the transaction that
//! makes of it what it becomes.

use jiff::{Timestamp, ToSpan as _};
use protocol::board::{Issue, IssueKey, NewIssue};
use protocol::{CommentId, IssueId};
use uuid::Uuid;

use crate::db::{Row, query};
use crate::tasks::new_id;
use crate::writes::Write;
use crate::{Acting, Error, Store, WorkspaceRef, WritePoint, comments, issues};

/// Deliveries of one webhook that may wait; the sender is asked to send more later.
pub const WAITING_DELIVERIES: u32 = 1000;
/// How long a delivery is remembered, in hours: what is sent again until then is known.
const REMEMBERED_HOURS: i64 = 7 * 24;
/// Old ones that are forgotten with each new one.
const FORGOTTEN_AT_ONCE: u32 = 20;
/// Bytes of a remark on what became of a delivery.
const REMARK_BYTES: usize = 500;

/// A delivery that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    /// Where.
    pub workspace: WorkspaceRef,
    /// Name of the webhook.
    pub webhook: String,
    /// The sender's id of it.
    pub delivery: String,
    /// What it tells of, as the sender says.
    pub event: String,
    /// What was sent.
    pub body: Vec<u8>,
    /// Hash of the body, where the signature does not cover the id: the same body is then the same delivery.
    pub body_hash: Option<[u8; 32]>,
}

/// Answer to [`Store::take_delivery`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Took {
    /// It will be dealt with.
    New,
    /// It came before, and was or will be dealt with.
    Known,
}

/// A delivery that waits to be dealt with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its id.
    pub id: Uuid,
    /// Where.
    pub workspace: WorkspaceRef,
    /// Name of the webhook.
    pub webhook: String,
    /// What it tells of, as the sender says.
    pub event: String,
    /// What was sent.
    pub body: Vec<u8>,
}

impl Delivery {
    /// When it came, to the millisecond.
    #[must_use]
    pub fn came_at(&self) -> Option<Timestamp> {
        let (seconds, nanoseconds) = self.id.get_timestamp()?.to_unix();
        let (seconds, nanoseconds) = (seconds.try_into().ok()?, nanoseconds.try_into().ok()?);
        Timestamp::new(seconds, nanoseconds).ok()
    }
}

/// How a delivery ended that became nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// It is none that is taken over.
    Ignored,
    /// It could not become what it should.
    Failed,
}

/// What a delivery becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Become {
    /// An issue; while one stands open for the same reference, a comment on that one.
    Issue {
        /// The issue.
        new: Box<NewIssue>,
        /// The sender's name of what it tells of.
        reference: Option<String>,
        /// The comment; without one the open issue says all.
        comment: Option<String>,
    },
    /// A comment on this issue.
    CommentOnIssue {
        /// Its key.
        issue: IssueKey,
        /// The comment.
        body: String,
    },
    /// A comment on the issue that stands for a reference; where none does, nothing.
    CommentOnReference {
        /// The sender's name of what it tells of.
        reference: String,
        /// The comment.
        body: String,
    },
}

/// What became of a delivery, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryOutcome {
    /// The sender's id of it.
    pub delivery: String,
    /// True unless it failed.
    pub taken: bool,
    /// A remark for people.
    pub remark: String,
}

impl Store {
    /// Stores a delivery. One that came before is known by its id, or by its body; one that failed is tried again
    /// when it is sent again.
    ///
    /// # Errors
    /// [`Error::Conflict`] when too many of this webhook wait, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn take_delivery(&self, new: NewDelivery, now: Timestamp) -> Result<Took, Error> {
        const INSERT: &str = "INSERT INTO deliveries (id, namespace, namespace_uid, webhook, delivery, event, body_hash, \
            body, state, received_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting', $9) ON CONFLICT DO NOTHING";
        const AGAIN: &str = "UPDATE deliveries SET state = 'waiting', body = $4, event = $5, remark = '' \
            WHERE namespace_uid = $1 AND webhook = $2 AND delivery = $3 AND state = 'failed' \
            AND (body_hash IS NULL OR body_hash = $6)";
        let id = new_id(now)?;
        let mut write = self.write(WritePoint::TakeDelivery).await?;
        check_room(&mut write, &new).await?;
        forget_old(&mut write, now).await?;
        let uid = new.workspace.namespace_uid.as_str();
        let hash = new.body_hash.map(|hash| hash.to_vec());
        let insert = query("take a delivery", INSERT)
            .bind(id)
            .bind(new.workspace.namespace.as_str())
            .bind(uid)
            .bind(new.webhook.as_str())
            .bind(new.delivery.as_str())
            .bind(new.event.as_str())
            .bind(hash.clone())
            .bind(new.body.clone())
            .bind(now);
        let mut took = insert.execute(&mut write).await?;
        if took == 0 {
            let again = query("take a failed delivery again", AGAIN)
                .bind(uid)
                .bind(new.webhook.as_str())
                .bind(new.delivery.as_str())
                .bind(new.body)
                .bind(new.event.as_str())
                // An id that nobody signed brings no other body in, which may have been dealt with before.
                .bind(hash);
            took = again.execute(&mut write).await?;
        }
        if took > 0 {
            write.delivered();
        }
        write.commit().await?;
        Ok(if took > 0 { Took::New } else { Took::Known })
    }

    /// Deliveries that wait, in the order in which they came.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn waiting_deliveries(&self, most: u32) -> Result<Vec<Delivery>, Error> {
        const LIST: &str = "SELECT id, namespace, namespace_uid, webhook, event, body FROM deliveries \
            WHERE state = 'waiting' AND id > $1 ORDER BY id LIMIT $2";
        let list = query("look for deliveries that wait", LIST)
            .bind(Uuid::nil())
            .bind(most);
        let rows = list.all(&mut self.reader().await?).await?;
        rows.iter().map(read).collect()
    }

    /// Makes of a delivery what it becomes; an agent that is to hear of it is woken. Nothing happens to one that was
    /// dealt with already.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Invalid`], [`Error::Conflict`] when it cannot become that, [`Error::Lost`],
    /// [`Error::Unavailable`].
    pub async fn deliver(
        &self,
        on: &Delivery,
        (by, becomes): (&Acting, Become),
        directory: &dyn wake::Directory,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut write = self.write(WritePoint::Deliver).await?;
        write.queue(&by.workspace, directory).await?;
        // Two who deal with the same webhook would else both find that no issue stands for a reference.
        write
            .serialize(&format!(
                "webhook {} {}",
                by.workspace.namespace_uid, on.webhook
            ))
            .await?;
        if !is_waiting(&mut write, on.id).await? {
            return Ok(());
        }
        let mut act = Act {
            write: &mut write,
            webhook: &on.webhook,
            by,
            directory,
            now,
        };
        let became = act.take(becomes).await?;
        let end = End {
            state: if became.issue.is_some() {
                "done"
            } else {
                "ignored"
            },
            became,
        };
        settle(&mut write, on.id, end).await?;
        write.commit().await
    }

    /// Ends a delivery that becomes nothing; `why` is for people.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn end_delivery(&self, id: Uuid, how: Nothing, why: &str) -> Result<(), Error> {
        let mut write = self.write(WritePoint::EndDelivery).await?;
        let end = End {
            state: match how {
                Nothing::Ignored => "ignored",
                Nothing::Failed => "failed",
            },
            became: Became {
                remark: why.to_owned(),
                ..Became::default()
            },
        };
        settle(&mut write, id, end).await?;
        write.commit().await
    }

    /// What became of the last delivery of a webhook that was dealt with.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn last_delivery(
        &self,
        namespace_uid: &str,
        webhook: &str,
    ) -> Result<Option<DeliveryOutcome>, Error> {
        const LAST: &str = "SELECT delivery, state, remark FROM deliveries \
            WHERE namespace_uid = $1 AND webhook = $2 AND state <> 'waiting' ORDER BY id DESC LIMIT 1";
        let last = query("look at the last delivery", LAST)
            .bind(namespace_uid)
            .bind(webhook);
        let found = last.optional(&mut self.reader().await?).await?;
        let outcome = |row: Row| {
            let state: String = row.get("state")?;
            Ok(DeliveryOutcome {
                delivery: row.get("delivery")?,
                taken: state != "failed",
                remark: row.get("remark")?,
            })
        };
        found.map(outcome).transpose()
    }
}

/// What a delivery became.
#[derive(Default)]
struct Became {
    issue: Option<IssueId>,
    comment: Option<CommentId>,
    remark: String,
}

impl Became {
    fn nothing(why: &str) -> Self {
        Self {
            remark: why.to_owned(),
            ..Self::default()
        }
    }
}

struct End {
    state: &'static str,
    became: Became,
}

/// The issue that stands for a reference.
struct Link {
    issue: Issue,
    thread: Option<CommentId>,
}

/// Making of a delivery what it becomes, in an open transaction.
struct Act<'a> {
    write: &'a mut Write,
    webhook: &'a str,
    by: &'a Acting,
    directory: &'a dyn wake::Directory,
    now: Timestamp,
}

impl Act<'_> {
    async fn take(&mut self, becomes: Become) -> Result<Became, Error> {
        match becomes {
            Become::Issue {
                new,
                reference,
                comment,
            } => {
                let link = match &reference {
                    Some(reference) => self.link(reference).await?,
                    None => None,
                };
                let open = link.filter(|link| !link.issue.status.is_closed());
                match (open, comment, reference) {
                    (Some(link), Some(body), Some(reference)) => {
                        self.comment(link, &reference, &body).await
                    }
                    (Some(_), _, _) => Ok(Became::nothing("the issue for it is there already")),
                    (None, _, reference) => self.issue(*new, reference).await,
                }
            }
            Become::CommentOnIssue { issue: key, body } => {
                let issue = issues::locked(self.write, &self.by.workspace, &key).await?;
                let issue = issue.ok_or_else(|| issues::missing(&key))?;
                let reference = format!("issue {key}");
                let thread = self.link(&reference).await?.and_then(|link| link.thread);
                self.comment(Link { issue, thread }, &reference, &body)
                    .await
            }
            Become::CommentOnReference { reference, body } => match self.link(&reference).await? {
                Some(link) => self.comment(link, &reference, &body).await,
                None => Ok(Became::nothing("no issue stands for it")),
            },
        }
    }

    async fn issue(&mut self, new: NewIssue, reference: Option<String>) -> Result<Became, Error> {
        let saved = issues::make(self.write, self.by, new, self.directory, self.now).await?;
        if let Some(reference) = reference {
            self.keep(&reference, saved.issue.id, None).await?;
        }
        Ok(Became {
            issue: Some(saved.issue.id),
            ..Became::default()
        })
    }

    async fn comment(&mut self, on: Link, reference: &str, body: &str) -> Result<Became, Error> {
        let said = comments::Outside {
            by: self.by,
            issue: &on.issue,
            thread: on.thread,
            body,
            directory: self.directory,
            now: self.now,
        };
        let id = comments::from_outside(self.write, said).await?;
        if on.thread.is_none() {
            self.keep(reference, on.issue.id, Some(id)).await?;
        }
        Ok(Became {
            issue: Some(on.issue.id),
            comment: Some(id),
            remark: String::new(),
        })
    }

    /// The issue that stands for a reference, locked.
    async fn link(&mut self, reference: &str) -> Result<Option<Link>, Error> {
        const FIND: &str = "SELECT issue, thread FROM webhook_issues \
            WHERE namespace_uid = $1 AND webhook = $2 AND reference = $3";
        let find = query("look what stands for a reference", FIND)
            .bind(self.by.workspace.namespace_uid.as_str())
            .bind(self.webhook)
            .bind(reference);
        let Some(row) = find.optional(&mut *self.write).await? else {
            return Ok(None);
        };
        let issue = issues::locked_by_id(self.write, IssueId(row.get("issue")?)).await?;
        let thread: Option<Uuid> = row.get("thread")?;
        Ok(issue.map(|issue| Link {
            issue,
            thread: thread.map(CommentId),
        }))
    }

    async fn keep(
        &mut self,
        reference: &str,
        issue: IssueId,
        thread: Option<CommentId>,
    ) -> Result<(), Error> {
        const KEEP: &str = "INSERT INTO webhook_issues (namespace_uid, webhook, reference, issue, thread) \
            VALUES ($1, $2, $3, $4, $5) ON CONFLICT (namespace_uid, webhook, reference) \
            DO UPDATE SET issue = excluded.issue, thread = excluded.thread";
        query("note what stands for a reference", KEEP)
            .bind(self.by.workspace.namespace_uid.as_str())
            .bind(self.webhook)
            .bind(reference)
            .bind(issue)
            .bind(thread)
            .execute(&mut *self.write)
            .await?;
        Ok(())
    }
}

async fn check_room(write: &mut Write, new: &NewDelivery) -> Result<(), Error> {
    const COUNT: &str = "SELECT count(*) AS waiting FROM (SELECT 1 FROM deliveries \
        WHERE namespace_uid = $1 AND webhook = $2 AND state = 'waiting' LIMIT $3) AS counted";
    let count = query("count the deliveries that wait", COUNT)
        .bind(new.workspace.namespace_uid.as_str())
        .bind(new.webhook.as_str())
        .bind(WAITING_DELIVERIES);
    if count.one(write).await?.u32("waiting")? < WAITING_DELIVERIES {
        return Ok(());
    }
    Err(Error::Conflict {
        what: format!("{WAITING_DELIVERIES} deliveries of this webhook wait: send it again later"),
    })
}

async fn forget_old(write: &mut Write, now: Timestamp) -> Result<(), Error> {
    const FORGET: &str = "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries \
        WHERE state <> 'waiting' AND received_at < $1 ORDER BY received_at LIMIT $2)";
    let before = now.checked_sub(REMEMBERED_HOURS.hours());
    query("forget old deliveries", FORGET)
        .bind(before.unwrap_or(Timestamp::MIN))
        .bind(FORGOTTEN_AT_ONCE)
        .execute(write)
        .await?;
    Ok(())
}

async fn is_waiting(write: &mut Write, id: Uuid) -> Result<bool, Error> {
    const FIND: &str = "SELECT state FROM deliveries WHERE id = $1";
    let find = query("look at a delivery", FIND).bind(id);
    let Some(row) = find.optional(write).await? else {
        return Ok(false);
    };
    let state: String = row.get("state")?;
    Ok(state == "waiting")
}

async fn settle(write: &mut Write, id: Uuid, end: End) -> Result<(), Error> {
    const SETTLE: &str = "UPDATE deliveries SET state = $2, body = NULL, issue = $3, comment = $4, remark = $5 \
        WHERE id = $1 AND state = 'waiting'";
    let Became {
        issue,
        comment,
        mut remark,
    } = end.became;
    remark.truncate(remark.floor_char_boundary(REMARK_BYTES));
    query("settle a delivery", SETTLE)
        .bind(id)
        .bind(end.state)
        .bind(issue)
        .bind(comment)
        .bind(remark)
        .execute(write)
        .await?;
    Ok(())
}

fn read(row: &Row) -> Result<Delivery, Error> {
    Ok(Delivery {
        id: row.get("id")?,
        workspace: WorkspaceRef {
            namespace: row.get("namespace")?,
            namespace_uid: row.get("namespace_uid")?,
        },
        webhook: row.get("webhook")?,
        event: row.get("event")?,
        body: row.get("body")?,
    })
}
