//! The adapters against more real programs, as in `real`: large ones, and some that take their time to give up. They are
//! a layer of their own, which `cargo verify clis` and `cargo verify --all` run.

mod codebuddy;
mod copilot;
mod hermes;
mod kimi;
#[path = "../real/lab.rs"]
mod lab;
mod omp;
mod openclaw;
mod opencode;
mod qoder;
mod qwen;
#[expect(dead_code, reason = "the tests in `real` use the rest of it")]
#[path = "../real/scenarios.rs"]
mod scenarios;
