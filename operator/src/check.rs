//! `mooring-operator check`: the promises, held against what is there.

use std::process::ExitCode;

use anyhow::Context as _;

use crate::settings::StoreSettings;

/// Prints one line for each promise that is broken.
pub(crate) async fn check(settings: StoreSettings) -> anyhow::Result<ExitCode> {
    let store = store::Store::open_read_only(&settings.read()?)
        .await
        .context("open the store")?;
    let client = crate::cluster::client().await?;
    let violations = controller::check::check(&store, &client)
        .await
        .context("read store and cluster")?;
    for violation in &violations {
        #[expect(clippy::print_stdout, reason = "this is what the command is for")]
        {
            println!("{violation}");
        }
    }
    Ok(if violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
