//! Stream-JSON with control frames: one JSON object a line on both pipes. What the CLIs that speak it have in
//! common lies here; each has an adapter of its own beside this folder.
//!
//! [`Transcript`] turns what is said and done into events, [`Meter`] counts tokens, [`verdict`] judges a
//! `result` frame, [`control`] writes what goes to the CLI, [`Gate`] stands before its tools.

pub(super) mod control;
mod gate;

mod transcript;
mod usage;
pub(super) mod verdict;

pub(super) use gate::Gate;
pub(super) use transcript::{SYNTHETIC, Transcript};
pub(super) use usage::Meter;
