//! `LoginRequest`: proof of who somebody is, for the moment of a login. Made by `moor login`.
//!
//! The apiserver knows who creates an object, and the policy of [`policy`] lets one pass only when it names its
//! own creator. So the operator learns from it who holds the nonce, and no credential of the cluster leaves
//! the machine on which it lies.

use std::fmt::Write as _;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub mod policy;

/// Proof of who somebody is, for the moment of a login.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "LoginRequest",
    plural = "loginrequests",
    namespaced,
    derive = "PartialEq",
    doc = "LoginRequest is proof of who somebody is, for the moment of a login. moor login makes it in the operator's namespace, and the operator deletes it.",
    printcolumn(name = "User", type_ = "string", json_path = ".spec.user"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[x_kube(validation = Rule::new("self == oldSelf")
    .message("a LoginRequest never changes: create another one"))]
#[serde(rename_all = "camelCase")]
pub struct LoginRequestSpec {
    /// user is the name of whoever creates the object, as the apiserver knows it. Any other name is refused.
    #[schemars(length(min = 1, max = 256))]
    #[x_kube(validation = Rule::new("!self.startsWith('system:serviceaccount:')")
        .message("a ServiceAccount does not log in: make a token for it with kubectl create token NAME --audience mooring"))]
    pub user: String,
    /// groups are all groups of whoever creates the object, as the apiserver knows them. Any other list is refused.
    #[schemars(length(min = 1, max = 256), inner(length(min = 1, max = 256)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub groups: Vec<String>,
    /// nonceHash is the SHA-256, in hex, of the 32 random bytes with which the login is completed.
    #[schemars(length(min = 64, max = 64), regex(pattern = "^[0-9a-f]{64}$"))]
    pub nonce_hash: String,
}

/// The form in which a nonce stands in the object: the SHA-256 of its bytes, in hex.
#[must_use]
pub fn nonce_hash(nonce: &[u8; 32]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(nonce) {
        // Writing into a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_hashed_as_bytes() {
        // printf '\0%.0s' {1..32} | sha256sum
        let wanted = "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925";
        assert_eq!(nonce_hash(&[0; 32]), wanted);
    }
}
