//! Finding, setting and merging conditions. The only code that touches `lastTransitionTime`.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::{Schema, SchemaGenerator, json_schema};

/// The three values of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is so.
    True,
    /// It is not so.
    False,
    /// It is not known, or not decided yet.
    Unknown,
}

impl Status {
    /// The word of Kubernetes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Status {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

/// A condition as a pass wants it to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// One of the type constants of the kind.
    pub kind: &'static str,
    /// Its value.
    pub status: Status,
    /// One of the reason constants of the kind, or a failure class.
    pub reason: &'static str,
    /// Whole sentences with the particulars, without secrets; cut at [`MESSAGE_BYTES`].
    pub message: String,
}

/// Bytes of a condition's message.
pub const MESSAGE_BYTES: usize = 2048;

/// The condition of this type.
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// True when there is a condition of this type and its value is True.
#[must_use]
pub fn is_true(conditions: &[Condition], kind: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition.status == "True")
}

/// Whether the object is ready, and the reason where it says why not.
#[must_use]
pub fn readiness(conditions: &[Condition]) -> (bool, Option<String>) {
    let ready = is_true(conditions, crate::READY);
    let why = find(conditions, crate::READY).filter(|_| !ready);
    (ready, why.map(|why| why.reason.clone()))
}

/// The conditions to write: what is wanted, in that order, then whatever others have put there. A transition
/// time is kept where the value is unchanged, else it is `now`.
#[must_use]
pub fn merge(
    old: &[Condition],
    wanted: Vec<Wanted>,
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let foreign: Vec<_> = old
        .iter()
        .filter(|there| !wanted.iter().any(|want| want.kind == there.type_))
        .cloned()
        .collect();
    let ours = wanted.into_iter().map(|want| {
        let same = find(old, want.kind).filter(|there| there.status == want.status.as_str());
        Condition {
            type_: want.kind.to_owned(),
            status: want.status.as_str().to_owned(),
            reason: want.reason.to_owned(),
            message: cut(want.message),
            observed_generation: generation,
            last_transition_time: same
                .map_or(Time(now), |there| there.last_transition_time.clone()),
        }
    });
    ours.chain(foreign).collect()
}

/// True when both say the same, whatever their transition times: then there is nothing to write.
#[must_use]
pub fn says_the_same(left: &[Condition], right: &[Condition]) -> bool {
    left.len() == right.len()
        && left.iter().all(|one| {
            find(right, &one.type_).is_some_and(|other| {
                (
                    &one.status,
                    &one.reason,
                    &one.message,
                    one.observed_generation,
                ) == (
                    &other.status,
                    &other.reason,
                    &other.message,
                    other.observed_generation,
                )
            })
        })
}

fn cut(mut message: String) -> String {
    if message.len() > MESSAGE_BYTES {
        let mut end = MESSAGE_BYTES;
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
    }
    message
}

/// The schema of a list of conditions, with the limits that Kubernetes' own type leaves to its comments.
pub(crate) fn list_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": {
                    "description": "type of the condition.", "type": "string", "minLength": 1, "maxLength": 316,
                },
                "status": {
                    "description": "status is True, False or Unknown.",
                    "type": "string", "enum": ["True", "False", "Unknown"],
                },
                "reason": {
                    "description": "reason is one word for programs; the documentation explains each.",
                    "type": "string", "minLength": 1, "maxLength": 128,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "description": "message tells people the particulars.", "type": "string", "maxLength": 4096,
                },
                "observedGeneration": {
                    "description": "observedGeneration is the metadata.generation that the condition was computed from.",
                    "type": "integer", "format": "int64", "minimum": 0, "maximum": 9_007_199_254_740_991_i64,
                },
                "lastTransitionTime": {
                    "description": "lastTransitionTime is when status last changed its value.",
                    "type": "string", "format": "date-time",
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn want(kind: &'static str, status: Status, message: &str) -> Wanted {
        Wanted {
            kind,
            status,
            reason: "Because",
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_transition_time_moves_only_with_the_value() {
        let first = merge(
            &[],
            vec![want("Ready", Status::Unknown, "a")],
            Some(1),
            at(1),
        );
        let same_value = merge(
            &first,
            vec![want("Ready", Status::Unknown, "b")],
            Some(2),
            at(2),
        );
        let other_value = merge(
            &same_value,
            vec![want("Ready", Status::True, "b")],
            Some(2),
            at(3),
        );
        let times = [&first, &same_value, &other_value].map(|list| list[0].last_transition_time.0);
        assert_eq!(times, [at(1), at(1), at(3)]);
        assert_eq!(same_value[0].observed_generation, Some(2));
        assert!(is_true(&other_value, "Ready") && !is_true(&first, "Ready"));
    }

    #[test]
    fn conditions_of_others_stay() {
        let foreign = merge(&[], vec![want("Theirs", Status::True, "x")], None, at(1));
        let both = merge(
            &foreign,
            vec![want("Ours", Status::True, "y")],
            Some(1),
            at(2),
        );
        assert_eq!(
            both.iter()
                .map(|one| one.type_.as_str())
                .collect::<Vec<_>>(),
            ["Ours", "Theirs"]
        );
        assert_eq!(both[1], foreign[0]);
    }

    #[test]
    fn only_times_are_ignored_in_comparing() {
        let one = merge(&[], vec![want("Ready", Status::True, "a")], Some(1), at(1));
        let later = merge(&[], vec![want("Ready", Status::True, "a")], Some(1), at(9));
        let other = merge(&[], vec![want("Ready", Status::True, "b")], Some(1), at(1));
        assert!(says_the_same(&one, &later));
        assert!(!says_the_same(&one, &other));
        assert!(!says_the_same(&one, &[]));
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let list = merge(
            &[],
            vec![want("Ready", Status::True, &"ä".repeat(3000))],
            None,
            at(1),
        );
        assert_eq!(list[0].message.len(), MESSAGE_BYTES);
        let odd = merge(
            &[],
            vec![want(
                "Ready",
                Status::True,
                &format!("x{}", "ä".repeat(3000)),
            )],
            None,
            at(1),
        );
        assert_eq!(odd[0].message.len(), MESSAGE_BYTES - 1);
    }
}
