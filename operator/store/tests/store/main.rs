//! Every promise of the store, on SQLite and, where `MOORING_TEST_POSTGRES` names a server on which databases
//! may be created (`postgres://…`), on PostgreSQL too.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod access;
mod again;
mod approvals;
mod attachments;
mod bed;
mod board;
mod changes;
mod chats;
mod claiming;
mod conversation;
mod crowd;
mod deferred;
mod deliveries;
mod entering;
mod faults;
mod guards;
mod inbox;
mod interleavings;
mod issues;
mod life;
mod live;
mod members;
mod opening;
mod orders;
mod permission;
mod projects;
mod quick;
mod reports;
mod runs;
mod schedules;
mod search;
mod shares;
mod steering;
mod subscribers;
mod tags;
mod talk;
mod teams;
mod timeline;
mod tokens;
mod usage;
mod waiting;
mod wakes;
