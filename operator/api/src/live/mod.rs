//! The live connection: what happens in a workspace, told to people who look on, as it is committed.
//!
//! One task of the program follows the store and marks, for each reader, what is to be looked at ([`hub`]); each
//! reader then reads the store itself and sends ([`reader`]). What is marked twice is looked at once, so a slow
//! reader costs no more than a mark for each thing that it follows.

mod caller;
mod hub;
mod reader;
mod subscription;

pub(crate) use caller::LiveCaller;
pub(crate) use hub::Hub;
pub(crate) use reader::Reader;
