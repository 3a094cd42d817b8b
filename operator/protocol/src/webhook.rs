//! How deliveries of other systems are signed.

use hmac::{Hmac, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

/// Header with the signature of a delivery: `sha256=` and the HMAC in hex. It covers the time, a dot, the id, a
/// dot, and the body.
pub const SIGNATURE: &str = "x-mooring-signature";
/// Header with the time at which a delivery was signed, in seconds since 1970.
pub const TIMESTAMP: &str = "x-mooring-timestamp";
/// Header with the sender's own id of a delivery. What is sent again has the same one.
pub const DELIVERY: &str = "x-mooring-delivery";

/// Header with GitHub's signature, which covers the body alone.
pub const GITHUB_SIGNATURE: &str = "x-hub-signature-256";
/// Header with GitHub's id of a delivery.
pub const GITHUB_DELIVERY: &str = "x-github-delivery";
/// Header with the kind of what GitHub tells.
pub const GITHUB_EVENT: &str = "x-github-event";

/// Bytes of a delivery's body.
pub const BODY_BYTES: usize = 1024 * 1024;
/// Bytes of a sender's id of a delivery.
pub const ID_BYTES: usize = 128;
/// How far the clock of a sender may be from ours, in seconds.
pub const SKEW_SECONDS: i64 = 300;

/// The value of [`SIGNATURE`] for a delivery.
#[must_use]
pub fn signature(key: &SecretString, timestamp: i64, id: &str, body: &[u8]) -> String {
    let seconds = timestamp.to_string();
    encode(key, &signed(&seconds, id, body))
}

/// The value of [`GITHUB_SIGNATURE`] for a body.
#[must_use]
pub fn github_signature(key: &SecretString, body: &[u8]) -> String {
    encode(key, &[body])
}

/// Whether [`SIGNATURE`] is that of a delivery. Takes the same time whatever differs.
#[must_use]
pub fn is_signed(given: &str, key: &SecretString, timestamp: &str, id: &str, body: &[u8]) -> bool {
    is_mac(given, key, &signed(timestamp, id, body))
}

/// Whether [`GITHUB_SIGNATURE`] is that of a body. Takes the same time whatever differs.
#[must_use]
pub fn is_signed_by_github(given: &str, key: &SecretString, body: &[u8]) -> bool {
    is_mac(given, key, &[body])
}

fn signed<'a>(timestamp: &'a str, id: &'a str, body: &'a [u8]) -> [&'a [u8]; 5] {
    [timestamp.as_bytes(), b".", id.as_bytes(), b".", body]
}

fn encode(key: &SecretString, parts: &[&[u8]]) -> String {
    let mac: [u8; 32] = mac(key, parts).finalize().into_bytes().into();
    let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

fn is_mac(given: &str, key: &SecretString, parts: &[&[u8]]) -> bool {
    let mac = mac(key, parts);
    match given.strip_prefix("sha256=").and_then(unhex) {
        Some(given) => mac.verify_slice(&given).is_ok(),
        None => false,
    }
}

fn mac(key: &SecretString, parts: &[&[u8]]) -> Hmac<Sha256> {
    let key = key.expose_secret().as_bytes();
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let bytes = text.as_bytes();
    if bytes.len() != 64 {
        return None;
    }
    let mut mac = [0; 32];
    for (byte, pair) in mac.iter_mut().zip(bytes.chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let value = digit(*pair.first()?)? * 16 + digit(*pair.get(1)?)?;
        *byte = u8::try_from(value).ok()?;
    }
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn github_signs_the_body_with_the_key_as_text() {
        // The example of GitHub's own manual.
        let key = "It's a Secret to Everybody".into();
        let wanted = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(github_signature(&key, b"Hello, World!"), wanted);
        assert!(is_signed_by_github(wanted, &key, b"Hello, World!"));
        assert!(!is_signed_by_github(wanted, &key, b"Hello, World?"));
    }

    #[test]
    fn a_signature_is_of_one_time_one_id_and_one_body() {
        let key: SecretString = "mrw_key".into();
        let given = signature(&key, 1_800_000_000, "one", b"{}");
        assert!(is_signed(&given, &key, "1800000000", "one", b"{}"));
        for (time, id, body) in [
            ("1800000001", "one", &b"{}"[..]),
            ("1800000000", "two", b"{}"),
            ("1800000000", "one", b"{ }"),
            ("1800000000.o", "ne", b"{}"),
        ] {
            assert!(!is_signed(&given, &key, time, id, body), "{time} {id}");
        }
        assert!(!is_signed(
            &given,
            &"mrw_other".into(),
            "1800000000",
            "one",
            b"{}"
        ));
    }

    #[test]
    fn what_is_no_signature_is_none() {
        let key = "k".into();
        let right = github_signature(&key, b"x");
        for wrong in [
            "",
            "sha256=",
            "sha1=00",
            &right[..right.len() - 1],
            &right["sha256=".len()..],
            &format!("{right}00"),
            &right.replace("sha256=", "sha256=ä"),
        ] {
            assert!(!is_signed_by_github(wrong, &key, b"x"), "{wrong:?}");
        }
    }
}
