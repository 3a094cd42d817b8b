//! The server in this process, with a real store: SQLite, and PostgreSQL where `MOORING_TEST_POSTGRES` names a
//! server on which databases can be made.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says on its output what it skipped"
)]

mod approvals;
mod authorisation;
mod bed;
mod board;
mod board_again;
mod board_attachments;
mod board_callers;
mod board_comments;
mod board_find;
mod board_input;
mod board_issues;
mod board_look;
mod board_runs;
mod board_scope;
mod board_wire;
mod chats;
mod cluster;
mod control;
mod defined;
mod errors;
mod events;
mod finish;
mod follow;
mod health;
mod hooks;
mod limits;
mod live;
mod login;
mod open;
mod people;
mod quota;
mod recorded;
mod steering;
mod teams;
mod tls;
mod tokens;
mod wire;
mod woken;
