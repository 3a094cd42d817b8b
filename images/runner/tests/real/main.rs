//! The adapters against the real programs: no account, no network but a scripted model's. A program that is written
//! by us would agree with us about everything; these do not. Each has a small file that says how it is given
//! the model and what is its own; what is asked of all of them stands in [`scenarios`].

mod claude;
mod claude_agent_acp;
mod codex;
mod codex_acp;
mod lab;
mod pi;
mod scenarios;
