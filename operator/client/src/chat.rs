//! Chats with agents, and issues that agents write.

use protocol::board::{
    Chat, ChatEdit, ChatMessage, ChatQuery, ChatSent, NewChat, NewChatMessage, NewQuickIssue, Page,
    QuickIssue,
};
use protocol::{ChatId, TaskId};
use reqwest::Method;

use crate::Error;
use crate::board::{Board, PageQuery};

/// Chats.
impl Board<'_> {
    /// `GET chats`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn chats(&self, query: &ChatQuery) -> Result<Page<Chat>, Error> {
        self.list("chats", query).await
    }

    /// `POST chats`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn begin_chat(&self, new: &NewChat) -> Result<ChatSent, Error> {
        self.send_once("chats", new).await
    }

    /// `GET chats/{id}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn chat(&self, id: ChatId) -> Result<Chat, Error> {
        self.get(&format!("chats/{id}")).await
    }

    /// `PATCH chats/{id}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn edit_chat(&self, id: ChatId, edit: &ChatEdit) -> Result<Chat, Error> {
        self.send(Method::PATCH, &format!("chats/{id}"), edit).await
    }

    /// `GET chats/{id}/messages`: newest first.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn chat_messages(
        &self,
        id: ChatId,
        query: &PageQuery,
    ) -> Result<Page<ChatMessage>, Error> {
        self.list(&format!("chats/{id}/messages"), query).await
    }

    /// `POST chats/{id}/messages`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn send_chat(&self, id: ChatId, new: &NewChatMessage) -> Result<ChatSent, Error> {
        self.send_once(&format!("chats/{id}/messages"), new).await
    }

    /// `POST quick-issues`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn ask_quick_issue(&self, new: &NewQuickIssue) -> Result<QuickIssue, Error> {
        self.send_once("quick-issues", new).await
    }

    /// `GET quick-issues/{id}`.
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub async fn quick_issue(&self, id: TaskId) -> Result<QuickIssue, Error> {
        self.get(&format!("quick-issues/{id}")).await
    }
}
