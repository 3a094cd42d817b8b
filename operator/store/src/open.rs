//! Opening the store: locks, connections, schema; and the question whether it still is there.

use std::path::Path;
use std::time::Duration;

use protocol::InstallationId;
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::ConnectOptions as _;
use sqlx::migrate::{Migrate, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::changes::Sender;
use crate::db::{Db, Reader, query};
use crate::lock::FileLock;
use crate::{Error, Faults, Settings, Store, WritePoint};

/// Connections that read from SQLite while the one writer writes.
const SQLITE_READERS: u32 = 4;
/// Connections to Postgres of one operator.
const POSTGRES_CONNECTIONS: u32 = 12;
/// How long to wait for a connection, or for SQLite's write lock.
const WAIT: Duration = Duration::from_secs(5);
/// Postgres gives up a statement after this long, so that a stuck one cannot stop the operator.
const STATEMENT_TIMEOUT: &str = "15s";
/// Postgres gives up waiting for a row after this long.
const LOCK_TIMEOUT: &str = "5s";

/// What every clone of a store shares.
pub(crate) struct Inner {
    // Dropped before the lock is.
    pub(crate) db: Db,
    pub(crate) changes: Sender,
    pub(crate) faults: Faults,
    lock: Option<FileLock>,
    read_only: bool,
}

impl Inner {
    /// Whether a write may be made now.
    pub(crate) fn writable(&self) -> Result<(), Error> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        self.lock.as_ref().map_or(Ok(()), FileLock::check)
    }
}

impl Store {
    /// Opens the store and brings its schema up to date. With SQLite this process is its only operator
    /// until the last clone is dropped.
    ///
    /// # Errors
    /// [`Error::Locked`], [`Error::NetworkFileSystem`], [`Error::File`], [`Error::Migrate`],
    /// [`Error::Unavailable`].
    pub async fn open(settings: &Settings) -> Result<Self, Error> {
        Self::open_with(settings, Faults::default()).await
    }

    /// [`Store::open`], with faults for a test.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_with(settings: &Settings, faults: Faults) -> Result<Self, Error> {
        let (db, changes, lock) = match settings {
            Settings::Sqlite { path } => {
                let (db, lock) = open_sqlite(path).await?;
                (db, Sender::within_process(), Some(lock))
            }
            Settings::Postgres { url } => {
                let options = postgres_options(url)?;
                // Without the pool's time limits: a migration may take long, and of two that start at once
                // one waits for the other's advisory lock.
                let mut first = options.connect().await.map_err(unreachable)?;
                let outcome = migrate(sqlx::migrate!("migrations/postgres"), &mut first).await;
                // Closed first, since the migrator's lock lives as long as its connection.
                sqlx::Connection::close(first).await.map_err(unreachable)?;
                outcome?;
                let pool = postgres_pool(options).await?;
                let changes = Sender::through_database(&pool).await?;
                (Db::Postgres(pool), changes, None)
            }
        };
        Ok(Self {
            inner: Inner {
                db,
                changes,
                faults,
                lock,
                read_only: false,
            }
            .into(),
            limits: wake::Limits::default(),
            request: None,
        })
    }

    /// Opens the store for a look beside a running operator: no lock, no migration, every write refused.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when there is none.
    pub async fn open_read_only(settings: &Settings) -> Result<Self, Error> {
        let db = match settings {
            Settings::Sqlite { path } => {
                let options = sqlite_options(path).read_only(true);
                let unavailable = |source| Error::Unavailable {
                    doing: "open the database file",
                    source,
                };
                let pool = sqlite_pool(1)
                    .connect_with(options)
                    .await
                    .map_err(unavailable)?;
                Db::Sqlite {
                    writer: pool.clone(),
                    readers: pool,
                }
            }
            Settings::Postgres { url } => {
                Db::Postgres(postgres_pool(postgres_options(url)?).await?)
            }
        };
        let (changes, faults) = (Sender::within_process(), Faults::default());
        Ok(Self {
            inner: Inner {
                db,
                changes,
                faults,
                lock: None,
                read_only: true,
            }
            .into(),
            limits: wake::Limits::default(),
            request: None,
        })
    }

    /// The same store, in which agents may wake each other so far.
    #[must_use]
    pub fn with_limits(self, limits: wake::Limits) -> Self {
        Self { limits, ..self }
    }

    /// Whether the store answers, and still is the one that was opened.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Unavailable`].
    pub async fn check(&self) -> Result<(), Error> {
        self.inner.lock.as_ref().map_or(Ok(()), FileLock::check)?;
        let mut reader = self.reader().await?;
        query("look whether the store answers", "SELECT 1")
            .one(&mut reader)
            .await?;
        Ok(())
    }

    /// Closes all connections. Calls after this fail; listeners end when the last clone is dropped.
    pub async fn close(&self) {
        self.inner.db.close().await;
    }

    /// The installation that the store belongs to; `None` while it belongs to none.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn installation(&self) -> Result<Option<InstallationId>, Error> {
        let mut reader = self.reader().await?;
        let found = query("read the installation", "SELECT id FROM installation")
            .optional(&mut reader)
            .await?;
        found
            .map(|row| row.get("id").map(InstallationId))
            .transpose()
    }

    /// Gives an empty store its installation. The same one again changes nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it belongs to another one, or holds tasks of an unknown one.
    pub async fn adopt_installation(&self, id: InstallationId) -> Result<(), Error> {
        const ADOPT: &str = "INSERT INTO installation (one, id) SELECT 1, $1 \
            WHERE NOT EXISTS (SELECT 1 FROM sessions) ON CONFLICT (one) DO NOTHING";
        let mut write = self.write(WritePoint::AdoptInstallation).await?;
        let adopted = query("adopt the installation", ADOPT)
            .bind(id)
            .execute(&mut write)
            .await?;
        if adopted == 1 {
            return write.commit().await;
        }
        let held = query("read the installation", "SELECT id FROM installation")
            .optional(&mut write)
            .await?;
        match held
            .map(|row| row.get("id").map(InstallationId))
            .transpose()?
        {
            Some(held) if held == id => Ok(()),
            Some(held) => Err(Error::Conflict {
                what: format!("the store belongs to installation {held}, not to {id}"),
            }),
            None => Err(Error::Conflict {
                what: "the store holds tasks, but of no known installation".to_owned(),
            }),
        }
    }

    /// A connection for reading.
    pub(crate) async fn reader(&self) -> Result<Reader, Error> {
        self.inner.faults.stay_dead().await;
        self.inner.db.reader().await
    }
}

async fn open_sqlite(path: &Path) -> Result<(Db, FileLock), Error> {
    let lock = FileLock::acquire(path)?;
    let unavailable = |source| Error::Unavailable {
        doing: "open the database file",
        source,
    };
    let mut first = sqlite_options(path)
        .create_if_missing(true)
        .connect()
        .await
        .map_err(unavailable)?;
    migrate(sqlx::migrate!("migrations/sqlite"), &mut first).await?;
    // From here on no connection makes a file: one made after the file was taken away would be empty.
    let writer = sqlite_pool(1)
        .connect_with(sqlite_options(path))
        .await
        .map_err(unavailable)?;
    let reading = sqlite_options(path).pragma("query_only", "ON");
    let readers = sqlite_pool(SQLITE_READERS)
        .connect_with(reading)
        .await
        .map_err(unavailable)?;
    sqlx::Connection::close(first).await.map_err(unavailable)?;
    lock.remember()?;
    Ok((Db::Sqlite { writer, readers }, lock))
}

fn sqlite_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        // What was acknowledged survives a power cut; NORMAL would lose the last commits.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(WAIT)
}

/// All connections are made at once and kept: one made later could open another file of that name.
fn sqlite_pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .min_connections(connections)
        .max_connections(connections)
        .acquire_timeout(WAIT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

fn postgres_options(url: &SecretString) -> Result<PgConnectOptions, Error> {
    // The driver's error would repeat the URL, password and all.
    let options: Result<PgConnectOptions, _> = url.expose_secret().parse();
    let options = options.map_err(|_| Error::Address("the given postgres:// URL".to_owned()))?;
    Ok(options.application_name("mooring"))
}

async fn postgres_pool(options: PgConnectOptions) -> Result<PgPool, Error> {
    let options = options.options([
        ("statement_timeout", STATEMENT_TIMEOUT),
        ("lock_timeout", LOCK_TIMEOUT),
    ]);
    PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(WAIT)
        .connect_with(options)
        .await
        .map_err(unreachable)
}

fn unreachable(source: sqlx::Error) -> Error {
    Error::Unavailable {
        doing: "connect to Postgres",
        source,
    }
}

/// Brings the schema up to date. A newer schema is left as it is: it was made so that this release goes on
/// working on it.
async fn migrate<C: Migrate>(mut migrations: Migrator, on: &mut C) -> Result<(), Error> {
    migrations.set_ignore_missing(true);
    // Not `run`: its future cannot be sent between threads (sqlx says so itself beside this one).
    migrations
        .run_direct(None, on, false)
        .await
        .map_err(Error::Migrate)
}
