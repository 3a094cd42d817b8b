//! Every promise of the store, on SQLite and, where `MOORING_TEST_POSTGRES` names a server on which databases
//! may be created (`postgres://…`), on PostgreSQL too.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bed;
mod changes;
mod claiming;
mod conversation;
mod entering;
mod faults;
mod life;
mod opening;
mod orders;
mod timeline;
mod tokens;
mod waiting;
