//! `mooring-runner`: see the library of this crate.

fn main() {}
