//! What store and cluster have in common: the installation's id in both, its keys in a Secret.
//!
//! To a store that was lost or exchanged every volume of the cluster would look ownerless, and to keys made
//! anew every running pod a stranger. So where the two do not meet nothing is written, and a person decides.

use std::collections::BTreeMap;

use anyhow::Context as _;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, ResourceExt as _};
use protocol::{InstallationId, InstallationKey};
use rand::RngCore as _;
use secrecy::ExposeSecret as _;

use crate::certificate::Authority;

/// Name of the Secret, in the operator's own namespace.
const SECRET: &str = "mooring-installation";
const ID: &str = "installationId";
const TOKEN_KEY: &str = "tokenKey";
const CA_KEY: &str = "ca.key";
const CA_CERTIFICATE: &str = "ca.crt";

/// An installation and its keys.
#[derive(Clone)]
pub(crate) struct Installation {
    pub(crate) id: InstallationId,
    pub(crate) key: InstallationKey,
    pub(crate) authority: Authority,
}

/// What a start finds.
pub(crate) enum Standing {
    /// Store and cluster belong together.
    Together(Installation),
    /// They do not: nothing may be written. The CA of the cluster's side still serves the API, where it is known.
    Apart {
        why: String,
        authority: Option<Authority>,
    },
}

/// What is to be done about what was found.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Neither side knows an installation: the store gets a new id, then the Secret is made with it.
    Begin,
    /// The store has an id and nothing depends on keys yet, as after a start that ended between the two.
    MakeSecret(InstallationId),
    /// They belong together.
    Go,
    /// A person has to decide.
    Refuse(String),
}

fn decide(
    store: Option<InstallationId>,
    store_has_tasks: bool,
    secret: Option<InstallationId>,
) -> Step {
    match (store, secret) {
        (None, None) => Step::Begin,
        (Some(id), None) if !store_has_tasks => Step::MakeSecret(id),
        (Some(id), None) => Step::Refuse(format!(
            "the store belongs to installation {id}, but the Secret {SECRET} is gone and tasks are open: restore the Secret"
        )),
        (None, Some(id)) => Step::Refuse(format!(
            "the Secret {SECRET} belongs to installation {id}, but the store is empty: restore the store, or delete the Secret to begin anew"
        )),
        (Some(id), Some(other)) if id == other => Step::Go,
        (Some(id), Some(other)) => Step::Refuse(format!(
            "the store belongs to installation {id}, the Secret {SECRET} to {other}: bring the two together that belong together"
        )),
    }
}

/// Finds out whether store and cluster belong together, and makes what is missing at a first start. The
/// store's id is written first: a start that ends before the Secret is made can go on from there.
///
/// # Errors
/// When store or cluster do not answer; the caller tries again.
pub(crate) async fn establish(
    store: &store::Store,
    client: &Client,
    namespace: &str,
) -> anyhow::Result<Standing> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let found = secrets
        .get_opt(SECRET)
        .await
        .with_context(|| format!("read the Secret {SECRET}"))?;
    let found = match found.as_ref().map(read).transpose() {
        Ok(found) => found,
        // Asking again would find the same, and making another one would end every running task.
        Err(error) => {
            return Ok(Standing::Apart {
                why: error.to_string(),
                authority: None,
            });
        }
    };
    let own = store
        .installation()
        .await
        .context("read the store's installation")?;
    let has_tasks = !store
        .open_tasks(None, 1)
        .await
        .context("look for open tasks")?
        .is_empty();
    let id = match decide(
        own,
        has_tasks,
        found.as_ref().map(|installation| installation.id),
    ) {
        Step::Go => {
            let installation = found.context("decided for a Secret that was found")?;
            return Ok(Standing::Together(installation));
        }
        Step::Refuse(why) => {
            return Ok(Standing::Apart {
                why,
                authority: found.map(|installation| installation.authority),
            });
        }
        Step::MakeSecret(id) => id,
        Step::Begin => {
            let id = InstallationId(uuid::Uuid::now_v7());
            store
                .adopt_installation(id)
                .await
                .context("write the installation into the store")?;
            id
        }
    };
    let installation = generate(id)?;
    secrets
        .create(&PostParams::default(), &write(&installation))
        .await
        .with_context(|| format!("make the Secret {SECRET}"))?;
    tracing::info!(installation.id = %id, "a new installation begins");
    Ok(Standing::Together(installation))
}

fn generate(id: InstallationId) -> anyhow::Result<Installation> {
    let mut key = [0; 32];
    rand::rng().fill_bytes(&mut key);
    Ok(Installation {
        id,
        key: InstallationKey::new(key),
        authority: Authority::generate()?,
    })
}

fn write(installation: &Installation) -> Secret {
    let Installation { id, key, authority } = installation;
    let data = BTreeMap::from([
        (ID.to_owned(), ByteString(id.to_string().into_bytes())),
        (TOKEN_KEY.to_owned(), ByteString(key.to_bytes().to_vec())),
        (
            CA_KEY.to_owned(),
            ByteString(authority.key_pem.expose_secret().as_bytes().to_vec()),
        ),
        (
            CA_CERTIFICATE.to_owned(),
            ByteString(authority.certificate_pem.clone().into_bytes()),
        ),
    ]);
    Secret {
        metadata: ObjectMeta {
            name: Some(SECRET.to_owned()),
            labels: Some(BTreeMap::from([(
                "app.kubernetes.io/part-of".to_owned(),
                "mooring".to_owned(),
            )])),
            ..ObjectMeta::default()
        },
        immutable: Some(true),
        data: Some(data),
        ..Secret::default()
    }
}

fn read(secret: &Secret) -> anyhow::Result<Installation> {
    let name = secret.name_any();
    let field = |key: &str| {
        let value = secret.data.as_ref().and_then(|data| data.get(key));
        value
            .map(|value| value.0.as_slice())
            .with_context(|| format!("the Secret {name} lacks {key}: restore it"))
    };
    let text = |key: &str| {
        let text = std::str::from_utf8(field(key)?);
        text.map(str::to_owned)
            .with_context(|| format!("{key} of the Secret {name} is no text: restore it"))
    };
    let key: [u8; 32] = field(TOKEN_KEY)?
        .try_into()
        .with_context(|| format!("{TOKEN_KEY} of the Secret {name} is not 32 bytes: restore it"))?;
    Ok(Installation {
        id: text(ID)?
            .parse()
            .with_context(|| format!("{ID} of the Secret {name} is no id: restore it"))?,
        key: InstallationKey::new(key),
        authority: Authority {
            key_pem: text(CA_KEY)?.into(),
            certificate_pem: text(CA_CERTIFICATE)?,
        },
    })
}

#[cfg(test)]
mod tests;
