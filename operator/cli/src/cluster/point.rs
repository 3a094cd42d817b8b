//! Where the API is in its cluster.

use k8s_openapi::api::core::v1::ConfigMap;

use super::Error;

/// What the chart and the operator publish, for everybody who may log in.
pub(super) const CONFIG_MAP: &str = "mooring-api";

/// How the API is found and known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// The CA of its certificate, PEM.
    pub(crate) ca: String,
    /// Its Service, whose name is in the certificate.
    pub(crate) service: String,
    /// The port on which its pods listen.
    pub(crate) port: u16,
    /// Which pods are its.
    pub(crate) selector: String,
}

impl Point {
    /// Reads the ConfigMap.
    pub(super) fn read(map: ConfigMap) -> Result<Self, Error> {
        let mut data = map.data.unwrap_or_default();
        let mut take = |key: &str| {
            data.remove(key)
                .filter(|value| !value.is_empty())
                .ok_or_else(|| Error::Point(format!("it has no {key}")))
        };
        let (service, selector, port) = (take("service")?, take("selector")?, take("port")?);
        let port = port
            .parse()
            .map_err(|_| Error::Point(format!("{port:?} is no port")))?;
        // The chart writes the rest; the operator adds its CA when it starts for the first time.
        let ca = take("ca.crt").map_err(|_| Error::NotStarted)?;
        Ok(Self {
            ca,
            service,
            port,
            selector,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Point, String> {
        let data = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Point::read(ConfigMap {
            data: Some(data.collect()),
            ..ConfigMap::default()
        })
        .map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_published_is_read() {
        let whole = [
            ("service", "mooring"),
            ("port", "8443"),
            ("selector", "a=b"),
            ("ca.crt", "PEM"),
        ];
        assert_eq!(
            read(&whole),
            Ok(Point {
                ca: "PEM".into(),
                service: "mooring".into(),
                port: 8443,
                selector: "a=b".into(),
            })
        );
        for (without, wanted) in [
            (0, "it has no service"),
            (1, "it has no port"),
            (2, "it has no selector"),
            (3, "has not started yet"),
        ] {
            let mut pairs = whole.to_vec();
            pairs.remove(without);
            let words = read(&pairs).unwrap_err();
            assert!(words.contains(wanted), "{words}");
        }
        let words = read(&[("service", "m"), ("port", "x"), ("selector", "a")]).unwrap_err();
        assert!(words.contains("is no port"), "{words}");
    }
}
