//! Frames with a part of them that is not what it should be.

use proptest::prelude::*;
use serde_json::{Value, json};

/// How deep a value is that is put into a frame: deeper than anybody means it, within what can be parsed.
const DEEP: usize = 90;
/// Bytes of a text that is put into a frame.
const LONG: usize = 70_000;

/// What stands in the place of a part.
#[derive(Clone, Debug)]
pub(crate) enum Instead {
    Value(Value),
    Long,
    Deep,
    /// The part, within a list.
    Listed,
    /// The part as text.
    Told,
    Gone,
}

pub(crate) fn instead() -> impl Strategy<Value = Instead> {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1.0e308),
        json!(""),
        json!("\u{0}\u{202e}\u{fffd}"),
        json!("session not found"),
        json!([]),
        json!({}),
        json!([null, {}, "x"]),
    ];
    prop_oneof![
        6 => prop::sample::select(values.to_vec()).prop_map(Instead::Value),
        1 => Just(Instead::Long),
        1 => Just(Instead::Deep),
        1 => Just(Instead::Listed),
        1 => Just(Instead::Told),
        1 => Just(Instead::Gone),
    ]
}

/// `line` with one of its parts replaced; as it is where it is no JSON.
pub(crate) fn spoil(line: &str, at: prop::sample::Index, instead: &Instead) -> String {
    let Ok(mut frame) = serde_json::from_str::<Value>(line) else {
        return line.to_owned();
    };
    let mut left = at.index(count(&frame));
    replace(&mut frame, &mut left, instead);
    frame.to_string()
}

fn count(value: &Value) -> usize {
    let inner: usize = match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    inner + 1
}

/// True once the part was found.
fn replace(value: &mut Value, left: &mut usize, instead: &Instead) -> bool {
    if *left == 0 {
        *value = made(value.take(), instead);
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| replace(item, left, instead)),
        Value::Object(fields) => {
            let mut gone = None;
            let found = fields.iter_mut().any(|(name, field)| {
                if *left == 0 && matches!(instead, Instead::Gone) {
                    gone = Some(name.clone());
                    return true;
                }
                replace(field, left, instead)
            });
            if let Some(name) = gone {
                fields.remove(&name);
            }
            found
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn made(part: Value, instead: &Instead) -> Value {
    match instead {
        Instead::Value(value) => value.clone(),
        Instead::Long => Value::from("é".repeat(LONG / 2)),
        Instead::Deep => (0..DEEP).fold(part, |inner, _| json!([inner])),
        Instead::Listed => json!([part]),
        Instead::Told => Value::from(part.to_string()),
        Instead::Gone => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_replaced_and_the_rest_stays() {
        let line = r#"{"a":[1,2],"b":"x"}"#;
        let spoilt = |left: usize, instead: &Instead| {
            let mut frame: Value = serde_json::from_str(line).unwrap();
            replace(&mut frame, &mut { left }, instead);
            frame.to_string()
        };
        assert_eq!(count(&serde_json::from_str(line).unwrap()), 5);
        assert_eq!(spoilt(3, &Instead::Listed), r#"{"a":[1,[2]],"b":"x"}"#);
        assert_eq!(spoilt(4, &Instead::Gone), r#"{"a":[1,2]}"#);
        assert_eq!(spoilt(1, &Instead::Told), r#"{"a":"[1,2]","b":"x"}"#);
    }
}
