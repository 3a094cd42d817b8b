//! What the scripted stand-ins for agents share, with each other and with tests. Their script is described in the
//! README of this crate.

pub mod flood;
pub mod script;
