//! The runner's life: the real program, an API over TLS, and a scripted agent that speaks Claude Code's protocol.

#[cfg(test)]
mod acp;
#[cfg(test)]
mod api;
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod background;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod custom;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod greedy;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod install;
#[cfg(test)]
mod network;
mod opencode;
#[cfg(test)]
mod pipes;
#[cfg(test)]
mod pod;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod real;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod stand_ins;
#[cfg(test)]
mod woken;
