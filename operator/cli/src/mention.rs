//! `@name`, as people type it, becomes the link that wakes somebody.

use std::fmt::Write as _;
use std::ops::Range;

use client::Board;
use protocol::board::RecipientKind;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::failure::Failure;
use crate::text;
use crate::who::{Named, Who};

/// Stands for everybody, unless somebody is called so.
const ALL: &str = "all";
const HOW: &str = "@agent:NAME, @team:NAME and @member:USER say which; in backticks, or with --as-is, it stays as it is";

/// The text with links in place of names. Who is there is only asked for when there is a name in it.
pub(crate) async fn link(text: String, board: &Board<'_>) -> Result<String, Failure> {
    let found = names(&text);
    if found.is_empty() {
        return Ok(text);
    }
    let who = Who::load(board).await?;
    replace(&text, &found, &who).map_err(Failure::Usage)
}

fn replace(text: &str, found: &[Range<usize>], who: &Who) -> Result<String, String> {
    let mut linked = String::with_capacity(text.len());
    let mut done = 0;
    for range in found {
        let name = &text[range.start + 1..range.end];
        linked.push_str(&text[done..range.start]);
        match who.find(name) {
            Ok(named) => linked.push_str(&mention(&named)),
            Err(_) if name == ALL => linked.push_str("[@all](mention://all/all)"),
            Err(problem) => return Err(format!("@{name} in the text: {problem}. {HOW}")),
        }
        done = range.end;
    }
    linked.push_str(&text[done..]);
    Ok(linked)
}

fn mention(named: &Named) -> String {
    let kind = match named.recipient.kind {
        RecipientKind::Agent => "agent",
        RecipientKind::Member => "member",
        RecipientKind::Team => "team",
    };
    let mut link = String::from("[@");
    for each in text::line(&named.label).chars() {
        if each.is_ascii_punctuation() && !"@.-:".contains(each) {
            link.push('\\');
        }
        link.push(each);
    }
    let _ = write!(link, "](mention://{kind}/{})", named.recipient.id);
    link
}

/// Where names stand in a text, with their `@`.
fn names(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // Most texts name nobody; they need not be parsed.
    if !text.contains('@') {
        return found;
    }
    for range in prose(text) {
        let mut from = range.start;
        while let Some(at) = text[from..range.end].find('@').map(|at| from + at) {
            let end = at + 1 + name_length(&text[at + 1..range.end]);
            if end > at + 1 && begins_word(text, at) && !is_path(text, end) {
                found.push(at..end);
            }
            from = end.max(at + 1);
        }
    }
    found
}

/// The parts of a Markdown text that are neither code nor in a link, read as the operator reads mentions.
fn prose(text: &str) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut closed = 0_usize;
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        if let Event::Start(tag) = &event {
            closed += usize::from(is_closed(tag));
        } else if let Event::End(
            TagEnd::CodeBlock | TagEnd::Link | TagEnd::Image | TagEnd::HtmlBlock,
        ) = event
        {
            closed = closed.saturating_sub(1);
        } else if matches!(event, Event::Text(_)) && closed == 0 {
            match parts.last_mut() {
                // One word may come in several parts.
                Some(last) if last.end == range.start => last.end = range.end,
                Some(_) | None => parts.push(range),
            }
        }
    }
    parts
}

/// What is not looked into.
fn is_closed(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::CodeBlock(_) | Tag::Link { .. } | Tag::Image { .. } | Tag::HtmlBlock
    )
}

/// Bytes of the name at the beginning of a text. A full stop, a comma or a colon after it is not of it.
fn name_length(text: &str) -> usize {
    let is_name = |each: char| each.is_alphanumeric() || "-_.:@".contains(each);
    let end = text.find(|each| !is_name(each)).unwrap_or(text.len());
    text[..end]
        .trim_end_matches(|each: char| !each.is_alphanumeric())
        .len()
}

/// Addresses and escaped signs are no names, nor what follows a `!`: with it, a link would be an image.
fn begins_word(text: &str, at: usize) -> bool {
    text[..at]
        .chars()
        .next_back()
        .is_none_or(|before| before.is_whitespace() || "([{\"'*_~>,;:–—".contains(before))
}

/// `@scope/package` is none either.
fn is_path(text: &str, end: usize) -> bool {
    let mut after = text[end..].chars();
    after.next() == Some('/') && after.next().is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::who::tests::who;

    fn linked(text: &str) -> Result<String, String> {
        replace(text, &names(text), &who())
    }

    #[test]
    fn a_name_becomes_a_link() {
        let reviewer = "[@Strict Reviewer](mention://agent/reviewer)";
        let grace =
            "[@oidc:grace@example.com](mention://member/00000000-0000-0000-0000-000000000009)";
        for (text, wanted) in [
            ("@reviewer", reviewer.to_owned()),
            ("@reviewer, please.", format!("{reviewer}, please.")),
            ("Ask (@grace).", format!("Ask ({grace}).")),
            (
                "*@reviewer* and @grace@example.com",
                format!("*{reviewer}* and {grace}"),
            ),
            ("- @reviewer: look\n- b", format!("- {reviewer}: look\n- b")),
            (
                "@agent:ada!",
                r"[@Ada \[bot\]](mention://agent/ada)!".to_owned(),
            ),
            (
                "@core and @team:core",
                "[@The Core](mention://team/core) and [@The Core](mention://team/core)".to_owned(),
            ),
            ("@all", "[@all](mention://all/all)".to_owned()),
            ("é @reviewer é", format!("é {reviewer} é")),
        ] {
            assert_eq!(linked(text).unwrap(), wanted);
        }
    }

    #[test]
    fn what_is_no_name_stays() {
        for text in [
            "`@reviewer`",
            "```\n@reviewer\n```",
            "~~~\n@nobody",
            "    @nobody",
            "[@nobody](https://x)",
            "![@nobody](x)",
            "[@Strict Reviewer](mention://agent/reviewer)",
            "<https://x/@nobody>",
            "https://x/@nobody",
            "me@example.com",
            r"\@nobody",
            "@types/node",
            "!@reviewer",
            "a @ b",
            "@",
            "@@",
            "<!-- @nobody -->",
        ] {
            assert_eq!(linked(text).as_deref(), Ok(text));
        }
    }

    #[test]
    fn who_cannot_be_told_is_asked_about() {
        let words = linked("Hi @ada").unwrap_err();
        assert!(
            words.starts_with("@ada in the text: ") && words.ends_with(HOW),
            "{words}"
        );
        assert!(
            linked("@Override")
                .unwrap_err()
                .contains("nobody is called")
        );
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "(\\PC|\n|`|\\[|\\]|@|@reviewer|é){0,200}") {
            for range in names(&text) {
                prop_assert!(text[range].starts_with('@'));
            }
        }

        #[test]
        fn the_operator_sees_whom_was_linked(
            text in "(a| |\n|`|\\[|\\]|\\(|\\)|<|>|!|- |    |@reviewer|@grace|[*_.]){0,60}",
        ) {
            let found = names(&text);
            if let Ok(linked) = replace(&text, &found, &who()) {
                let seen = wake::mentions(&linked);
                let named = |name| found.iter().any(|range| &text[range.clone()] == name);
                prop_assert_eq!(!seen.named.is_empty(), named("@reviewer"), "{:?}", linked);
                prop_assert_eq!(!seen.members.is_empty(), named("@grace"), "{:?}", linked);
            }
        }

        #[test]
        fn what_is_linked_is_linked_once(text in "(a| |\n|`|\\[|\\]|\\(|\\)|@reviewer|[*_.]){0,60}") {
            if let Ok(once) = linked(&text) {
                prop_assert_eq!(linked(&once), Ok(once));
            }
        }
    }
}
