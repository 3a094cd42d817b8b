//! What the kubelet says in Events of a pod whose volumes do not come: nothing else of the pod tells why.

use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use protocol::{FailureClass, Outcome, Verdict, bound, limits};

use super::observe::Seen;
use crate::context::Context;
use crate::kube_reads;

/// Events of one pod that are looked at.
const EVENTS: u32 = 50;
/// Reasons of those that say why a volume is not there.
const REASONS: [&str; 3] = ["FailedAttachVolume", "FailedMount", "FailedMapVolume"];

/// The verdict, with the kubelet's words where it says that volumes were not ready. Without an answer it stands as
/// it is: a verdict does not wait for an explanation.
pub(super) async fn explained(ctx: &Context, seen: &Seen, mut verdict: Verdict) -> Verdict {
    let Outcome::Failed { class, message, .. } = &mut verdict.outcome else {
        return verdict;
    };
    let Some(pod) = seen
        .pod
        .as_deref()
        .filter(|_| *class == FailureClass::VolumeNotReady)
    else {
        return verdict;
    };
    match list(ctx, pod).await {
        Ok(events) => {
            if let Some(words) = newest(&events) {
                message.push_str(": ");
                message.push_str(&words);
                bound::cut(message, limits::MESSAGE_BYTES);
            }
        }
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, task.id = %seen.row.id, "why a volume is not ready is not known");
        }
    }
    verdict
}

async fn list(ctx: &Context, pod: &Pod) -> Result<Vec<Event>, crate::error::Error> {
    let (namespace, uid) = (
        pod.namespace().unwrap_or_default(),
        pod.uid().unwrap_or_default(),
    );
    let only = ListParams::default()
        .fields(&format!("involvedObject.uid={uid}"))
        .limit(EVENTS);
    let api = Api::<Event>::namespaced(ctx.client.clone(), &namespace);
    kube_reads::list(&api, "the Events of a pod", &only).await
}

/// The words of the newest that says why a volume is not there.
fn newest(events: &[Event]) -> Option<String> {
    let tells = |event: &&Event| {
        event
            .reason
            .as_deref()
            .is_some_and(|reason| REASONS.contains(&reason))
    };
    let at = |event: &&Event| {
        let counted = event.last_timestamp.as_ref().map(|time| time.0);
        let series = event.event_time.as_ref().map(|time| time.0);
        counted.max(series)
    };
    let newest = events.iter().filter(tells).max_by_key(at)?;
    let reason = newest.reason.as_deref().unwrap_or_default();
    Some(match newest.message.as_deref() {
        Some(words) => format!("{reason}: {}", words.trim()),
        None => reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_word_about_a_volume_counts() {
        let event = |reason: &str, words: &str, at: &str| {
            let event = json!({
                "metadata": {}, "involvedObject": {}, "reason": reason, "message": words, "lastTimestamp": at,
            });
            serde_json::from_value::<Event>(event).unwrap()
        };
        let events = [
            event("FailedMount", "later", "2027-01-15T08:00:02Z"),
            event("FailedAttachVolume", "earlier", "2027-01-15T08:00:01Z"),
            event("Scheduled", "something else", "2027-01-15T08:00:03Z"),
        ];
        assert_eq!(newest(&events).unwrap(), "FailedMount: later");
        assert_eq!(newest(&events[2..]), None);
    }
}
