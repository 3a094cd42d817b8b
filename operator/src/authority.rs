//! Who people are and what they may do, as Kubernetes says.

mod standing;
#[cfg(test)]
mod tests;

use api::{Action, AuthorityError, PendingLogin, Person};
use crds::{LoginRequest, LoginRequestSpec};
use futures::future::BoxFuture;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{ApiResource, DeleteParams, DynamicObject, PostParams, Preconditions};
use kube::core::ClusterResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};
use secrecy::{ExposeSecret as _, SecretString};

use standing::Standing;

/// For whom a ServiceAccount's token has to be made.
const AUDIENCE: &str = "mooring";
/// How the name of a ServiceAccount begins. The tokens of others may not know audiences at all.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Asks the apiserver.
pub(crate) struct KubeAuthority {
    client: Client,
    /// The operator's own, in which people make their `LoginRequests`.
    namespace: String,
    /// Name of the policy, and of its binding.
    policy: String,
}

impl KubeAuthority {
    pub(crate) fn new(client: Client, namespace: String, policy: String) -> Self {
        Self {
            client,
            namespace,
            policy,
        }
    }

    fn requests(&self) -> Api<LoginRequest> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn pending(&self, name: &str) -> Result<Option<PendingLogin>, AuthorityError> {
        let found = self.requests().get_opt(name).await;
        let Some(request) = found.map_err(|error| away("read a LoginRequest", error))? else {
            return Ok(None);
        };
        let Some(login) = pending(request) else {
            return Ok(None);
        };
        let (policy, binding) = tokio::try_join!(
            self.whole::<ValidatingAdmissionPolicy>(),
            self.whole::<ValidatingAdmissionPolicyBinding>(),
        )?;
        let standing = Standing {
            policy: policy.as_ref(),
            binding: binding.as_ref(),
            name: &self.policy,
        };
        standing
            .guarded(login.created)
            .map_err(AuthorityError::Closed)?;
        Ok(Some(login))
    }

    /// An object with all its fields, also those that are younger than this program.
    async fn whole<K>(&self) -> Result<Option<DynamicObject>, AuthorityError>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>,
    {
        let kind = ApiResource::erase::<K>(&());
        let objects: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
        let found = objects.get_opt(&self.policy).await;
        found.map_err(|error| away("read the policy on which logins stand", error))
    }

    async fn remove(&self, login: &PendingLogin) -> Result<(), AuthorityError> {
        let only_this = Preconditions {
            uid: Some(login.uid.clone()),
            resource_version: None,
        };
        let parameters = DeleteParams::default().preconditions(only_this);
        match self.requests().delete(&login.name, &parameters).await {
            Ok(_) => Ok(()),
            // Gone, or another one of its name.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {
                Ok(())
            }
            Err(error) => Err(away("remove a LoginRequest", error)),
        }
    }

    async fn review(&self, token: &SecretString) -> Result<Option<Person>, AuthorityError> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                audiences: Some(vec![AUDIENCE.to_owned()]),
                token: token.expose_secret().to_owned(),
            },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| away("have a token looked at", error))?;
        Ok(answer.status.and_then(service_account))
    }

    async fn allows(&self, person: &Person, action: &Action) -> Result<bool, AuthorityError> {
        let Action {
            namespace,
            verb,
            resource,
        } = action;
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(person.user.clone()),
                groups: Some(person.groups.clone()),
                resource_attributes: Some(ResourceAttributes {
                    group: Some(crds::GROUP.to_owned()),
                    namespace: Some(namespace.clone()),
                    verb: Some((*verb).to_owned()),
                    resource: Some((*resource).to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| away("ask what a person may do", error))?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

impl api::Authority for KubeAuthority {
    fn login_request<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<PendingLogin>, AuthorityError>> {
        Box::pin(async move {
            if namespace == self.namespace {
                self.pending(name).await
            } else {
                Ok(None)
            }
        })
    }

    fn remove_login_request<'a>(
        &'a self,
        login: &'a PendingLogin,
    ) -> BoxFuture<'a, Result<(), AuthorityError>> {
        Box::pin(self.remove(login))
    }

    fn review_token<'a>(
        &'a self,
        token: &'a SecretString,
    ) -> BoxFuture<'a, Result<Option<Person>, AuthorityError>> {
        Box::pin(self.review(token))
    }

    fn may<'a>(
        &'a self,
        person: &'a Person,
        action: &'a Action,
    ) -> BoxFuture<'a, Result<bool, AuthorityError>> {
        Box::pin(self.allows(person, action))
    }
}

/// What an object says; `None` for one that is being removed, or that lacks what the apiserver gives each.
fn pending(request: LoginRequest) -> Option<PendingLogin> {
    let (uid, name) = (request.uid()?, request.name_any());
    if request.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let created = request.creation_timestamp()?.0;
    let LoginRequestSpec {
        user,
        groups,
        nonce_hash,
    } = request.spec;
    let mut hash = [0; 32];
    hex::decode_to_slice(nonce_hash, &mut hash).ok()?;
    Some(PendingLogin {
        uid,
        name,
        person: Person { user, groups },
        nonce_hash: hash,
        created,
    })
}

/// Whom a token belongs to that is good, made for us, and of a ServiceAccount.
fn service_account(status: TokenReviewStatus) -> Option<Person> {
    let is_for_us = status.audiences.iter().flatten().any(|one| one == AUDIENCE);
    let user = status
        .user
        .filter(|_| status.authenticated == Some(true) && is_for_us)?;
    let name = user.username?;
    name.starts_with(SERVICE_ACCOUNT).then(|| Person {
        user: name,
        groups: user.groups.unwrap_or_default(),
    })
}

fn away(doing: &'static str, error: kube::Error) -> AuthorityError {
    AuthorityError::Unavailable {
        doing,
        source: Box::new(error),
    }
}
