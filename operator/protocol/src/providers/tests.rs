//! What the facts say of versions and of lists of tools.

use super::*;

#[test]
fn what_came_with_a_version_is_not_there_before_it() {
    let remarks = |id: &str, version| facts(id).unwrap().takes_remarks(version);
    let tiers = |id: &str, version| facts(id).unwrap().knows_tiers(version);
    for (id, before, from) in [
        ("claude", Version(2, 1, 109), Version(2, 1, 110)),
        ("grok", Version(1, 0, 13), Version(1, 0, 14)),
    ] {
        assert!(!remarks(id, Some(before)), "{id}");
        assert!(remarks(id, Some(from)) && remarks(id, None), "{id}");
    }
    let old = Version(0, 132, 9);
    assert!(!tiers("codex", Some(old)) && remarks("codex", Some(old)));
    assert!(tiers("codex", Some(Version(0, 133, 0))) && tiers("codex", None));
    assert!(!tiers("pi", None) && !remarks("qwen", None));
}

#[test]
fn what_is_not_held_is_named() {
    let words =
        |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    let policy = ToolPolicy {
        allow: words(&["Read"]),
        deny: words(&["Bash", "Edit(docs/*)", "mcp__*"]),
        require_approval: words(&["Bash(git push:*)"]),
        ..ToolPolicy::default()
    };
    let of = |support: ToolSupport| support.lacks_of(&policy).join("; ");
    assert_eq!(of(ToolSupport::ALL), "");
    assert_eq!(of(ToolSupport::NONE), "allow; deny; requireApproval");
    assert_eq!(
        of(ToolSupport::NAMES),
        "deny of more than a tool's name (Edit(docs/*) and 1 more); requireApproval"
    );
    assert_eq!(
        of(ToolSupport::DENIED),
        format!("allow; {}", of(ToolSupport::NAMES))
    );
    let names = ToolPolicy {
        deny: words(&["Bash"]),
        ..ToolPolicy::default()
    };
    assert!(ToolSupport::NAMES.lacks_of(&names).is_empty());
    assert!(ToolSupport::DENIED.lacks_of(&names).is_empty());
    assert!(
        ToolSupport::NONE
            .lacks_of(&ToolPolicy::default())
            .is_empty()
    );
}
