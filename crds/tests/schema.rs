//! What every field of every schema has: a description, bounds, and no shape that the API conventions refuse.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;

use serde_json::Value;

#[test]
fn every_field_is_described_and_bounded() {
    let faults: Vec<String> = roots()
        .iter()
        .flat_map(|(kind, schema)| faults(kind, schema))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The walk itself must see a fault of each sort, else the test above proves nothing.
#[test]
fn the_walk_sees_each_fault() {
    let bad = serde_json::json!({
        "type": "object",
        "properties": {
            "undescribed": {"type": "boolean"},
            "other": {"type": "boolean", "description": "Something else."},
            "text": {"type": "string", "description": "text."},
            "list": {"type": "array", "description": "list.", "items": {"type": "boolean"}},
            "map": {"type": "object", "description": "map.", "additionalProperties": {"type": "boolean"}},
            "float": {"type": "number", "description": "float.", "minimum": 0, "maximum": 1},
            "unbounded": {"type": "integer", "format": "int32", "description": "unbounded."},
            "unsigned": {"type": "integer", "format": "uint32", "description": "unsigned.", "minimum": 0, "maximum": 1},
            "nullable": {"type": "boolean", "nullable": true, "description": "nullable."},
            "mixed": {"x-kubernetes-int-or-string": true, "description": "mixed."},
        },
    });
    let found = faults("Bad", &bad);
    let named: BTreeSet<&str> = found
        .iter()
        .filter_map(|fault| fault.split(['.', ':']).nth(1))
        .collect();
    let fields: BTreeSet<&str> = bad["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(named, fields, "{found:#?}");
    assert_eq!(
        found.len(),
        fields.len() + 1,
        "a list lacks two things: {found:#?}"
    );
}

#[test]
fn rules_say_what_to_do() {
    for (kind, schema) in roots() {
        each(&kind, &schema, &mut |path, schema| {
            for rule in schema["x-kubernetes-validations"]
                .as_array()
                .into_iter()
                .flatten()
            {
                let message = rule["message"].as_str().unwrap_or_default();
                assert!(
                    message.contains(':'),
                    "{path}: {rule} does not say what to do"
                );
            }
        });
    }
}

fn roots() -> Vec<(String, Value)> {
    let root = |definition: &_| serde_json::to_value(definition).unwrap();
    let mut roots = Vec::new();
    for definition in crds::all() {
        let kind = definition.spec.names.kind.clone();
        for version in root(&definition)["spec"]["versions"].as_array().unwrap() {
            for part in ["spec", "status"] {
                // A login is proof for a moment, and a skill is only mounted: nothing becomes of them that could be said.
                if part == "status" && matches!(kind.as_str(), "LoginRequest" | "Skill") {
                    continue;
                }
                let schema = version["schema"]["openAPIV3Schema"]["properties"][part].clone();
                assert!(schema.is_object(), "{kind} has no {part}");
                roots.push((format!("{kind}-{part}"), schema));
            }
        }
    }
    roots
}

fn faults(kind: &str, schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    each(kind, schema, &mut |path, schema| {
        for fault in faults_of(path, schema) {
            found.push(format!("{path}: {fault}"));
        }
    });
    found
}

fn faults_of(path: &str, schema: &Value) -> Vec<&'static str> {
    let has = |key: &str| !schema[key].is_null();
    let mut found = Vec::new();
    let field = path.rsplit('.').next().unwrap_or_default();
    let is_field = path.contains('.') && !field.ends_with(']');
    if is_field
        && !schema["description"]
            .as_str()
            .is_some_and(|text| text.starts_with(field))
    {
        found.push("the description does not begin with the field's name");
    }
    if has("nullable") {
        found.push("nullable");
    }
    if has("x-kubernetes-int-or-string") && !(has("maxLength") && has("pattern")) {
        found.push("text without a maximum or a pattern");
    }
    match schema["type"].as_str() {
        Some("string") if !has("maxLength") && !has("enum") && schema["format"] != "date-time" => {
            found.push("text without a maximum");
        }
        Some("array") => {
            if !has("maxItems") {
                found.push("list without a maximum");
            }
            if !has("x-kubernetes-list-type") {
                found.push("list without a list type");
            }
        }
        Some("object") if has("additionalProperties") && !has("maxProperties") => {
            found.push("map without a maximum");
        }
        Some("integer")
            if schema["format"]
                .as_str()
                .is_some_and(|format| format.starts_with('u')) =>
        {
            found.push("unsigned");
        }
        Some("integer") if !has("minimum") || !has("maximum") => {
            found.push("number without bounds")
        }
        Some("number") => found.push("float"),
        _ => {}
    }
    found
}

fn each(path: &str, schema: &Value, look: &mut impl FnMut(&str, &Value)) {
    look(path, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        each(&format!("{path}.{name}"), field, look);
    }
    if schema["items"].is_object() {
        each(&format!("{path}[]"), &schema["items"], look);
    }
    if schema["additionalProperties"].is_object() {
        each(&format!("{path}[]"), &schema["additionalProperties"], look);
    }
}
