//! What a CLI cannot be told of what an Agent asks for.

use protocol::programs::Version;
use protocol::providers::Facts;

use crate::adapter::Launch;

/// They tell nothing before their end, so the answers of their model cannot be counted.
const UNCOUNTED: &[&str] = &["openclaw"];

/// A sentence for each option that is left out.
#[must_use]
pub fn left_out(facts: &Facts, launch: &Launch) -> Vec<String> {
    let id = facts.id;
    let options = [
        ("thinkingLevel", launch.thinking.as_deref(), facts.thinks),
        (
            "serviceTier",
            launch.service_tier.as_deref(),
            facts.knows_tiers(launch.version),
        ),
    ];
    let unknown = options
        .into_iter()
        .filter(|(_, asked, knows)| asked.is_some() && !knows);
    let turns = launch.max_turns.filter(|_| UNCOUNTED.contains(&id));
    let uncounted = turns.map(|turns| {
        format!("the answers of {id}'s model cannot be counted: maxTurns {turns} is left out")
    });
    unknown
        .map(|(name, asked, _)| {
            let asked = asked.unwrap_or_default();
            format!("{id} cannot be told of {name} {asked}: it is left out")
        })
        .chain(uncounted)
        .collect()
}

/// Why a program of this version takes no remarks, where later ones do.
#[must_use]
pub fn deaf(facts: &Facts, version: Option<Version>) -> Option<String> {
    let from = facts.steers_from?;
    (!facts.takes_remarks(version)).then(|| {
        let id = facts.id;
        format!(
            "{id} takes no remarks while it works before {from}: update it in the Runtime's image"
        )
    })
}

#[cfg(test)]
mod tests {
    use protocol::providers::facts;

    use super::*;
    use crate::testing::launch;

    #[test]
    fn what_a_cli_does_not_know_is_named() {
        let asked = Launch {
            thinking: Some("high".to_owned()),
            service_tier: Some("priority".to_owned()),
            ..launch()
        };
        let of = |id: &str| left_out(facts(id).unwrap(), &asked);
        assert_eq!(of("codex"), [] as [&str; 0]);
        assert_eq!(
            of("pi"),
            ["pi cannot be told of serviceTier priority: it is left out"]
        );
        assert_eq!(of("qwen").len(), 2);
        let old = Launch {
            version: Some(Version(0, 132, 0)),
            ..asked.clone()
        };
        assert_eq!(
            left_out(facts("codex").unwrap(), &old),
            ["codex cannot be told of serviceTier priority: it is left out"]
        );
        let claude = facts("claude").unwrap();
        let why = deaf(claude, Some(Version(2, 1, 109)));
        assert!(why.is_some_and(|why| why.contains("before 2.1.110")));
        assert_eq!(deaf(claude, Some(Version(2, 1, 110))), None);
        assert_eq!(deaf(claude, None), None);
        assert_eq!(deaf(facts("qwen").unwrap(), None), None);
        let counted = Launch {
            max_turns: Some(3),
            ..launch()
        };
        let of = |id: &str| left_out(facts(id).unwrap(), &counted);
        assert_eq!(
            of("openclaw"),
            ["the answers of openclaw's model cannot be counted: maxTurns 3 is left out"]
        );
        assert_eq!(of("opencode"), [] as [&str; 0]);
        assert_eq!(left_out(facts("qwen").unwrap(), &launch()), [] as [&str; 0]);
    }
}
