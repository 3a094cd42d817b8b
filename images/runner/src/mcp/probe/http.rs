//! Greeting a server that is an address.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use super::{ANSWER_BYTES, Absence, VERSION, answer, initialize};
use crate::mcp::Values;

/// Making a connection is given up after this long, and tried again.
const CONNECT: Duration = Duration::from_secs(5);
/// One answer is waited for so long.
const ANSWER: Duration = Duration::from_secs(20);
/// To say goodbye takes no longer.
const GOODBYE: Duration = Duration::from_secs(2);
/// Names a conversation that a server has begun.
const SESSION: &str = "mcp-session-id";

pub(super) async fn greet(sse: bool, url: &str, headers: &Values) -> Result<(), Absence> {
    let client = client()?;
    let request = if sse {
        client.get(url).header(ACCEPT, "text/event-stream")
    } else {
        let accept = "application/json, text/event-stream";
        client.post(url).header(ACCEPT, accept).json(&initialize())
    };
    let request = with(request, headers)?.header("mcp-protocol-version", VERSION);
    let response = match request.timeout(ANSWER).send().await {
        Ok(response) => response,
        // The agent's program has certificates of its own, and with them it may well trust this one.
        Err(error) if is_about_trust(&error) => return Ok(()),
        Err(error) => return Err(Absence::NotYet(words(&error))),
    };
    refused(response.status())?;
    let session = response.headers().get(SESSION).cloned();
    let answer = if sse {
        read(response, |line| {
            (line == b"event: endpoint" || line == b"event:endpoint").then_some(Ok(()))
        })
        .await
    } else {
        read(response, |line| {
            answer(line.strip_prefix(b"data:").unwrap_or(line))
        })
        .await
    };
    if let Some(session) = session {
        let goodbye = with(client.delete(url), headers)?.header(SESSION, session);
        // Some do not take it; the conversation then ends with its time.
        let _ = goodbye.timeout(GOODBYE).send().await;
    }
    answer
}

fn client() -> Result<Client, Absence> {
    let mut roots = RootCertStore::empty();
    // An image without any has its agent's program bring them.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let never = |error: &dyn std::fmt::Display| Absence::Never(error.to_string());
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| never(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Client::builder()
        .tls_backend_preconfigured(config)
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT)
        .user_agent(concat!("mooring/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| never(&error))
}

fn with(mut request: RequestBuilder, headers: &Values) -> Result<RequestBuilder, Absence> {
    for (name, value) in &headers.0 {
        let named = HeaderName::from_bytes(name.as_bytes()).ok();
        let value = HeaderValue::from_str(value).ok();
        let (Some(named), Some(mut value)) = (named, value) else {
            let words = format!("the header {name} cannot be sent: its value is no line of text");
            return Err(Absence::Never(words));
        };
        value.set_sensitive(true);
        request = request.header(named, value);
    }
    Ok(request)
}

/// An answer that no later one will better.
fn refused(status: StatusCode) -> Result<(), Absence> {
    if status.is_success() {
        return Ok(());
    }
    let words = format!("it answers {status}");
    let passes = [
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::TOO_EARLY,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    if status.is_server_error() || passes.contains(&status) {
        Err(Absence::NotYet(words))
    } else {
        Err(Absence::Never(words))
    }
}

/// Reads until a line says what is to be known. An answer in one piece may have several lines, so the whole counts too.
async fn read(
    mut response: Response,
    meaning: impl Fn(&[u8]) -> Option<Result<(), Absence>>,
) -> Result<(), Absence> {
    let mut text = Vec::new();
    loop {
        let chunk = response.chunk().await;
        match chunk.map_err(|error| Absence::NotYet(words(&error)))? {
            Some(chunk) => text.extend_from_slice(&chunk),
            None => break,
        }
        let whole = text.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let lines = text[..whole].split(|byte| *byte == b'\n');
        if let Some(answer) = lines.map(<[u8]>::trim_ascii).find_map(&meaning) {
            return answer;
        }
        if text.len() > ANSWER_BYTES {
            return Err(Absence::Never(format!(
                "its first answer is longer than {ANSWER_BYTES} bytes"
            )));
        }
    }
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let answer = lines.chain([text.as_slice()]).find_map(meaning);
    answer.unwrap_or_else(|| {
        let words = "its first answer is none of the protocol's";
        Err(Absence::Never(words.to_owned()))
    })
}

fn is_about_trust(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if matches!(
            inner.downcast_ref::<rustls::Error>(),
            Some(rustls::Error::InvalidCertificate(_))
        ) {
            return true;
        }
        cause = match inner.downcast_ref::<std::io::Error>() {
            // Its own source is what it holds inside of what it holds.
            Some(io) if io.get_ref().is_some() => io.get_ref().map(|held| held as _),
            Some(_) | None => inner.source(),
        };
    }
    false
}

/// The last cause, which is the one that says something. Addresses are for everyone to read.
fn words(error: &reqwest::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(inner) = last.source() {
        last = inner;
    }
    last.to_string()
}
