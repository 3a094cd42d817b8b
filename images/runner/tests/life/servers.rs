//! MCP servers of a run: waited for where they are required, given with their secrets, and gone again after it.

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use protocol::{FailureClass, McpPlace, McpServer, McpSource, McpValue, Outcome, TaskResult};

use crate::api::{Api, said};
use crate::pod::{Pod, package};
use crate::programs;

const SECRET: &str = "s3cret-of-the-server";
const VARIABLE: &str = "MOORING_MCP_0A1B";
/// What a server answers to the greeting.
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}"#;

fn secret(name: &str, prefix: &str) -> McpValue {
    McpValue {
        name: name.to_owned(),
        value: McpSource::Variable {
            name: VARIABLE.to_owned(),
            prefix: prefix.to_owned(),
        },
    }
}

fn required(name: &str, at: McpPlace) -> McpServer {
    McpServer {
        name: name.to_owned(),
        required: true,
        at,
    }
}

async fn run(pod: &mut Pod, server: McpServer, script: &str) -> (TaskResult, String) {
    pod.variables.push((VARIABLE.to_owned(), SECRET.to_owned()));
    let mut package = package(script);
    package.options.mcp_servers = Some(vec![server]);
    let api = Api::serve(package).await;
    let ended = pod.run(&api).await;
    assert_eq!(ended.code, Some(0), "{}", ended.log);
    let told = api.told();
    for text in [&ended.log, &ended.transcript, &said(&told.events)] {
        assert!(!text.contains(SECRET), "{text}");
    }
    (told.results[0].clone(), said(&told.events))
}

fn program(pod: &Pod, text: &str) -> McpPlace {
    let path = pod.at("server");
    programs::script(text, &path);
    McpPlace::Stdio {
        command: path.display().to_string(),
        args: Vec::new(),
        env: vec![secret("TOKEN", "")],
    }
}

#[tokio::test]
async fn a_server_is_waited_for_and_its_secret_goes_with_the_run() {
    let mut pod = Pod::new();
    // It breaks at first, as one does whose own server is not up yet.
    let text = format!(
        "#!/bin/sh\n[ \"$TOKEN\" = {SECRET} ] || exit 3\n[ -e \"$0.tried\" ] || {{ touch \"$0.tried\"; exit 4; }}\n\
         read -r greeting\necho Ready.\necho '{ANSWER}'\n"
    );
    let server = required("files", program(&pod, &text));
    let file = pod.at("run/mooring/cli/mcp.json");
    let look = format!(
        "do: run grep -c {SECRET} {0}; stat -c %a {0}\ndo: answer Done.",
        file.display()
    );
    let (result, said) = run(&mut pod, server, &look).await;
    assert_eq!(result.outcome, Outcome::Succeeded, "{said}");
    assert!(said.contains("1\n600"), "{said}");
    assert!(!file.exists(), "it goes with the run");
}

#[tokio::test]
async fn a_server_that_cannot_be_had_is_named() {
    let mut pod = Pod::new();
    let place = McpPlace::Stdio {
        command: "no-such-server".to_owned(),
        args: Vec::new(),
        env: Vec::new(),
    };
    let (result, _) = run(&mut pod, required("files", place), "do: answer Never.").await;
    let Outcome::Failed { class, message, .. } = &result.outcome else {
        panic!("{result:?}");
    };
    assert_eq!(*class, FailureClass::PrepareFailed);
    let wanted = "the MCP server files, which is required, cannot be used";
    assert!(
        message.starts_with(wanted) && message.contains("no-such-server"),
        "{message}"
    );
}

/// An address that takes who shows the secret, and answers in one of the two ways that there are.
async fn address(as_events: bool) -> String {
    let answer = move |headers: HeaderMap| async move {
        let shown = headers
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        if shown != Some(&format!("Bearer {SECRET}")) {
            return (
                StatusCode::UNAUTHORIZED,
                [("content-type", "text/plain")],
                String::new(),
            );
        }
        match as_events {
            true => (
                StatusCode::OK,
                [("content-type", "text/event-stream")],
                format!("event: message\ndata: {ANSWER}\n\n"),
            ),
            false => (
                StatusCode::OK,
                [("content-type", "application/json")],
                ANSWER.to_owned(),
            ),
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().route("/mcp", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

#[tokio::test]
async fn an_address_is_greeted_with_its_headers() {
    for as_events in [false, true] {
        let mut pod = Pod::new();
        let place = McpPlace::Http {
            url: address(as_events).await,
            headers: vec![secret("Authorization", "Bearer ")],
        };
        let (result, said) = run(&mut pod, required("web", place), "do: answer Done.").await;
        assert_eq!(result.outcome, Outcome::Succeeded, "{said}");
    }
}

#[tokio::test]
async fn an_address_that_refuses_is_not_asked_for_half_a_minute() {
    let mut pod = Pod::new();
    let place = McpPlace::Http {
        url: address(false).await,
        headers: Vec::new(),
    };
    let asked = std::time::Instant::now();
    let (result, _) = run(&mut pod, required("web", place), "do: answer Never.").await;
    let words = format!("{:?}", result.outcome);
    assert!(
        words.contains("server web") && words.contains("401"),
        "{words}"
    );
    assert!(asked.elapsed() < std::time::Duration::from_secs(25));
}
