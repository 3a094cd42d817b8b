//! The programs that can be asked, and how each answers.

use serde_json::Value;

use super::{Answer, Found, Listing};

/// How the program of this provider is asked, where it can be.
pub(crate) fn of(provider: &str) -> Option<Listing> {
    Some(match provider {
        // The one speaks the protocol of the other.
        "claude" | "codebuddy" => CLAUDE,
        "codex" => CODEX,
        "pi" => PI,
        "omp" => OMP,
        "opencode" => OPENCODE,
        "gemini" => Listing {
            // Which models it knows does not depend on the key, but without one it tells nobody.
            env: &[("GEMINI_API_KEY", "none")],
            ..acp(&["--acp"])
        },
        "claude-agent-acp" => acp(&[]),
        _ => return None,
    })
}

/// Its answer to the first request has them, before any login is looked for.
const CLAUDE: Listing = Listing {
    args: &[
        "-p",
        "--output-format",
        "stream-json",
        "--input-format",
        "stream-json",
        "--verbose",
    ],
    env: &[
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ],
    says: &[concat!(
        r#"{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}"#,
        "\n"
    )],
    answer: Answer::Frames(of_claude),
};

fn of_claude(frame: &Value, found: &mut Found) -> bool {
    let models = frame.pointer("/response/response/models");
    let models = models.and_then(Value::as_array);
    let is_there = |model: &&Value| model["disabled"] != true;
    for model in models.into_iter().flatten().filter(is_there) {
        // CodeBuddy's word for it is the second.
        found.model(model.get("value").unwrap_or(&model["id"]));
        found.levels(list(model, "/supportedEffortLevels"), "");
    }
    models.is_some()
}

const CODEX: Listing = Listing {
    args: &["app-server", "--listen", "stdio://"],
    env: &[],
    says: &[
        concat!(
            r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"mooring","version":"0"}}}"#,
            "\n"
        ),
        concat!(
            r#"{"method":"initialized"}"#,
            "\n",
            r#"{"id":2,"method":"model/list","params":{}}"#,
            "\n"
        ),
    ],
    answer: Answer::Frames(of_codex),
};

fn of_codex(frame: &Value, found: &mut Found) -> bool {
    let models = frame.pointer("/result/data").and_then(Value::as_array);
    let is_shown = |model: &&Value| model["hidden"] != true;
    for model in models.into_iter().flatten().filter(is_shown) {
        found.model(&model["model"]);
        let efforts = list(model, "/supportedReasoningEfforts");
        found.levels(efforts, "/reasoningEffort");
    }
    models.is_some()
}

/// It names the models of the providers that it is set up for.
const PI: Listing = Listing {
    args: &["--mode", "rpc", "--no-session"],
    env: &[("PI_OFFLINE", "1")],
    says: &[concat!(
        r#"{"id":"1","type":"get_available_models"}"#,
        "\n",
        r#"{"id":"2","type":"get_available_thinking_levels"}"#,
        "\n"
    )],
    answer: Answer::Frames(of_pi),
};

fn of_pi(frame: &Value, found: &mut Found) -> bool {
    for model in list(frame, "/data/models") {
        if let (Some(provider), Some(id)) = (model["provider"].as_str(), model["id"].as_str()) {
            found.models.push(format!("{provider}/{id}"));
        }
    }
    let is_last = frame["command"] == "get_available_thinking_levels";
    // Those of its first model; where it has none it would still name some.
    if is_last && !found.models.is_empty() {
        found.levels(list(frame, "/data/levels"), "");
    }
    is_last
}

/// The same, and which levels each of them knows.
const OMP: Listing = Listing {
    args: &["models", "--json"],
    env: &[("PI_OFFLINE", "1")],
    says: &[],
    answer: Answer::Printed(of_omp),
};

fn of_omp(printed: &str, found: &mut Found) {
    let listed: Value = serde_json::from_str(printed).unwrap_or_default();
    for model in list(&listed, "/models") {
        found.model(&model["selector"]);
        found.levels(list(model, "/thinking"), "");
    }
}

/// Its variants are the levels. It names each model, and below it what it is.
const OPENCODE: Listing = Listing {
    args: &["models", "--verbose"],
    env: &[
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ],
    says: &[],
    answer: Answer::Printed(of_opencode),
};

fn of_opencode(printed: &str, found: &mut Found) {
    let mut below: Option<String> = None;
    for line in printed.lines() {
        match (&mut below, line) {
            (None, "{") => below = Some(line.to_owned()),
            (None, _) if line.contains('/') => found.models.push(line.to_owned()),
            (None, _) => {}
            (Some(text), _) => {
                text.push_str(line);
                if line == "}" {
                    let model: Value = serde_json::from_str(text).unwrap_or_default();
                    let variants = model["variants"].as_object();
                    let names = variants.into_iter().flat_map(|all| all.keys().cloned());
                    found.levels.extend(names);
                    below = None;
                }
            }
        }
    }
}

/// One that speaks ACP says it of a session, which it opens without a login.
const fn acp(args: &'static [&'static str]) -> Listing {
    Listing {
        args,
        env: &[],
        says: &[
            concat!(
                r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#,
                "\n"
            ),
            concat!(
                r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/tmp","mcpServers":[]}}"#,
                "\n"
            ),
        ],
        answer: Answer::Frames(of_acp),
    }
}

/// Older ones have a list of models, newer ones options of a session.
fn of_acp(frame: &Value, found: &mut Found) -> bool {
    let Some(session) = frame
        .get("result")
        .filter(|one| one["sessionId"].is_string())
    else {
        // It will open none.
        return frame["id"] == 2;
    };
    for model in list(session, "/models/availableModels") {
        found.model(&model["modelId"]);
    }
    for option in list(session, "/configOptions") {
        let values = list(option, "/options");
        match option["category"].as_str() {
            Some("model") => values.iter().for_each(|value| found.model(&value["value"])),
            Some("thought_level" | "effort") => found.levels(values, "/value"),
            Some(_) | None => {}
        }
    }
    true
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let found = value.pointer(pointer).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use protocol::providers;
    use serde_json::json;

    use super::*;

    fn told(read: fn(&Value, &mut Found) -> bool, frames: &[Value]) -> (String, String, bool) {
        let mut found = Found::default();
        let is_whole = frames.iter().any(|frame| read(frame, &mut found));
        (found.models.join(" "), found.levels.join(" "), is_whole)
    }

    fn whole(models: &str, levels: &str) -> (String, String, bool) {
        (models.to_owned(), levels.to_owned(), true)
    }

    #[test]
    fn who_can_be_asked_is_driven() {
        let asked = [
            "claude",
            "codebuddy",
            "codex",
            "pi",
            "omp",
            "opencode",
            "gemini",
            "claude-agent-acp",
        ];
        for id in asked {
            assert!(of(id).is_some() && providers::facts(id).is_some(), "{id}");
        }
        let all = providers::ids();
        assert_eq!(
            all.iter().filter(|id| of(id).is_some()).count(),
            asked.len()
        );
    }

    #[test]
    fn claude_tells_them_with_its_first_answer() {
        let answer = json!({"type": "control_response", "response": {"response": {"models": [
            {"value": "default", "supportedEffortLevels": ["low", "max"]},
            {"value": "old", "disabled": true, "supportedEffortLevels": ["none"]},
            {"id": "glm", "name": "GLM"},
        ]}}});
        let frames = [json!({"type": "system"}), answer];
        assert_eq!(told(of_claude, &frames), whole("default glm", "low max"));
        assert!(!told(of_claude, &frames[..1]).2);
    }

    #[test]
    fn codex_tells_those_that_it_shows() {
        let efforts = json!([{"reasoningEffort": "low"}, {"reasoningEffort": "ultra"}]);
        let answer = json!({"id": 2, "result": {"data": [
            {"model": "a", "hidden": false, "supportedReasoningEfforts": efforts}, {"model": "b", "hidden": true},
        ]}});
        let frames = [json!({"id": 1, "result": {"userAgent": "x"}}), answer];
        assert_eq!(told(of_codex, &frames), whole("a", "low ultra"));
    }

    #[test]
    fn pi_tells_levels_only_where_it_has_models() {
        let levels = json!({"command": "get_available_thinking_levels", "data": {"levels": ["off", "high"]}});
        let models =
            |models: Value| json!({"command": "get_available_models", "data": {"models": models}});
        let some = models(json!([{"provider": "main", "id": "m/1"}]));
        assert_eq!(
            told(of_pi, &[some, levels.clone()]),
            whole("main/m/1", "off high")
        );
        assert_eq!(told(of_pi, &[models(json!([])), levels]), whole("", ""));
    }

    #[test]
    fn omp_tells_of_each_model_how_much_it_thinks() {
        let printed = json!({"models": [
            {"provider": "main", "id": "m/1", "selector": "main/m/1", "thinking": ["low", "high"]},
            {"provider": "main", "id": "m2", "selector": "main/m2", "thinking": null},
        ]});
        let mut found = Found::default();
        of_omp(&printed.to_string(), &mut found);
        of_omp("a warning", &mut found);
        assert_eq!(
            (found.models.join(" "), found.levels.join(" ")),
            ("main/m/1 main/m2".to_owned(), "low high".to_owned())
        );
    }

    #[test]
    fn opencode_names_each_and_what_it_is_below() {
        let printed = "a banner\nmain/one\n{\n  \"id\": \"x/y\",\n  \"variants\": {\n    \"high\": {}\n  }\n}\nmain/two\n{\n}\n";
        let mut found = Found::default();
        of_opencode(printed, &mut found);
        assert_eq!(
            (found.models.join(" "), found.levels.join(" ")),
            ("main/one main/two".to_owned(), "high".to_owned())
        );
        of_opencode("{\n", &mut found);
    }

    #[test]
    fn acp_has_two_places_for_them() {
        let older = json!({"id": 2, "result": {"sessionId": "s", "models": {"availableModels": [{"modelId": "auto"}]}}});
        assert_eq!(told(of_acp, &[older]), whole("auto", ""));
        let option = |category, values: [&str; 2]| {
            let values = values.map(|value| json!({"value": value}));
            json!({"category": category, "options": values})
        };
        let options = [
            option("model", ["a", "b"]),
            option("mode", ["c", "d"]),
            option("effort", ["low", "max"]),
        ];
        let newer = json!({"id": 2, "result": {"sessionId": "s", "configOptions": options}});
        assert_eq!(told(of_acp, &[newer]), whole("a b", "low max"));
        let refused = json!({"id": 2, "error": {"code": -32000}});
        assert_eq!(told(of_acp, &[refused]), whole("", ""));
    }
}
