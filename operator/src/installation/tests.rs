//! What a start does about what it finds, against a real store and an apiserver that knows one Secret.

use std::sync::{Arc, Mutex};

use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::json;
use store::{Fault, Faults, Settings, Store, WritePoint};

use super::*;

fn id(number: u128) -> InstallationId {
    InstallationId(uuid::Uuid::from_u128(number))
}

#[test]
fn only_what_belongs_together_goes_on() {
    assert_eq!(decide(None, false, None), Step::Begin);
    assert_eq!(decide(Some(id(1)), false, None), Step::MakeSecret(id(1)));
    assert_eq!(decide(Some(id(1)), false, Some(id(1))), Step::Go);
    assert_eq!(decide(Some(id(1)), true, Some(id(1))), Step::Go);
    for (store, tasks, secret, word) in [
        (Some(id(1)), true, None, "restore the Secret"),
        (None, false, Some(id(1)), "restore the store"),
        (Some(id(1)), false, Some(id(2)), "belong together"),
    ] {
        match decide(store, tasks, secret) {
            Step::Refuse(why) => assert!(why.contains(word), "{why}"),
            step @ (Step::Begin | Step::MakeSecret(_) | Step::Go) => panic!("{step:?}"),
        }
    }
}

#[test]
fn a_secret_is_read_back_and_a_broken_one_says_what_it_lacks() {
    let installation = generate(id(1)).unwrap();
    let secret = write(&installation);
    let back = read(&secret).unwrap();
    assert_eq!(back.id, installation.id);
    assert_eq!(back.key.to_bytes(), installation.key.to_bytes());
    assert_eq!(
        back.authority.certificate_pem,
        installation.authority.certificate_pem
    );
    for lacking in [ID, TOKEN_KEY, CA_KEY, CA_CERTIFICATE] {
        let mut broken = secret.clone();
        broken.data.as_mut().unwrap().remove(lacking);
        let error = read(&broken).err().unwrap().to_string();
        assert!(error.contains(lacking), "{error}");
    }
}

/// What happens to the creation of the Secret.
#[derive(Clone, Copy, PartialEq)]
enum Creation {
    Works,
    Fails,
    /// It is made, but the caller does not hear so.
    IsNotHeard,
}

/// An apiserver that knows one Secret.
#[derive(Clone)]
struct Cluster {
    secret: Arc<Mutex<Option<Secret>>>,
    creation: Arc<Mutex<Creation>>,
}

impl Cluster {
    fn with(secret: Option<Secret>) -> Self {
        Self {
            secret: Arc::new(Mutex::new(secret)),
            creation: Arc::new(Mutex::new(Creation::Works)),
        }
    }

    fn client(&self) -> Client {
        let cluster = self.clone();
        Client::new(
            tower::service_fn(move |request| cluster.clone().answer(request)),
            "mooring-system",
        )
    }

    async fn answer(
        self,
        request: Request<Body>,
    ) -> Result<Response<Body>, std::convert::Infallible> {
        let creates = request.method() == Method::POST;
        let path = request.uri().path().to_owned();
        assert!(
            path.starts_with("/api/v1/namespaces/mooring-system/secrets"),
            "{path}"
        );
        if !creates {
            let found = self.secret.lock().unwrap().clone();
            return Ok(found.map_or_else(|| status(StatusCode::NOT_FOUND), |secret| whole(&secret)));
        }
        let body = request.into_body().collect_bytes().await.unwrap();
        let given: Secret = serde_json::from_slice(&body).unwrap();
        let creation = *self.creation.lock().unwrap();
        let mut secret = self.secret.lock().unwrap();
        if creation == Creation::Fails {
            return Ok(status(StatusCode::SERVICE_UNAVAILABLE));
        }
        if secret.is_some() {
            return Ok(status(StatusCode::CONFLICT));
        }
        *secret = Some(given.clone());
        match creation {
            Creation::IsNotHeard => Ok(status(StatusCode::GATEWAY_TIMEOUT)),
            Creation::Works | Creation::Fails => Ok(whole(&given)),
        }
    }

    async fn establish(&self, store: &Store) -> anyhow::Result<Standing> {
        super::establish(store, &self.client(), "mooring-system").await
    }
}

fn whole(secret: &Secret) -> Response<Body> {
    Response::new(serde_json::to_vec(secret).unwrap().into())
}

fn reason(code: StatusCode) -> &'static str {
    match code {
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::CONFLICT => "AlreadyExists",
        _ => "ServiceUnavailable",
    }
}

fn status(code: StatusCode) -> Response<Body> {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code.as_u16(), "reason": reason(code), "message": "x",
    });
    Response::builder()
        .status(code)
        .body(body.to_string().into_bytes().into())
        .unwrap()
}

async fn open(folder: &tempfile::TempDir, name: &str) -> Store {
    Store::open(&Settings::Sqlite {
        path: folder.path().join(name),
    })
    .await
    .unwrap()
}

fn together(standing: anyhow::Result<Standing>) -> Installation {
    match standing.unwrap() {
        Standing::Together(installation) => installation,
        Standing::Apart { why, .. } => panic!("{why}"),
    }
}

fn apart(standing: anyhow::Result<Standing>) -> String {
    match standing.unwrap() {
        Standing::Apart { why, .. } => why,
        Standing::Together(installation) => panic!("together: {}", installation.id),
    }
}

#[tokio::test]
async fn the_first_start_makes_both_sides_and_the_second_finds_them() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, store) = (Cluster::with(None), open(&folder, "a.db").await);
    let first = together(cluster.establish(&store).await);
    let second = together(cluster.establish(&store).await);
    assert_eq!(store.installation().await.unwrap(), Some(first.id));
    assert_eq!(
        (second.id, second.key.to_bytes()),
        (first.id, first.key.to_bytes())
    );
    assert_eq!(
        second.authority.certificate_pem,
        first.authority.certificate_pem
    );
}

#[tokio::test]
async fn a_start_that_ended_between_the_two_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for (name, creation) in [("a.db", Creation::Fails), ("b.db", Creation::IsNotHeard)] {
        let (cluster, store) = (Cluster::with(None), open(&folder, name).await);
        *cluster.creation.lock().unwrap() = creation;
        assert!(cluster.establish(&store).await.is_err());
        let id = store
            .installation()
            .await
            .unwrap()
            .expect("the store's side comes first");
        *cluster.creation.lock().unwrap() = Creation::Works;
        assert_eq!(together(cluster.establish(&store).await).id, id);
    }
}

#[tokio::test]
async fn a_store_that_takes_no_id_makes_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::Sqlite {
        path: folder.path().join("a.db"),
    };
    let faults = Faults::once(WritePoint::AdoptInstallation, Fault::ErrorBefore);
    let (cluster, store) = (
        Cluster::with(None),
        Store::open_with(&settings, faults).await.unwrap(),
    );
    assert!(cluster.establish(&store).await.is_err());
    assert!(cluster.secret.lock().unwrap().is_none());
    together(cluster.establish(&store).await);
}

#[tokio::test]
async fn another_store_and_a_broken_secret_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::with(None);
    together(cluster.establish(&open(&folder, "a.db").await).await);
    let made = cluster.secret.lock().unwrap().clone();
    let empty = open(&folder, "b.db").await;
    assert!(apart(cluster.establish(&empty).await).contains("restore the store"));
    assert_eq!(empty.installation().await.unwrap(), None);
    assert_eq!(*cluster.secret.lock().unwrap(), made);
    let other = open(&folder, "c.db").await;
    other.adopt_installation(id(7)).await.unwrap();
    assert!(apart(cluster.establish(&other).await).contains("belong together"));
    cluster
        .secret
        .lock()
        .unwrap()
        .as_mut()
        .unwrap()
        .data
        .as_mut()
        .unwrap()
        .remove(TOKEN_KEY);
    assert!(apart(cluster.establish(&empty).await).contains(TOKEN_KEY));
    assert_eq!(empty.installation().await.unwrap(), None);
}
