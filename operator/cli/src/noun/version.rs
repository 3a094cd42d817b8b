//! `moor version`.

use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    version: &'static str,
    wire_version: u32,
}

pub(super) fn run(out: &mut Output<'_>) -> Result<(), Failure> {
    let version = Version {
        version: VERSION,
        wire_version: protocol::WIRE_VERSION,
    };
    out.show(
        &version,
        |version| version.version.to_owned(),
        |version| {
            format!(
                "moor {}, wire version {}\n",
                version.version, version.wire_version
            )
        },
    )
}
