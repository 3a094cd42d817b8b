//! Hides which database it is. A statement is text with `$1` parameters and a list of values; both
//! databases take the same text, and where they cannot, [`Sql`] holds the two side by side.

use jiff::Timestamp;
use sqlx::error::ErrorKind;
use sqlx::postgres::{PgPool, PgRow};
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{PgConnection, Postgres, Row as _, Sqlite, SqliteConnection, Transaction};
use uuid::Uuid;

use crate::Error;

/// The open database.
#[derive(Debug)]
pub(crate) enum Db {
    /// One writer, because SQLite has one; waiting for it in the pool is fair, waiting in SQLite is not.
    Sqlite {
        writer: SqlitePool,
        readers: SqlitePool,
    },
    /// One pool for both.
    Postgres(PgPool),
}

/// A statement in the words of each database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl From<&'static str> for Sql {
    fn from(both: &'static str) -> Self {
        Self {
            sqlite: both,
            postgres: both,
        }
    }
}

/// A parameter. Owned, because SQLite runs statements in a thread of its own.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
    Uuid(Option<Uuid>),
    Bool(bool),
}

macro_rules! values {
    ($($type:ty, $value:ident => $made:expr, $absent:expr;)+) => {
        $(
            impl From<$type> for Value {
                fn from($value: $type) -> Self { $made }
            }
            impl From<Option<$type>> for Value {
                fn from(value: Option<$type>) -> Self {
                    match value { Some($value) => $made, None => $absent }
                }
            }
        )+
    };
}

values! {
    i64, value => Self::Int(Some(value)), Self::Int(None);
    i32, value => Self::Int(Some(value.into())), Self::Int(None);
    u32, value => Self::Int(Some(value.into())), Self::Int(None);
    Timestamp, value => Self::Int(Some(value.as_microsecond())), Self::Int(None);
    &str, value => Self::Text(Some(value.to_owned())), Self::Text(None);
    String, value => Self::Text(Some(value)), Self::Text(None);
    Vec<u8>, value => Self::Bytes(Some(value)), Self::Bytes(None);
    Uuid, value => Self::Uuid(Some(value)), Self::Uuid(None);
    protocol::TaskId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::SessionId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::InstallationId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::IssueId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::CommentId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::ChatId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::MemberId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::TokenId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::AttachmentId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::ApprovalId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::InboxId, value => Self::Uuid(Some(value.0)), Self::Uuid(None);
    protocol::TaskState, value => Self::Text(Some(value.as_str().to_owned())), Self::Text(None);
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// A statement with its values; `doing` says in an error what it was for.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    doing: &'static str,
    sql: Sql,
    values: Vec<Value>,
    /// Planned once and kept, as most are.
    kept: bool,
}

/// Starts a statement.
pub(crate) fn query(doing: &'static str, sql: impl Into<Sql>) -> Query {
    let sql = sql.into();
    #[cfg(test)]
    crate::plans::note(doing, sql.sqlite);
    Query {
        doing,
        sql,
        values: Vec::new(),
        kept: true,
    }
}

macro_rules! bound {
    ($text:expr, $kept:expr, $values:expr) => {{
        let mut query = sqlx::query($text).persistent($kept);
        for value in $values {
            query = match value {
                Value::Int(value) => query.bind(value),
                Value::Text(value) => query.bind(value),
                Value::Bytes(value) => query.bind(value),
                Value::Uuid(value) => query.bind(value),
                Value::Bool(value) => query.bind(value),
            };
        }
        query
    }};
}

impl Query {
    /// Gives the next parameter its value.
    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Lets the database plan it for these values, where one plan is not good for all.
    pub(crate) fn planned_anew(mut self) -> Self {
        self.kept = false;
        self
    }

    /// Runs it and says how many rows it changed.
    pub(crate) async fn execute(self, on: impl Into<Conn<'_>>) -> Result<u64, Error> {
        let failed = |source| failed(self.doing, source);
        match on.into() {
            Conn::Sqlite(on) => Ok(bound!(self.sql.sqlite, self.kept, self.values)
                .execute(on)
                .await
                .map_err(failed)?
                .rows_affected()),
            Conn::Postgres(on) => Ok(bound!(self.sql.postgres, self.kept, self.values)
                .execute(on)
                .await
                .map_err(failed)?
                .rows_affected()),
        }
    }

    /// The row it gives, if it gives one.
    pub(crate) async fn optional(self, on: impl Into<Conn<'_>>) -> Result<Option<Row>, Error> {
        let failed = |source| failed(self.doing, source);
        match on.into() {
            Conn::Sqlite(on) => Ok(bound!(self.sql.sqlite, self.kept, self.values)
                .fetch_optional(on)
                .await
                .map_err(failed)?
                .map(Row::Sqlite)),
            Conn::Postgres(on) => Ok(bound!(self.sql.postgres, self.kept, self.values)
                .fetch_optional(on)
                .await
                .map_err(failed)?
                .map(Row::Postgres)),
        }
    }

    /// The one row it gives.
    pub(crate) async fn one(self, on: impl Into<Conn<'_>>) -> Result<Row, Error> {
        let doing = self.doing;
        self.optional(on).await?.ok_or(Error::Corrupt {
            what: doing,
            found: "no row".to_owned(),
        })
    }

    /// All rows; the statement itself bounds them.
    pub(crate) async fn all(self, on: impl Into<Conn<'_>>) -> Result<Vec<Row>, Error> {
        let failed = |source| failed(self.doing, source);
        match on.into() {
            Conn::Sqlite(on) => {
                let rows = bound!(self.sql.sqlite, self.kept, self.values)
                    .fetch_all(on)
                    .await
                    .map_err(failed)?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Conn::Postgres(on) => {
                let rows = bound!(self.sql.postgres, self.kept, self.values)
                    .fetch_all(on)
                    .await
                    .map_err(failed)?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }
}

/// What a refused statement means. What breaks a rule of the schema is refused again next time.
fn failed(doing: &'static str, source: sqlx::Error) -> Error {
    match source.as_database_error() {
        Some(error) if error.constraint().is_some() || breaks_a_rule(error.kind()) => {
            Error::Conflict {
                what: format!("the schema does not allow to {doing}: {}", error.message()),
            }
        }
        Some(_) | None => Error::Unavailable { doing, source },
    }
}

fn breaks_a_rule(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::UniqueViolation
        | ErrorKind::ForeignKeyViolation
        | ErrorKind::NotNullViolation
        | ErrorKind::CheckViolation
        | ErrorKind::ExclusionViolation => true,
        ErrorKind::Other | _ => false,
    }
}

/// Where a statement runs.
pub(crate) enum Conn<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

/// A connection for reading.
pub(crate) enum Reader {
    Sqlite(sqlx::pool::PoolConnection<Sqlite>),
    Postgres(sqlx::pool::PoolConnection<Postgres>),
}

impl<'c> From<&'c mut Reader> for Conn<'c> {
    fn from(reader: &'c mut Reader) -> Self {
        match reader {
            Reader::Sqlite(connection) => Self::Sqlite(connection),
            Reader::Postgres(connection) => Self::Postgres(connection),
        }
    }
}

/// An open transaction. Dropped, it is rolled back.
pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

impl<'c> From<&'c mut Tx> for Conn<'c> {
    fn from(tx: &'c mut Tx) -> Self {
        match tx {
            Tx::Sqlite(tx) => Self::Sqlite(tx),
            Tx::Postgres(tx) => Self::Postgres(tx),
        }
    }
}

impl Tx {
    /// Lets one transaction at a time go on from here under this name, until it is over.
    pub(crate) async fn serialize(&mut self, name: &str) -> Result<(), Error> {
        const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
        match self {
            // There is but one writer.
            Self::Sqlite(_) => {}
            Self::Postgres(_) => {
                query("wait for one's turn", LOCK)
                    .bind(name)
                    .one(self)
                    .await?;
            }
        }
        Ok(())
    }

    /// Makes it last.
    pub(crate) async fn commit(self, doing: &'static str) -> Result<(), Error> {
        let unavailable = |source| Error::Unavailable { doing, source };
        match self {
            Self::Sqlite(tx) => tx.commit().await.map_err(unavailable),
            Self::Postgres(tx) => tx.commit().await.map_err(unavailable),
        }
    }
}

impl Db {
    /// A connection for reading.
    pub(crate) async fn reader(&self) -> Result<Reader, Error> {
        let unavailable = |source| Error::Unavailable {
            doing: "get a connection for reading",
            source,
        };
        match self {
            Self::Sqlite { readers, .. } => readers
                .acquire()
                .await
                .map(Reader::Sqlite)
                .map_err(unavailable),
            Self::Postgres(pool) => pool
                .acquire()
                .await
                .map(Reader::Postgres)
                .map_err(unavailable),
        }
    }

    /// Begins a transaction that may write. SQLite takes its write lock at once: a transaction that reads
    /// first and writes later could be refused in the middle.
    pub(crate) async fn begin(&self, doing: &'static str) -> Result<Tx, Error> {
        let unavailable = |source| Error::Unavailable { doing, source };
        match self {
            Self::Sqlite { writer, .. } => writer
                .begin_with("BEGIN IMMEDIATE")
                .await
                .map(Tx::Sqlite)
                .map_err(unavailable),
            Self::Postgres(pool) => pool.begin().await.map(Tx::Postgres).map_err(unavailable),
        }
    }

    /// Closes all connections.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
            }
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

/// A row, read by column name.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// What a column can be read as, whichever database it is.
pub(crate) trait Column:
    for<'r> sqlx::Decode<'r, Sqlite>
    + sqlx::Type<Sqlite>
    + for<'r> sqlx::Decode<'r, Postgres>
    + sqlx::Type<Postgres>
{
}

impl<T> Column for T where
    T: for<'r> sqlx::Decode<'r, Sqlite>
        + sqlx::Type<Sqlite>
        + for<'r> sqlx::Decode<'r, Postgres>
        + sqlx::Type<Postgres>
{
}

impl Row {
    /// The value of a column.
    pub(crate) fn get<T: Column>(&self, column: &'static str) -> Result<T, Error> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(|error| Error::Corrupt {
            what: column,
            found: error.to_string(),
        })
    }

    /// A number that is never negative.
    pub(crate) fn u64(&self, column: &'static str) -> Result<u64, Error> {
        let found: i64 = self.get(column)?;
        u64::try_from(found).map_err(|_| Error::Corrupt {
            what: column,
            found: found.to_string(),
        })
    }

    /// A number of 32 bits.
    pub(crate) fn u32(&self, column: &'static str) -> Result<u32, Error> {
        let found: i64 = self.get(column)?;
        u32::try_from(found).map_err(|_| Error::Corrupt {
            what: column,
            found: found.to_string(),
        })
    }

    /// A number of 32 bits that may be negative.
    pub(crate) fn i32(&self, column: &'static str) -> Result<i32, Error> {
        let found: i64 = self.get(column)?;
        i32::try_from(found).map_err(|_| Error::Corrupt {
            what: column,
            found: found.to_string(),
        })
    }

    /// An instant.
    pub(crate) fn time(&self, column: &'static str) -> Result<Timestamp, Error> {
        instant(column, self.get(column)?)
    }

    /// An instant that may be absent.
    pub(crate) fn time_opt(&self, column: &'static str) -> Result<Option<Timestamp>, Error> {
        self.get::<Option<i64>>(column)?
            .map(|micros| instant(column, micros))
            .transpose()
    }

    /// A value kept as JSON.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(
        &self,
        column: &'static str,
    ) -> Result<T, Error> {
        from_json(column, &self.get::<String>(column)?)
    }

    /// A value kept as JSON that may be absent.
    pub(crate) fn json_opt<T: serde::de::DeserializeOwned>(
        &self,
        column: &'static str,
    ) -> Result<Option<T>, Error> {
        self.get::<Option<String>>(column)?
            .map(|text| from_json(column, &text))
            .transpose()
    }

    /// A word that `parse` knows.
    pub(crate) fn word<T>(
        &self,
        column: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Error> {
        let found: String = self.get(column)?;
        parse(&found).ok_or(Error::Corrupt {
            what: column,
            found,
        })
    }

    /// Bytes of a fixed length.
    pub(crate) fn bytes<const N: usize>(&self, column: &'static str) -> Result<[u8; N], Error> {
        let found: Vec<u8> = self.get(column)?;
        let length = found.len();
        found.try_into().map_err(|_| Error::Corrupt {
            what: column,
            found: format!("{length} bytes"),
        })
    }
}

fn instant(what: &'static str, micros: i64) -> Result<Timestamp, Error> {
    Timestamp::from_microsecond(micros).map_err(|_| Error::Corrupt {
        what,
        found: micros.to_string(),
    })
}

fn from_json<T: serde::de::DeserializeOwned>(what: &'static str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::Corrupt {
        what,
        found: error.to_string(),
    })
}

/// The JSON kept for a value.
pub(crate) fn to_json<T: serde::Serialize>(what: &'static str, value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Invalid {
        what,
        why: error.to_string(),
    })
}
