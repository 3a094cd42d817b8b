//! What one caller may take up at once, and how long the server waits for it.
//!
//! Sizes are in [`protocol::limits`], since the other side keeps them too.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protocol::{TaskId, limits};
use store::Room;

use crate::error::Failure;

/// Limits of a server; the default is what the protocol says. Tests take smaller ones.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// See [`limits::CONNECTIONS`].
    pub connections: usize,
    /// Those of one address, so that the agents of one pod cannot take all places from everybody else's
    /// runners. Room for all pods of a node: some networks show them under its address.
    pub connections_per_address: usize,
    /// Connections past that limit which are still told so; what comes after them is closed without a word.
    pub refusals: usize,
    /// See [`limits::REQUESTS_PER_TASK`]. The runner and its agent are counted apart, so that an agent
    /// cannot keep its runner from reporting.
    pub requests_per_task: usize,
    /// Requests of one person that are being answered at the same time.
    pub requests_per_person: usize,
    /// Logins that are being answered at the same time, and apart from them looks at tokens that are not ours.
    /// Each asks the cluster, and whoever connects can want one.
    pub strangers: usize,
    /// Those of one address, so that nobody keeps all others from logging in.
    pub strangers_per_address: usize,
    /// Deliveries of other systems that are being taken at the same time. Whoever connects can send one, and it is read
    /// before its signature is looked at.
    pub deliveries: usize,
    /// Of them, those that one address sends: who has not signed anything holds up no other sender.
    pub deliveries_per_address: usize,
    /// From the end of a delivery's headers to the end of its body.
    pub delivery_body: Duration,
    /// See [`limits::CONTROL_HOLD`].
    pub control_hold: Duration,
    /// From a question about people to the cluster's answer.
    pub cluster_answer: Duration,
    /// From the connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// From the first byte of a request to the end of its headers.
    pub headers: Duration,
    /// From the end of the headers to the end of the body.
    pub body: Duration,
    /// From the end of the headers to the end of an attachment.
    pub upload: Duration,
    /// See [`limits::ATTACHMENT_BYTES`].
    pub attachment_bytes: u64,
    /// How much room attachments may take.
    pub room: Room,
    /// How often those who look on are asked for their rights.
    pub live_check: Duration,
    /// How often a live connection is asked for a sign of life. Three that stay away end it.
    pub live_ping: Duration,
    /// From the wish to stop to the end of the last connection.
    pub goodbye: Duration,
}

/// Bytes of the headers of one request, its first line included.
pub(crate) const HEADER_BYTES: usize = 16 * 1024;
/// Headers of one request.
pub(crate) const HEADERS: usize = 64;
/// Streams of one HTTP/2 connection.
pub(crate) const STREAMS: u32 = 32;
/// A runner's sign of life is written at most this often: its token outlives many of them.
pub(crate) const CONTACT_EVERY: Duration = Duration::from_secs(15);

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: limits::CONNECTIONS,
            connections_per_address: limits::CONNECTIONS / 8,
            refusals: 64,
            requests_per_task: limits::REQUESTS_PER_TASK,
            requests_per_person: 32,
            strangers: 32,
            strangers_per_address: 8,
            deliveries: 32,
            deliveries_per_address: 8,
            delivery_body: Duration::from_secs(5),
            control_hold: limits::CONTROL_HOLD,
            cluster_answer: Duration::from_secs(5),
            handshake: Duration::from_secs(5),
            headers: Duration::from_secs(10),
            body: Duration::from_secs(20),
            upload: Duration::from_secs(300),
            attachment_bytes: limits::ATTACHMENT_BYTES,
            room: Room {
                issue: 250 * 1024 * 1024,
                workspace: 1024 * 1024 * 1024,
            },
            live_check: Duration::from_secs(5),
            live_ping: Duration::from_secs(20),
            goodbye: Duration::from_secs(3),
        }
    }
}

/// Whose requests, or connections, are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Party {
    Agent(TaskId),
    Runner(TaskId),
    /// A person, by the digest of the name.
    Person([u8; 32]),
    /// A person who looks on, by the digest of the name.
    Live([u8; 32]),
    /// All who look on.
    AllLive,
    /// All deliveries of other systems.
    Deliveries,
    /// Deliveries that come from there.
    DeliveriesFrom(IpAddr),
    /// All who log in.
    Logins,
    /// Who logs in from there.
    LoginsFrom(IpAddr),
    /// All who show a token that the cluster has to look at.
    Reviews,
    /// Who shows one from there.
    ReviewsFrom(IpAddr),
    /// Whoever connects from there.
    Address(IpAddr),
}

/// Whence a request comes: an extension of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Requests that are being answered, and connections that stand. Bounded by the open connections: a party without a
/// request has no entry.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    taken: Mutex<HashMap<Party, usize>>,
}

impl Slots {
    /// Slots for one who is not known, among all of them and among those of the same address.
    pub(crate) fn take_for_stranger(
        self: &Arc<Self>,
        (all, from): (Party, Option<Party>),
        limits: &Limits,
    ) -> Result<(Option<Slot>, Slot), Failure> {
        // The address first: who is one too many from there takes nobody's place.
        let from = from.map(|party| self.take(party, limits.strangers_per_address));
        let from = from.transpose()?;
        Ok((from, self.take(all, limits.strangers)?))
    }

    /// A slot for one more, given back when dropped.
    pub(crate) fn take(self: &Arc<Self>, party: Party, most: usize) -> Result<Slot, Failure> {
        let mut taken = self
            .taken
            .lock()
            .expect("nothing panics while it holds this lock");
        let count = taken.entry(party).or_default();
        if *count >= most {
            return Err(Failure::too_many_requests(most));
        }
        *count += 1;
        Ok(Slot {
            slots: Arc::clone(self),
            party,
        })
    }
}

/// The slot of one request or connection.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    party: Party,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self
            .slots
            .taken
            .lock()
            .expect("nothing panics while it holds this lock");
        if let Some(count) = taken.get_mut(&self.party) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.party);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_counted_by_party_and_given_back() {
        let slots = Arc::new(Slots::default());
        let task = TaskId(uuid::Uuid::from_u128(1));
        let first = slots.take(Party::Agent(task), 2).unwrap();
        let _second = slots.take(Party::Agent(task), 2).unwrap();
        assert!(slots.take(Party::Agent(task), 2).is_err());
        assert!(slots.take(Party::Runner(task), 2).is_ok());
        drop(first);
        assert!(slots.take(Party::Agent(task), 2).is_ok());
    }

    #[test]
    fn nothing_is_kept_of_who_is_gone() {
        let slots = Arc::new(Slots::default());
        for number in 0..100 {
            drop(
                slots
                    .take(Party::Runner(TaskId(uuid::Uuid::from_u128(number))), 1)
                    .unwrap(),
            );
        }
        assert!(slots.taken.lock().unwrap().is_empty());
    }
}
