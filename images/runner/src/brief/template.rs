//! Filling the files of this folder.

/// `template` without its last newline, with each `{{name}}` replaced by the value of that name. What a value
/// holds is never looked at again, so no value can fetch another one.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template.trim_end();
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        let named = after.split_once("}}").and_then(|(name, behind)| {
            let value = values.iter().find(|(known, _)| *known == name)?.1;
            Some((value, behind))
        });
        rest = match named {
            Some((value, behind)) => {
                text.push_str(value);
                behind
            }
            None => {
                text.push_str("{{");
                after
            }
        };
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_and_not_read() {
        let values = [("a", "{{b}}"), ("b", "x")];
        for (template, wanted) in [
            ("{{a}} and {{b}}\n", "{{b}} and x"),
            ("{{c}} {{b}}", "{{c}} x"),
            ("{{a", "{{a"),
            ("", ""),
        ] {
            assert_eq!(fill(template, &values), wanted);
        }
    }
}
