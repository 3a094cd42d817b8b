//! What a CLI cannot be told of what an Agent asks for.

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
        ("serviceTier", launch.service_tier.as_deref(), facts.tiers),
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
