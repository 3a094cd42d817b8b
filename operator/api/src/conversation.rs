//! What becomes of the conversation: the server's half of the decision (design §7). The runner then looks
//! whether the session really is in the CLI's own store.

use protocol::{Evidence, ProviderSession, SessionBrief, SessionPolicy};
use store::{AttemptRow, SessionRow};

/// What the decision rests on.
#[derive(Clone, Copy)]
pub(crate) struct Past<'a> {
    /// What the task asks for.
    pub(crate) policy: SessionPolicy,
    /// The session, whose runs count the present one.
    pub(crate) session: &'a SessionRow,
    /// The present attempt.
    pub(crate) attempt: &'a AttemptRow,
    /// Earlier attempts of the same task, newest first.
    pub(crate) earlier: &'a [AttemptRow],
}

/// Decides, and says why where there is nothing to resume.
pub(crate) fn decide(past: Past<'_>) -> SessionBrief {
    let Past {
        policy, session, ..
    } = past;
    let has_past = session.runs > 1;
    let (resume, not_resumable) = match (policy, usable(past)) {
        // Asked for, so nothing has to be explained.
        (SessionPolicy::Fresh, _) => (None, None),
        (SessionPolicy::Resume | SessionPolicy::Require, Ok(session)) => (Some(session), None),
        // Without a past a fresh start is what anyone expects, except who requires a past.
        (SessionPolicy::Resume, Err(why)) => (None, has_past.then_some(why)),
        (SessionPolicy::Require, Err(why)) => (None, Some(why)),
    };
    SessionBrief {
        policy,
        resume,
        not_resumable,
        volume: volume(past),
        has_past,
    }
}

/// The conversation to resume, or a sentence on why there is none.
fn usable(
    Past {
        session, attempt, ..
    }: Past<'_>,
) -> Result<ProviderSession, String> {
    let Some(pointer) = &session.pointer else {
        return Err(match (session.runs > 1, session.retired.is_empty()) {
            (false, _) => "this is the first run on this subject".to_owned(),
            (true, true) => "no earlier run left a conversation that can be resumed".to_owned(),
            (true, false) => "the earlier conversation can no longer be resumed".to_owned(),
        });
    };
    let (made_by, runs_on) = (&pointer.session.provider, &attempt.provider);
    if made_by != runs_on {
        return Err(format!(
            "the earlier conversation was held with {made_by}, and this run is with {runs_on}"
        ));
    }
    if session.retired.contains(&pointer.session.id) {
        return Err("the earlier conversation can no longer be resumed".to_owned());
    }
    // Where one of the two is unknown the runner looks: it has the files before it.
    match (&pointer.claim_uid, claim(session, attempt)) {
        (Some(then), Some(now)) if then != now => Err(
            "the volume with the earlier conversation is gone, and with it the files".to_owned(),
        ),
        (Some(_) | None, Some(_) | None) => Ok(pointer.session.clone()),
    }
}

/// Whether the volume is that of an earlier run.
fn volume(
    Past {
        session,
        attempt,
        earlier,
        ..
    }: Past<'_>,
) -> Evidence {
    if session.runs <= 1 {
        return Evidence::no("first run on this subject, so the volume is new");
    }
    let Some(now) = claim(session, attempt) else {
        return Evidence::unknown("the volume claim of this run was not recorded yet");
    };
    let pointed = session
        .pointer
        .as_ref()
        .and_then(|pointer| pointer.claim_uid.as_deref());
    let tried = earlier
        .iter()
        .find_map(|attempt| attempt.claim_uid.as_deref());
    match pointed.or(tried) {
        Some(then) if then == now => Evidence::yes(format!("same volume claim, UID {now}")),
        Some(then) => Evidence::no(format!(
            "volume claim with UID {now}; that of the last run had {then}"
        )),
        None => Evidence::unknown("no earlier run left the UID of its volume claim"),
    }
}

/// UID of the claim that this attempt's pod mounts.
fn claim<'a>(session: &'a SessionRow, attempt: &'a AttemptRow) -> Option<&'a str> {
    attempt
        .claim_uid
        .as_deref()
        .or(session.claim_uid.as_deref())
}

#[cfg(test)]
mod tests {
    use protocol::Answer;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::package::tests::{Rows, rows};

    const NEW: &str = "this is the first run on this subject";
    const LOST: &str = "the volume with the earlier conversation is gone, and with it the files";

    #[rstest]
    #[case::first_run(json!({"runs": 1, "pointer": null}), Ok(None), Answer::No)]
    #[case::first_run_required(json!({"runs": 1, "pointer": null, "policy": "Require"}), Err(NEW), Answer::No)]
    #[case::last_run_ended(json!({}), Ok(Some("s1")), Answer::Yes)]
    #[case::required(json!({"policy": "Require"}), Ok(Some("s1")), Answer::Yes)]
    #[case::fresh(json!({"policy": "Fresh"}), Ok(None), Answer::Yes)]
    #[case::fresh_without_a_past(json!({"policy": "Fresh", "runs": 1, "pointer": null}), Ok(None), Answer::No)]
    #[case::poisoned(
        json!({"pointer": null, "retired": ["s1"]}),
        Err("the earlier conversation can no longer be resumed"),
        Answer::Unknown
    )]
    #[case::nothing_left(
        json!({"pointer": null}),
        Err("no earlier run left a conversation that can be resumed"),
        Answer::Unknown
    )]
    #[case::retired_all_the_same(
        json!({"retired": ["s0", "s1"]}),
        Err("the earlier conversation can no longer be resumed"),
        Answer::Yes
    )]
    #[case::other_provider(
        json!({"provider": "codex"}),
        Err("the earlier conversation was held with claude, and this run is with codex"),
        Answer::Yes
    )]
    #[case::volume_lost(json!({"claim": "c2"}), Err(LOST), Answer::No)]
    #[case::volume_lost_required(json!({"claim": "c2", "policy": "Require"}), Err(LOST), Answer::No)]
    #[case::volume_not_seen_yet(json!({"claim": null}), Ok(Some("s1")), Answer::Unknown)]
    #[case::pointer_without_a_volume(json!({"pointed": null}), Ok(Some("s1")), Answer::Unknown)]
    #[case::only_an_earlier_attempt_tells(
        json!({"pointer": null, "earlier": "c1"}),
        Err("no earlier run left a conversation that can be resumed"),
        Answer::Yes
    )]
    #[tokio::test]
    async fn decisions(
        #[case] facts: serde_json::Value,
        #[case] wanted: Result<Option<&str>, &str>,
        #[case] volume: Answer,
    ) {
        let fact =
            |name: &str, default: serde_json::Value| facts.get(name).cloned().unwrap_or(default);
        let Rows {
            mut session,
            attempt,
            ..
        } = rows().await;
        session.runs = fact("runs", json!(2)).as_u64().unwrap();
        session.retired = serde_json::from_value(fact("retired", json!([]))).unwrap();
        if let Some(pointer) = &mut session.pointer {
            pointer.claim_uid = fact("pointed", json!("c1")).as_str().map(str::to_owned);
        }
        session.pointer.take_if(|_| facts.get("pointer").is_some());
        let mut present = attempt.clone();
        present.claim_uid = fact("claim", json!("c1")).as_str().map(str::to_owned);
        session.claim_uid = None;
        present.provider = fact("provider", json!("claude"))
            .as_str()
            .unwrap()
            .to_owned();
        let mut before = attempt;
        before.claim_uid = fact("earlier", json!(null)).as_str().map(str::to_owned);
        let policy =
            SessionPolicy::parse(fact("policy", json!("Resume")).as_str().unwrap()).unwrap();

        let brief = decide(Past {
            policy,
            session: &session,
            attempt: &present,
            earlier: &[before],
        });

        let resume = brief.resume.as_ref().map(|session| session.id.as_str());
        let decided = brief.not_resumable.as_deref().map_or(Ok(resume), Err);
        assert_eq!(decided, wanted);
        assert!(brief.not_resumable.is_none() || brief.resume.is_none());
        assert_eq!(brief.volume.answer, volume, "{}", brief.volume.evidence);
        assert_eq!((brief.policy, brief.has_past), (policy, session.runs > 1));
    }
}
