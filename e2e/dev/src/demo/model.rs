//! Where the demo's agents get their words from: a model that plays a script, or Anthropic's with a key of one's own.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
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
/// The rights of everybody but a file's owner.
const OTHERS: u32 = 0o077;

/// A key of Anthropic. It is not shown.
pub(super) struct Key(String);

/// Makes the Secret, and the scripted model unless there is a key. Gives back what the Runtime's `network.allow` lists.
pub(super) fn provide(
    teller: &Teller,
    objects: &Objects<'_>,
    examples: &Path,
    image: &str,
    key: Option<&Key>,
) -> Result<String> {
    let (variables, allow) = match key {
        Some(Key(key)) => {
            teller.tell("the model is Anthropic's; its key goes into a Secret and nowhere else")?;
            let variables = json!({"ANTHROPIC_API_KEY": key});
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
pub(super) fn read_key(file: &Path) -> Result<Key> {
    let shown = file.display();
    let what_to_do = "write the key into a file of your own: install -m 600 /dev/stdin FILE";
    let found =
        fs::metadata(file).with_context(|| format!("read the key in {shown}; {what_to_do}"))?;
    ensure!(
        found.is_file() && found.len() <= KEY_BYTES,
        "{shown} is no file that holds a key and nothing else; {what_to_do}"
    );
    // Whoever else can read it can spend what it pays for.
    ensure!(
        found.mode() & OTHERS == 0,
        "{shown} can be read or changed by others than its owner (mode {:o}): chmod 600 {shown}",
        found.mode() & 0o777
    );
    let text = fs::read_to_string(file).with_context(|| format!("read the key in {shown}"))?;
    let key = text.trim();
    ensure!(!key.is_empty(), "{shown} is empty; {what_to_do}");
    ensure!(
        key.bytes().all(|byte| byte.is_ascii_graphic()),
        "{shown} must hold the key on one line and nothing else"
    );
    Ok(Key(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Instant;

    use cluster::{Cluster, Home};

    use super::*;

    const KEY: &str = "sk-ant-made-up-6b1f";

    fn write(folder: &Path, content: &str, mode: u32) -> std::path::PathBuf {
        let file = folder.join("key");
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn a_key_is_one_line_of_a_file_of_ones_own_and_no_message_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let read = |content: &str, mode| read_key(&write(folder.path(), content, mode));
        assert_eq!(read(&format!("{KEY}\n"), 0o600).unwrap().0, KEY);
        assert_eq!(read(KEY, 0o400).unwrap().0, KEY);
        let two = format!("{KEY}\n{KEY}");
        let long = KEY.repeat(300);
        for (content, mode, says) in [
            ("", 0o600, "is empty"),
            ("\n", 0o600, "is empty"),
            (&two, 0o600, "on one line"),
            (&long, 0o600, "and nothing else"),
            (KEY, 0o644, "chmod 600"),
            (KEY, 0o640, "chmod 600"),
            (KEY, 0o602, "chmod 600"),
        ] {
            let error = read(content, mode).err().unwrap();
            let words = format!("{error:#}");
            assert!(words.contains(says) && !words.contains("sk-ant"), "{words}");
        }
        for (file, says) in [
            ("/nowhere/key", "install -m 600"),
            ("/dev/null", "is no file"),
        ] {
            let words = format!("{:#}", read_key(Path::new(file)).err().unwrap());
            assert!(words.contains(says), "{words}");
        }
    }

    /// What kubectl is given of it: on its arguments, in its environment, and on its input.
    fn told(kubectl: &str) -> (Result<String>, String, String) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home")).unwrap();
        let cluster = Cluster::new(home, folder.path().to_owned());
        fs::create_dir_all(cluster.programs()).unwrap();
        let draft = write(folder.path(), kubectl, 0o600);
        let place = cluster.programs().join("kubectl");
        // By a child: who has the file open for writing while another thread starts a program keeps it busy.
        let mut install = Command::new("install");
        let installed = install.args(["-m", "755"]).arg(draft).arg(&place).status();
        assert!(installed.unwrap().success());
        let teller = Teller {
            started: Instant::now(),
        };
        let objects = Objects::new(&cluster);
        let (nowhere, key) = (Path::new("/nowhere"), Key(KEY.to_owned()));
        let made = provide(&teller, &objects, nowhere, "no-image", Some(&key));
        let read = |kind: &str| fs::read_to_string(place.with_extension(kind)).unwrap_or_default();
        (made, read("called"), read("read"))
    }

    #[test]
    fn a_key_goes_into_a_secret_by_the_input_of_kubectl_and_nowhere_else() {
        let (made, called, read) = told(
            "#!/bin/sh\n{ printf '%s\\n' \"$@\"; env; } >> \"$0.called\"\ncat >> \"$0.read\"\n",
        );
        assert!(
            called.contains("apply") && !called.contains("sk-ant"),
            "{called}"
        );
        let secret: Value = serde_json::from_str(&read).unwrap();
        assert_eq!(secret["kind"], "Secret");
        assert_eq!(secret["metadata"]["name"], SECRET);
        assert_eq!(secret["stringData"], json!({"ANTHROPIC_API_KEY": KEY}));
        // And the agents may talk to nobody but a provider.
        let allow = made.unwrap();
        assert!(
            allow.contains("443") && !allow.contains("sk-ant"),
            "{allow}"
        );

        let (made, ..) = told("#!/bin/sh\ncat > /dev/null; echo no such kind >&2; exit 1\n");
        let words = format!("{:?}", made.unwrap_err());
        assert!(
            words.contains("no such kind") && !words.contains("sk-ant"),
            "{words}"
        );
    }
}
