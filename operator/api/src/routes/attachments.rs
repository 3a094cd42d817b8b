//! Files on issues.

use axum::Json as Answer;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use http::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use protocol::board::{Attachment, AuthorKind, Page};
use serde_json::json;
use store::{Added, Files, Kept, Retry};
use tokio::time::timeout;
use tokio_util::io::ReaderStream;

use crate::board::{
    CreateAttachments, DeleteAttachments, GetAttachments, ListAttachments, OnAttachment, OnIssue,
    PageQuery, limit,
};
use crate::body::{Query, Upload};
use crate::error::Failure;
use crate::state::{Inner, Shared};

/// `GET issues/{key}/attachments`: the oldest first.
pub(super) async fn list_attachments(
    on: OnIssue<ListAttachments>,
    State(state): State<Shared>,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<Attachment>>, Failure> {
    let limit = limit(query.limit)?;
    let (workspace, cursor) = (on.caller.workspace(), query.cursor.as_deref());
    let page = state.store.attachments(workspace, &on.key, limit, cursor);
    Ok(Answer(page.await?))
}

/// `POST issues/{key}/attachments?name=`: the body is the content. The same content under the same name is there
/// once, so sending it again is harmless.
pub(super) async fn add_attachment(
    on: OnIssue<CreateAttachments>,
    State(state): State<Shared>,
    upload: Upload,
) -> Result<Answer<Attachment>, Failure> {
    let files = files(&state)?;
    let name = on
        .caller
        .door(&state)
        .await?
        .file_name(upload.name.clone())?;
    let media_type = upload.media_type.clone();
    // Before a byte is written: whoever may not, or names nothing, fills no disk.
    let known = state.store.issue(on.caller.workspace(), &on.key).await?;
    known.ok_or_else(Failure::not_found)?;
    let kept = receive(&state, files, upload).await?;
    let named = (name.as_str(), media_type.as_str());
    let (by, room, now) = (&on.caller.acting, state.limits.room, state.now());
    let added = state
        .store
        .add_attachment(by, &on.key, named, kept, room, now);
    match added.await {
        Ok(Added::New(attachment)) => Ok(Answer(attachment)),
        Ok(Added::Before(attachment)) => {
            files.remove(kept.id).await?;
            Ok(Answer(attachment))
        }
        Err(error) => {
            // Where the answer was lost there may be a row. What has none is swept away.
            if error.retry() != Retry::WithBackoff {
                files.remove(kept.id).await?;
            }
            Err(Failure::of_write(error))
        }
    }
}

/// `GET attachments/{id}`: the content, which nobody should take for a page of ours.
pub(super) async fn get_attachment(
    on: OnAttachment<GetAttachments>,
    State(state): State<Shared>,
) -> Result<Response, Failure> {
    let attachment = &on.attachment;
    let content = files(&state)?.read(attachment.id).await?;
    let mut response = Body::from_stream(ReaderStream::new(content)).into_response();
    let headers = response.headers_mut();
    let value = |text: String| HeaderValue::try_from(text).map_err(|_| Failure::internal());
    headers.insert(CONTENT_TYPE, value(attachment.media_type.clone())?);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(attachment.bytes));
    headers.insert(CONTENT_DISPOSITION, value(disposition(&attachment.name))?);
    headers.insert(ETAG, value(format!("\"{}\"", attachment.sha256))?);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    Ok(response)
}

/// `DELETE attachments/{id}`. People with the right tidy up, whoever brought it; an agent takes back its own.
pub(super) async fn delete_attachment(
    on: OnAttachment<DeleteAttachments>,
    State(state): State<Shared>,
) -> Result<Answer<serde_json::Value>, Failure> {
    let files = files(&state)?;
    let (by, me) = (&on.attachment.author, &on.caller.acting.author);
    let is_own = by.kind == AuthorKind::Agent && by.id == me.id;
    if on.caller.agent().is_some() && !is_own {
        return Err(Failure::forbidden(
            "an agent deletes its own attachments only",
        ));
    }
    state
        .store
        .delete_attachment(on.caller.workspace(), &on.attachment)
        .await?;
    // The row is gone, so this is only tidying up: what is left is swept away.
    if let Err(error) = files.remove(on.attachment.id).await {
        tracing::warn!(%error, "the content of a deleted attachment is left until the next sweep");
    }
    Ok(Answer(json!({})))
}

fn files(state: &Inner) -> Result<&Files, Failure> {
    state.files.as_ref().ok_or_else(|| {
        Failure::unavailable(
            "this installation keeps no attachments: its operator was given no folder for them",
        )
    })
}

/// Takes the body in, and never more of it than may come.
async fn receive(state: &Inner, files: &Files, upload: Upload) -> Result<Kept, Failure> {
    let most = state.limits.attachment_bytes;
    let too_large = || Failure::body_too_large(usize::try_from(most).unwrap_or(usize::MAX));
    if upload.announced.is_some_and(|bytes| bytes > most) {
        return Err(too_large());
    }
    if !files.has_room(upload.announced.unwrap_or(most))? {
        return Err(Failure::unavailable(
            "the volume of the operator has no room for it; whoever runs it has to enlarge the volume",
        ));
    }
    let mut incoming = files.begin(state.now()).await?;
    let all = async {
        let mut chunks = upload.body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| Failure::invalid("the body broke off"))?;
            if incoming.bytes() + chunk.len() as u64 > most {
                return Err(too_large());
            }
            incoming.write(&chunk).await?;
        }
        Ok(())
    };
    timeout(state.limits.upload, all)
        .await
        .map_err(|_| Failure::invalid("the body did not arrive in time"))??;
    Ok(incoming.keep().await?)
}

/// A name as a header holds it.
fn disposition(name: &str) -> String {
    use std::fmt::Write as _;
    let mut header = "attachment; filename*=UTF-8''".to_owned();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            header.push(char::from(byte));
        } else {
            let _ = write!(header, "%{byte:02X}");
        }
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_within_its_header() {
        for (name, wanted) in [
            ("a.txt", "a.txt"),
            ("ä b\".txt", "%C3%A4%20b%22.txt"),
            ("a; filename=b\r\n", "a%3B%20filename%3Db%0D%0A"),
        ] {
            assert_eq!(
                disposition(name),
                format!("attachment; filename*=UTF-8''{wanted}")
            );
        }
    }
}
