//! Failures of the provider that an agent tells on stderr only, while it ends its turn as if all were well.

use protocol::FailureClass;

use crate::adapters::frame::cut;
use crate::classify;

/// Bytes of what is kept of a failure.
const DETAIL_BYTES: usize = 4096;

/// What was told on stderr so far.
#[derive(Debug, Default)]
pub(super) struct Stderr {
    /// The last failure that the agent did not get over, and the last of any kind.
    last_final: Option<String>,
    last: Option<String>,
    /// Within a record of the log that says nothing about us. Some echo the conversation, over many lines.
    echo: bool,
}

impl Stderr {
    /// A line.
    pub(super) fn line(&mut self, line: &str) {
        let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if has(&["[INFO]", "[DEBUG]"]) {
            self.echo = true;
        } else if has(&["[WARNING]", "[ERROR]", "[CRITICAL]"]) {
            self.echo = false;
        }
        let is_mark = has(&["⚠️", "❌", "[ERROR]"]);
        let is_failure = has(&[
            "BadRequestError",
            "AuthenticationError",
            "RateLimitError",
            "Non-retryable",
            "API call failed",
        ]) || has_status(line);
        if self.echo || !is_mark || !is_failure {
            return;
        }
        let detail = ["Error:", "detail:", "Details:"]
            .iter()
            .filter_map(|mark| line.split_once(mark))
            .map(|(_, detail)| detail.trim())
            .find(|detail| !detail.is_empty());
        let detail = cut(detail.unwrap_or(line.trim()).to_owned(), DETAIL_BYTES);
        let is_final = has(&[
            "❌",
            "[ERROR]",
            "Non-retryable",
            "BadRequestError",
            "AuthenticationError",
        ]) || gave_up(line);
        if is_final {
            self.last_final = Some(detail.clone());
        }
        self.last = Some(detail);
    }

    /// The failure that the turn ended with. `silent`: it ended without an answer, so that any will do.
    pub(super) fn failure(&self, silent: bool) -> Option<&str> {
        let any = self.last.as_ref().filter(|_| silent);
        self.last_final.as_ref().or(any).map(String::as_str)
    }
}

/// "after 3 retries", as agents say when they give up, also in place of an answer.
pub(super) fn gave_up(words: &str) -> bool {
    const SAID: &str = "after ";
    words.match_indices(SAID).any(|(at, _)| {
        let rest = &words[at + SAID.len()..];
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        number.len() < rest.len() && number.starts_with(" retr")
    })
}

/// Why a request is tried again, as Gemini and its kin say of each: "Attempt 1 failed … Retrying with backoff".
pub(super) fn retrying(line: &str) -> Option<FailureClass> {
    let is_it = line.starts_with("Attempt ")
        && line.contains(" failed")
        && line.contains("Retrying with backoff");
    is_it.then(|| classify::classify_or(line, FailureClass::ProviderServerError))
}

fn has_status(line: &str) -> bool {
    line.match_indices("HTTP ").any(|(at, mark)| {
        let digits = line[at + mark.len()..].chars().take(3);
        digits.clone().count() == 3 && digits.clone().all(|c| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[&str]) -> (Option<String>, Option<String>) {
        let mut stderr = Stderr::default();
        for line in lines {
            stderr.line(line);
        }
        let failure = |silent| stderr.failure(silent).map(str::to_owned);
        (failure(false), failure(true))
    }

    #[test]
    fn what_was_got_over_explains_silence_only() {
        let retry = "⚠️ API call failed (attempt 1/3): RateLimitError: slow down";
        assert_eq!(told(&[retry]), (None, Some("slow down".to_owned())));
        let last = "❌ API call failed after 3 retries. Error: HTTP 429";
        assert_eq!(told(&[retry, last]).0, Some("HTTP 429".to_owned()));
        let logged = "2026-01-01 [ERROR] agent: HTTP 401 from the provider";
        assert_eq!(told(&[logged]).0, Some(logged.to_owned()));
    }

    #[test]
    fn an_echo_of_the_conversation_is_no_failure() {
        let echo = [
            "2026 [INFO] root: {\"said\":",
            "\"❌ AuthenticationError\"}",
        ];
        assert_eq!(told(&echo), (None, None));
        assert_eq!(
            told(&["all is well", "❌ something else", "AuthenticationError"]),
            (None, None)
        );
        let after = [echo[0], echo[1], "2026 [ERROR] x: AuthenticationError"];
        assert!(told(&after).0.is_some());
    }

    #[test]
    fn giving_up_has_a_number() {
        assert!(gave_up("API call failed after 3 retries"));
        assert!(gave_up("after lunch, and after 12 retry"));
        assert!(!gave_up("after all retries") && !gave_up("after 3 days"));
    }
}
