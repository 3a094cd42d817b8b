//! How dsh is started, and what is asked of it.

use protocol::{FailureClass, LogLevel};
use serde_json::{Value, json};

use super::{REQUEST, VERSION};
use crate::adapter::{CommandLine, Launch};
use crate::adapters::command::Parts;
use crate::adapters::ending::Fault;
use crate::adapters::flags::Takes;
use crate::adapters::frame::log;
use crate::adapters::mcp;
use crate::mcp::At;

/// The command line of one run. It has no room for arguments of others.
pub(super) fn command_line(launch: &Launch) -> CommandLine {
    // On the session's volume, whatever its profile has for the usual place.
    let sessions = launch.home.join(".dsh/sessions").display().to_string();
    let parts = Parts {
        program: "dsh",
        reserved: &[("--profile", Takes::Value), ("--stdio", Takes::Nothing)],
        args: vec!["--profile", "multica", "--stdio"],
        env: vec![
            ("NO_COLOR", "1"),
            ("DSH_TELEMETRY_DISABLED", "1"),
            ("MULTICA_DSH_SESSION_ROOT", &sessions),
        ],
        ..Parts::default()
    };
    let without = Launch {
        args: Vec::new(),
        custom_args: Vec::new(),
        ..launch.clone()
    };
    let mut line = parts.line(&without);
    if !launch.args.is_empty() || !launch.custom_args.is_empty() {
        let words = "dsh takes no arguments: those of the Runtime and of the Agent were left out";
        line.notes.push(log(LogLevel::Warn, words));
    }
    line
}

/// What is asked of it. A model that it cannot be named is a fault.
pub(super) fn request(launch: &Launch) -> Result<Value, Fault> {
    let mut request = json!({
        "v": VERSION, "type": "execute", "request_id": REQUEST, "cwd": launch.cwd, "prompt": launch.message,
    });
    if let Some(session) = &launch.resume {
        request["resume_session_id"] = json!(session);
    }
    if let Some(model) = &launch.model {
        let (provider, id) = model.split_once('/').ok_or_else(|| {
            let message =
                format!("dsh names its models PROVIDER/MODEL, and {model:?} is no such name");
            Fault::new(FailureClass::ModelNotFound, message)
        })?;
        request["model"] = json!({"provider": decoded(provider), "id": decoded(id)});
    }
    if let Some(effort) = &launch.thinking {
        request["reasoning_effort"] = json!(effort);
    }
    if let Some(servers) = &launch.mcp {
        let entries = servers.0.iter().map(|server| match &server.at {
            At::Program { command, args, env } => json!({
                "name": server.name, "transport": "stdio", "command": command, "args": args, "env": mcp::object(env),
            }),
            // Those over server-sent events are refused before: it cannot have them.
            At::Address { url, headers, .. } => json!({
                "name": server.name, "transport": "streamable-http", "url": url, "headers": mcp::object(headers),
            }),
        });
        request["mcp_servers"] = entries.collect();
    }
    Ok(request)
}

/// `a%2Fb` as `a/b`. What is no such code stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend(before.bytes());
        let code = after
            .get(..2)
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend(rest.bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{launch, mcp_servers, words};

    #[test]
    fn the_command_line_is_fixed() {
        let given = Launch {
            args: words(&["--profile", "web"]),
            custom_args: words(&["--x"]),
            launch_prefix: words(&["run"]),
            ..launch()
        };
        let line = command_line(&given);
        assert_eq!(line.argv.join(" "), "dsh run --profile multica --stdio");
        assert_eq!(line.notes.len(), 1);
        let store = (
            "MULTICA_DSH_SESSION_ROOT".to_owned(),
            "/workspace/home/.dsh/sessions".to_owned(),
        );
        assert!(line.env_defaults.contains(&store));
    }

    #[test]
    fn everything_is_in_the_request() {
        let given = Launch {
            model: Some("my%2Fprovider/m%20x/2".to_owned()),
            resume: Some("s1".to_owned()),
            thinking: Some("high".to_owned()),
            mcp: Some(mcp_servers()),
            ..launch()
        };
        let request = request(&given).unwrap();
        assert_eq!(
            request["model"],
            json!({"provider": "my/provider", "id": "m x/2"})
        );
        assert_eq!(request["resume_session_id"], "s1");
        assert_eq!(request["reasoning_effort"], "high");
        assert_eq!(request["mcp_servers"][0]["transport"], "stdio");
        assert_eq!(request["mcp_servers"][2]["transport"], "streamable-http");
        assert_eq!(
            request["mcp_servers"][2]["headers"]["Authorization"],
            "Bearer s3cret-value"
        );
    }

    #[test]
    fn a_model_without_a_provider_is_none() {
        let given = Launch {
            model: Some("m".to_owned()),
            ..launch()
        };
        assert_eq!(
            request(&given).unwrap_err().class,
            FailureClass::ModelNotFound
        );
    }

    #[test]
    fn codes_that_are_none_stay() {
        for (text, wanted) in [
            ("a%2", "a%2"),
            ("100%", "100%"),
            ("%zz%41", "%zzA"),
            ("%é", "%é"),
        ] {
            assert_eq!(decoded(text), wanted);
        }
    }
}
