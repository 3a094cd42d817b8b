//! From the words of a failure to its class. Adapters look at structured hints first and come here with
//! what is left: the CLI's own sentence and the tail of its stderr.

use protocol::FailureClass;

/// Outputs longer than this are answers, whatever words they hold.
const POISONED_OUTPUT_CHARS: usize = 320;

/// The last word of a program that a signal ended.
const STOPPED: &str = "stopped: terminated";

/// One way in which a text shows a class.
enum Sign {
    /// All of these words, anywhere.
    Words(&'static [&'static str]),
    /// One of these HTTP statuses, with no digit before or after it.
    Status(&'static [&'static str]),
    /// More than words; see the function.
    Seen(fn(&str) -> bool),
}

use Sign::{Seen, Status, Words};

/// The first rule with a sign in the text decides. The order is from the special to the
/// general, with corrections that real texts asked for; each of those stands in the tests.
const RULES: &[(FailureClass, &[Sign])] = &[
    (FailureClass::HistoryRejected, &[Seen(is_refused_history)]),
    // Before the name of the model, which a 404 speaks of otherwise.
    (FailureClass::CliTooOld, &[Seen(is_retired_compaction)]),
    (
        FailureClass::ContextOverflow,
        &[
            Words(&["context length"]),
            Words(&["context_length_exceeded"]),
            Words(&["maximum context"]),
            Words(&["prompt is too long"]),
            Words(&["context exceeds model limit"]),
            Words(&["prompt as too long"]),
            Words(&["prompt_too_long"]),
            Words(&["context size has been exceeded"]),
            Words(&["context window limit"]),
            Words(&["model_context_window_exceeded"]),
            Words(&["ran out of room in the model's context window"]),
            Words(&["contextoverflowerror"]),
            Words(&["context.overflow"]),
            Words(&["exceeds the maximum number of tokens"]),
            Seen(is_token_limit),
        ],
    ),
    // Before the credentials: "it may not exist or you may not have access to it" is about the name.
    (
        FailureClass::ModelNotFound,
        &[
            Words(&["selected model"]),
            // All that dsh tells of Anthropic's 404 is the name.
            Words(&["turn failed: model: "]),
            Words(&["model", "does not exist"]),
        ],
    ),
    (
        FailureClass::ConfigMissing,
        &[
            Words(&["missing environment variable"]),
            Words(&["missing", "api_key"]),
            Words(&["api key", "required"]),
            Words(&["no llm provider configured"]),
            Words(&["no provider configured"]),
            Words(&["no models available"]),
        ],
    ),
    (
        FailureClass::ProviderAuth,
        &[
            Status(&["401", "403"]),
            Words(&["unauthorized"]),
            Words(&["login required"]),
            Words(&["not logged in"]),
            Words(&["please login again"]),
            Words(&["refresh token"]),
            Words(&["invalid api key"]),
            Words(&["invalid x-api-key"]),
            Words(&["api key not valid"]),
            Words(&["incorrect api key"]),
            Words(&["access token"]),
            Words(&["authentication required"]),
            Words(&["could not resolve authentication method"]),
            Words(&["no authentication information"]),
            Words(&["failed to authenticate"]),
            Words(&["subscription access"]),
            Words(&["does not have access"]),
            Words(&["you may not have access"]),
        ],
    ),
    // Before the quota, of which its words are a guess: "Resource has been exhausted (e.g. check quota)".
    (
        FailureClass::ProviderOverloaded,
        &[Words(&["resource has been exhausted"])],
    ),
    (
        FailureClass::ProviderQuota,
        &[
            Status(&["402"]),
            Words(&["insufficient_balance"]),
            Words(&["balance is too low"]),
            Words(&["credit balance"]),
            Words(&["monthly usage limit"]),
            Words(&["usage limit"]),
            Words(&["you've hit your limit"]),
            Words(&["credits"]),
            Words(&["quota"]),
        ],
    ),
    (
        FailureClass::ProviderOverloaded,
        &[
            Status(&["429", "529"]),
            Words(&["rate limit"]),
            Words(&["overloaded"]),
            Words(&["no capacity available"]),
        ],
    ),
    (
        FailureClass::ProviderServerError,
        &[
            Words(&["server had an error"]),
            Words(&["provider returned error"]),
            Words(&["internal error"]),
            Words(&["internal server error"]),
            Words(&["service unavailable"]),
            Words(&["bad gateway"]),
            Words(&["high demand"]),
            Status(&["500", "501", "502", "503", "504"]),
        ],
    ),
    (
        FailureClass::ProviderNetwork,
        &[
            Words(&["stream disconnected"]),
            Words(&["opencode stream ended"]),
            Words(&["connection closed"]),
            Words(&["peer closed connection"]),
            Words(&["connection error"]),
            Words(&["connection dropped"]),
            Words(&["mid-response"]),
            Words(&["reading a body from connection"]),
            Words(&["error sending request"]),
            Words(&["unable to connect"]),
            Words(&["dial tcp"]),
            Words(&["connection refused"]),
            Words(&["connectionrefused"]),
            Words(&["econnreset"]),
            Words(&["other side closed"]),
            Words(&["und_err_"]),
            Seen(is_cut_fetch),
            Words(&["fetch failed"]),
            Words(&["enotfound"]),
            Words(&["dns"]),
            Words(&["i/o timeout"]),
            Words(&["deadline exceeded"]),
            Words(&["timeout exceeded while awaiting"]),
        ],
    ),
    (
        FailureClass::ModelNotFound,
        &[
            Words(&["model", "not found"]),
            Words(&["unknown model"]),
            Words(&["http 404"]),
            Words(&["404 page not found"]),
            Words(&["modelnotfound"]),
        ],
    ),
    // After everything that a provider also words as a bad request, such as an empty credit balance.
    (FailureClass::HistoryRejected, &[Seen(is_invalid_request)]),
    (
        FailureClass::EmptyOutput,
        &[
            Words(&["returned empty output"]),
            Words(&["returned an empty response"]),
            Words(&["returned no parseable output"]),
            Words(&["no parseable json events"]),
        ],
    ),
    (FailureClass::TaskTimeout, &[Words(&["timed out after"])]),
    (
        FailureClass::CliMissing,
        &[
            Words(&["executable not found"]),
            Words(&["exec format error"]),
        ],
    ),
    (
        FailureClass::CliTooOld,
        &[
            Words(&["below the minimum supported version"]),
            Words(&["requires a newer version"]),
            Words(&["is too old"]),
        ],
    ),
    (
        FailureClass::CliCrashed,
        &[
            Words(&["exit status"]),
            Words(&["signal"]),
            Words(&["panic"]),
            Words(&["sigsegv"]),
            Words(&["process exited"]),
            Words(&[STOPPED]),
            Words(&["pipe has been ended"]),
            Words(&["file already closed"]),
            Words(&["initialize failed"]),
        ],
    ),
];

/// What Qwen Code adds to each refusal for a rate: a guess of its own, which its provider did not say.
const GUESS: &str = "possible quota limitations in place";

/// The class that the words of a failure show; [`FailureClass::Unknown`] when they show none.
#[must_use]
pub fn classify(text: &str) -> FailureClass {
    let text = plain(text).replace(GUESS, "");
    let shows = |sign: &Sign| match sign {
        Words(words) => words.iter().all(|word| text.contains(word)),
        Status(codes) => codes.iter().any(|code| has_status(&text, code)),
        Seen(is) => is(&text),
    };
    RULES
        .iter()
        .find(|(_, signs)| signs.iter().any(shows))
        .map_or(FailureClass::Unknown, |(class, _)| *class)
}

/// The class that the words of a failure show, or this one when they show none.
#[must_use]
pub fn classify_or(text: &str, otherwise: FailureClass) -> FailureClass {
    let class = classify(text);
    if class == FailureClass::Unknown {
        otherwise
    } else {
        class
    }
}

/// The class of a failure of which a field says this much, and these words the rest.
///
/// The field comes first: a provider's words may speak of anything. Words go before it where they are evidence of what no
/// status tells, or tell more exactly what the same status stands for.
#[must_use]
pub fn hinted(field: Option<FailureClass>, words: &str) -> FailureClass {
    use FailureClass::{
        ContextOverflow, HistoryRejected, ProviderOverloaded, ProviderQuota, ProviderServerError,
    };
    let said = classify(words);
    match (field, said) {
        (Some(_), HistoryRejected)
        | (Some(ProviderOverloaded), ProviderQuota)
        | (Some(ProviderServerError), ProviderOverloaded | ContextOverflow)
        | (None, _) => said,
        (Some(class), _) => class,
    }
}

/// The class that a provider's HTTP status shows by itself.
#[must_use]
pub fn of_status(status: u16) -> Option<FailureClass> {
    match status {
        401 | 403 => Some(FailureClass::ProviderAuth),
        402 => Some(FailureClass::ProviderQuota),
        404 => Some(FailureClass::ModelNotFound),
        429 | 529 => Some(FailureClass::ProviderOverloaded),
        500..=599 => Some(FailureClass::ProviderServerError),
        _ => None,
    }
}

/// True when the provider says that it will never take the stored messages again, however often they are
/// sent: positive evidence that the conversation cannot go on.
#[must_use]
pub fn refuses_history(text: &str) -> bool {
    is_refused_history(&plain(text))
}

/// True when the provider has retired the address at which an older Codex lets it compact a conversation.
#[must_use]
pub fn compaction_is_retired(text: &str) -> bool {
    is_retired_compaction(&plain(text))
}

/// The failure that an answer is, though the CLI called it a success: the conversation is spent, and
/// every later turn would end with the same words.
#[must_use]
pub fn of_poisoned_output(output: &str) -> Option<FailureClass> {
    if output.chars().count() > POISONED_OUTPUT_CHARS {
        return None;
    }
    let text = plain(output);
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    if has(&["i reached the iteration limit"])
        || has(&["put your final update inside the content string"])
    {
        return Some(FailureClass::IterationLimit);
    }
    let spent = has(&["prompt is too long", "cannot be compacted"])
        || has(&["conversation too long", "press esc twice"])
        || has(&["compaction failed", "reduced below the context limit"])
        || has(&["context length exceeded", "cannot compress further"]);
    spent.then_some(FailureClass::ContextOverflow)
}

/// Lower case, and one kind of apostrophe.
fn plain(text: &str) -> String {
    text.to_lowercase().replace('\u{2019}', "'")
}

fn has_status(text: &str, code: &str) -> bool {
    text.match_indices(code).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + code.len()..].chars().next();
        ![before, after]
            .into_iter()
            .flatten()
            .any(|c| c.is_ascii_alphanumeric())
    })
}

fn is_retired_compaction(text: &str) -> bool {
    let compacts = text.contains("remote compact task") || text.contains("/responses/compact");
    compacts && ["404", "410"].iter().any(|code| has_status(text, code))
}

/// "token" and "limit" in one sentence, unless it is the rate that is limited.
fn is_token_limit(text: &str) -> bool {
    let of_rate = ["rate limit", "per min", "tpm"]
        .iter()
        .any(|word| text.contains(word))
        || has_status(text, "429");
    let mut sentences = text.split(['.', '!', '?', ';', '\n']);
    !of_rate && sentences.any(|sentence| sentence.contains("token") && sentence.contains("limit"))
}

/// All that Node says of an answer that broke off.
fn is_cut_fetch(text: &str) -> bool {
    let text = text.trim_end();
    !text.ends_with(STOPPED) && (text == "terminated" || text.ends_with(": terminated"))
}

fn is_refused_history(text: &str) -> bool {
    let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let empty = any(&[
        "must not be empty",
        "must be non-empty",
        "must have non-empty",
        "non-empty content",
        "cannot be empty",
        "should not be empty",
    ]);
    let place = any(&["assistant message", "message at position"])
        || (text.contains("role") && text.contains("assistant"))
        || has_message_index(text);
    (empty && place)
        || (any(&["thinking", "redacted_thinking"]) && text.contains("cannot be modified"))
        || (text.contains("image dimensions exceed max allowed size")
            && text.contains("image.source.base64.data"))
}

/// `messages.3` or `messages[3`.
fn has_message_index(text: &str) -> bool {
    text.match_indices("messages").any(|(at, word)| {
        let mut rest = text[at + word.len()..].chars();
        matches!(rest.next(), Some('.' | '[')) && rest.next().is_some_and(|c| c.is_ascii_digit())
    })
}

fn is_invalid_request(text: &str) -> bool {
    has_status(text, "400") && text.contains("invalid_request_error")
}

#[cfg(test)]
mod tests {
    use FailureClass as C;
    use proptest::prelude::*;

    use super::*;

    /// Real texts that the order of the taxonomy alone would put into the wrong class.
    #[test]
    fn corrections_of_the_order() {
        let rate = "429 Rate limit reached for m in organization o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000";
        for (text, class) in [
            (rate, C::ProviderOverloaded),
            (
                "There's an issue with the selected model (m). It may not exist or you may not have access to it.",
                C::ModelNotFound,
            ),
            (
                "The model `m` does not exist or you do not have access to it.",
                C::ModelNotFound,
            ),
            (
                "status 429 … Resource has been exhausted (e.g. check quota).",
                C::ProviderOverloaded,
            ),
            (
                "[API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}]\nPossible quota limitations in place or slow response times detected. Please wait and try again later.",
                C::ProviderOverloaded,
            ),
            (
                "[API Error: 429 You exceeded your current quota.]\nPossible quota limitations in place or slow response times detected.",
                C::ProviderQuota,
            ),
            ("Stopped: terminated", C::CliCrashed),
            (
                "API Error: 400 invalid_request_error: Credit balance is too low",
                C::ProviderQuota,
            ),
            (
                "API Error: Connection dropped (ECONNRESET). Check the gateway …",
                C::ProviderNetwork,
            ),
            (
                "We're currently experiencing high demand, which may cause temporary errors.",
                C::ProviderServerError,
            ),
            (
                "Authentication failed with provider at http://… (HTTP 401).",
                C::ProviderAuth,
            ),
            (
                "Codex ran out of room in the model's context window. …",
                C::ContextOverflow,
            ),
            (
                "Last error: error decoding response body: error reading a body from connection: unexpected EOF",
                C::ProviderNetwork,
            ),
            (
                "Context length exceeded (19 tokens). Cannot compress further",
                C::ContextOverflow,
            ),
        ] {
            assert_eq!(classify(text), class, "{text}");
        }
    }

    #[test]
    fn words_seen_at_real_clis() {
        let overflow = "Prompt is too long · the request is ~208310 tokens (limit 200000) but this conversation is only ~2634 tokens";
        for (text, class) in [
            (overflow, C::ContextOverflow),
            ("Your tokens exceed the limit", C::ContextOverflow),
            (
                "Error running remote compact task: unexpected status 404 Not Found: Not Found, url: http://127.0.0.1:8080/v1/responses",
                C::CliTooOld,
            ),
            (
                "Error running remote compact task: unexpected status 500 Internal Server Error",
                C::ProviderServerError,
            ),
            ("Not logged in · Please run /login", C::ProviderAuth),
            (
                "Internal error: turn failed: invalid x-api-key",
                C::ProviderAuth,
            ),
            (
                "Internal error: turn failed: model: scripted-1",
                C::ModelNotFound,
            ),
            (
                "API Error: 529 Overloaded. This is a server-side issue",
                C::ProviderOverloaded,
            ),
            (
                "API Error: 500 Internal server error.",
                C::ProviderServerError,
            ),
            (
                "Connection refused — a firewall may be blocking it",
                C::ProviderNetwork,
            ),
            (
                "You\u{2019}ve hit your limit · resets 5pm",
                C::ProviderQuota,
            ),
            ("Missing environment variable: `X`.", C::ConfigMissing),
            ("Connection error.", C::ProviderNetwork),
            (
                "terminated: other side closed (UND_ERR_SOCKET)",
                C::ProviderNetwork,
            ),
            ("the turn failed: terminated", C::ProviderNetwork),
            (
                "peer closed connection without sending complete message body (incomplete chunked read)",
                C::ProviderNetwork,
            ),
            (
                "The provider rejected the prompt as too long, but automatic recovery could not reduce it.",
                C::ContextOverflow,
            ),
            (
                "Internal error: Session too large to compact - context exceeds model limit even after stripping media",
                C::ContextOverflow,
            ),
            (
                "API key not valid. Please pass a valid API key.",
                C::ProviderAuth,
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                C::ContextOverflow,
            ),
            ("model m not found", C::ModelNotFound),
            ("claude timed out after 30s", C::TaskTimeout),
            ("exec format error", C::CliMissing),
            ("2.0.1 is too old", C::CliTooOld),
            ("process exited with 3", C::CliCrashed),
            (
                "messages.4: all messages must have non-empty content",
                C::HistoryRejected,
            ),
            (
                "`thinking` blocks in the latest assistant message cannot be modified",
                C::HistoryRejected,
            ),
            (
                "400 {\"type\":\"invalid_request_error\",\"message\":\"x\"}",
                C::HistoryRejected,
            ),
            ("something else", C::Unknown),
            ("", C::Unknown),
        ] {
            assert_eq!(classify(text), class, "{text}");
        }
    }

    #[test]
    fn a_status_stands_alone() {
        for (text, class) in [
            ("4011 of 1401", C::Unknown),
            ("(401)", C::ProviderAuth),
            ("code=529,", C::ProviderOverloaded),
            ("15000", C::Unknown),
            ("The word was efa4cbd2eebc403fb0.", C::Unknown),
        ] {
            assert_eq!(classify(text), class, "{text}");
        }
    }

    #[test]
    fn one_word_of_a_pair_shows_nothing() {
        for text in [
            "messages.4 is odd",
            "must not be empty",
            "a model",
            "the token. the limit",
            "invalid_request_error",
        ] {
            assert_eq!(classify(text), C::Unknown, "{text}");
        }
    }

    #[test]
    fn spent_conversations_are_seen_in_short_answers_only() {
        let limit = "I reached the iteration limit and could not finish.";
        assert_eq!(of_poisoned_output(limit), Some(C::IterationLimit));
        assert_eq!(
            of_poisoned_output("Prompt is too long. This conversation cannot be compacted."),
            Some(C::ContextOverflow)
        );
        assert_eq!(
            of_poisoned_output("Context length exceeded (19 tokens). Cannot compress further."),
            Some(C::ContextOverflow)
        );
        assert_eq!(
            of_poisoned_output("Done: the prompt is too long no more."),
            None
        );
        assert_eq!(
            of_poisoned_output(&format!("{limit} {}", "word ".repeat(80))),
            None
        );
    }

    proptest! {
        #[test]
        fn any_text_has_a_class(text in ".{0,400}") {
            let class = classify(&text);
            prop_assert!(FailureClass::ALL.contains(&class));
            let _ = of_poisoned_output(&text);
        }

        #[test]
        fn letter_case_says_nothing(text in "[a-zA-Z0-9 .:]{0,80}") {
            prop_assert_eq!(classify(&text), classify(&text.to_uppercase()));
        }
    }
}
