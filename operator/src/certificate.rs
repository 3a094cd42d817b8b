//! The operator's own CA, and the certificate of its API.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use jiff::{Timestamp, ToSpan as _, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use secrecy::{ExposeSecret as _, SecretString};

/// A server certificate counts this long …
const DAYS: i64 = 90;
/// … and is made anew long before it ends.
pub(crate) const RENEW_EVERY: Duration = Duration::from_secs(30 * 24 * 3600);

/// The CA as the Secret holds it: private key and certificate, PEM.
#[derive(Clone)]
pub(crate) struct Authority {
    pub(crate) key_pem: SecretString,
    pub(crate) certificate_pem: String,
}

impl Authority {
    /// Makes a new one.
    pub(crate) fn generate() -> anyhow::Result<Self> {
        let key = KeyPair::generate().context("make the CA's key")?;
        let certificate = authority_parameters()
            .self_signed(&key)
            .context("sign the CA's certificate")?;
        Ok(Self {
            key_pem: key.serialize_pem().into(),
            certificate_pem: certificate.pem(),
        })
    }

    /// TLS for the API under these names, which may be addresses.
    pub(crate) fn server(
        &self,
        names: Vec<String>,
        now: Timestamp,
    ) -> anyhow::Result<Arc<ServerConfig>> {
        let authority_key =
            KeyPair::from_pem(self.key_pem.expose_secret()).context("read the CA's key")?;
        // The parameters are the same for every installation, so the CA's certificate need not be parsed.
        let issuer = Issuer::new(authority_parameters(), authority_key);
        let key = KeyPair::generate().context("make the API's key")?;
        let mut parameters = CertificateParams::new(names).context("the API's host is no name")?;
        parameters.distinguished_name = named("Mooring API");
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        parameters.use_authority_key_identifier_extension = true;
        // Dated to the day, which spares us another library for time; a day back, for clients whose clock is behind.
        let day = |at: Timestamp| {
            let date = at.to_zoned(TimeZone::UTC).date();
            rcgen::date_time_ymd(
                i32::from(date.year()),
                date.month().unsigned_abs(),
                date.day().unsigned_abs(),
            )
        };
        parameters.not_before = day(now.checked_sub(24.hours())?);
        parameters.not_after = day(now.checked_add((24 * DAYS).hours())?);
        let certificate = parameters
            .signed_by(&key, &issuer)
            .context("sign the API's certificate")?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(Arc::new(api::server_config(
            vec![certificate.der().clone()],
            key,
        )?))
    }
}

fn authority_parameters() -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = named("Mooring CA");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    parameters
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_certificate_is_made_from_the_stored_form() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = Authority::generate().unwrap();
        let names = vec![
            "mooring.mooring-system.svc".to_owned(),
            "10.0.0.1".to_owned(),
        ];
        authority
            .server(
                names,
                Timestamp::UNIX_EPOCH
                    .checked_add((24 * 20_000).hours())
                    .unwrap(),
            )
            .unwrap();
        assert!(
            authority
                .server(vec!["ü".to_owned()], Timestamp::UNIX_EPOCH)
                .is_err()
        );
    }
}
