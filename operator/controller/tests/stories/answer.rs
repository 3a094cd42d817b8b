//! What the apiserver answers: a body that is whole, or a stream of watch events of which it is known how much was taken in.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use tokio::sync::mpsc;

/// A body.
pub(crate) enum Answer {
    Whole(Option<Bytes>),
    Stream(Events),
}

/// The events of one watch.
pub(crate) struct Events {
    from: mpsc::UnboundedReceiver<Bytes>,
    handed: u64,
    /// Events handed out when the next one was asked for and there was none: who follows the watch deals with each
    /// before it asks for the next.
    known: Arc<AtomicU64>,
}

/// Who watches a kind.
pub(crate) struct Watcher {
    pub(crate) resource: String,
    pub(crate) selector: Option<String>,
    to: mpsc::UnboundedSender<Bytes>,
    sent: u64,
    known: Arc<AtomicU64>,
}

impl Watcher {
    pub(crate) fn new(resource: &str, selector: Option<String>) -> (Self, Answer) {
        let (to, from) = mpsc::unbounded_channel();
        // Not even that there is nothing is known yet.
        let known = Arc::new(AtomicU64::new(u64::MAX));
        let watcher = Self {
            resource: resource.to_owned(),
            selector,
            to,
            sent: 0,
            known: Arc::clone(&known),
        };
        let handed = 0;
        let events = Events {
            from,
            handed,
            known,
        };
        (watcher, Answer::Stream(events))
    }

    /// False when nobody listens any more.
    pub(crate) fn tell(&mut self, event: Bytes) -> bool {
        self.sent += 1;
        self.to.send(event).is_ok()
    }

    pub(crate) fn is_there(&self) -> bool {
        !self.to.is_closed()
    }

    pub(crate) fn knows_all(&self) -> bool {
        self.known.load(Ordering::Acquire) == self.sent
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
            Self::Stream(events) => events.poll(cx),
        };
        bytes.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

impl Events {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let event = self.from.poll_recv(cx);
        match &event {
            Poll::Ready(Some(_)) => self.handed += 1,
            Poll::Ready(None) => {}
            Poll::Pending => self.known.store(self.handed, Ordering::Release),
        }
        event
    }
}
