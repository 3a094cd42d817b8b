//! The Secret of an attempt: its token and the CA of the API. Derived, so making it twice makes the same.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use protocol::paths;
use secrecy::{ExposeSecret as _, SecretString};

use super::{AttemptNames, Kin, attempt_labels, meta};

/// The Secret, owned by the task. Immutable: no kubelet watches it, and nobody can slip in another token.
#[must_use]
pub fn secret(
    kin: &Kin,
    names: &AttemptNames,
    task: OwnerReference,
    token: &SecretString,
    ca_pem: &str,
) -> Secret {
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    Secret {
        metadata: meta(
            kin,
            names.secret.as_str(),
            &attempt_labels(names.attempt),
            Some(task),
        ),
        immutable: Some(true),
        type_: Some("Opaque".to_owned()),
        data: Some(BTreeMap::from([
            (
                paths::SECRET_TOKEN_KEY.to_owned(),
                bytes(token.expose_secret()),
            ),
            (paths::SECRET_CA_KEY.to_owned(), bytes(ca_pem)),
        ])),
        string_data: None,
    }
}
