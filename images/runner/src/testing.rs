//! Values for tests.

use protocol::board::{
    Author, AuthorKind, Cause, CauseKind, ChatCause, ChatMessage, ChatMessageKind, Comment,
    IssueStatus, QuickCause,
};
use protocol::{
    AgentBrief, AttemptId, CommentId, Evidence, Package, ProviderSession, RuntimeBrief,
    SessionBrief, SessionPolicy, Subject, TaskId, TaskTimeouts,
};

use crate::adapter::Launch;
use crate::mcp::{At, McpServer, McpServers, Values};

/// A first task of an agent, with nothing to resume.
pub(crate) fn package() -> Package {
    Package {
        attempt: AttemptId {
            task: TaskId(uuid::Uuid::from_u128(7)),
            number: 1,
        },
        namespace: "team".into(),
        name: "hello".into(),
        agent: AgentBrief {
            name: "reviewer".into(),
            display_name: "Reviewer".into(),
            instructions: "Read the diff before you speak.".into(),
            model: None,
            skills: Vec::new(),
            tools: None,
            token_scope: protocol::TokenScope::Issue,
        },
        runtime: RuntimeBrief {
            name: "claude".into(),
            provider: "claude".into(),
            version: None,
            command: Vec::new(),
            launch_prefix: Vec::new(),
            args: Vec::new(),
        },
        options: protocol::RunOptions::default(),
        subject: Subject {
            kind: "Key".into(),
            name: "hello".into(),
        },
        prompt: "Say hello.".into(),
        cause: None,
        team: None,
        repositories: Vec::new(),
        chat: None,
        quick_issue: None,
        interrupted: false,
        session: SessionBrief {
            policy: SessionPolicy::Resume,
            resume: None,
            not_resumable: None,
            volume: Evidence::no("the volume is new"),
            has_past: false,
        },
        timeouts: TaskTimeouts {
            prepare_seconds: 60,
            task_seconds: 600,
            grace_seconds: 20,
            idle_seconds: 0,
            tool_seconds: 0,
        },
    }
}

/// A run of a CLI as nobody has asked for anything of their own.
pub(crate) fn launch() -> Launch {
    Launch {
        cwd: "/workspace/work".into(),
        home: "/workspace/home".into(),
        private: "/run/mooring/cli".into(),
        message: "Say \"hi\"\nplease".to_owned(),
        ..Launch::default()
    }
}

/// A server of each kind, with a secret in two of them.
pub(crate) fn mcp_servers() -> McpServers {
    let values = |list: &[(&str, &str)]| {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Values(list.iter().map(pair).collect())
    };
    let server = |name: &str, at| McpServer {
        name: name.to_owned(),
        required: name == "files",
        at,
    };
    let files = At::Program {
        command: "files".to_owned(),
        args: words(&["--root", "/w"]),
        env: values(&[("TOKEN", "s3cret-value")]),
    };
    let address = |sse, url: &str, headers| At::Address {
        sse,
        url: url.to_owned(),
        headers,
    };
    McpServers(vec![
        server("files", files),
        server("old", address(true, "https://old/sse", Values::default())),
        server(
            "web",
            address(
                false,
                "https://web/mcp",
                values(&[("Authorization", "Bearer s3cret-value")]),
            ),
        ),
    ])
}

/// Words of a command line.
pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// A conversation of `claude`.
pub(crate) fn claude(id: &str) -> ProviderSession {
    ProviderSession {
        provider: "claude".into(),
        id: id.into(),
    }
}

/// A first task of an agent, woken by a comment of a person.
pub(crate) fn woken() -> Package {
    let mut package = package();
    package.prompt = String::new();
    package.subject = Subject {
        kind: "Issue".into(),
        name: "TEAM-12".into(),
    };
    package.cause = Some(Cause {
        kind: CauseKind::Comment,
        issue: "TEAM-12".parse().unwrap(),
        title: "Sort the list".into(),
        status: IssueStatus::Todo,
        author: person("alice"),
        originator: Some("alice".into()),
        comment: Some(comment(2, person("alice"), "Please sort it.")),
        coalesced: Vec::new(),
        cut: false,
        reply_to: Some(comment_id(1)),
        last_run: None,
        new_comments: 1,
        unchanged: false,
        again: None,
    });
    package
}

/// A person of this name.
pub(crate) fn person(name: &str) -> Author {
    Author {
        kind: AuthorKind::Member,
        id: "0192f000-0000-7000-8000-0000000000aa".into(),
        name: name.into(),
    }
}

/// A comment in the thread of comment 1.
pub(crate) fn comment(number: u128, author: Author, body: &str) -> Comment {
    let at = jiff::Timestamp::from_second(1_800_000_000 + i64::try_from(number).unwrap()).unwrap();
    Comment {
        id: comment_id(number),
        thread: comment_id(1),
        author,
        body: body.into(),
        task: None,
        resolved: false,
        replies: 0,
        last_activity: at,
        revision: 1,
        created: at,
        edited: None,
        attachments: Vec::new(),
    }
}

/// The id of this comment.
pub(crate) fn comment_id(number: u128) -> CommentId {
    CommentId(uuid::Uuid::from_u128(
        0x0192_f000_0000_7000_8000_0000_0000_0000 + number,
    ))
}

/// A first task of an agent to which a person wrote in a chat.
pub(crate) fn chatted() -> Package {
    let mut package = package();
    package.prompt = String::new();
    package.subject = Subject {
        kind: "Chat".into(),
        name: "0192f000-0000-7000-8000-0000000000cc".into(),
    };
    package.chat = Some(ChatCause {
        chat: "0192f000-0000-7000-8000-0000000000cc".parse().unwrap(),
        title: "What is it?".into(),
        member: person("alice"),
        messages: vec![chat_message(1, "What is it?\n> a quote")],
        cut: false,
        before: 0,
    });
    package
}

/// A message of alice in a chat.
pub(crate) fn chat_message(position: u32, body: &str) -> ChatMessage {
    ChatMessage {
        position,
        kind: ChatMessageKind::Message,
        author: person("alice"),
        body: body.into(),
        task: None,
        failure: None,
        created: jiff::Timestamp::from_second(1_800_000_000 + i64::from(position)).unwrap(),
    }
}

/// A task of an agent that is to write an issue.
pub(crate) fn asked() -> Package {
    let mut package = package();
    package.prompt = String::new();
    package.subject = Subject {
        kind: "QuickIssue".into(),
        name: "0192f000-0000-7000-8000-0000000000aa".into(),
    };
    package.session.policy = SessionPolicy::Fresh;
    package.quick_issue = Some(QuickCause {
        author: person("alice"),
        text: "The basement is wet.\nSince Monday".into(),
        issue: None,
    });
    package
}
