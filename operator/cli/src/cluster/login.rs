//! Proof of who one is: an object that only oneself could have made.

use crds::{LoginRequest, LoginRequestSpec, nonce_hash};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, ResourceExt as _};
use protocol::board::LoginExchange;

use super::{Cluster, Error};

/// What the name of every request begins with.
const NAME: &str = "login-";

impl Cluster {
    /// Makes the object. Whoever knows the nonce may turn it into a token, once; the object holds its hash only,
    /// and who may make it in whose name the cluster's own policy decides.
    pub(crate) async fn request_login(&self) -> Result<LoginExchange, Error> {
        let reviews: Api<SelfSubjectReview> = Api::all(self.client.clone());
        let review = reviews
            .create(&PostParams::default(), &SelfSubjectReview::default())
            .await
            .map_err(Error::asked("ask the cluster who you are"))?;
        let me = review.status.and_then(|status| status.user_info);
        let me = me.ok_or(Error::Nobody)?;
        let nonce: [u8; 32] = rand::random();
        let request = LoginRequest {
            metadata: ObjectMeta {
                generate_name: Some(NAME.to_owned()),
                ..ObjectMeta::default()
            },
            spec: LoginRequestSpec {
                user: me.username.ok_or(Error::Nobody)?,
                groups: me.groups.unwrap_or_default(),
                nonce_hash: nonce_hash(&nonce),
            },
        };
        let requests: Api<LoginRequest> = Api::namespaced(self.client.clone(), &self.namespace);
        let made = requests
            .create(&PostParams::default(), &request)
            .await
            .map_err(Error::asked("log in: the cluster refuses the LoginRequest"))?;
        Ok(LoginExchange {
            namespace: self.namespace.clone(),
            name: made.name_any(),
            nonce: hex::encode(nonce),
        })
    }
}
