//! From an old and a new status to the merge patch between them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;
use serde_json::{Map, Value};

/// The JSON merge patch (RFC 7396) that makes `new` of `old`; `None` when they say the same, transition times
/// aside: writing those alone would wake our own watch for nothing.
#[must_use]
pub fn status_patch<S: Serialize>(old: &S, new: &S) -> Option<Value> {
    let (Ok(old), Ok(new)) = (serde_json::to_value(old), serde_json::to_value(new)) else {
        return None;
    };
    if without_transitions(old.clone()) == without_transitions(new.clone()) {
        return None;
    }
    Some(difference(&old, &new))
}

/// True when the lists of conditions say the same.
#[must_use]
pub fn same_conditions(one: &[Condition], other: &[Condition]) -> bool {
    crds::conditions::says_the_same(one, other)
}

fn difference(old: &Value, new: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return new.clone();
    };
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        match old.get(key) {
            Some(there) if there == value => {}
            Some(there) => {
                patch.insert(key.clone(), difference(there, value));
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

fn without_transitions(mut status: Value) -> Value {
    if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
        for condition in conditions {
            if let Value::Object(condition) = condition {
                condition.remove("lastTransitionTime");
            }
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_patched() {
        let cases = [
            (json!({}), json!({}), None),
            (
                json!({"a": 1, "b": {"c": 1, "d": 2}}),
                json!({"a": 1, "b": {"c": 1, "d": 3}}),
                Some(json!({"b": {"d": 3}})),
            ),
            (
                json!({"a": 1}),
                json!({"b": [1]}),
                Some(json!({"a": null, "b": [1]})),
            ),
            (
                json!({"b": [1, 2]}),
                json!({"b": [1]}),
                Some(json!({"b": [1]})),
            ),
            (
                json!({"conditions": [{"type": "A", "lastTransitionTime": "x"}]}),
                json!({"conditions": [{"type": "A", "lastTransitionTime": "y"}]}),
                None,
            ),
        ];
        for (old, new, wanted) in cases {
            assert_eq!(status_patch(&old, &new), wanted, "{old} -> {new}");
        }
    }
}
