//! Where the demo's agents get their words from: a model that plays a script, or Anthropic's with a key of one's own.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cluster::command;
use serde_json::{Value, json};

use super::Teller;
use super::objects::{Objects, condition, text};

const NAMESPACE: &str = "mooring-demo-model";
const PORT: u16 = 8080;
/// The Secret that the Runtime takes its variables from.
const SECRET: &str = "claude";
/// Bytes of a file that holds a key and nothing else.
const KEY_BYTES: u64 = 4096;

/// Makes the Secret, and the scripted model unless there is a key. Gives back what the Runtime's `network.allow` lists.
pub(super) fn provide(
    teller: &Teller,
    objects: &Objects<'_>,
    examples: &Path,
    image: &str,
    key: Option<&Path>,
) -> Result<String> {
    let (variables, allow) = match key {
        Some(file) => {
            teller.tell("the model is Anthropic's; its key goes into a Secret and nowhere else")?;
            let variables = json!({"ANTHROPIC_API_KEY": read_key(file)?});
            (variables, json!([{"cidr": "0.0.0.0/0", "port": 443}]))
        }
        None => scripted(teller, objects, examples, image)?,
    };
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET, "namespace": super::objects::NAMESPACE},
        "stringData": variables,
    });
    // On standard input, because everybody on the machine can read arguments.
    objects.apply(&secret.to_string())?;
    Ok(allow.to_string())
}

fn scripted(
    teller: &Teller,
    objects: &Objects<'_>,
    examples: &Path,
    image: &str,
) -> Result<(Value, Value)> {
    let yaml = fs::read_to_string(examples.join("model.yaml")).context("read model.yaml")?;
    let mut apply = in_its_namespace(objects);
    apply.args(["apply", "--server-side", "-f", "-"]);
    command::capture_with(&mut apply, &yaml.replace("${MODEL_IMAGE}", image))?;
    let pod = objects.until("the model is ready", |objects| {
        let pod = find(objects, "pod")?;
        Ok(Some(pod).filter(|pod| condition(pod, "Ready").0 == "True"))
    })?;
    let service = find(objects, "service")?;
    teller.tell("the model plays what the prompts spell out; Claude Code is the real one")?;
    let peer = |address: &str| json!({"cidr": format!("{address}/32"), "port": PORT});
    let variables = json!({
        "ANTHROPIC_BASE_URL": format!("http://model.{NAMESPACE}.svc.cluster.local:{PORT}"),
        "ANTHROPIC_API_KEY": "scripted",
    });
    let allow = [
        text(&pod, "/status/podIP"),
        text(&service, "/spec/clusterIP"),
    ]
    .map(peer);
    Ok((variables, json!(allow)))
}

fn find(objects: &Objects<'_>, kind: &str) -> Result<Value> {
    let mut get = in_its_namespace(objects);
    get.args(["get", kind, "model", "-o", "json"]);
    serde_json::from_str(&command::capture(&mut get)?).context("read what kubectl shows")
}

/// kubectl, to be completed. The last namespace of several counts.
fn in_its_namespace(objects: &Objects<'_>) -> Command {
    let mut kubectl = objects.kubectl();
    kubectl.args(["--namespace", NAMESPACE]);
    kubectl
}

/// The key in a file. No message holds any of it.
fn read_key(file: &Path) -> Result<String> {
    let shown = file.display();
    let found = fs::metadata(file).with_context(|| format!("read the key in {shown}"))?;
    ensure!(
        found.is_file() && found.len() <= KEY_BYTES,
        "{shown} is no file that holds a key and nothing else"
    );
    let text = fs::read_to_string(file).with_context(|| format!("read the key in {shown}"))?;
    let key = text.trim();
    ensure!(
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()),
        "{shown} must hold the key on one line and nothing else"
    );
    Ok(key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_line_and_no_message_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let read = |content: &str| {
            fs::write(&file, content).unwrap();
            read_key(&file)
        };
        assert_eq!(read("sk-ant-1\n").unwrap(), "sk-ant-1");
        for bad in [
            "",
            "\n",
            "sk-ant-1\nsk-ant-2",
            "sk-ant-1 sk-ant-2",
            &"x".repeat(5000),
        ] {
            let words = format!("{:#}", read(bad).unwrap_err());
            assert!(!words.contains("sk-ant"), "{words}");
        }
        assert!(read_key(Path::new("/nowhere/key")).is_err());
    }
}
