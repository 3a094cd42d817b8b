//! Rebuilds when a migration is added: the compiler does not see the folder that `migrate!` reads.

fn main() {
    let mut out = std::io::stdout();
    let _ = std::io::Write::write_all(&mut out, b"cargo:rerun-if-changed=migrations\n");
}
