//! Configuration files and command lines as small templates with `{{name}}` in them.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

/// Values by name.
pub(crate) type Values = BTreeMap<&'static str, String>;

/// Puts the values in place.
///
/// # Errors
/// When a name in the template has no value.
pub(crate) fn fill(template: &str, values: &Values) -> Result<String> {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, tail)) = after.split_once("}}") else {
            bail!("unclosed {{{{ in a template")
        };
        let Some(value) = values.get(name) else {
            bail!("no value for {name} in a template")
        };
        filled.push_str(before);
        filled.push_str(value);
        rest = tail;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Reads a command line written one argument a line; empty lines and lines that begin with `#` are left out.
///
/// # Errors
/// As [`fill`].
pub(crate) fn arguments(template: &str, values: &Values) -> Result<Vec<String>> {
    let text = fill(template, values)?;
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_replace_names() {
        let values = Values::from([("a", "1".to_owned()), ("b", "2".to_owned())]);
        assert_eq!(fill("{{a}}-{{b}}-{{a}} {x}", &values).unwrap(), "1-2-1 {x}");
        assert_eq!(
            fill("{{c}}", &values).unwrap_err().to_string(),
            "no value for c in a template"
        );
    }

    #[test]
    fn arguments_are_lines() {
        let values = Values::from([("a", "x y".to_owned())]);
        assert_eq!(
            arguments("# why\n--one={{a}}\n\n  --two\n", &values).unwrap(),
            ["--one=x y", "--two"]
        );
    }
}
