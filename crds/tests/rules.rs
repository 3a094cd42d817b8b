//! Every rule of the schemas, each with an object that passes and one that is refused with the rule's message.
//!
//! The cases stand in `rules/cases.yaml`, because the same ones are sent to a real apiserver by
//! `e2e/tests/api_rules.rs`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeSet;

use crds::{
    Agent, AgentQuota, AgentSchedule, AgentSession, AgentTask, AgentTeam, AgentWebhook,
    LoginRequest, Runtime, Skill,
};
use kube::core::cel::{validate_cel, validate_cel_update};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const CASES: &str = include_str!("rules/cases.yaml");

/// One rule, and a change that breaks it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    kind: String,
    /// Where in the object the change is made, as a JSON pointer.
    at: String,
    /// What was there before an update, where it is not what the base object has.
    #[serde(default)]
    before: Option<Value>,
    /// What is put there to pass; without it the base object is what passes.
    #[serde(default)]
    good: Option<Value>,
    /// What is put there to be refused.
    bad: Value,
    /// True when the rule compares with what was there before: the change then is an update.
    #[serde(default)]
    update: bool,
    message: String,
}

#[derive(Debug, Deserialize)]
struct File {
    base: std::collections::BTreeMap<String, Value>,
    cases: Vec<Case>,
}

#[test]
fn each_rule_refuses_and_passes() {
    let file = read();
    for case in &file.cases {
        let base = &file.base[&case.kind];
        let changed = |to: &Value| {
            let mut object = base.clone();
            put(&mut object, &case.at, to.clone());
            object
        };
        let before = case.before.as_ref().map_or_else(|| base.clone(), changed);
        let old = if case.update { before } else { Value::Null };
        let good = case.good.as_ref().map_or_else(|| base.clone(), changed);
        assert_eq!(
            check(&case.kind, &good, &old),
            Vec::<String>::new(),
            "good: {case:#?}"
        );
        let said = check(&case.kind, &changed(&case.bad), &old);
        assert_eq!(said, [case.message.as_str()], "bad: {case:#?}");
    }
}

#[test]
fn no_rule_is_without_a_case() {
    let file = read();
    let tried: BTreeSet<String> = file
        .cases
        .into_iter()
        .map(|case| format!("{}: {}", case.kind, case.message))
        .collect();
    let mut stated = BTreeSet::new();
    for definition in crds::all() {
        collect(
            &definition.spec.names.kind,
            &serde_json::to_value(&definition).unwrap(),
            &mut stated,
        );
    }
    assert_eq!(tried, stated);
}

fn read() -> File {
    serde_yaml::from_str(CASES).unwrap()
}

/// The messages of all rules that refuse an object.
fn check(kind: &str, object: &Value, old: &Value) -> Vec<String> {
    macro_rules! check {
        ($kind:ty) => {{
            let new: $kind = parse(object);
            if old.is_null() {
                validate_cel(&new)
            } else {
                validate_cel_update(&new, &parse::<$kind>(old))
            }
        }};
    }
    let answer = match kind {
        "Runtime" => check!(Runtime),
        "Agent" => check!(Agent),
        "AgentQuota" => check!(AgentQuota),
        "AgentTask" => check!(AgentTask),
        "AgentTeam" => check!(AgentTeam),
        "AgentSession" => check!(AgentSession),
        "AgentSchedule" => check!(AgentSchedule),
        "AgentWebhook" => check!(AgentWebhook),
        "LoginRequest" => check!(LoginRequest),
        "Skill" => check!(Skill),
        other => panic!("no kind {other}"),
    };
    answer.map_or_else(
        |errors| errors.into_iter().map(|error| error.message).collect(),
        |()| Vec::new(),
    )
}

fn parse<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap()
}

/// Puts a value where a pointer points to, making objects on the way. `"repeat:N:word"` stands for a long text.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for step in pointer.split('/').skip(1) {
        place = match step.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[step],
        };
    }
    *place = expand(value);
}

fn expand(value: Value) -> Value {
    if let Value::Object(fields) = value {
        let fields = fields.into_iter().map(|(key, value)| (key, expand(value)));
        return Value::Object(fields.collect());
    }
    let long = value.as_str().and_then(|text| {
        let (count, word) = text.strip_prefix("repeat:")?.split_once(':')?;
        Some(word.repeat(count.parse().ok()?))
    });
    long.map_or(value, Value::from)
}

fn collect(kind: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for rule in fields
                .get("x-kubernetes-validations")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                found.insert(format!(
                    "{kind}: {}",
                    rule["message"]
                        .as_str()
                        .unwrap_or("a rule without a message")
                ));
            }
            fields
                .values()
                .for_each(|value| collect(kind, value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(kind, value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
