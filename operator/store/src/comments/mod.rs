//! Comments: read in lists; written together with whom they wake, in one transaction.
//!
//! A deleted one keeps its row, so that its thread stays, without its text. Lists leave it out, unless it begins a
//! thread that has replies.

mod edit;
mod files;
mod outside;
mod post;
mod read;
mod remark;

pub(crate) use files::read_all;
pub(crate) use outside::{Outside, from_outside};
pub use post::TASK_COMMENTS;
pub(crate) use post::{check_body, fresh, has_room, say};
pub(crate) use read::select;
pub(crate) use remark::remark;

use protocol::CommentId;

use crate::Error;

fn missing(comment: CommentId) -> Error {
    Error::Missing {
        what: format!("comment {comment}"),
    }
}
