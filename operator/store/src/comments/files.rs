//! Files that come with a comment: they are on its issue before, and named by it.

use protocol::board::{Attachment, Comment, Issue};
use protocol::{AttachmentId, CommentId, limits};

use super::read::read;
use crate::Error;
use crate::attachments;
use crate::db::{Conn, Row, query};
use crate::wakes::Looks;
use crate::writes::Write;

/// Whether a comment can name so many.
pub(super) fn check(files: &[AttachmentId]) -> Result<(), Error> {
    if files.len() <= limits::COMMENT_FILES {
        return Ok(());
    }
    Err(Error::Invalid {
        what: "attachments",
        why: format!(
            "there are {}, and a comment has at most {}: name the others in its text",
            files.len(),
            limits::COMMENT_FILES
        ),
    })
}

/// Names files of the issue, which is locked, in a new comment.
pub(super) async fn name(
    write: &mut Write,
    issue: &Issue,
    comment: CommentId,
    files: &[AttachmentId],
) -> Result<(), Error> {
    const NAME: &str = "INSERT INTO comment_files (comment, attachment) \
        SELECT $1, id FROM attachments WHERE id = $2 AND issue = $3";
    for (at, file) in files.iter().enumerate() {
        if files[..at].contains(file) {
            continue;
        }
        let name = query("name a file in a comment", NAME)
            .bind(comment)
            .bind(*file)
            .bind(issue.id);
        if name.execute(&mut *write).await? == 0 {
            return Err(Error::Missing {
                what: format!("attachment {file} on {}", issue.key),
            });
        }
    }
    Ok(())
}

/// Comments as their rows say them, with what came with them.
pub(crate) async fn read_all(on: &mut impl Looks, rows: &[Row]) -> Result<Vec<Comment>, Error> {
    let mut comments = Vec::with_capacity(rows.len());
    for row in rows {
        let mut comment = read(row)?;
        // Few have any.
        if row.u32("files")? > 0 {
            comment.attachments = of(on.conn(), comment.id).await?;
        }
        comments.push(comment);
    }
    Ok(comments)
}

/// The files of a comment, the oldest first.
pub(super) async fn of(
    on: impl Into<Conn<'_>>,
    comment: CommentId,
) -> Result<Vec<Attachment>, Error> {
    const LIST: &str = attachments::select!(
        "",
        "WHERE attachments.id IN (SELECT attachment FROM comment_files WHERE comment = $1) ORDER BY attachments.id"
    );
    let list = query("list the files of a comment", LIST).bind(comment);
    list.all(on).await?.iter().map(attachments::read).collect()
}
