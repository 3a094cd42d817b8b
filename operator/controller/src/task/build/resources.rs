//! What the agent's container asks for and may use: what its Runtime says, and for the rest what its program was seen to
//! take.

use std::collections::BTreeMap;

use crds::RuntimeSpec;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use protocol::footprint;

/// Part of a processor that a turn needs to go on at a usable speed.
const CPU_REQUEST: &str = "250m";
/// Disk of the node for `/tmp` and logs.
const DISK_REQUEST: &str = "256Mi";
/// The same at most.
const DISK_LIMIT: &str = "4Gi";

const MEMORY: &str = "memory";
const DISK: &str = "ephemeral-storage";

/// Suffixes of a quantity, longest first, and what they stand for.
const SUFFIXES: [(&str, f64); 13] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("m", 0.001),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

/// The resources of the agent's container.
pub(super) fn resources(runtime: &RuntimeSpec) -> core::ResourceRequirements {
    let said = &runtime.pod.resources;
    let memory = footprint::memory(runtime.provider.as_str());
    let mut requests = said.requests.clone();
    let mut limits = said.limits.clone();
    // A default never goes beyond what the Runtime says on the other side: the apiserver would refuse the pod.
    for (name, amount) in [
        (DISK, DISK_LIMIT.to_owned()),
        (MEMORY, mebibytes(memory.limit)),
    ] {
        fill(&mut limits, name, &amount, said.requests.get(name), f64::gt);
    }
    for (name, amount) in [
        ("cpu", CPU_REQUEST.to_owned()),
        (DISK, DISK_REQUEST.to_owned()),
        (MEMORY, mebibytes(memory.request)),
    ] {
        fill(&mut requests, name, &amount, said.limits.get(name), f64::lt);
    }
    core::ResourceRequirements {
        requests: Some(requests),
        limits: Some(limits),
        claims: None,
    }
}

/// In the largest unit in which it is a whole number.
fn mebibytes(amount: u32) -> String {
    if amount.is_multiple_of(1024) {
        format!("{}Gi", amount / 1024)
    } else {
        format!("{amount}Mi")
    }
}

/// Puts in a default for what is missing, or the amount of the other side where that is the one to keep.
fn fill(
    amounts: &mut BTreeMap<String, Quantity>,
    name: &str,
    default: &str,
    other: Option<&Quantity>,
    is_kept: fn(&f64, &f64) -> bool,
) {
    let default = Quantity(default.to_owned());
    let kept = other.filter(|other| {
        let both = value(other).zip(value(&default));
        both.is_some_and(|(other, default)| is_kept(&other, &default))
    });
    let amount = kept.cloned().unwrap_or(default);
    amounts.entry(name.to_owned()).or_insert(amount);
}

/// The number, as far as two are compared; `None` where it is none.
fn value(quantity: &Quantity) -> Option<f64> {
    let text = quantity.0.as_str();
    let found = SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)));
    let (number, factor) = found.unwrap_or((text, 1.0));
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixtures;

    fn built(provider: &str, said: Value) -> Value {
        let mut runtime = fixtures::runtime("r").spec;
        runtime.provider = serde_json::from_value(json!(provider)).unwrap();
        runtime.pod.resources = serde_json::from_value(said).unwrap();
        serde_json::to_value(resources(&runtime)).unwrap()
    }

    #[test]
    fn a_runtime_that_says_nothing_has_what_its_program_takes() {
        for (provider, request, limit) in [
            ("claude", "320Mi", "4Gi"),
            ("opencode", "704Mi", "5Gi"),
            ("cursor", "512Mi", "4Gi"),
        ] {
            let wanted = json!({
                "requests": {"cpu": "250m", "ephemeral-storage": "256Mi", "memory": request},
                "limits": {"ephemeral-storage": "4Gi", "memory": limit},
            });
            assert_eq!(built(provider, json!({})), wanted);
        }
    }

    #[test]
    fn what_a_runtime_says_stands_and_no_default_contradicts_it() {
        let said = json!({"requests": {"memory": "6Gi", "gpu": "1"}, "limits": {"cpu": "100m", "gpu": "1"}});
        let wanted = json!({
            "requests": {"cpu": "100m", "ephemeral-storage": "256Mi", "gpu": "1", "memory": "6Gi"},
            "limits": {"cpu": "100m", "ephemeral-storage": "4Gi", "gpu": "1", "memory": "6Gi"},
        });
        assert_eq!(built("claude", said), wanted);
        let said = json!({"limits": {"memory": "0.25G", "ephemeral-storage": "10Gi"}});
        let wanted = json!({
            "requests": {"cpu": "250m", "ephemeral-storage": "256Mi", "memory": "0.25G"},
            "limits": {"ephemeral-storage": "10Gi", "memory": "0.25G"},
        });
        assert_eq!(built("claude", said), wanted);
    }

    #[test]
    fn quantities_are_compared_as_numbers() {
        let value = |text: &str| value(&Quantity(text.to_owned()));
        for (text, wanted) in [
            ("1", Some(1.0)),
            ("100m", Some(0.1)),
            ("2k", Some(2000.0)),
            ("1.5Gi", Some(1_610_612_736.0)),
            ("x", None),
        ] {
            assert_eq!(value(text), wanted, "{text}");
        }
    }
}
