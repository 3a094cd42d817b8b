//! `moor webhook`.

use clap::Subcommand;
use protocol::board::{DeliveryView, WebhookCard};

use super::schedule::{long, made, short, yes};
use super::{Part, resource_name};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::{Table, fields};
use crate::text;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Lists the doors through which other systems come in. `kubectl get agentwebhooks` has all of them.
    List {
        #[command(flatten)]
        part: Part,
    },
    /// Shows where a webhook's deliveries are sent to, what they become, and what became of the last one.
    Get {
        /// Its name.
        #[arg(value_parser = |given: &str| resource_name("webhook", given))]
        name: String,
    },
    /// Lists what a webhook has delivered, newest first: what each became, or why it became nothing.
    Deliveries {
        /// Name of the webhook.
        #[arg(value_parser = |given: &str| resource_name("webhook", given))]
        name: String,
        #[command(flatten)]
        part: Part,
    },
}

impl Verb {
    pub(super) async fn run(&self, session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
        let board = session.board()?;
        match self {
            Self::List { part } => {
                let page = board.webhooks(&part.query()).await?;
                out.page(&page, |webhook| webhook.name.clone(), table)
            }
            Self::Get { name } => {
                let webhook = board.webhook(name).await?;
                out.show(&webhook, |webhook| webhook.name.clone(), shown)
            }
            Self::Deliveries { name, part } => {
                let page = board.deliveries(name, &part.query()).await?;
                out.page(&page, |delivery| delivery.id.to_string(), deliveries)
            }
        }
    }
}

fn table(webhooks: &[WebhookCard]) -> Table<5> {
    let rows = webhooks.iter().map(|webhook| {
        [
            webhook.name.clone(),
            short(&webhook.standing),
            short(&webhook.delivered),
            webhook.path.clone().unwrap_or_default(),
            made(&webhook.makes),
        ]
    });
    Table::new(["NAME", "READY", "DELIVERED", "PATH", "MAKES"], rows)
}

fn shown(webhook: &WebhookCard) -> String {
    fields(&[
        ("name", webhook.name.clone()),
        ("suspended", yes(webhook.suspended)),
        ("makes", made(&webhook.makes)),
        ("path", webhook.path.clone().unwrap_or_default()),
        ("key in Secret", webhook.secret.clone().unwrap_or_default()),
        ("ready", long(&webhook.standing)),
        ("delivered", long(&webhook.delivered)),
    ])
}

fn deliveries(deliveries: &[DeliveryView]) -> Table<6> {
    let rows = deliveries.iter().map(|delivery| {
        let issue = delivery.issue.as_ref();
        [
            text::time(delivery.received),
            delivery.delivery.clone(),
            delivery.event.clone(),
            delivery.state.as_str().to_owned(),
            issue.map(ToString::to_string).unwrap_or_default(),
            delivery.remark.clone(),
        ]
    });
    Table::new(
        ["RECEIVED", "DELIVERY", "EVENT", "STATE", "ISSUE", "WHY"],
        rows,
    )
}

#[cfg(test)]
mod tests {
    use protocol::board::{DeliveryState, Makes, Standing};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn webhooks_and_what_they_delivered_are_shown() {
        let webhook = WebhookCard {
            name: "alerts".to_owned(),
            suspended: false,
            makes: Makes::GitHub {
                label: "mooring".to_owned(),
                assignee: Some("agent:coder".to_owned()),
            },
            path: Some("/hooks/team-a/alerts".to_owned()),
            secret: Some("mooring-webhook-alerts-1".to_owned()),
            standing: Standing {
                ready: true,
                reason: Some("Ready".to_owned()),
                message: None,
            },
            delivered: Standing {
                ready: false,
                reason: Some("Failed".to_owned()),
                message: Some("There is no agent \"coder\".\u{1b}[2J".to_owned()),
            },
        };
        insta::assert_snapshot!("webhook", shown(&webhook));
        insta::assert_snapshot!("webhooks", table(&[webhook]).render(120));
        let all = DeliveryState::ALL.map(|state| DeliveryView {
            id: Uuid::from_u128(1),
            delivery: "d-1".to_owned(),
            event: "issues".to_owned(),
            state,
            issue: (state == DeliveryState::Done).then(|| "TEAM-7".parse().unwrap()),
            comment: None,
            remark: if state == DeliveryState::Failed {
                "there is no\nagent"
            } else {
                ""
            }
            .to_owned(),
            received: "2026-01-02T03:04:05Z".parse().unwrap(),
        });
        insta::assert_snapshot!("deliveries", deliveries(&all).render(120));
    }
}
