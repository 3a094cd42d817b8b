//! Stories of whole tasks against an apiserver in memory and a real store.

mod apiserver;
mod crash;
mod life;
mod node;
mod stops;
mod world;
