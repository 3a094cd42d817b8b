//! Sessions: what an agent offers, how one is opened, set up and lost.

use protocol::FailureClass;
use serde_json::{Value, json};

use super::dialect::{Choice, Dialect, Model, Resume};
use crate::adapter::Launch;
use crate::adapters::frame::{list, text};
use crate::adapters::json_rpc::Refusal;
use crate::classify;

/// The ways in which the agent says that a session goes on, the preferred one first.
pub(super) fn ways(dialect: &Dialect, initialized: &Value) -> Vec<Resume> {
    let capabilities = initialized.get("agentCapabilities").unwrap_or(&Value::Null);
    let offers = |way: &Resume| match way {
        Resume::Load => capabilities.get("loadSession").and_then(Value::as_bool) == Some(true),
        Resume::Resume => capabilities
            .get("sessionCapabilities")
            .and_then(|capabilities| capabilities.get("resume"))
            .is_some_and(|resume| !resume.is_null() && resume != &Value::Bool(false)),
    };
    let other = match dialect.resume {
        Resume::Load => Resume::Resume,
        Resume::Resume => Resume::Load,
    };
    [dialect.resume, other].into_iter().filter(offers).collect()
}

/// A call that sets a session up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    /// What it is without it.
    pub(super) need: Need,
    /// What is set, in words.
    pub(super) what: String,
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// What a run is without a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// As good.
    None,
    /// Of another model than was asked for.
    Model,
    /// One that cannot work.
    Choice,
}

/// The calls that set an opened session up. An error says why the model cannot be chosen.
pub(super) fn steps(
    dialect: &Dialect,
    launch: &Launch,
    id: &str,
    opened: &Value,
) -> Result<Vec<Step>, String> {
    let first = (dialect.first)(launch, id, opened);
    let knows_modes = launch.tools.is_empty() || !dialect.asks_when_held;
    let mode = mode(dialect, id, opened).filter(|_| knows_modes);
    let mut steps: Vec<_> = first.into_iter().chain(mode).collect();
    let choices = dialect.choices.iter();
    steps.extend(choices.filter_map(|choice| choose(choice, id, opened)));
    match (dialect.model, &launch.model) {
        (Model::InSession, Some(wanted)) => steps.extend(model(wanted, id, opened)?),
        (Model::Unasked, Some(wanted)) => {
            steps.extend(model(wanted, id, opened).unwrap_or_else(|_| Some(by_id(wanted, id))));
        }
        // It was named already; where there is no choice that has to do.
        (Model::WhenOpened, Some(wanted)) => {
            steps.extend(model(wanted, id, opened).unwrap_or_default());
        }
        (Model::Flag(_), _) | (_, None) => {}
    }
    if let (None, Some(level)) = (dialect.thinking, &launch.thinking) {
        steps.extend(thinking(level, id, opened));
    }
    Ok(steps)
}

/// The model that a session runs with, as it was opened.
pub(super) fn current_model(opened: &Value) -> &str {
    let models = opened.get("models").unwrap_or(&Value::Null);
    match option(opened, "model") {
        Some(option) => text(option, "currentValue"),
        None => text(models, "currentModelId"),
    }
}

fn option<'a>(opened: &'a Value, category: &str) -> Option<&'a Value> {
    let is_it =
        |option: &&Value| text(option, "category") == category || text(option, "id") == category;
    list(opened, "configOptions").iter().find(is_it)
}

fn set_option(id: &str, option: &Value, value: &str) -> Value {
    json!({"sessionId": id, "configId": text(option, "id"), "value": value})
}

/// Sets the first mode of the dialect's that the session offers, unless it is in it.
fn mode(dialect: &Dialect, id: &str, opened: &Value) -> Option<Step> {
    let modes = opened.get("modes").unwrap_or(&Value::Null);
    let offered = |wanted: &&&str| {
        list(modes, "availableModes")
            .iter()
            .any(|mode| text(mode, "id") == **wanted)
    };
    let wanted = *dialect.modes.iter().find(offered)?;
    (text(modes, "currentModeId") != wanted).then(|| Step {
        need: Need::None,
        what: format!("the mode {wanted}"),
        method: "session/set_mode",
        params: json!({"sessionId": id, "modeId": wanted}),
    })
}

/// The option that says how much the model thinks.
fn thought(opened: &Value) -> Option<&Value> {
    let names = ["effort", "thought_level", "thinking"];
    names.iter().find_map(|name| option(opened, name))
}

/// Words for a level that was asked for and is nowhere to be set: some say yes to any option and know none.
pub(super) fn lacks_thinking(dialect: &Dialect, launch: &Launch, opened: &Value) -> Option<String> {
    let asked = launch.thinking.as_deref();
    let asked = asked.filter(|_| dialect.thinking.is_none() && thought(opened).is_none())?;
    let name = dialect.id;
    Some(format!(
        "{name} offers no thinking level in this session, so {asked} is left out"
    ))
}

/// Sets how much the model thinks, where that is offered. One that does not offer this value says so itself.
fn thinking(level: &str, id: &str, opened: &Value) -> Option<Step> {
    let offered = thought(opened)?;
    if text(offered, "currentValue") == level {
        return None;
    }
    let config = text(offered, "id");
    Some(Step {
        need: Need::None,
        what: format!("the thinking level {level}"),
        method: "session/set_config_option",
        params: json!({"sessionId": id, "configId": config, "value": level}),
    })
}

/// Makes a setting, unless the session has it.
fn choose(choice: &Choice, id: &str, opened: &Value) -> Option<Step> {
    let offered = option(opened, choice.id);
    let is_set = offered.is_some_and(|option| text(option, "currentValue") == choice.value);
    if is_set || (offered.is_none() && !choice.needed) {
        return None;
    }
    let config = offered.map_or(choice.id, |option| text(option, "id"));
    Some(Step {
        need: if choice.needed {
            Need::Choice
        } else {
            Need::None
        },
        what: format!("{} to {}", choice.id, choice.value),
        method: "session/set_config_option",
        params: json!({"sessionId": id, "configId": config, "value": choice.value}),
    })
}

/// What an option still has that a step was to set, as the answer to it says.
pub(super) fn not_taken<'a>(step: &Step, result: &'a Value) -> Option<&'a str> {
    let config = text(&step.params, "configId");
    let is_it = |option: &&Value| text(option, "id") == config;
    let options = list(result, "configOptions").iter();
    let stayed = text(
        options.filter(|_| !config.is_empty()).find(is_it)?,
        "currentValue",
    );
    (!stayed.is_empty() && stayed != text(&step.params, "value")).then_some(stayed)
}

fn by_id(wanted: &str, id: &str) -> Step {
    Step {
        need: Need::Model,
        what: format!("the model {wanted}"),
        method: "session/set_model",
        params: json!({"sessionId": id, "modelId": wanted}),
    }
}

fn model(wanted: &str, id: &str, opened: &Value) -> Result<Option<Step>, String> {
    let models = opened.get("models").filter(|models| !models.is_null());
    let option = option(opened, "model");
    let by_option = |option| Step {
        method: "session/set_config_option",
        params: set_option(id, option, wanted),
        ..by_id(wanted, id)
    };
    let has = |option: &&Value| {
        list(option, "options")
            .iter()
            .any(|value| text(value, "value") == wanted)
    };
    if option.is_some_and(|option| text(option, "currentValue") == wanted)
        || models.is_some_and(|models| text(models, "currentModelId") == wanted)
    {
        return Ok(None);
    }
    match (option.filter(has), models, option) {
        (Some(option), _, _) => Ok(Some(by_option(option))),
        // It may know more than it lists.
        (None, Some(_), _) => Ok(Some(by_id(wanted, id))),
        (None, None, Some(option)) => Ok(Some(by_option(option))),
        (None, None, None) => Err(format!(
            "the agent offers no choice of a model, so it cannot be {wanted}: set it in the Runtime and take it out of the Agent"
        )),
    }
}

/// True when an error says that the session is not known. `opening`: it answers the request to go on with
/// one, where an agent may word that as it likes; later the same words are about other things.
pub(super) fn is_lost(dialect: &Dialect, refusal: &Refusal, opening: bool) -> bool {
    let words = refusal.words.to_lowercase();
    let any = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    let code = matches!(refusal.code, -32603 | -32602 | -32002 | -32000);
    if code && any(&["session not found", "no session found", "unknown session"]) {
        return true;
    }
    opening && (refusal.code == -32002 || any(dialect.lost) || names_a_lost_session(&words))
}

/// True for a refusal whose words are of no failure that is known. That it is an internal error is the protocol's own word
/// for any.
pub(super) fn explains_nothing(refusal: &Refusal) -> bool {
    let words = refusal.words.to_lowercase();
    let words = words.strip_prefix("internal error").unwrap_or(&words);
    classify::classify(words) == FailureClass::Unknown
}

/// "unknown session", "session 1a2b not found" and the like, each right beside the other: "unknown error
/// while loading the session" says nothing about the session.
fn names_a_lost_session(words: &str) -> bool {
    const THINGS: &[&str] = &["session", "conversation", "thread"];
    const BEFORE: &[&str] = &[
        "unknown",
        "invalid",
        "expired",
        "unrecognised",
        "unrecognized",
        "nonexistent",
        "missing",
    ];
    const AFTER: &[&[&str]] = &[
        &["not", "found"],
        &["does", "not", "exist"],
        &["no", "longer", "exists"],
        &["expired"],
        &["invalid"],
        &["unknown"],
        &["is", "not", "resumable"],
    ];
    let words: Vec<_> = words
        .split(|c: char| {
            c.is_whitespace() || matches!(c, ':' | ',' | '.' | '"' | '\'' | '`' | '(' | ')')
        })
        .filter(|word| !word.is_empty())
        .collect();
    let is_id = |word: &&str| word.chars().any(|c| c.is_ascii_digit());
    words.iter().enumerate().any(|(at, word)| {
        if !THINGS.contains(word) {
            return false;
        }
        let before = &words[..at];
        if before.last().is_some_and(|word| BEFORE.contains(word))
            || before.ends_with(&["no", "such"])
        {
            return true;
        }
        let mut after = &words[at + 1..];
        if matches!(after.first(), Some(&"id" | &"identifier")) {
            after = &after[1..];
        }
        if after.first().is_some_and(is_id) {
            after = &after[1..];
        }
        AFTER.iter().any(|phrase| after.starts_with(phrase))
    })
}

#[cfg(test)]
mod tests {
    use super::super::dialect::BASE;
    use super::*;

    fn launch(model: Option<&str>) -> Launch {
        Launch {
            model: model.map(str::to_owned),
            ..crate::testing::launch()
        }
    }

    #[test]
    fn only_what_is_offered_is_tried() {
        let loads = json!({"agentCapabilities": {"loadSession": true}});
        let both = json!({"agentCapabilities": {"loadSession": true, "sessionCapabilities": {"resume": {}}}});
        let first_load = Dialect {
            resume: Resume::Load,
            ..BASE
        };
        assert_eq!(ways(&BASE, &loads), [Resume::Load]);
        assert_eq!(ways(&BASE, &both), [Resume::Resume, Resume::Load]);
        assert_eq!(ways(&first_load, &both), [Resume::Load, Resume::Resume]);
        assert_eq!(ways(&BASE, &Value::Null), []);
    }

    #[test]
    fn the_mode_is_set_where_it_is_offered_and_not_set() {
        let dialect = Dialect {
            modes: &["free", "yolo"],
            ..BASE
        };
        let opened = |current: &str| json!({"modes": {"currentModeId": current, "availableModes": [{"id": "ask"}, {"id": "yolo"}]}});
        let methods = |opened: &Value| -> Vec<_> {
            let steps = steps(&dialect, &launch(None), "s", opened).unwrap();
            steps
                .into_iter()
                .map(|step| step.params["modeId"].clone())
                .collect()
        };
        assert_eq!(methods(&opened("ask")), [json!("yolo")]);
        assert_eq!(methods(&opened("yolo")), [] as [Value; 0]);
        assert_eq!(methods(&json!({})), [] as [Value; 0]);
    }

    #[test]
    fn the_model_is_set_in_the_way_that_is_offered() {
        let models = json!({"currentModelId": "a", "availableModels": [{"modelId": "a"}]});
        let option = json!([{"id": "m", "category": "model", "currentValue": "a", "options": [{"value": "a"}, {"value": "b"}]}]);
        for (opened, wanted, method) in [
            (
                json!({"models": models}),
                "b",
                Ok(Some("session/set_model")),
            ),
            (json!({"models": models}), "a", Ok(None)),
            (
                json!({"configOptions": option}),
                "b",
                Ok(Some("session/set_config_option")),
            ),
            (json!({"configOptions": option}), "a", Ok(None)),
            (
                json!({"configOptions": option}),
                "c",
                Ok(Some("session/set_config_option")),
            ),
            (
                json!({"configOptions": option, "models": models}),
                "c",
                Ok(Some("session/set_model")),
            ),
            (json!({}), "b", Err(())),
        ] {
            let steps = steps(&BASE, &launch(Some(wanted)), "s", &opened);
            let made = steps
                .map(|steps| steps.first().map(|step| step.method))
                .map_err(drop);
            assert_eq!(made, method, "{opened} {wanted}");
        }
        assert_eq!(current_model(&json!({"configOptions": option})), "a");
        assert_eq!(current_model(&json!({"models": models})), "a");
    }

    #[test]
    fn the_thinking_level_is_set_by_the_option_that_is_offered() {
        let launch = Launch {
            thinking: Some("high".to_owned()),
            ..launch(None)
        };
        let made = |dialect: &Dialect, opened: Value| {
            let steps = steps(dialect, &launch, "s", &opened).unwrap();
            steps.first().map(|step| step.params["configId"].clone())
        };
        let option = |name: &str, current: &str| json!({"configOptions": [{"id": "x", "category": name, "currentValue": current}]});
        assert_eq!(made(&BASE, option("effort", "low")), Some(json!("x")));
        assert_eq!(
            made(&BASE, option("thought_level", "low")),
            Some(json!("x"))
        );
        assert_eq!(made(&BASE, option("effort", "high")), None);
        assert_eq!(made(&BASE, option("thinking", "low")), Some(json!("x")));
        assert_eq!(made(&BASE, json!({})), None);
        let lacks = |opened: Value| lacks_thinking(&BASE, &launch, &opened).is_some();
        assert!(lacks(json!({})) && !lacks(option("effort", "low")));
        let by_flag = Dialect {
            thinking: Some("--effort"),
            ..BASE
        };
        assert_eq!(made(&by_flag, option("effort", "low")), None);
        assert_eq!(lacks_thinking(&by_flag, &launch, &json!({})), None);
    }

    fn lost(code: i64, words: &str, opening: bool) -> bool {
        let words = words.to_owned();
        is_lost(&BASE, &Refusal { code, words }, opening)
    }

    #[test]
    fn words_that_explain_nothing_may_be_a_lost_session() {
        let nothing = |words: &str| {
            let words = words.to_owned();
            let code = -32603;
            explains_nothing(&Refusal { code, words })
        };
        for words in [
            "Internal error: no rollout found",
            "Internal error",
            "nope",
            "",
        ] {
            assert!(nothing(words), "{words}");
        }
        for words in [
            "401 Unauthorized",
            "Internal error: connection refused",
            "missing environment variable: KEY",
        ] {
            assert!(!nothing(words), "{words}");
        }
    }

    #[test]
    fn a_lost_session_is_told_in_many_ways() {
        for (code, words) in [
            (-32602, "Invalid params: Unknown sessionId: 1111"),
            (-32002, "Resource not found"),
            (-32602, "Session not found: 1111"),
            (
                -32602,
                "Invalid params: session is not resumable: 11111111-2222",
            ),
            (
                -32603,
                "Internal error: Invalid session identifier \"1111\".\n Searched",
            ),
            (-32603, "no such conversation"),
            (-32603, "thread id 1a2b does not exist"),
            (0, "the session `1a2b` has gone: session 1a2b expired"),
        ] {
            assert!(lost(code, words, true), "{words}");
        }
    }

    #[test]
    fn what_is_not_about_the_session_costs_no_session() {
        for words in [
            "unknown error while loading session",
            "invalid token for session x",
            "cwd does not exist for session x",
            "Authentication required",
            "session is held by another process",
            "",
        ] {
            assert!(!lost(-32603, words, true), "{words}");
        }
        assert!(!lost(-32002, "Resource not found", false));
        assert!(!lost(-32603, "Invalid session identifier x", false));
        assert!(lost(-32603, "Session not found", false));
    }
}
