//! What a real program is given beside its prompt, in the hands of the whole runner: servers of MCP, and what a person adds while
//! it works.

use anyhow::{Context as _, Result, ensure};
use protocol::board::{Author, AuthorKind};
use protocol::providers::{McpKind, facts};
use protocol::runner::CommandKind;
use protocol::{CommentId, McpPlace, McpServer, McpSource, McpValue, Outcome, Package};

use crate::api::{Api, said};
use crate::lab::{Lab, tools, word};
use crate::whole::{answer, in_its_tool, now, pod, task};

/// Where the server of words listens, in the model's network.
const PORT: &str = "8081";

/// A task whose model asks the server of words, which knows this one.
fn asks_a_server(lab: &Lab, required: bool, at: McpPlace) -> Package {
    let mut package = task(lab, "[scenario:mcp] Which word is it?");
    package.options.mcp_servers = Some(vec![McpServer {
        name: "words".to_owned(),
        required,
        at,
    }]);
    package
}

fn value(name: &str, value: String) -> Vec<McpValue> {
    vec![McpValue {
        name: name.to_owned(),
        value: McpSource::Plain(value),
    }]
}

/// The server as a program that is told this word.
pub(crate) fn over_stdio(lab: &Lab, word: &str) -> Package {
    // dsh takes no name that has to be looked for.
    let command = ["python3", "/usr/bin/python3"][usize::from(lab.cli.id == "dsh")];
    let at = McpPlace::Stdio {
        command: command.to_owned(),
        args: vec![tools()],
        env: value("TOKEN", word.to_owned()),
    };
    asks_a_server(lab, true, at)
}

/// The same behind an address. Only the program is in the network where it listens, so the runner does not wait for it.
fn over_http(lab: &Lab, word: &str) -> Package {
    let at = McpPlace::Http {
        url: format!("http://127.0.0.1:{PORT}/mcp"),
        headers: value("Authorization", format!("Bearer {word}")),
    };
    asks_a_server(lab, false, at)
}

/// The server's secret comes back from its tool, over stdio and over HTTP.
pub(crate) fn a_tool_of_an_mcp_server_is_called(lab: &Lab) -> Result<()> {
    let facts = facts(lab.cli.driver()).context("it is driven")?;
    let _server = lab.serve_tools(PORT)?;
    let mut called = false;
    for (kind, package) in [
        (
            McpKind::Stdio,
            &over_stdio as &dyn Fn(&Lab, &str) -> Package,
        ),
        (McpKind::Http, &over_http),
    ] {
        if !facts.mcp.takes(kind) {
            continue;
        }
        let word = word()?;
        let output = answer(&pod(lab)?, package(lab, &word))?;
        ensure!(
            output == format!("The server said {word}."),
            "{kind:?}: {output}"
        );
        called = true;
    }
    ensure!(called, "it can be given none");
    Ok(())
}

/// Said while a tool runs, it stands in a later request of the same turn, and the API is told that the agent took it in.
pub(crate) fn a_remark_reaches_the_model_in_the_same_turn(lab: &Lab) -> Result<()> {
    let pod = pod(lab)?;
    let remark = CommentId(uuid::Uuid::from_u128(9));
    now(async {
        let api = Api::serve(task(lab, "[scenario:steer] go")).await;
        let running = pod.start(&api);
        lab.until("the tool runs", || in_its_tool(lab, &api.told()))
            .await?;
        api.command(CommandKind::Steer {
            remark,
            author: Author {
                kind: AuthorKind::Member,
                id: "mia".to_owned(),
                name: "Mia".to_owned(),
            },
            text: "It is steer-maple.".to_owned(),
        });
        let ended = running.end().await;
        let told = api.told();
        let [result] = &told.results[..] else {
            anyhow::bail!("{:?}\n{}", told.results, ended.log);
        };
        let shown = || format!("{result:?}\n{}\n{}", said(&told.events), ended.log);
        ensure!(result.outcome == Outcome::Succeeded, "{}", shown());
        ensure!(result.output == "A person said maple.", "{}", shown());
        let [answer] = &told.steered[..] else {
            anyhow::bail!("{:?}\n{}", told.steered, shown());
        };
        ensure!(
            answer.remark == remark && answer.why.is_none(),
            "{answer:?}\n{}",
            shown()
        );
        Ok(())
    })
}
