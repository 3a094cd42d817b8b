//! Mentions: Markdown links whose target says who is meant. Code is not looked into.

use protocol::board::{Recipient, RecipientKind};
use protocol::limits::MENTIONS;
use protocol::{MemberId, limits};
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

/// How the target of a mention begins.
const SCHEME: &str = "mention://";
/// Longest resource name.
const NAME: usize = 63;

/// Whom a text names, each once, in the order of the text; at most [`limits::MENTIONS`] in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Agents and teams, by resource name.
    pub named: Vec<Recipient>,
    /// Members.
    pub members: Vec<MemberId>,
    /// True when everybody is named.
    pub all: bool,
}

impl Mentions {
    /// True when nobody is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.members.is_empty() && !self.all
    }

    fn count(&self) -> usize {
        self.named.len() + self.members.len() + usize::from(self.all)
    }

    fn add(&mut self, target: &str) {
        match target.split_once('/') {
            Some(("agent", name)) if is_name(name) => self.name(RecipientKind::Agent, name),
            // What others call it.
            Some(("team" | "squad", name)) if is_name(name) => self.name(RecipientKind::Team, name),
            Some(("member", id)) => {
                if let Ok(id) = id.parse::<MemberId>()
                    && !self.members.contains(&id)
                {
                    self.members.push(id);
                }
            }
            Some(("all", "all")) => self.all = true,
            Some(_) | None => {}
        }
    }

    fn name(&mut self, kind: RecipientKind, name: &str) {
        let id = name.to_owned();
        let recipient = Recipient { kind, id };
        if !self.named.contains(&recipient) {
            self.named.push(recipient);
        }
    }
}

/// Whom a text names: links written `[label](mention://agent|team|member/ID)` and `[label](mention://all/all)`. What
/// stands in code, in the label of a link, or as a bare address names nobody.
#[must_use]
pub fn mentions(text: &str) -> Mentions {
    let mut found = Mentions::default();
    // Most texts name nobody; they need not be parsed.
    if !text.contains(SCHEME) {
        return found;
    }
    for event in Parser::new_ext(text, Options::empty()) {
        if let Event::Start(Tag::Link {
            link_type: LinkType::Inline,
            dest_url,
            ..
        }) = event
            && let Some(target) = dest_url.strip_prefix(SCHEME)
        {
            found.add(target);
            if found.count() >= MENTIONS {
                break;
            }
        }
    }
    found
}

/// True for a text that is meant for people only: its first word is `/note`.
#[must_use]
pub fn is_note(text: &str) -> bool {
    text.split_whitespace().next() == Some("/note")
}

fn is_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=NAME).contains(&name.len())
        && name.bytes().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

const _: () = assert!(limits::RECIPIENTS <= MENTIONS);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use protocol::limits::COMMENT_BYTES;
    use uuid::Uuid;

    use super::*;

    fn named(text: &str) -> Vec<String> {
        let named = mentions(text).named.into_iter();
        named.map(|recipient| recipient.to_string()).collect()
    }

    fn agents(text: &str) -> Vec<String> {
        let named = mentions(text).named.into_iter();
        named.map(|recipient| recipient.id).collect()
    }

    #[test]
    fn teams_are_named_under_both_words() {
        for (text, wanted) in [
            ("[Core](mention://team/core)", &["team:core"][..]),
            ("[Core](mention://squad/core)", &["team:core"]),
            (
                "[C](mention://squad/core) [C](mention://agent/core) [C](mention://team/core)",
                &["team:core", "agent:core"],
            ),
            ("[Core](mention://team/Core)", &[]),
            ("`[Core](mention://team/core)`", &[]),
        ] {
            assert_eq!(named(text), wanted, "{text}");
        }
    }

    #[test]
    fn only_links_name_somebody() {
        for (text, wanted) in [
            ("[Coder](mention://agent/coder), please", &["coder"][..]),
            ("[](mention://agent/coder)", &["coder"]),
            ("[`Coder`](mention://agent/coder)", &["coder"]),
            ("> - [Coder](<mention://agent/coder>)", &["coder"]),
            (
                "[A](mention://agent/a) [B](mention://agent/b) [A](mention://agent/a)",
                &["a", "b"],
            ),
            ("@coder", &[]),
            ("mention://agent/coder", &[]),
            ("<mention://agent/coder>", &[]),
            ("![Coder](mention://agent/coder)", &[]),
            ("`[Coder](mention://agent/coder)`", &[]),
            ("```\n[Coder](mention://agent/coder)\n```", &[]),
            ("~~~md\n[Coder](mention://agent/coder)", &[]),
            ("    [Coder](mention://agent/coder)", &[]),
            ("``a ` [Coder](mention://agent/coder)``", &[]),
            ("\\[Coder](mention://agent/coder)", &[]),
            ("<!-- [Coder](mention://agent/coder) -->", &[]),
            ("[Coder][1]\n\n[1]: mention://agent/coder", &[]),
            ("[Coder](mention://agent/Coder)", &[]),
            ("[Coder](mention://agent/co/der)", &[]),
            ("[Coder](mention://agent/)", &[]),
            ("[Coder](mention://agent/-a)", &[]),
            ("[Coder](mention://robot/coder)", &[]),
            ("[Coder](MENTION://agent/coder)", &[]),
        ] {
            assert_eq!(agents(text), wanted, "{text}");
        }
    }

    #[test]
    fn people_and_everybody() {
        let id = MemberId(Uuid::from_u128(7));
        let named = mentions(&format!(
            "[Ann](mention://member/{id}) [Ann](mention://member/{id}) [all](mention://all/all) [x](mention://member/x)"
        ));
        assert_eq!((named.members, named.all), (vec![id], true));
        assert!(mentions("[x](mention://issue/TEAM-1)").is_empty());
    }

    #[test]
    fn ten_thousand_mentions_are_a_bounded_number() {
        let text: String = (0..10_000)
            .map(|number| format!("[a](mention://agent/a{number}) "))
            .collect();
        assert_eq!(mentions(&text).named.len(), MENTIONS);
    }

    #[test]
    fn a_note_begins_with_its_word() {
        for (text, wanted) in [
            ("/note for us", true),
            ("  \n/note", true),
            ("/notes", false),
            ("a /note", false),
            ("", false),
        ] {
            assert_eq!(is_note(text), wanted, "{text}");
        }
    }

    /// Texts that cost some parsers the square of their length, or their stack.
    #[test]
    fn hostile_texts_come_to_their_end() {
        for part in [
            "[",
            "](",
            "[a](",
            "![[",
            "`",
            "``` ",
            "*a _",
            "> ",
            "- ",
            "<a ",
            "<!--",
            "&",
            "\\",
            "[a]: b\n",
            "|-|\n",
            "~~~",
            "[x](mention://agent/",
            "[[[](mention://agent/a)",
        ] {
            let text = part.repeat(COMMENT_BYTES / part.len());
            let named = mentions(&format!("{text}\n\n[a](mention://agent/a) {text}"));
            assert!(named.named.len() <= 1, "{part}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "(\\PC|\n|`|\\[|\\]|\\(|mention://agent/[a-z]){0,200}") {
            let named = mentions(&text);
            prop_assert!(named.named.iter().all(|each| is_name(&each.id)));
        }

        #[test]
        fn who_is_named_is_found_wherever_it_stands(
            before in "[a-z ]{0,40}", name in "[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?", after in "[a-z \n]{0,40}",
        ) {
            // Four spaces at the beginning of a line would be code, where nobody is named.
            let text = format!("{}. [x](mention://agent/{name}) {after}", before.trim());
            prop_assert_eq!(agents(&text), vec![name]);
            let in_code = agents(&format!("{}\n```\n{text}", before.trim()));
            prop_assert!(in_code.is_empty());
        }
    }
}
