//! The YAML in `crds/yaml` and in the chart is what the types say.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use serde_json::{Number, Value};

/// More would be a burden for etcd and for every client that reads schemas.
const MOST_BYTES: usize = 64 * 1024;
const HEAD: &str = "# Generated from the types in crds/src: UPDATE=1 cargo test -p crds\n";
const POLICY_HEAD: &str = "\
# Generated from crds/src/loginrequest/policy.rs: UPDATE=1 cargo test -p crds
# The operator lets nobody log in while the cluster has anything else under the name of the policy.
";

#[test]
fn yaml_is_what_the_types_say() {
    for definition in crds::all() {
        compare(&file("crds/yaml", &definition), &to_yaml(&definition));
    }
}

#[test]
fn the_chart_holds_the_same_and_keeps_it() {
    for mut definition in crds::all() {
        definition
            .annotations_mut()
            .insert("helm.sh/resource-policy".to_owned(), "keep".to_owned());
        let text = to_yaml(&definition);
        assert!(
            !text.contains("{{"),
            "{}: helm would take this for a template",
            definition.name_any()
        );
        compare(&file("charts/mooring-crds/templates", &definition), &text);
    }
}

#[test]
fn the_chart_holds_the_policy_on_which_logins_stand() {
    let text = serde_yaml::to_string(&crds::login_policy::policy()).unwrap();
    let path = root().join("charts/mooring/files/login-policy.yaml");
    compare(&path, &format!("{POLICY_HEAD}{text}"));
}

#[test]
fn nothing_else_lies_beside_it() {
    for folder in ["crds/yaml", "charts/mooring-crds/templates"] {
        let wanted: Vec<PathBuf> = crds::all()
            .iter()
            .map(|definition| file(folder, definition))
            .collect();
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            assert!(
                wanted.contains(&path),
                "{} is no longer made",
                path.display()
            );
        }
    }
}

#[test]
fn charts_and_programs_have_one_version() {
    for chart in ["charts/mooring", "charts/mooring-crds"] {
        let text = fs::read_to_string(root().join(chart).join("Chart.yaml")).unwrap();
        let chart: Value = serde_yaml::from_str(&text).unwrap();
        for field in ["version", "appVersion"] {
            assert_eq!(
                chart[field],
                env!("CARGO_PKG_VERSION"),
                "{field} of {}",
                chart["name"]
            );
        }
    }
}

#[test]
fn definitions_are_small() {
    for definition in crds::all() {
        let bytes = serde_json::to_vec(&definition).unwrap().len();
        assert!(
            bytes < MOST_BYTES,
            "{}: {bytes} bytes",
            definition.name_any()
        );
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn file(folder: &str, definition: &CustomResourceDefinition) -> PathBuf {
    root().join(folder).join(format!(
        "{}.yaml",
        definition.spec.names.singular.as_ref().unwrap()
    ))
}

fn to_yaml(definition: &CustomResourceDefinition) -> String {
    let mut value = serde_json::to_value(definition).unwrap();
    whole_numbers(&mut value);
    let text = serde_yaml::to_string(&value).unwrap();
    let lines: Vec<String> = text.lines().map(quote_words).collect();
    format!("{HEAD}{}\n", lines.join("\n"))
}

/// The apiserver's clients read YAML 1.1, in which these words are booleans unless they are quoted.
fn quote_words(line: &str) -> String {
    const WORDS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];
    match line.rsplit_once(' ') {
        Some((head, word))
            if WORDS.contains(&word.to_lowercase().as_str()) && head.ends_with(['-', ':']) =>
        {
            format!("{head} '{word}'")
        }
        _ => line.to_owned(),
    }
}

/// The type of a schema holds bounds as floats; people write and read whole numbers.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0)
            {
                #[expect(clippy::cast_possible_truncation, reason = "bounds lie within 53 bits")]
                let whole = float as i64;
                *number = Number::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn compare(path: &Path, text: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, text).unwrap();
    }
    let there = fs::read_to_string(path).unwrap_or_default();
    assert!(
        there == text,
        "{} is not what the types say: UPDATE=1 cargo test -p crds",
        path.display()
    );
}
