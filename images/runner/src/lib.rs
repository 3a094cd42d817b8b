//! The program inside a task's pod: it opens the package, prepares the workdir, drives the agent's command
//! line, and reports what happens.

pub mod adapter;
pub mod adapters;
pub mod classify;
