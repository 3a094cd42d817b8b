//! What comes with a request, within its limits of size and time; and how large an answer is.

use std::error::Error;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query as AxumQuery, Request};
use futures::StreamExt as _;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use protocol::board::{
    ChatEdit, CommentEdit, Decision, IssueEdit, LoginExchange, NewAccessToken, NewAttachment,
    NewChat, NewChatMessage, NewComment, NewIssue, NewProject, NewQuickIssue, ProjectEdit, Rerun,
    Retry, Steer,
};
use protocol::limits;
use protocol::runner::{
    AskRequest, EventsRequest, FinishRequest, OpenRequest, RawPart, SettleRequest, StartedRequest,
    SteeredRequest, TextRequest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Failure;
use crate::redact;
use crate::state::Shared;

/// Bytes of what a body holds beside its one long text.
const ENVELOPE_BYTES: usize = 16 * 1024;
/// Bytes of a remark on what is wrong with a body or a query.
const REMARK_BYTES: usize = 200;

/// What a route takes as its body.
pub(crate) trait Content: DeserializeOwned {
    /// Bytes of it at most.
    const MOST: usize = limits::BODY_BYTES;
    /// Whether a request without a body is one without fields.
    const MAY_BE_ABSENT: bool = false;
}

/// An agent can send it. Its token is good for many requests at a time, and memory is everybody's.
impl Content for OpenRequest {
    const MOST: usize = 4096;
}
/// Whoever connects can send it.
impl Content for LoginExchange {
    const MOST: usize = 2048;
}
impl Content for NewAccessToken {
    const MOST: usize = 4096;
}
// A text may be twice as long in JSON: all quotes and line ends of it are escaped.
impl Content for NewIssue {
    const MOST: usize = 2 * limits::DESCRIPTION_BYTES + ENVELOPE_BYTES;
}
impl Content for IssueEdit {
    const MOST: usize = 2 * limits::DESCRIPTION_BYTES + ENVELOPE_BYTES;
}
impl Content for NewProject {
    const MOST: usize = 2 * limits::DESCRIPTION_BYTES + ENVELOPE_BYTES;
}
impl Content for ProjectEdit {
    const MOST: usize = 2 * limits::DESCRIPTION_BYTES + ENVELOPE_BYTES;
}
impl Content for NewChat {
    const MOST: usize = 2 * limits::COMMENT_BYTES + ENVELOPE_BYTES;
}
impl Content for NewChatMessage {
    const MOST: usize = 2 * limits::COMMENT_BYTES + ENVELOPE_BYTES;
}
impl Content for ChatEdit {
    const MOST: usize = 4096;
}
impl Content for NewQuickIssue {
    const MOST: usize = 2 * limits::COMMENT_BYTES + ENVELOPE_BYTES;
}
impl Content for Steer {
    const MOST: usize = 2 * limits::COMMENT_BYTES + ENVELOPE_BYTES;
}
impl Content for NewComment {
    const MOST: usize = 2 * limits::COMMENT_BYTES + ENVELOPE_BYTES;
}
impl Content for CommentEdit {
    const MOST: usize = 2 * limits::COMMENT_BYTES + ENVELOPE_BYTES;
}
impl Content for Rerun {
    const MOST: usize = 4096;
    const MAY_BE_ABSENT: bool = true;
}
impl Content for Decision {
    const MOST: usize = 4096;
    const MAY_BE_ABSENT: bool = true;
}
impl Content for AskRequest {}
impl Content for SettleRequest {}
impl Content for Retry {
    const MOST: usize = 4096;
}
impl Content for StartedRequest {}
impl Content for EventsRequest {}
impl Content for TextRequest {}
impl Content for RawPart {}
impl Content for SteeredRequest {}
impl Content for FinishRequest {}

/// A JSON body. Extractors before it have run when the first byte of it is read, so nobody unknown is read.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Content> FromRequest<Shared> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &Shared) -> Result<Self, Failure> {
        let mut bytes = whole(request, T::MOST, state.limits.body).await?;
        if bytes.is_empty() && T::MAY_BE_ABSENT {
            bytes.extend_from_slice(b"{}");
        }
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| Failure::invalid(remark("body", &error)))
    }
}

/// All of a body, of at most so many bytes, that arrives within this time.
pub(crate) async fn whole(
    request: Request,
    most: usize,
    within: Duration,
) -> Result<Vec<u8>, Failure> {
    let announced = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > most as u64) {
        return Err(Failure::body_too_large(most));
    }
    tokio::time::timeout(within, read(request.into_body(), most))
        .await
        .map_err(|_| Failure::invalid("the body did not arrive in time"))?
}

async fn read(body: Body, most: usize) -> Result<Vec<u8>, Failure> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Failure::invalid("the body broke off"))?;
        if bytes.len() + chunk.len() > most {
            return Err(Failure::body_too_large(most));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// What is wrong with a body or a query. The parser repeats words of it, which may be secret or long.
fn remark(what: &str, error: &dyn Error) -> String {
    let mut remark = redact::patterns(&error.to_string());
    crate::bound::cut(&mut remark, REMARK_BYTES);
    format!("the {what} is not what the route takes: {remark}")
}

/// The query of a request.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, Failure> {
        match AxumQuery::<T>::from_request_parts(parts, state).await {
            Ok(AxumQuery(query)) => Ok(Self(query)),
            Err(refused) => {
                // The library's own words say nothing; its source names the field.
                let error = refused.source().unwrap_or(&refused);
                Err(Failure::invalid(remark("query", error)))
            }
        }
    }
}

/// The content of a file, still on its way, and what is said about it.
pub(crate) struct Upload {
    /// What it is called.
    pub(crate) name: String,
    /// What it is said to be.
    pub(crate) media_type: String,
    /// How long it is said to be.
    pub(crate) announced: Option<u64>,
    pub(crate) body: Body,
}

/// What is said to be nothing in particular.
const ANY_MEDIA: &str = "application/octet-stream";

impl FromRequest<Shared> for Upload {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &Shared) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let Query(NewAttachment { name }) = Query::from_request_parts(&mut parts, state).await?;
        let header = |name| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let media_type = header(CONTENT_TYPE).and_then(media_type);
        Ok(Self {
            name,
            media_type: media_type.unwrap_or(ANY_MEDIA).to_owned(),
            announced: header(CONTENT_LENGTH).and_then(|length| length.parse().ok()),
            body,
        })
    }
}

/// A media type without its parameters, if it is one.
fn media_type(header: &str) -> Option<&str> {
    let plain = header.split(';').next()?.trim();
    let is_word = |word: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !word.is_empty() && word.bytes().all(inner)
    };
    let (kind, form) = plain.split_once('/')?;
    (plain.len() <= limits::MEDIA_TYPE_BYTES && is_word(kind) && is_word(form)).then_some(plain)
}

/// Bytes of a value as JSON.
pub(crate) fn json_bytes(value: &impl Serialize) -> Result<usize, Failure> {
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value).map_err(|_| Failure::internal())?;
    Ok(counter.0)
}

/// Measures what would be written.
struct Counter(usize);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_two_words() {
        for (header, wanted) in [
            ("image/png", Some("image/png")),
            ("text/plain; charset=utf-8", Some("text/plain")),
            ("application/vnd.a+json", Some("application/vnd.a+json")),
            ("", None),
            ("text", None),
            ("text/", None),
            ("text/a b", None),
            ("text/a\u{7}", None),
        ] {
            assert_eq!(media_type(header), wanted, "{header:?}");
        }
    }
}
