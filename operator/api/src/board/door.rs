//! Texts as they are let in: without what a terminal would obey, and without credentials. Their bounds the store
//! keeps.

use protocol::board::{CommentEdit, IssueEdit, NewComment, NewIssue};
use protocol::limits;
use protocol::redact::{self, Redactor};

use crate::error::Failure;

/// Bytes of an agent's resource name.
const NAME_BYTES: usize = 63;

/// Lets texts in that one caller has written.
pub(crate) struct Door {
    /// What the server knows of an agent's attempt; people have none.
    own: Option<Redactor>,
}

impl Door {
    /// For texts of a person, or of the agent whose credentials these are.
    pub(crate) fn new(own: Option<Redactor>) -> Self {
        Self { own }
    }

    /// Brings a new issue into the form in which it is kept.
    pub(crate) fn new_issue(&self, new: &mut NewIssue) -> Result<(), Failure> {
        self.title(&mut new.title)?;
        self.text(&mut new.description);
        Ok(())
    }

    /// Brings an edit of an issue into the form in which it is kept.
    pub(crate) fn issue_edit(&self, edit: &mut IssueEdit) -> Result<(), Failure> {
        if let Some(title) = &mut edit.title {
            self.title(title)?;
        }
        if let Some(description) = &mut edit.description {
            self.text(description);
        }
        Ok(())
    }

    /// Brings a new comment into the form in which it is kept.
    pub(crate) fn new_comment(&self, new: &mut NewComment) -> Result<(), Failure> {
        self.text(&mut new.body);
        // More agents than a text can mention are not left out of anything.
        if new.suppress.len() > limits::MENTIONS {
            return Err(Failure::invalid(format!(
                "suppress: it names more than {} agents; name those that the comment would wake",
                limits::MENTIONS
            )));
        }
        Ok(())
    }

    /// Brings an edit of a comment into the form in which it is kept.
    pub(crate) fn comment_edit(&self, edit: &mut CommentEdit) {
        self.text(&mut edit.body);
    }

    /// One line, shown in lists and terminals: what does not belong into one is refused, not taken out, since
    /// a title is short enough to be written again.
    fn title(&self, title: &mut String) -> Result<(), Failure> {
        if let Some(found) = title.trim().chars().find(|each| is_unprintable(*each)) {
            return Err(Failure::invalid(format!(
                "title: it holds the control character U+{:04X}; a title is one line of plain text",
                u32::from(found)
            )));
        }
        *title = self.redacted(std::mem::take(title));
        Ok(())
    }

    /// A text of several lines. Agents paste what a terminal showed, so control characters are taken out.
    fn text(&self, text: &mut String) {
        text.retain(|each| matches!(each, '\n' | '\t') || !is_unprintable(each));
        // After that: what stood between the parts of a credential is gone.
        *text = self.redacted(std::mem::take(text));
    }

    fn redacted(&self, mut text: String) -> String {
        match &self.own {
            Some(own) => own.text(&mut text),
            None => text = redact::patterns(&text),
        }
        text
    }
}

/// A name that others gave, as it can be shown anywhere.
pub(crate) fn plain(mut name: String) -> String {
    name.retain(|each| !is_unprintable(each));
    name
}

/// True for what a terminal obeys or hides, and what breaks or turns a line.
fn is_unprintable(each: char) -> bool {
    each.is_control()
        || matches!(each, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// True for what Kubernetes takes as a name of a namespace or an Agent.
pub(crate) fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=NAME_BYTES).contains(&text.len())
        && text.bytes().all(|byte| inner(byte) || byte == b'-')
        && text.bytes().next().is_some_and(inner)
        && text.bytes().last().is_some_and(inner)
}
