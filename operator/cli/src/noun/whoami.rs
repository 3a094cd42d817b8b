//! `moor whoami`.

use client::Caller;
use protocol::TokenScope;
use protocol::board::PersonView;
use protocol::runner::WhoAmI;

use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::table::fields;
use crate::text;

pub(super) async fn run(session: &Session, out: &mut Output<'_>) -> Result<(), Failure> {
    let caller = session.client.caller(&session.token).await?;
    let id = |caller: &Caller| match caller {
        Caller::Agent(me) => me.agent.clone(),
        Caller::Person(me) => me.user.clone(),
    };
    out.show(&caller, id, |caller| match caller {
        Caller::Agent(me) => agent(me),
        Caller::Person(me) => person(me),
    })
}

fn agent(me: &WhoAmI) -> String {
    fields(&[
        ("Agent", format!("{} ({})", me.display_name, me.agent)),
        ("Workspace", me.namespace.clone()),
        ("Task", format!("{}, attempt {}", me.task, me.attempt)),
        (
            "Subject",
            format!("{} {}", me.subject.kind, me.subject.name),
        ),
        ("Scope", scope(me.scope).to_owned()),
        ("May", me.verbs.join(", ")),
        (
            "Token",
            format!(
                "good until {}, longer while the runner lives",
                text::time(me.token_expires)
            ),
        ),
    ])
}

/// How far its token reaches.
fn scope(scope: TokenScope) -> &'static str {
    match scope {
        TokenScope::Issue => "its issue and the parts of that",
        TokenScope::Project => "the issues of its issue's project",
        TokenScope::Workspace => "all issues of the workspace",
    }
}

fn person(me: &PersonView) -> String {
    fields(&[
        ("User", me.user.clone()),
        ("Groups", me.groups.join(", ")),
        (
            "Token",
            format!("good until {}", text::time(me.token_expires)),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::TaskId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn callers_are_shown() {
        let me = WhoAmI {
            agent: "reviewer".into(),
            display_name: "Reviewer".into(),
            namespace: "team".into(),
            task: TaskId(Uuid::from_u128(7)),
            attempt: 2,
            subject: protocol::Subject {
                kind: "Issue".into(),
                name: "TEAM-12".into(),
            },
            session: protocol::SessionId(Uuid::from_u128(8)),
            scope: protocol::TokenScope::Project,
            verbs: vec!["create comments".into(), "get issues".into()],
            token_expires: Timestamp::UNIX_EPOCH,
        };
        insta::assert_snapshot!("whoami", agent(&me));
        let ada = PersonView {
            user: "ada\u{1b}[2J".into(),
            groups: vec!["dev".into(), "system:authenticated".into()],
            token_expires: Timestamp::UNIX_EPOCH,
        };
        insta::assert_snapshot!("whoami_person", person(&ada));
    }
}
