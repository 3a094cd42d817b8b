//! The adapters against more real programs, as in `real`: large ones, and some that take their time to give up. They are
//! a layer of their own, which `cargo verify clis` and `cargo verify --all` run.

#[cfg(test)]
#[expect(dead_code, reason = "the tests in `life` use the rest of it")]
#[path = "../life/api.rs"]
mod api;
#[cfg(test)]
#[path = "../real/catalog.rs"]
mod catalog;
mod codebuddy;
mod copilot;
mod dsh;
#[cfg(test)]
#[path = "../real/family.rs"]
mod family;
#[cfg(test)]
#[expect(dead_code, reason = "the tests in `real` use the rest of it")]
#[path = "../real/gated.rs"]
mod gated;
mod gemini;
#[cfg(test)]
#[path = "../real/given.rs"]
mod given;
mod hermes;
#[path = "../real/inside.rs"]
mod inside;
#[path = "../real/installed.rs"]
mod installed;
mod kimi;
#[path = "../real/lab.rs"]
mod lab;
mod omp;
mod openclaw;
mod opencode;
#[cfg(test)]
#[expect(dead_code, reason = "the tests in `life` use the rest of it")]
#[path = "../life/pod.rs"]
mod pod;
#[cfg(test)]
#[path = "../real/provider.rs"]
mod provider;
mod qoder;
#[cfg(test)]
mod question;
mod qwen;
mod qwenpaw;
mod reasonix;
#[path = "../real/record.rs"]
mod record;
#[path = "../real/scenarios.rs"]
mod scenarios;
#[path = "../real/stop.rs"]
mod stop;
#[cfg(test)]
#[path = "../real/turns.rs"]
mod turns;
mod vibe;
#[cfg(test)]
#[path = "../real/whole.rs"]
mod whole;
