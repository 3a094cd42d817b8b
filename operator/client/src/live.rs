//! The live connection: what happens in a workspace, told as it happens, in the words of [`protocol::board`].

use std::fmt;
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use protocol::board::{LiveBody, LiveMessage, LiveRequest, LiveTarget};
use protocol::limits;
use reqwest::Upgraded;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use crate::{Board, Error, REQUEST_TIMEOUT};

/// A server asks for a sign of life every 20 seconds. One that is silent for longer than three times that is gone.
const SILENCE: Duration = Duration::from_secs(70);
/// Bytes of what the server says at once: the longest is a task with its result.
const MESSAGE_BYTES: usize = limits::BODY_BYTES;

/// A live connection. It ends when it is dropped.
pub struct Live {
    socket: WebSocketStream<Upgraded>,
    /// Of the last message.
    number: u64,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Board<'_> {
    /// `GET live`, for people: nothing is told on it before something is followed.
    ///
    /// # Errors
    /// [`Error`], as for every call, and [`Error::NotLive`].
    pub async fn live(&self) -> Result<Live, Error> {
        let stream = self.http.switch(&self.path("live"), self.token).await?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES))
            .max_frame_size(Some(MESSAGE_BYTES));
        let socket = WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await;
        Ok(Live { socket, number: 0 })
    }
}

impl Live {
    /// Follows something from now on; it is told under this word.
    ///
    /// # Errors
    /// [`Error::Live`] when the connection is gone.
    pub async fn subscribe(&mut self, id: &str, to: LiveTarget) -> Result<(), Error> {
        let id = id.to_owned();
        let request = LiveRequest::Subscribe { id, to };
        let request = serde_json::to_string(&request).map_err(Error::Malformed)?;
        let sent = self.socket.send(Message::text(request));
        match tokio::time::timeout(REQUEST_TIMEOUT, sent).await {
            Ok(sent) => sent.map_err(|error| broken(&error)),
            Err(_) => Err(Error::Live("it takes nothing".to_owned())),
        }
    }

    /// The next thing that is told. Dropped while it waits, nothing is lost.
    ///
    /// # Errors
    /// [`Error::Live`] when the connection is gone, was closed, or is silent for too long; [`Error::Malformed`] for
    /// what is no message, or not the next one.
    pub async fn next(&mut self) -> Result<LiveMessage, Error> {
        loop {
            let next = tokio::time::timeout(SILENCE, self.socket.next()).await;
            let next = next.map_err(|_| Error::Live("it is silent".to_owned()))?;
            let ended = || Error::Live("it broke off".to_owned());
            let text = match next.ok_or_else(ended)?.map_err(|error| broken(&error))? {
                Message::Text(text) => text,
                // Pings are answered by the library, with what is read or sent next.
                Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_) => {
                    continue;
                }
                Message::Close(None) => return Err(Error::Live("it was closed".to_owned())),
                Message::Close(Some(why)) => return Err(Error::Live(why.reason.to_string())),
            };
            let message: LiveMessage = serde_json::from_str(&text).map_err(Error::Malformed)?;
            self.number += 1;
            if message.number != self.number {
                return Err(Error::Live("something is missing in it".to_owned()));
            }
            if let LiveBody::Ended { code, message } = message.body {
                return Err(Error::Ended { code, message });
            }
            return Ok(message);
        }
    }
}

fn broken(error: &tungstenite::Error) -> Error {
    Error::Live(error.to_string())
}
