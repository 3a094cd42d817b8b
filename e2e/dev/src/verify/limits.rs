//! Limits of size: a function of at most 80 lines, a file of at most 600, outside tests and generated files.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use cluster::command;

const FUNCTION_LINES: usize = 80;
const FILE_LINES: usize = 600;
/// What is written by hand and read as code.
const CODE: [&str; 9] = ["rs", "sh", "py", "js", "css", "html", "sql", "yaml", "toml"];
/// Tests, generated, recorded or somebody else's.
const EXEMPT: [&str; 8] = [
    "/tests/",
    // Modules of `#[cfg(test)]` in files of their own.
    "/tests.rs",
    "/fixtures.rs",
    "/fixtures/",
    "/snapshots/",
    "/vendor/",
    "crds/yaml/",
    "charts/mooring-crds/",
];

/// All violations in a checkout, one line each.
pub(super) fn violations(checkout: &Path) -> Result<Vec<String>> {
    let listed = command::capture(Command::new("git").current_dir(checkout).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let mut found = Vec::new();
    for file in listed.lines().filter(|file| is_code(file)) {
        // A file that was deleted but not yet committed is listed too.
        if let Ok(text) = fs::read_to_string(checkout.join(file)) {
            found.extend(violations_in(file, &text));
        }
    }
    Ok(found)
}

fn is_code(file: &str) -> bool {
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    CODE.contains(&extension) && !EXEMPT.iter().any(|exempt| file.contains(exempt))
}

fn violations_in(file: &str, text: &str) -> Vec<String> {
    let own = if file.ends_with(".rs") {
        without_tests(text)
    } else {
        text
    };
    let mut found = Vec::new();
    let lines = own.lines().count();
    if lines > FILE_LINES {
        found.push(format!("{file}: {lines} lines, at most {FILE_LINES}"));
    }
    if file.ends_with(".rs") {
        let long = functions(own)
            .into_iter()
            .filter(|function| function.lines > FUNCTION_LINES);
        found.extend(long.map(|function| {
            let Function { name, line, lines } = function;
            format!("{file}:{line}: function {name} has {lines} lines, at most {FUNCTION_LINES}")
        }));
    }
    found
}

/// Tests stand last in a file.
fn without_tests(text: &str) -> &str {
    text.find("\n#[cfg(test)]\nmod ")
        .map_or(text, |end| &text[..end])
}

#[derive(Debug, Eq, PartialEq)]
struct Function<'a> {
    name: &'a str,
    line: usize,
    lines: usize,
}

/// Functions by their layout: rustfmt puts the end of one at the same depth as its beginning.
fn functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else {
            continue;
        };
        let depth = line.len() - line.trim_start().len();
        let ends = |line: &&str| {
            line.len() - line.trim_start().len() == depth
                && (line.ends_with('}') || line.ends_with(';'))
        };
        let length = lines[start..]
            .iter()
            .position(ends)
            .map_or(1, |end| end + 1);
        found.push(Function {
            name,
            line: start + 1,
            lines: length,
        });
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let before = before.trim();
    let words = before.split_whitespace();
    let only_keywords = words.into_iter().all(|word| {
        word.starts_with("pub")
            || ["in", "async", "const", "unsafe", "extern", "default"].contains(&word)
            || word.ends_with(')')
    });
    let name = after.split(['(', '<']).next()?;
    (only_keywords
        && !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_alphanumeric() || letter == '_'))
    .then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!(
            "pub(crate) async fn long(\n    a: u8,\n) -> u8 {{\n{}}}\n",
            "    let x = 1;\n".repeat(lines - 4)
        )
    }

    #[test]
    fn functions_are_measured() {
        let text = format!(
            "{}\nimpl A {{\n    fn one(&self) {{ 1 }}\n    fn two() -> u8 {{\n        2\n    }}\n}}\n",
            function(90)
        );
        let found: Vec<(&str, usize, usize)> = functions(&text)
            .iter()
            .map(|f| (f.name, f.line, f.lines))
            .collect();
        assert_eq!(found, [("long", 1, 90), ("one", 93, 1), ("two", 94, 3)]);
    }

    #[test]
    fn limits_hold_outside_tests() {
        let long = function(81);
        for (name, file, text, count) in [
            ("a long function", "a.rs", long.clone(), 1),
            ("a function at the limit", "a.rs", function(80), 0),
            (
                "a long test",
                "a.rs",
                format!("\n#[cfg(test)]\nmod tests {{\n{long}}}\n"),
                0,
            ),
            ("a long file", "a.js", "x\n".repeat(601), 1),
            ("a file at the limit", "a.js", "x\n".repeat(600), 0),
        ] {
            assert_eq!(violations_in(file, &text).len(), count, "{name}");
        }
    }

    #[test]
    fn generated_files_are_exempt() {
        assert!(is_code("operator/api/src/lib.rs"));
        for file in [
            "crds/yaml/a.yaml",
            "operator/store/tests/a.rs",
            "README.md",
            "a/fixtures/b.py",
        ] {
            assert!(!is_code(file), "{file}");
        }
    }
}
