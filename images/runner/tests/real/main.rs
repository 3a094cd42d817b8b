//! The adapters against the real programs: no account, no network but a scripted model's. A program that is written
//! by us would agree with us about everything; these do not. Each has a small file that says how it is given
//! the model and what is its own; what is asked of all of them stands in [`scenarios`],
//! and in [`whole`] where the whole runner is asked.

#[cfg(test)]
#[expect(dead_code, reason = "the tests in `life` use the rest of it")]
#[path = "../life/api.rs"]
mod api;
#[cfg(test)]
mod catalog;
mod claude;
mod claude_agent_acp;
mod codex;
mod codex_acp;
#[cfg(test)]
mod family;
#[expect(dead_code, reason = "the tests in `more_clis` use the rest of it")]
mod gated;
#[cfg(test)]
mod given;
mod inside;
mod installed;
mod lab;
mod pi;
#[cfg(test)]
#[expect(dead_code, reason = "the tests in `life` use the rest of it")]
#[path = "../life/pod.rs"]
mod pod;
#[cfg(test)]
mod provider;
mod record;
mod scenarios;
mod stop;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod whole;
