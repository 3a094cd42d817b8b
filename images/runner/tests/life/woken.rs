//! An agent that a comment has woken: its first message, and its way to an answer.

use std::fs;

use protocol::board::{Author, AuthorKind, Cause, CauseKind, Comment, IssueStatus};
use protocol::{CommentId, Evidence, Outcome, Package, Subject};

use crate::api::{Api, Told, said};
use crate::pod::{Pod, package};
use crate::programs;

const MOOR: &str = "#!/bin/sh\n\
    echo \"moor $* at $MOORING_API with $(wc -c < \"$MOORING_TOKEN_FILE\") and $(head -n 1 \"$MOORING_CA_FILE\")\"\n";

fn id(number: u128) -> CommentId {
    CommentId(uuid::Uuid::from_u128(number))
}

/// A task whose agent was woken by this comment.
fn woken(body: &str) -> Package {
    let at = jiff::Timestamp::from_second(1_800_000_000).unwrap();
    let author = Author {
        kind: AuthorKind::Member,
        id: "0192f000-0000-7000-8000-0000000000aa".into(),
        name: "alice".into(),
    };
    let comment = Comment {
        id: id(2),
        thread: id(1),
        author: author.clone(),
        body: body.into(),
        task: None,
        resolved: false,
        replies: 0,
        last_activity: at,
        revision: 1,
        created: at,
        edited: None,
        attachments: Vec::new(),
    };
    let mut package = package("");
    package.subject = Subject {
        kind: "Issue".into(),
        name: "TEAM-12".into(),
    };
    package.cause = Some(Cause {
        kind: CauseKind::Comment,
        issue: "TEAM-12".parse().unwrap(),
        title: "Sort the list".into(),
        status: IssueStatus::Todo,
        author,
        originator: Some("alice".into()),
        comment: Some(comment),
        coalesced: Vec::new(),
        cut: false,
        reply_to: Some(id(2)),
        last_run: None,
        new_comments: 1,
        unchanged: false,
        again: None,
    });
    package
}

async fn run(pod: &Pod, package: Package) -> Told {
    let api = Api::serve(package).await;
    let ended = pod.run(&api).await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let told = api.told();
    assert_eq!(told.results[0].outcome, Outcome::Succeeded, "{told:?}");
    told
}

/// The conversation as the stand-in keeps it.
fn conversation(pod: &Pod, told: &Told) -> String {
    let session = &told.results[0].provider_session.as_ref().unwrap().id;
    let projects = pod.at("workspace/home/.claude/projects");
    let folder = fs::read_dir(projects).unwrap().next().unwrap().unwrap();
    let lines = fs::read_to_string(folder.path().join(format!("{session}.jsonl"))).unwrap();
    lines.replace("\\n", "\n").replace("\\\"", "\"")
}

#[tokio::test]
async fn a_comment_reaches_the_agent_and_it_can_answer() {
    let pod = Pod::new();
    let bin = pod.at("opt/mooring/bin");
    fs::create_dir_all(&bin).unwrap();
    programs::script(MOOR, &bin.join("moor"));

    let script = "remember: lantern\ndo: run moor comment add TEAM-12 --body Sorted.";
    let told = run(&pod, woken(script)).await;
    let words = said(&told.events);
    let answer = format!(
        "with {} and -----BEGIN CERTIFICATE-----",
        crate::api::TOKEN.len()
    );
    assert!(
        words.contains("moor comment add TEAM-12 --body Sorted. at https://")
            && words.contains(&answer),
        "{words}"
    );
    let context = fs::read_to_string(pod.at("workspace/work/CLAUDE.md")).unwrap();
    assert!(context.contains("Read the issue"), "{context}");
    assert!(!context.contains("TEAM-12"), "{context}");
    let first = conversation(&pod, &told);
    for line in [
        "You were woken on issue TEAM-12, \"Sort the list\"",
        "\n> remember: lantern\n",
        "Begin by reading the issue",
    ] {
        assert!(first.contains(line), "{first}");
    }

    let mut second = woken("do: recall");
    second.session.resume = told.results[0].provider_session.clone();
    second.session.has_past = true;
    second.session.volume = Evidence::yes("the claim has the same UID");
    let cause = second.cause.as_mut().unwrap();
    cause.last_run = jiff::Timestamp::from_second(1_799_999_999).ok();
    cause.unchanged = true;
    let told = run(&pod, second).await;
    assert_eq!(told.results[0].output, "lantern");
    let both = conversation(&pod, &told);
    let second = both.rsplit_once("You were woken").unwrap().1;
    assert!(
        second.contains("no need to read them again")
            && second.contains("--since 2027-01-15T07:59:59Z"),
        "{second}"
    );
}
