//! From the agent's first answer to an open session.

use std::time::Duration;

use protocol::{FailureClass, LogLevel};
use serde_json::{Value, json};

use super::dialect::{Dialect, Model, Resume, Version};
use super::run::{Call, HANDSHAKE, HANDSHAKE_TIMER, HELD_TIMER, Run};
use super::{sessions, verdict};
use crate::adapter::Output;
use crate::adapters::ending::Fault;
use crate::adapters::frame::{list, log, text};
use crate::adapters::json_rpc::Refusal;
use crate::adapters::pipes::wait;

/// A conversation that somebody else holds is asked for again so often,
const HELD_TRIES: u8 = 3;
/// each time after so long.
const HELD_WAIT: Duration = Duration::from_secs(2);
/// Ways to log in that are named in a message.
const LOGINS: usize = 8;

impl Run {
    /// The agent has begun.
    pub(super) fn initialized(&mut self, result: Value, out: &mut Vec<Output>) {
        let agent = result.get("agentInfo").unwrap_or(&Value::Null);
        let name = [text(agent, "title"), text(agent, "name"), self.dialect.id];
        let name = name
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or_default();
        let version = text(agent, "version");
        let headline = format!("{name} {version}");
        out.push(Output::Event(log(LogLevel::Info, headline.trim_end())));
        if let Some(lowest) = self
            .dialect
            .lowest
            .filter(|lowest| is_below(version, *lowest))
        {
            let [major, minor, patch] = lowest;
            let message = format!(
                "{name} says that it is version {version:?}; it has to be {major}.{minor}.{patch} or later"
            );
            self.fail(Fault::new(FailureClass::CliTooOld, message), out);
            return;
        }
        self.ways = sessions::ways(self.dialect, &result).into();
        self.remarks.initialized(self.dialect.steers, &result);
        let announced = |wanted: &&&str| {
            list(&result, "authMethods")
                .iter()
                .any(|method| text(method, "id") == **wanted)
        };
        self.logins = self
            .dialect
            .logins
            .iter()
            .filter(announced)
            .copied()
            .collect();
        self.agent = result;
        if self.lacks_servers(out) {
            return;
        }
        if self.hooked.holds() {
            self.list_hooks(out);
        } else if self.dialect.logins.is_empty() {
            self.open(out);
        } else {
            self.log_in(None, out);
        }
    }

    /// Logs in, by the next of the ways that it has.
    pub(super) fn log_in(&mut self, refused: Option<Refusal>, out: &mut Vec<Output>) {
        if let Some(method) = self.logins.pop_front() {
            let params = json!({"methodId": method, "_meta": {"headless": true}});
            self.call(Call::LogIn, "authenticate", &params, out);
            wait(HANDSHAKE_TIMER, HANDSHAKE, out);
            return;
        }
        let announced = list(&self.agent, "authMethods").iter();
        let announced: Vec<_> = announced
            .take(LOGINS)
            .map(|method| text(method, "id"))
            .collect();
        let why = refused.map_or_else(String::new, |refusal| format!(": {}", refusal.words));
        let message = format!(
            "{} could not log in with any of {:?}; it offers {announced:?}{why}",
            self.dialect.id, self.dialect.logins
        );
        self.fail(Fault::new(FailureClass::ProviderAuth, message), out);
    }

    /// A session, or the one that is to go on, in the next of the ways that the agent offers.
    pub(super) fn open(&mut self, out: &mut Vec<Output>) {
        let mut params = json!({"cwd": self.launch.cwd, "mcpServers": self.servers()});
        if let (Model::WhenOpened, Some(model)) = (self.dialect.model, &self.launch.model) {
            params["model"] = json!(model);
        }
        (self.dialect.opening)(&self.launch, &mut params);
        let (call, method) = match &self.launch.resume {
            None => (Call::New, "session/new"),
            Some(session) => {
                let Some(way) = self.ways.front() else {
                    let words =
                        format!("{} does not offer to go on with a session", self.dialect.id);
                    self.reject(words, out);
                    return;
                };
                params["sessionId"] = json!(session);
                let method = match way {
                    Resume::Resume => "session/resume",
                    Resume::Load => "session/load",
                };
                (Call::GoOn(*way), method)
            }
        };
        self.call(call, method, &params, out);
        wait(HANDSHAKE_TIMER, HANDSHAKE, out);
    }

    /// The session was not opened.
    pub(super) fn not_opened(&mut self, call: Call, refusal: Refusal, out: &mut Vec<Output>) {
        let goes_on = call != Call::New;
        if goes_on && refusal.is_unknown_method() {
            self.ways.pop_front();
            self.open(out);
        } else if goes_on && (self.dialect.is_held)(&refusal) {
            self.held(&refusal, out);
        } else if goes_on && sessions::is_lost(self.dialect, &refusal, true) {
            self.reject(refusal.words, out);
        } else {
            if goes_on && !self.dialect.is_known && sessions::explains_nothing(&refusal) {
                self.perhaps_lost = Some(refusal.words.clone());
            }
            let mut fault = verdict::of_refusal(&refusal, "no session could be opened");
            let words = refusal.words.to_lowercase();
            if self
                .dialect
                .unset
                .iter()
                .any(|phrase| words.contains(phrase))
            {
                fault.class = FailureClass::ConfigMissing;
            }
            self.fail(fault, out);
        }
    }

    /// Somebody else has the conversation now. It is waited for, and never given up for a new one.
    fn held(&mut self, refusal: &Refusal, out: &mut Vec<Output>) {
        if self.held_tries < HELD_TRIES {
            self.held_tries += 1;
            let words = format!(
                "the conversation is held by somebody else: {}",
                refusal.words
            );
            out.push(Output::Event(log(LogLevel::Warn, words)));
            wait(HELD_TIMER, HELD_WAIT, out);
            wait(HANDSHAKE_TIMER, HANDSHAKE, out);
            return;
        }
        let words = format!(
            "the conversation could not be gone on with, since it was still held after {HELD_TRIES} more tries: {}",
            refusal.words
        );
        self.fail(Fault::new(FailureClass::PrepareFailed, words), out);
    }

    pub(super) fn opened(&mut self, call: Call, result: &Value, out: &mut Vec<Output>) {
        let named = match (self.dialect.renamed)(result) {
            "" => text(result, "sessionId"),
            renamed => renamed,
        };
        let session = match &self.launch.resume {
            // Some do not say it again.
            Some(asked) if named.is_empty() => asked.clone(),
            _ => named.to_owned(),
        };
        if session.is_empty() {
            let message = format!("{} named no session", self.dialect.id);
            self.fail(Fault::new(FailureClass::CliCrashed, message), out);
            return;
        }
        if call != Call::New && self.launch.resume.as_deref() != Some(&session) {
            if (self.dialect.is_new)(result) {
                let words = format!(
                    "{} did not find the session and opened another",
                    self.dialect.id
                );
                self.reject(words, out);
                return;
            }
            self.doubt = Some(format!(
                "{} went on under another id, {session}",
                self.dialect.id
            ));
        }
        self.meter.model(sessions::current_model(result));
        if let Some(words) = sessions::lacks_thinking(self.dialect, &self.launch, result) {
            out.push(Output::Event(log(LogLevel::Warn, words)));
        }
        match sessions::steps(self.dialect, &self.launch, &session, result) {
            Ok(steps) => self.steps = steps.into(),
            Err(message) => {
                self.fail(Fault::new(FailureClass::ModelNotFound, message), out);
                return;
            }
        }
        self.session = Some(session);
        self.set_up(out);
    }
}

/// True for a version that is too low, or none.
fn is_below(version: &str, lowest: Version) -> bool {
    let mut numbers = version
        .trim_start_matches('v')
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0_u64));
    let told = [(); 3].map(|()| numbers.next().unwrap_or_default());
    told < lowest
}

/// The value of the first of `flags` in the Runtime's arguments.
pub(super) fn lifted<'a>(args: &'a [String], flags: &[&str]) -> Option<&'a str> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.split_once('=') {
            Some((flag, value)) if flags.contains(&flag) => return Some(value),
            None if flags.contains(&arg.as_str()) => return args.next().map(String::as_str),
            Some(_) | None => {}
        }
    }
    None
}

/// The Runtime's arguments without the flags that were lifted, and their values.
pub(super) fn without_lifted(dialect: &Dialect, args: &[String]) -> Vec<String> {
    let mut left = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let flag = arg.split_once('=').map_or(arg.as_str(), |(flag, _)| flag);
        if !dialect.lifted.contains(&flag) {
            left.push(arg.clone());
        } else if flag == arg {
            args.next();
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::super::dialect::BASE;
    use super::*;
    use crate::testing::words;

    #[test]
    fn versions_are_numbers() {
        let lowest = [0, 3, 10];
        for version in ["0.3.9", "0.3", "", "v0.2.99", "x"] {
            assert!(is_below(version, lowest), "{version}");
        }
        for version in ["0.3.10", "0.3.10-rc1", "v0.4.0", "1"] {
            assert!(!is_below(version, lowest), "{version}");
        }
    }

    #[test]
    fn what_is_lifted_is_read_and_gone() {
        let dialect = Dialect {
            lifted: &["--agent", "--agent-alias"],
            ..BASE
        };
        for (args, value, left) in [
            (
                &["--x", "--agent", "main", "-v"][..],
                Some("main"),
                &["--x", "-v"][..],
            ),
            (&["--agent-alias=main"], Some("main"), &[]),
            (&["--agent"], None, &[]),
            (&["--agents", "main"], None, &["--agents", "main"]),
        ] {
            let args = words(args);
            assert_eq!(lifted(&args, dialect.lifted), value);
            assert_eq!(without_lifted(&dialect, &args), left);
        }
    }
}
