//! What real programs wrote, and which of it is given to which provider.

use protocol::providers::ids;

use crate::replay::{Case, folder, recorded};

/// Longer lines are left out: a change in one is as likely to matter in a short one, and costs less.
const LINE_BYTES: usize = 16 * 1024;
/// Recordings of one provider that are gone through.
const RECORDINGS: usize = 12;

/// The folders of recordings of a provider: its own, and those of its other versions; or that of its stand-in; or, of those
/// that are known by no name, those of programs of their family.
fn folders(provider: &'static str) -> Vec<&'static str> {
    let others: &[&str] = match provider {
        "pi" => &["pi-0.73"],
        "opencode" => &["stand-ins/opencode-2"],
        "acp" => &["acp-opencode", "acp-qwen", "acp-claude-code", "acp-codex"],
        "custom-stream-json" => &["claude", "codebuddy"],
        "custom-app-server" => &["codex"],
        "custom-rpc" => &["pi", "pi-0.73"],
        "custom-json-lines" => &["opencode", "stand-ins/codearts"],
        _ => &[],
    };
    let own = [provider].into_iter().chain(others.iter().copied());
    let own: Vec<_> = own.filter(|name| folder(name).is_dir()).collect();
    if own.is_empty() {
        let stand_in: &'static str = format!("stand-ins/{provider}").leak();
        return folder(stand_in)
            .is_dir()
            .then_some(stand_in)
            .into_iter()
            .collect();
    }
    own
}

fn recordings_in(provider: &'static str, name: &'static str) -> Vec<Case> {
    let cases = recorded(name).into_iter().map(|recording| Case {
        provider,
        folder: name,
        name: recording.leak(),
        resume: None,
        exit: 0,
        interrupt: None,
        class: None,
    });
    cases.filter(|case| !case.stdout().is_empty()).collect()
}

/// Recordings for a provider, of its own family all of them. Those with a tool first.
pub(crate) fn recordings(provider: &'static str) -> Vec<Case> {
    let folders = folders(provider);
    assert!(!folders.is_empty(), "{provider} has no recordings");
    let mut all: Vec<_> = folders
        .into_iter()
        .flat_map(|name| recordings_in(provider, name))
        .collect();
    let usual = |case: &Case| {
        let names = ["shell", "text", "thinking", "write-read"];
        names
            .iter()
            .position(|name| *name == case.name)
            .unwrap_or(4)
    };
    all.sort_by_key(usual);
    all.truncate(RECORDINGS);
    all
}

/// The recording of this name that comes first.
pub(crate) fn recording(provider: &'static str, name: &str) -> Case {
    let mut all = recordings(provider).into_iter();
    let found = all.find(|case| case.name == name);
    assert!(found.is_some(), "{provider} has no recording {name}");
    found.expect("it was looked for")
}

/// Lines of a provider's own, and lines of all others.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    pub(crate) own: Vec<String>,
    pub(crate) alien: Vec<String>,
}

pub(crate) fn lines(provider: &'static str) -> Lines {
    let of = |case: &Case| -> Vec<String> {
        let lines = case.stdout().into_iter();
        lines
            .filter(|line| !line.is_empty() && line.len() <= LINE_BYTES)
            .collect()
    };
    let own = recordings(provider).iter().flat_map(of).collect();
    // A few of each: they are many.
    let others = ids().into_iter().filter(|other| *other != provider);
    let alien = others
        .flat_map(folders)
        .flat_map(|name| recordings_in(provider, name))
        .filter(|case| matches!(case.name, "shell" | "thinking" | "http-401"))
        .flat_map(|case| of(&case))
        .collect();
    Lines { own, alien }
}
