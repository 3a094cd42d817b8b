//! Stories of whole tasks against an apiserver in memory and a real store.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows tests by their attribute only, and these helpers serve nothing else"
)]

mod answer;
mod apiserver;
mod away;
mod born;
mod chats;
mod crash;
mod deferred;
mod failures;
mod fence;
mod life;
mod node;
mod probes;
mod prompts;
mod queue;
mod schedules;
mod shares;
mod stops;
mod teams;
mod webhooks;
mod wherever;
mod world;
