//! Texts into which parts of a delivery are put. What a delivery holds is somebody else's text: it names nobody
//! who would be woken, and moves no terminal's cursor.

use serde_json::Value;

/// Places of one text that are filled in.
const PLACES: usize = 32;
/// Bytes that one place gets at most.
const PLACE_BYTES: usize = 8 * 1024;
/// The link by which somebody is named, as `wake` reads it.
const NAMING: &str = "mention://";

/// The text with what the delivery has at each pointer in its place: `{/alert/name}`. What is not there leaves
/// nothing; braces that hold no pointer stay.
pub(super) fn fill(text: &str, payload: &Value) -> String {
    let mut filled = String::new();
    let mut rest = text;
    for _ in 0..PLACES {
        let Some((before, pointer, after)) = place(rest) else {
            break;
        };
        filled.push_str(before);
        filled.push_str(&harmless(&value(payload.pointer(pointer))));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// A text on one line, at most so many bytes of it. Control characters are left out: a database may refuse one, and
/// a delivery that can never be stored would hold up all after it.
pub(super) fn line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = words.join(" ");
    line.retain(|each| !each.is_control());
    cut(&line, most)
}

/// A text without what would wake somebody or is not to be seen.
pub(super) fn harmless(text: &str) -> String {
    let shown = |each: &char| matches!(each, '\n' | '\t') || !each.is_control();
    let shown: String = text.replace("\r\n", "\n").chars().filter(shown).collect();
    // In any case of letters: a link is read so.
    let small = shown.to_ascii_lowercase();
    let mut quiet = String::with_capacity(shown.len());
    let mut done = 0;
    for (at, link) in small.match_indices(NAMING) {
        quiet.push_str(&shown[done..at]);
        quiet.push_str("mention: //");
        done = at + link.len();
    }
    quiet.push_str(&shown[done..]);
    quiet
}

/// The beginning of a text, with a mark where it was cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(most.saturating_sub('…'.len_utf8()));
    format!("{}…", &text[..kept])
}

/// What comes before the first place, its pointer, and what comes after it.
fn place(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.find("{/")?;
    let (before, inner) = (&text[..open], &text[open + 1..]);
    let close = inner.find('}')?;
    Some((before, &inner[..close], &inner[close + 1..]))
}

fn value(found: Option<&Value>) -> String {
    let text = match found {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
            other.to_string()
        }
    };
    cut(&text, PLACE_BYTES)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_are_filled_from_the_delivery() {
        let payload = json!({"alert": {"name": "disk", "level": 3, "on": ["a", "b"], "x~y/z": true, "none": null}});
        for (text, wanted) in [
            ("Disk", "Disk"),
            ("{/alert/name} at {/alert/level}", "disk at 3"),
            ("{/alert/on} {/alert/on/1}", "[\"a\",\"b\"] b"),
            ("{/alert/x~0y~1z}", "true"),
            ("<{/alert/none}{/nothing}>", "<>"),
            ("{name} {} {/alert/name", "{name} {} {/alert/name"),
        ] {
            assert_eq!(fill(text, &payload), wanted, "{text}");
        }
    }

    #[test]
    fn a_delivery_names_nobody_and_is_not_filled_again() {
        let payload = json!({"text": "[x](mention://agent/deployer) [y](MENTION://all/all) {/secret}\u{1b}[2J\r\nz", "secret": "s"});
        let filled = fill("{/text}", &payload);
        assert_eq!(
            filled,
            "[x](mention: //agent/deployer) [y](mention: //all/all) {/secret}[2J\nz"
        );
        assert!(wake::mentions(&filled).is_empty());
    }

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!(cut("äöü", 6), "äöü");
        assert_eq!(cut("äöüäöü", 8), "äö…");
        assert_eq!(line(" a\n b\tc ", 5), "a b c");
        assert_eq!(line("a\0b \u{1b}[2J", 9), "ab [2J");
        let payload = json!({"long": "x".repeat(2 * PLACE_BYTES)});
        assert_eq!(fill("{/long}", &payload).len(), PLACE_BYTES);
    }
}
