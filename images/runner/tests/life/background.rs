//! What a program says that it runs in the background, and is not believed of any process.

use std::process::Command;

use protocol::Outcome;

use crate::api::{Api, said};
use crate::pod::{Pod, package_of};
use crate::programs;

/// Speaks as Cursor's agent: one of its commands goes on in the background, as it says of another process too. It waits for
/// its own before it tells its result.
const AGENT: &str = r#"#!/bin/sh
cat > /dev/null
setsid sleep 600 &
own=$!
goes_on() {
    echo '{"type":"tool_call","subtype":"completed","call_id":"'"$1"'","tool_call":{"shellToolCall":{"args":{"command":"serve"},"result":{"isBackground":true,"success":{"pid":'"$2"'}}}}}'
}
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
goes_on c1 "$OTHER"
goes_on c2 "$own"
wait "$own"
echo '{"type":"result","subtype":"success","is_error":false,"result":"Served.","session_id":"s"}'
"#;

#[tokio::test]
async fn only_what_the_program_itself_runs_is_ended() {
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    let mut pod = Pod::new();
    let agent = pod.at("cursor-agent");
    programs::script(AGENT, &agent);
    pod.variables
        .push(("OTHER".to_owned(), other.id().to_string()));
    let mut package = package_of(vec![agent.display().to_string()], "go");
    package.runtime.provider = "cursor".to_owned();
    package.timeouts.tool_seconds = 1;
    package.timeouts.idle_seconds = 60;
    let api = Api::serve(package).await;
    pod.run(&api).await;
    let told = api.told();
    let result = &told.results[0];
    let said = said(&told.events);
    let lives = other.try_wait().unwrap().is_none();
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(result.outcome, Outcome::Succeeded, "{result:?}\n{said}");
    assert_eq!(result.output, "Served.");
    assert!(lives, "{said}");
    let words = format!("process {} is none that", other.id());
    assert!(said.contains(&words), "{said}");
}
