//! Something that a person says to a task while it works.

use clap::Args;
use protocol::board::Steer as Said;

use super::Which;
use crate::failure::Failure;
use crate::noun::comment::{Body, show_posted};
use crate::output::Output;
use crate::session::Session;
use crate::settings::Settings;

#[derive(Debug, Args)]
pub(crate) struct Steer {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    body: Body,
}

impl Steer {
    pub(super) async fn run(
        &self,
        settings: &Settings,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let session = Session::open(settings).await?;
        let said = Said {
            body: self.body.read(&session).await?,
        };
        let posted = session.board()?.steer_task(self.which.id, &said).await?;
        show_posted(&session, &posted, out).await
    }
}
