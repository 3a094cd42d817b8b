//! The side towards Kubernetes, for people: logging in with a kubeconfig, and the way to the API through the
//! cluster. Nothing of it runs where a token's file says who one is.

mod error;
mod forward;
mod login;
mod point;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

pub(crate) use error::Error;
pub(crate) use forward::Forward;
pub(crate) use point::Point;

/// A cluster in which Mooring runs, as a context of the kubeconfig sees it.
pub(crate) struct Cluster {
    client: Client,
    /// The context's name.
    pub(crate) context: String,
    /// Where the operator runs.
    pub(crate) namespace: String,
    /// The namespace that the context names.
    pub(crate) workspace: Option<String>,
}

impl Cluster {
    /// Reads the kubeconfig. Without a context it is the current one.
    pub(crate) async fn connect(context: Option<&str>, namespace: &str) -> Result<Self, Error> {
        // Two providers may be linked in one day; rustls wants to be told.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read().map_err(Error::Kubeconfig)?;
        let context = context
            .map(str::to_owned)
            .or_else(|| kubeconfig.current_context.clone())
            .filter(|context| !context.is_empty())
            .ok_or(Error::NoContext)?;
        let workspace = kubeconfig
            .contexts
            .iter()
            .find(|each| each.name == context)
            .and_then(|each| each.context.as_ref()?.namespace.clone());
        let options = KubeConfigOptions {
            context: Some(context.clone()),
            ..KubeConfigOptions::default()
        };
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(Error::Kubeconfig)?;
        // A person waits: what is away is told and not tried again behind their back.
        config.default_retry = false;
        let client = Client::try_from(config).map_err(Error::asked("use the kubeconfig"))?;
        Ok(Self {
            client,
            context,
            namespace: namespace.to_owned(),
            workspace,
        })
    }

    /// Where the API is, as the operator publishes it.
    pub(crate) async fn point(&self) -> Result<Point, Error> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let found = maps
            .get_opt(point::CONFIG_MAP)
            .await
            .map_err(Error::asked("read where the API is"))?;
        let missing = || Error::NotInstalled {
            namespace: self.namespace.clone(),
        };
        Point::read(found.ok_or_else(missing)?)
    }

    /// The name in the API's certificate.
    pub(crate) fn host(&self, point: &Point) -> String {
        format!("{}.{}.svc", point.service, self.namespace)
    }
}
