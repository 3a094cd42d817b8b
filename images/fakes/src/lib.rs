//! What tests share with the scripted stand-in for an agent; the stand-in itself is the binary. Its script is
//! described in the README of this crate.

pub mod flood;
