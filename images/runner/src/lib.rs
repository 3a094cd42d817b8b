//! The program inside a task's pod: it opens the package, prepares the workdir, drives the agent's command
//! line, and reports what happens.

pub mod adapter;
pub mod adapters;
pub mod classify;
pub mod journal;
pub mod layout;
pub mod lines;
pub mod outbox;
pub mod queue;
pub mod redact;
pub mod shape;
pub mod transcript;
pub mod upload;
