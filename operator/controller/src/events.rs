//! Kubernetes Events: for what a person would otherwise miss, once per change. They are written beside the
//! passes, which never wait for them.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Resource;
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::kube_writes::{KubePoint, KubeWrites};

/// Events that wait to be written. What does not fit is dropped: the condition says the same.
const WAITING: usize = 256;
/// Bytes of an object's name that are kept in an Event's own name; Kubernetes takes 253 in all.
const NAME_BYTES: usize = 200;
/// Bytes of a note; Kubernetes takes 1024.
const NOTE_BYTES: usize = 1000;

/// How grave it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// As it should be.
    Normal,
    /// Someone may want to act.
    Warning,
}

/// Takes events; a clone is the same.
#[derive(Clone)]
pub struct Recorder {
    sender: mpsc::Sender<Event>,
    clock: Arc<dyn Clock>,
}

impl Recorder {
    /// Starts the writer of events, which ends with the last clone.
    #[must_use]
    pub fn new(writes: KubeWrites, clock: Arc<dyn Clock>) -> Self {
        let (sender, mut waiting) = mpsc::channel::<Event>(WAITING);
        tokio::spawn(async move {
            while let Some(event) = waiting.recv().await {
                let namespace = event.metadata.namespace.clone().unwrap_or_default();
                if let Err(error) = writes
                    .create(KubePoint::CreateEvent, &namespace, &event)
                    .await
                {
                    tracing::debug!(%error, "an Event was not written");
                }
            }
        });
        Self { sender, clock }
    }

    /// Records something about an object.
    pub fn record<K>(&self, about: &K, grade: Grade, reason: &str, note: impl Into<String>)
    where
        K: Resource<DynamicType = ()>,
    {
        let event = event(about, grade, reason, note.into(), self.clock.now());
        if self.sender.try_send(event).is_err() {
            tracing::debug!(reason, "too many Events wait; one was dropped");
        }
    }
}

fn event<K>(about: &K, grade: Grade, reason: &str, mut note: String, now: Timestamp) -> Event
where
    K: Resource<DynamicType = ()>,
{
    note.truncate(note.floor_char_boundary(NOTE_BYTES));
    let meta = about.meta();
    let mut name = meta.name.clone().unwrap_or_default();
    name.truncate(NAME_BYTES);
    let grade = match grade {
        Grade::Normal => "Normal",
        Grade::Warning => "Warning",
    };
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{name}.{:x}", now.as_nanosecond())),
            namespace: meta.namespace.clone(),
            ..ObjectMeta::default()
        },
        action: Some("Reconcile".to_owned()),
        event_time: Some(MicroTime(now)),
        note: Some(note),
        reason: Some(reason.to_owned()),
        regarding: Some(ObjectReference {
            api_version: Some(K::api_version(&()).into_owned()),
            kind: Some(K::kind(&()).into_owned()),
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
            ..ObjectReference::default()
        }),
        reporting_controller: Some("mooring.dev/controller".to_owned()),
        reporting_instance: Some("mooring-operator".to_owned()),
        type_: Some(grade.to_owned()),
        ..Event::default()
    }
}
