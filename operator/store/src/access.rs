//! Tokens of people: of a login, and those that a person makes with it. A row is a live token; ending one deletes
//! its row. What a person may do is not here: Kubernetes is asked for it at every call.

use jiff::{Timestamp, ToSpan as _};
use protocol::board::{AccessToken, MintedToken, NewAccessToken, Page};
use protocol::{Credential, TokenId, limits};
use rand::RngCore as _;
use secrecy::ExposeSecret as _;
use uuid::Uuid;

use crate::db::{Row, Sql, query, to_json};
use crate::members::USER_BYTES;
use crate::tasks::new_id;
use crate::writes::Write;
use crate::{Error, Store, WritePoint, page, text};

/// What the token of a login is for.
const LOGIN_LABEL: &str = "login";
/// Bytes of a label.
const LABEL_BYTES: usize = 200;
/// Groups of a person, and bytes of the name of one.
const GROUPS: usize = 1024;
/// Characters of a token that its owner is shown again.
const PREFIX: usize = 8;
/// Minutes between two notes that a token was used.
const USED_MINUTES: i64 = 1;
/// Logins are remembered this long. Their objects may be exchanged for a few minutes only.
const LOGINS_KEPT_HOURS: i64 = 24;
/// Rows that one write clears away at most.
const CLEARED: u32 = 100;

/// How a token came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// By `moor login`: its holder may make others.
    Login,
    /// By its owner, with one of a login: it makes no others, else a stolen one would renew itself for ever.
    Personal,
}

/// Whose token it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHolder {
    /// Names the token.
    pub id: TokenId,
    /// The user name that Kubernetes knows.
    pub user: String,
    /// Its groups as of the login.
    pub groups: Vec<String>,
    /// How the token came to be.
    pub kind: TokenKind,
    /// When it ends.
    pub expires: Timestamp,
}

/// A token that is to be made.
struct Draft<'a> {
    user: &'a str,
    groups: &'a [String],
    kind: TokenKind,
    label: &'a str,
    expires: Timestamp,
}

impl Store {
    /// Turns a `LoginRequest` object into a token, once: `None` when that was done before.
    ///
    /// # Errors
    /// [`Error::Invalid`] for names that cannot be such, [`Error::Lost`], [`Error::Unavailable`].
    pub async fn exchange_login(
        &self,
        object_uid: &str,
        user: &str,
        groups: &[String],
        now: Timestamp,
    ) -> Result<Option<MintedToken>, Error> {
        const REMEMBER: &str = "INSERT INTO logins (object_uid, exchanged_at) VALUES ($1, $2) \
            ON CONFLICT (object_uid) DO NOTHING";
        check_person(user, groups)?;
        let life = i64::try_from(limits::LOGIN_LIFE.as_secs()).unwrap_or(0);
        let draft = Draft {
            user,
            groups,
            kind: TokenKind::Login,
            label: LOGIN_LABEL,
            expires: moved("end of a login", now, life.seconds())?,
        };
        let mut write = self.write(WritePoint::ExchangeLogin).await?;
        let remember = query("remember a login", REMEMBER)
            .bind(object_uid)
            .bind(now);
        if remember.execute(&mut write).await? == 0 {
            return Ok(None);
        }
        write.serialize(&turn(user)).await?;
        clear(&mut write, now).await?;
        make_room(&mut write, user).await?;
        let minted = mint(&mut write, &draft, now).await?;
        write.commit().await?;
        Ok(Some(minted))
    }

    /// Makes a token for its owner's scripts.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a label or life that it cannot have, and when its owner has as many as they may,
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn mint_token(
        &self,
        user: &str,
        groups: &[String],
        new: &NewAccessToken,
        now: Timestamp,
    ) -> Result<MintedToken, Error> {
        const COUNT: &str = "SELECT count(*) AS tokens FROM access_tokens WHERE user_name = $1 AND NOT login \
            AND expires_at > $2";
        check_person(user, groups)?;
        let label = text::line("label", &new.label, LABEL_BYTES)?;
        if !(1..=limits::TOKEN_DAYS).contains(&new.days) {
            let (days, most) = (new.days, limits::TOKEN_DAYS);
            return Err(Error::Invalid {
                what: "days",
                why: format!("a token lives 1 to {most} days, not {days}"),
            });
        }
        let draft = Draft {
            user,
            groups,
            kind: TokenKind::Personal,
            label: &label,
            expires: moved("end of a token", now, (24 * i64::from(new.days)).hours())?,
        };
        let mut write = self.write(WritePoint::MintToken).await?;
        write.serialize(&turn(user)).await?;
        clear(&mut write, now).await?;
        let count = query("count the tokens of a person", COUNT)
            .bind(user)
            .bind(now);
        if count.one(&mut write).await?.u32("tokens")? >= limits::TOKENS_PER_PERSON {
            let most = limits::TOKENS_PER_PERSON;
            return Err(Error::Invalid {
                what: "token",
                why: format!("a person has at most {most} of them; revoke one that is not needed"),
            });
        }
        let minted = mint(&mut write, &draft, now).await?;
        write.commit().await?;
        Ok(minted)
    }

    /// Whose token has this SHA-256; `None` when it is nobody's, or has ended. Notes the use, but not more than
    /// once a minute.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Lost`], [`Error::Unavailable`].
    pub async fn authenticate_person(
        &self,
        hash: [u8; 32],
        now: Timestamp,
    ) -> Result<Option<TokenHolder>, Error> {
        const FIND: &str = "SELECT id, user_name, user_groups, login, expires_at, last_used_at FROM access_tokens \
            WHERE hash = $1 AND expires_at > $2";
        let find = query("find the token of a person", FIND)
            .bind(hash.to_vec())
            .bind(now);
        let Some(row) = find.optional(&mut self.reader().await?).await? else {
            return Ok(None);
        };
        let holder = TokenHolder {
            id: TokenId(row.get("id")?),
            user: row.get("user_name")?,
            groups: row.json("user_groups")?,
            kind: if row.get("login")? {
                TokenKind::Login
            } else {
                TokenKind::Personal
            },
            expires: row.time("expires_at")?,
        };
        let stale = moved("time of use", now, -USED_MINUTES.minutes())?;
        if row
            .time_opt("last_used_at")?
            .is_none_or(|used| used <= stale)
        {
            self.used(holder.id, stale, now).await?;
        }
        Ok(Some(holder))
    }

    async fn used(&self, token: TokenId, stale: Timestamp, now: Timestamp) -> Result<(), Error> {
        const USED: &str = "UPDATE access_tokens SET last_used_at = $3 \
            WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $2)";
        let mut write = self.write(WritePoint::UseToken).await?;
        let used = query("note the use of a token", USED)
            .bind(token)
            .bind(stale)
            .bind(now);
        used.execute(&mut write).await?;
        write.commit().await
    }

    /// Live tokens of a person, newest first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or cursor that is none, [`Error::Corrupt`], [`Error::Unavailable`].
    pub async fn access_tokens(
        &self,
        user: &str,
        limit: u32,
        cursor: Option<&str>,
        now: Timestamp,
    ) -> Result<Page<AccessToken>, Error> {
        const LIST: &str = "SELECT id, label, prefix, created_at, expires_at, last_used_at FROM access_tokens \
            WHERE user_name = $1 AND id < $2 AND expires_at > $3 ORDER BY id DESC LIMIT $4";
        let (limit, before) = (page::limit(limit)?, page::after(cursor)?);
        let list = query("list the tokens of a person", LIST)
            .bind(user)
            .bind(before.unwrap_or(Uuid::max()))
            .bind(now)
            .bind(limit + 1);
        let rows = list.all(&mut self.reader().await?).await?;
        let tokens = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(page::page(tokens, limit, |last: &AccessToken| {
            last.id.to_string()
        }))
    }

    /// Ends a token of this person; false when it is none of theirs.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn revoke_token(&self, user: &str, token: TokenId) -> Result<bool, Error> {
        const REVOKE: &str = "DELETE FROM access_tokens WHERE id = $1 AND user_name = $2";
        let mut write = self.write(WritePoint::RevokeToken).await?;
        let revoke = query("end the token of a person", REVOKE)
            .bind(token)
            .bind(user);
        let ended = revoke.execute(&mut write).await?;
        write.commit().await?;
        Ok(ended == 1)
    }
}

async fn mint(write: &mut Write, draft: &Draft<'_>, now: Timestamp) -> Result<MintedToken, Error> {
    const INSERT: &str = "INSERT INTO access_tokens (id, hash, user_name, user_groups, login, label, prefix, \
        created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    let token = Credential::person_token(&bytes);
    let record = AccessToken {
        id: TokenId(new_id(now)?),
        label: draft.label.to_owned(),
        prefix: token.expose_secret().chars().take(PREFIX).collect(),
        created: now,
        expires: draft.expires,
        last_used: None,
    };
    let insert = query("make a token for a person", INSERT)
        .bind(record.id)
        .bind(Credential::token_hash(&token).to_vec())
        .bind(draft.user)
        .bind(to_json("groups", &draft.groups)?)
        .bind(draft.kind == TokenKind::Login);
    insert
        .bind(record.label.as_str())
        .bind(record.prefix.as_str())
        .bind(record.created)
        .bind(record.expires)
        .execute(write)
        .await?;
    Ok(MintedToken {
        token: token.expose_secret().to_owned(),
        record,
        user: draft.user.to_owned(),
    })
}

/// A deletion of what is found, so that no two writes wait for each other: what another one has in hand goes
/// there.
macro_rules! delete {
    ($table:literal, $key:literal, $found:literal) => {
        Sql {
            sqlite: concat!(
                "DELETE FROM ",
                $table,
                " WHERE ",
                $key,
                " IN (SELECT ",
                $key,
                " FROM ",
                $table,
                " ",
                $found,
                ")"
            ),
            postgres: concat!(
                "DELETE FROM ",
                $table,
                " WHERE ",
                $key,
                " IN (SELECT ",
                $key,
                " FROM ",
                $table,
                " ",
                $found,
                " FOR UPDATE SKIP LOCKED)"
            ),
        }
    };
}

/// Takes away some of what has ended.
async fn clear(write: &mut Write, now: Timestamp) -> Result<(), Error> {
    const TOKENS: Sql = delete!(
        "access_tokens",
        "id",
        "WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2"
    );
    const LOGINS: Sql = delete!(
        "logins",
        "object_uid",
        "WHERE exchanged_at <= $1 ORDER BY exchanged_at LIMIT $2"
    );
    let tokens = query("clear away ended tokens", TOKENS)
        .bind(now)
        .bind(CLEARED);
    tokens.execute(&mut *write).await?;
    let forgotten = moved("age of a login", now, -LOGINS_KEPT_HOURS.hours())?;
    let logins = query("clear away old logins", LOGINS)
        .bind(forgotten)
        .bind(CLEARED);
    logins.execute(write).await?;
    Ok(())
}

/// Ends the oldest logins of a person who has as many as they may: a script that logs in each time must not keep
/// its owner out.
async fn make_room(write: &mut Write, user: &str) -> Result<(), Error> {
    const OLDEST: Sql = delete!(
        "access_tokens",
        "id",
        "WHERE user_name = $1 AND login ORDER BY id DESC LIMIT $2 OFFSET $3"
    );
    let oldest = query("end the oldest logins of a person", OLDEST)
        .bind(user)
        .bind(CLEARED)
        .bind(limits::TOKENS_PER_PERSON - 1);
    oldest.execute(write).await?;
    Ok(())
}

/// The name under which writes about one person's tokens take turns, so that their number stays bounded.
fn turn(user: &str) -> String {
    format!("tokens of {user}")
}

fn check_person(user: &str, groups: &[String]) -> Result<(), Error> {
    text::name("user name", user, USER_BYTES)?;
    if groups.len() > GROUPS {
        let count = groups.len();
        return Err(Error::Invalid {
            what: "groups",
            why: format!("there are {count} and may be {GROUPS}"),
        });
    }
    groups
        .iter()
        .try_for_each(|group| text::name("group", group, USER_BYTES))
}

fn moved(what: &'static str, from: Timestamp, by: jiff::Span) -> Result<Timestamp, Error> {
    from.checked_add(by).map_err(|error| Error::Invalid {
        what,
        why: error.to_string(),
    })
}

fn read(row: &Row) -> Result<AccessToken, Error> {
    Ok(AccessToken {
        id: TokenId(row.get("id")?),
        label: row.get("label")?,
        prefix: row.get("prefix")?,
        created: row.time("created_at")?,
        expires: row.time("expires_at")?,
        last_used: row.time_opt("last_used_at")?,
    })
}
