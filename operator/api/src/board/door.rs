//! Texts as they are let in: without what a terminal would obey, and without credentials. Their bounds the store
//! keeps.

use protocol::board::{
    ChatEdit, CommentEdit, IssueEdit, NewChat, NewChatMessage, NewComment, NewIssue, NewProject,
    NewQuickIssue, ProjectEdit,
};
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
        let metadata = std::mem::take(&mut new.metadata);
        new.metadata = metadata
            .into_iter()
            .map(|(key, mut value)| {
                self.text(&mut value);
                (self.redacted(key), value)
            })
            .collect();
        self.labels(&mut new.labels);
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
        let metadata = std::mem::take(&mut edit.metadata);
        edit.metadata = metadata
            .into_iter()
            .map(|(key, mut value)| {
                if let Some(value) = &mut value {
                    self.text(value);
                }
                (self.redacted(key), value)
            })
            .collect();
        self.labels(&mut edit.add_labels);
        Ok(())
    }

    /// A label that was a credential is none any more, and refused as one.
    fn labels(&self, labels: &mut Vec<String>) {
        for label in labels {
            *label = self.redacted(std::mem::take(label));
        }
    }

    /// Brings a new project into the form in which it is kept.
    pub(crate) fn new_project(&self, new: &mut NewProject) -> Result<(), Failure> {
        self.title(&mut new.title)?;
        self.text(&mut new.description);
        Ok(())
    }

    /// Brings an edit of a project into the form in which it is kept.
    pub(crate) fn project_edit(&self, edit: &mut ProjectEdit) -> Result<(), Failure> {
        if let Some(title) = &mut edit.title {
            self.title(title)?;
        }
        if let Some(description) = &mut edit.description {
            self.text(description);
        }
        Ok(())
    }

    /// The name of a file, as it is kept: one line of plain text.
    pub(crate) fn file_name(&self, mut name: String) -> Result<String, Failure> {
        if name.contains(is_unprintable) {
            return Err(Failure::invalid(
                "name: it holds a control character; a name is one line of plain text",
            ));
        }
        name = self.redacted(name);
        Ok(name)
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

    /// Brings a new chat into the form in which it is kept.
    pub(crate) fn new_chat(&self, new: &mut NewChat) -> Result<(), Failure> {
        if let Some(title) = &mut new.title {
            self.title(title)?;
        }
        self.text(&mut new.body);
        Ok(())
    }

    /// Brings an edit of a chat into the form in which it is kept.
    pub(crate) fn chat_edit(&self, edit: &mut ChatEdit) -> Result<(), Failure> {
        edit.title
            .as_mut()
            .map_or(Ok(()), |title| self.title(title))
    }

    /// Brings a message of a chat into the form in which it is kept.
    pub(crate) fn chat_message(&self, new: &mut NewChatMessage) {
        self.text(&mut new.body);
    }

    /// Brings what an issue is to be written from into the form in which it is kept.
    pub(crate) fn quick_issue(&self, new: &mut NewQuickIssue) {
        self.text(&mut new.text);
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
