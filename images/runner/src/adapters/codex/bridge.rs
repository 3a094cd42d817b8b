//! Codex where another program drives it and is spoken to over ACP: it is held to its tools by the same hook, in the same home.
//! What are arguments of `codex` itself stands in the settings of that home, and in the variable that the other program reads.

use serde_json::{Value, json};

use super::gate;
use super::launch::{gate_seconds, gate_server, gated_home, toml, untrusted};
use crate::adapter::{JsonVariable, Launch, LaunchFile};
use crate::adapters::command::Parts;

/// The mode of a session in which it may do everything and can be asked about it all the same: under full access, which asks
/// for nothing, our own server could not ask either.
pub(in crate::adapters) const MODE: &str = "permission-profile:mooring";
/// The profile of that mode.
const PROFILE: &str = "mooring";
/// Settings for each thread.
const SETTINGS: &str = "CODEX_CONFIG";

/// Adds what holds it to its tools.
pub(in crate::adapters) fn hold(launch: &Launch, parts: &mut Parts<'_>) {
    let home = gated_home(launch);
    parts.files.push(LaunchFile {
        path: home.folder.join("config.toml"),
        content: of_home(launch).into_bytes(),
        secret: true,
    });
    parts.links.extend(home.links);
    let folder = home.folder.display().to_string();
    parts.secret_env.0.push(("CODEX_HOME".to_owned(), folder));
    // The hook comes by arguments from there: only one that does so can be trusted over ACP.
    let mut settings = gated();
    settings["hooks"] = json!({"PreToolUse": [gate::hook(gate_seconds(launch))]});
    parts.env_json = Some(JsonVariable {
        name: SETTINGS.to_owned(),
        value: settings,
    });
}

/// As for Codex itself: what an agent has written into its home is not run, nothing searches the web in its place, and no
/// agents of its own outlive the turn.
fn gated() -> Value {
    json!({
        "features": {"hooks": true, "shell_snapshot": false, "multi_agent": false},
        "allow_login_shell": false,
        "web_search": "disabled",
    })
}

fn of_home(launch: &Launch) -> String {
    let mut settings = gated();
    settings["default_permissions"] = json!(PROFILE);
    settings["approval_policy"] = json!("on-request");
    // The pod is the sandbox.
    settings["permissions"] = json!({PROFILE: {
        "filesystem": {":root": "write"}, "network": {"enabled": true},
    }});
    settings["projects"] = untrusted(launch);
    settings["mcp_servers"] = json!({gate::SERVER: gate_server(launch)});
    let settings = settings.as_object().into_iter().flatten();
    settings
        .map(|(name, value)| format!("{name}={}\n", toml(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use protocol::tools::ToolPolicy;

    use super::*;
    use crate::testing::{launch, words};

    #[test]
    fn its_home_is_in_memory_and_its_settings_are_ours() {
        let asked = Launch {
            tools: ToolPolicy {
                deny: words(&["Bash"]),
                approval_seconds: 60,
                ..ToolPolicy::default()
            },
            new_session: "n".to_owned(),
            runner: "/opt/mooring/runner".into(),
            ..launch()
        };
        let mut parts = Parts::default();
        hold(&asked, &mut parts);
        let home = "/run/mooring/cli/codex-n";
        let variable = ("CODEX_HOME".to_owned(), home.to_owned());
        assert_eq!(parts.secret_env.0, [variable]);
        let file = &parts.files[0];
        assert_eq!(
            file.path.display().to_string(),
            format!("{home}/config.toml")
        );
        let text = String::from_utf8(file.content.clone()).unwrap();
        for line in [
            "approval_policy=\"on-request\"",
            "default_permissions=\"mooring\"",
            "features={hooks=true,multi_agent=false,shell_snapshot=false}",
            "mcp_servers={mooring_gate={args=[\"desk\"],command=\"/opt/mooring/runner\",enabled=true,required=true,\
             tool_timeout_sec=660}}",
            "permissions={mooring={filesystem={\":root\"=\"write\"},network={enabled=true}}}",
            "projects={\"/workspace/work\"={trust_level=\"untrusted\"}}",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}\n{text}");
        }
        let kept: Vec<_> = parts
            .links
            .iter()
            .map(|link| link.path.file_name())
            .collect();
        assert_eq!(kept.len(), 3, "{kept:?}");
        let variable = parts.env_json.unwrap();
        let hook = &variable.value["hooks"]["PreToolUse"][0]["hooks"][0];
        assert_eq!(
            (variable.name.as_str(), &hook["timeout"]),
            (SETTINGS, &json!(660))
        );
        assert!(MODE.ends_with(PROFILE));
    }
}
