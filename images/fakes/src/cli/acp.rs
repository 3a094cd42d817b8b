//! Agents that speak ACP: one that does what the protocol says, and what each of them does otherwise, as data.

mod agents;
mod serve;
mod turn;

pub(crate) use agents::AGENTS;
pub(crate) use serve::run;
