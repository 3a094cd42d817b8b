//! Stories of whole tasks against an apiserver in memory and a real store.

mod apiserver;
mod crash;
mod failures;
mod life;
mod node;
mod queue;
mod stops;
mod world;
