//! Agents and people by the names that one types.

use std::collections::HashMap;

use client::{Board, Caller, PageQuery};
use protocol::board::{AgentCard, Member, Page, Recipient, RecipientKind, TeamCard};
use protocol::{MemberId, limits};

use crate::failure::Failure;
use crate::session::Session;
use crate::text;

/// Pages that are read to know everybody. A workspace that has more agents or members needs ids.
const PAGES: u32 = 20;
/// Names in a message.
const CANDIDATES: usize = 10;
/// What stands for the caller.
const ME: &str = "me";

/// Everybody whom a name can mean.
#[derive(Debug, Default)]
pub(crate) struct Who {
    agents: Vec<AgentCard>,
    teams: Vec<TeamCard>,
    members: Vec<Member>,
}

/// Somebody, and what to call them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) recipient: Recipient,
    pub(crate) label: String,
    /// The word that names nobody else.
    exact: String,
}

impl Who {
    /// Asks for everybody.
    pub(crate) async fn load(board: &Board<'_>) -> Result<Self, Failure> {
        Ok(Self {
            agents: all(async |query| board.agents(&query).await).await?,
            teams: all(async |query| board.teams(&query).await).await?,
            members: all(async |query| board.members(&query).await).await?,
        })
    }

    /// The one whom a name means: `reviewer`, `ada`, `ada@example.com`, `agent:reviewer`, `team:core`, `member:ada`.
    pub(crate) fn find(&self, name: &str) -> Result<Named, String> {
        let mut found = self.matching(name);
        match (found.pop(), found.is_empty()) {
            (Some(one), true) => Ok(one),
            (Some(last), false) => {
                found.push(last);
                Err(format!("{name:?} may mean {}", list(&found)))
            }
            (None, _) => {
                let everybody = self.everybody();
                Err(if everybody.is_empty() {
                    format!("nobody is called {name:?}: there is nobody")
                } else {
                    format!("nobody is called {name:?}; there are {}", list(&everybody))
                })
            }
        }
    }

    fn matching(&self, name: &str) -> Vec<Named> {
        let of_kind = |(kind, name)| Some((RecipientKind::parse(kind)?, name));
        let (kind, name) = match name.split_once(':').and_then(of_kind) {
            Some((kind, name)) => (Some(kind), name),
            None => (None, name),
        };
        let may_be = |one: RecipientKind| kind.is_none_or(|kind| kind == one);
        let agents = self.agents.iter().filter(|each| {
            may_be(RecipientKind::Agent) && is_called(&each.name, &each.display_name, name)
        });
        let teams = self.teams.iter().filter(|each| {
            may_be(RecipientKind::Team) && is_called(&each.name, &each.display_name, name)
        });
        let members = self
            .members
            .iter()
            .filter(|each| may_be(RecipientKind::Member) && is_member(each, name));
        let named = agents.map(agent).chain(teams.map(team));
        named.chain(members.map(member)).collect()
    }

    fn everybody(&self) -> Vec<Named> {
        let named = self.agents.iter().map(agent);
        let named = named.chain(self.teams.iter().map(team));
        named.chain(self.members.iter().map(member)).collect()
    }
}

/// Whom an argument means: `me`, an id with its kind, or a name. The kind may stand before a slash, too.
pub(crate) async fn recipient(session: &Session, word: &str) -> Result<Recipient, Failure> {
    let with_colon = match word.split_once('/') {
        Some((kind, name)) if RecipientKind::parse(kind).is_some() => format!("{kind}:{name}"),
        Some(_) | None => word.to_owned(),
    };
    let word = with_colon.as_str();
    if let Some(id) = word.strip_prefix("member:")
        && id.parse::<MemberId>().is_ok()
    {
        return Ok(Recipient {
            kind: RecipientKind::Member,
            id: id.to_owned(),
        });
    }
    let board = session.board()?;
    let name = if word == ME {
        match session.client.caller(&session.token).await? {
            Caller::Agent(me) => format!("agent:{}", me.agent),
            Caller::Person(me) => format!("member:{}", me.user),
        }
    } else {
        word.strip_prefix('@').unwrap_or(word).to_owned()
    };
    let who = Who::load(&board).await?;
    let found = who.find(&name).map_err(Failure::Usage)?;
    Ok(found.recipient)
}

/// Names of members, for answers that hold their ids only.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<String, String>);

impl Names {
    /// Asks for them if one of these is a member. What is not known is shown as its id.
    pub(crate) async fn of(
        board: &Board<'_>,
        mut recipients: impl Iterator<Item = &Recipient>,
    ) -> Self {
        if !recipients.any(|each| each.kind == RecipientKind::Member) {
            return Self::default();
        }
        let members = all(async |query| board.members(&query).await).await;
        let names = members
            .unwrap_or_default()
            .into_iter()
            .map(|member: Member| (member.id.to_string(), member.user));
        Self(names.collect())
    }

    /// What to call somebody.
    pub(crate) fn call(&self, recipient: &Recipient) -> String {
        let name = self.0.get(&recipient.id).unwrap_or(&recipient.id);
        match recipient.kind {
            RecipientKind::Agent => format!("agent {name}"),
            RecipientKind::Member => format!("member {name}"),
            RecipientKind::Team => format!("team {name}"),
        }
    }
}

async fn all<T>(
    ask: impl AsyncFn(PageQuery) -> Result<Page<T>, client::Error>,
) -> Result<Vec<T>, client::Error> {
    let mut everything = Vec::new();
    let mut query = PageQuery {
        limit: Some(limits::PAGE_ITEMS),
        cursor: None,
    };
    for _ in 0..PAGES {
        let page = ask(query.clone()).await?;
        everything.extend(page.items);
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    Ok(everything)
}

/// Whether an agent or a team of this resource name, which people call so, is meant.
fn is_called(resource: &str, display_name: &str, name: &str) -> bool {
    let display: String = display_name.split_whitespace().collect();
    resource.eq_ignore_ascii_case(name) || display.to_lowercase() == name.to_lowercase()
}

/// A person is also called by the part before the `@` of an address, and after the last `:` of what a cluster
/// prefixes.
fn is_member(member: &Member, name: &str) -> bool {
    let user = member.user.as_str();
    let short = user.rsplit(':').next().unwrap_or(user);
    let local = short.split('@').next().unwrap_or(short);
    member.id.to_string() == name
        || [user, short, local]
            .iter()
            .any(|each| !each.is_empty() && each.to_lowercase() == name.to_lowercase())
}

fn agent(card: &AgentCard) -> Named {
    Named {
        recipient: Recipient {
            kind: RecipientKind::Agent,
            id: card.name.clone(),
        },
        label: card.display_name.clone(),
        exact: format!("agent:{}", card.name),
    }
}

fn team(card: &TeamCard) -> Named {
    Named {
        recipient: Recipient {
            kind: RecipientKind::Team,
            id: card.name.clone(),
        },
        label: card.display_name.clone(),
        exact: format!("team:{}", card.name),
    }
}

fn member(member: &Member) -> Named {
    Named {
        recipient: Recipient {
            kind: RecipientKind::Member,
            id: member.id.to_string(),
        },
        label: member.user.clone(),
        exact: format!("member:{}", member.user),
    }
}

fn list(found: &[Named]) -> String {
    let mut names: Vec<String> = found
        .iter()
        .take(CANDIDATES)
        .map(|each| text::line(&each.exact))
        .collect();
    if found.len() > CANDIDATES {
        names.push(format!("and {} more", found.len() - CANDIDATES));
    }
    names.join(", ")
}

#[cfg(test)]
pub(crate) mod tests {
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::*;

    pub(crate) fn who() -> Who {
        let agent = |name: &str, display_name: &str| AgentCard {
            name: name.to_owned(),
            display_name: display_name.to_owned(),
            description: None,
            ready: true,
            reason: None,
        };
        let member = |id: u128, user: &str| Member {
            id: MemberId(Uuid::from_u128(id)),
            user: user.to_owned(),
            since: Timestamp::UNIX_EPOCH,
        };
        Who {
            agents: vec![
                agent("reviewer", "Strict Reviewer"),
                agent("ada", "Ada [bot]"),
            ],
            teams: vec![TeamCard {
                name: "core".to_owned(),
                display_name: "The Core".to_owned(),
                description: None,
                leader: "ada".to_owned(),
                ready: true,
                reason: None,
            }],
            members: vec![
                member(7, "ada@example.com"),
                member(8, "system:serviceaccount:team-a:ci"),
                member(9, "oidc:grace@example.com"),
            ],
        }
    }

    #[test]
    fn a_name_means_one_or_is_asked_about() {
        let who = who();
        for (name, wanted) in [
            ("reviewer", "agent:reviewer"),
            ("StrictReviewer", "agent:reviewer"),
            ("agent:ada", "agent:ada"),
            ("core", "team:core"),
            ("TheCore", "team:core"),
            ("team:core", "team:core"),
            ("ada@example.com", "member:ada@example.com"),
            ("member:ada", "member:ada@example.com"),
            ("ci", "member:system:serviceaccount:team-a:ci"),
            (
                "member:system:serviceaccount:team-a:ci",
                "member:system:serviceaccount:team-a:ci",
            ),
            ("Grace", "member:oidc:grace@example.com"),
            (
                "00000000-0000-0000-0000-000000000007",
                "member:ada@example.com",
            ),
        ] {
            assert_eq!(who.find(name).unwrap().exact, wanted, "{name}");
        }
        assert_eq!(
            who.find("ada").unwrap_err(),
            r#""ada" may mean agent:ada, member:ada@example.com"#
        );
        for nobody in [
            "",
            "agent:grace",
            "member:reviewer",
            "agent:core",
            "team:ada",
            "rev",
        ] {
            let words = who.find(nobody).unwrap_err();
            assert!(
                words.contains("there are agent:reviewer, agent:ada, team:core, member:ada@"),
                "{words}"
            );
        }
        assert!(
            Who::default()
                .find("x")
                .unwrap_err()
                .contains("there is nobody")
        );
    }

    #[test]
    fn a_message_does_not_list_thousands() {
        let mut who = who();
        who.agents = vec![who.agents[0].clone(); 500];
        let words = who.find("reviewer").unwrap_err();
        assert!(
            words.ends_with("and 490 more") && words.len() < 300,
            "{words}"
        );
    }
}
