//! What a policy comes to.

use serde_json::json;

use super::*;

fn policy(allow: &[&str], deny: &[&str], ask: &[&str]) -> ToolPolicy {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    ToolPolicy {
        allow: words(allow),
        deny: words(deny),
        require_approval: words(ask),
        approval_seconds: 60,
        allow_on_timeout: false,
    }
}

const FOLDERS: Folders<'static> = Folders {
    work: "/workspace/work",
    now: "/workspace/work",
};

fn judged(policy: &ToolPolicy, tool: &str, input: &Value) -> &'static str {
    word(&policy.judge(tool, input, FOLDERS))
}

fn word(judgement: &Judgement) -> &'static str {
    match judgement {
        Judgement::Allow => "allow",
        Judgement::Deny(_) => "deny",
        Judgement::Ask(_) => "ask",
    }
}

#[test]
fn whole_tools() {
    let policy = policy(
        &["Read", "mcp__docs__*"],
        &["WebFetch", "mcp__docs__delete"],
        &["Bash"],
    );
    for (tool, wanted) in [
        ("Read", "allow"),
        ("read", "allow"),
        ("Bash", "ask"),
        ("WebFetch", "deny"),
        ("mcp__docs__search", "allow"),
        ("mcp__docs__delete", "deny"),
        ("mcp__other__search", "deny"),
        ("Reader", "deny"),
        ("", "deny"),
    ] {
        assert_eq!(judged(&policy, tool, &json!({})), wanted, "{tool}");
    }
    assert_eq!(
        policy.denied_tools().collect::<Vec<_>>(),
        ["WebFetch", "mcp__docs__delete"]
    );
    assert_eq!(
        ToolPolicy::default().judge("Any", &json!({}), FOLDERS),
        Judgement::Allow
    );
    assert!(ToolPolicy::default().is_empty() && !policy.is_empty());
}

#[test]
fn a_command_is_found_wherever_it_stands_on_the_line() {
    let policy = policy(&[], &["Bash(rm -rf:*)"], &["Bash(git push:*)"]);
    for (command, wanted) in [
        ("git push", "ask"),
        ("git   push origin main", "ask"),
        ("git pushover", "allow"),
        ("git status", "allow"),
        ("cd /x && git push", "ask"),
        ("true;git push", "ask"),
        ("A=b sudo git push", "ask"),
        ("echo $(git push)", "ask"),
        ("bash -c 'git push'", "ask"),
        ("/usr/bin/git push", "ask"),
        ("echo `rm -rf /`", "deny"),
        ("git push\nrm -rf x", "deny"),
        ("if true; then git push; fi", "ask"),
        // The same said in other ways.
        ("\\git push", "ask"),
        ("g''it push", "ask"),
        ("\"git\" 'push'", "ask"),
        ("git \\\n push", "ask"),
        ("git -C . push", "ask"),
        ("git -c a=b --no-pager push", "ask"),
        ("/usr/local/bin/git push", "ask"),
        ("./git push", "ask"),
        ("timeout 5 git push", "ask"),
        ("nice -n 5 sudo -u me git push", "ask"),
        ("A=\"b c\" git push", "ask"),
        (">x git push", "ask"),
        ("find . -exec rm -rf {} +", "deny"),
        ("if git push; then true; fi", "ask"),
        ("git status $HOME && [ -f x ]", "allow"),
        ("if [ \"$x\" = y ]; then ls; fi", "allow"),
        ("x=$(date) ls", "allow"),
        // What only the shell knows may be anything.
        ("$X push", "deny"),
        ("${X} push", "deny"),
        ("git${IFS}push", "deny"),
        ("$(echo git) push", "deny"),
        ("`echo git` push", "deny"),
        ("/usr/bin/g[i]t push", "deny"),
        ("", "allow"),
    ] {
        let judged = judged(&policy, "Bash", &json!({"command": command}));
        assert_eq!(judged, wanted, "{command}");
    }
    // What cannot be read may be anything.
    assert_eq!(judged(&policy, "Bash", &json!({"script": "x"})), "deny");
    assert_eq!(judged(&policy, "Bash", &json!({"command": ["rm"]})), "deny");
    assert_eq!(
        judged(&policy, "Read", &json!({"file_path": "rm -rf"})),
        "allow"
    );
}

#[test]
fn what_is_allowed_is_all_that_is_done() {
    let policy = policy(
        &["Bash(git status:*)", "Bash(ls:*)", "Edit(docs/*)"],
        &[],
        &[],
    );
    for (command, wanted) in [
        ("git status", "allow"),
        ("git status && ls -l", "allow"),
        ("git status && rm x", "deny"),
        ("git status > /etc/passwd", "deny"),
        ("ls $(rm x)", "deny"),
        ("ls\nrm x", "deny"),
        ("git statusx", "deny"),
        ("LD_PRELOAD=./x.so ls", "deny"),
        ("PATH=/workspace/work:/bin ls", "deny"),
        ("sh ls", "deny"),
        ("env ls", "deny"),
        ("xargs ls", "deny"),
        ("./ls", "deny"),
        ("", "deny"),
    ] {
        let judged = judged(&policy, "Bash", &json!({"command": command}));
        assert_eq!(judged, wanted, "{command}");
    }
    for (path, wanted) in [
        ("docs/a.md", "allow"),
        ("docs/../src/a.rs", "deny"),
        ("src/a.rs", "deny"),
        ("/workspace/work/docs/a.md", "allow"),
        ("./docs//a.md", "allow"),
        ("/elsewhere/docs/a.md", "deny"),
    ] {
        let judged = judged(&policy, "Edit", &json!({"file_path": path}));
        assert_eq!(judged, wanted, "{path}");
    }
}

#[test]
fn a_path_is_the_same_however_it_is_written() {
    let policy = policy(&[], &["Edit(.env)", "Edit(/etc/*)"], &["Edit(docs/*)"]);
    for (path, wanted) in [
        (".env", "deny"),
        ("./.env", "deny"),
        ("/workspace/work/.env", "deny"),
        ("/workspace/work/docs/../.env", "deny"),
        ("/workspace//work/./.env", "deny"),
        ("../../etc/passwd", "deny"),
        ("docs/a", "ask"),
        ("/workspace/work/src/../docs/a", "ask"),
        ("docs/../src/a", "ask"),
        ("/workspace/worker/.env", "allow"),
        ("src/.env", "allow"),
    ] {
        let judged = judged(&policy, "Edit", &json!({"file_path": path}));
        assert_eq!(judged, wanted, "{path}");
    }
    let moved = Folders {
        now: "/workspace/work/docs",
        ..FOLDERS
    };
    let judged = policy.judge("Edit", &json!({"file_path": "a"}), moved);
    assert_eq!(word(&judged), "ask", "from where the program is");
}

#[test]
fn all_that_an_input_says_counts() {
    let input = json!({"command": "docs/x", "path": "/etc/x"});
    let of = |allow: &[&str], deny: &[&str], ask: &[&str]| {
        judged(&policy(allow, deny, ask), "mcp__files__write", &input)
    };
    let (docs, etc) = ("mcp__files__write(docs/*)", "mcp__files__write(/etc/*)");
    assert_eq!(of(&[docs], &[], &[]), "deny");
    assert_eq!(of(&[docs, etc], &[], &[]), "allow");
    assert_eq!(of(&[], &[etc], &[]), "deny");
    assert_eq!(of(&[], &[], &[etc]), "ask");
    assert_eq!(of(&["*(*)"], &[], &[]), "allow");
    let policy = policy(&[docs], &[], &[]);
    let odd = json!({"path": "docs/x", "file_path": ["/etc/x"]});
    assert_eq!(judged(&policy, "mcp__files__write", &odd), "deny");
}

#[test]
fn a_whole_tool_is_denied_by_its_name_alone() {
    let policy = policy(&[], &["Bash", "Edit(docs/*)", "mcp__x__*"], &[]);
    for (tool, denied) in [
        ("bash", true),
        ("mcp__x__y", true),
        ("Edit", false),
        ("Read", false),
        ("", false),
    ] {
        assert_eq!(policy.denies(tool), denied, "{tool}");
    }
}

#[test]
fn stars() {
    for (pattern, text, wanted) in [
        ("*", "", true),
        ("a*b", "ab", true),
        ("a*b", "axxb", true),
        ("a*b", "axxbc", false),
        ("a*b*c", "abbbc", true),
        ("", "", true),
        ("", "a", false),
        ("A", "a", true),
    ] {
        assert_eq!(glob(pattern, text), wanted, "{pattern} {text}");
    }
}
