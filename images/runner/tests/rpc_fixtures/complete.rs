//! Every recording is accounted for: `fixtures/recordings.json` lists them all, program by program, and says where each is
//! read. The list is data of the project, since the recordings themselves came from outside it.

use std::collections::{BTreeMap, BTreeSet};

use protocol::FailureClass as C;
use runner::classify::classify;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::replay::{folder, recorded};

/// How many recordings real programs gave that this project did not make itself.
const GIVEN: usize = 478;
/// The mode of those that it made.
const OWN: &str = "recorded by this project";

/// Recordings of one program in one of its modes. They are in a folder and replayed, or their failures are in
/// `texts.json`, or there is a reason why they are in neither.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    program: String,
    mode: String,
    folder: Option<String>,
    #[serde(default)]
    texts: bool,
    why: Option<String>,
    recordings: Vec<String>,
}

/// What a program said of a failure, in a mode in which it is not driven.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    program: String,
    recording: String,
    text: String,
    class: C,
    /// It is about a conversation that does not go on, of which the table says nothing: that is each adapter's own to know.
    #[serde(default)]
    of_session: bool,
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    let text = std::fs::read(folder("").join(name)).expect("the file is there");
    serde_json::from_slice(&text).expect("it is as its type says")
}

fn groups() -> Vec<Group> {
    read("recordings.json")
}

#[test]
fn every_recording_that_was_given_is_listed_once() {
    let groups = groups();
    let given = groups.iter().filter(|group| group.mode != OWN);
    let given: usize = given.map(|group| group.recordings.len()).sum();
    assert_eq!(given, GIVEN);
    let mut seen = BTreeSet::new();
    for group in &groups {
        for name in &group.recordings {
            let key = (&group.program, group.folder.as_deref(), name);
            assert!(seen.insert(key), "{} {name} stands twice", group.program);
        }
    }
}

#[test]
fn each_is_replayed_or_its_words_are_read_or_it_says_why_not() {
    for group in groups() {
        let ways = [group.folder.is_some(), group.texts, group.why.is_some()];
        let ways = ways.into_iter().filter(|way| *way).count();
        assert_eq!(ways, 1, "{} {}", group.program, group.mode);
    }
}

/// That each file of a folder has a case is asked by the tests that replay it.
#[test]
fn the_folders_hold_what_is_listed() {
    let mut listed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for group in groups() {
        if let Some(folder) = group.folder {
            listed.entry(folder).or_default().extend(group.recordings);
        }
    }
    for (folder, names) in &mut listed {
        names.sort();
        assert_eq!(*names, recorded(folder), "{folder}");
    }
    let replayed: BTreeSet<_> = crate::folders()
        .into_iter()
        .map(|(name, _)| name.to_owned())
        // Of the tests of `claude_fixtures`.
        .chain(["claude".to_owned()])
        .collect();
    let listed: BTreeSet<_> = listed.into_keys().collect();
    assert_eq!(listed, replayed);
}

#[test]
fn the_words_of_each_failure_have_their_class() {
    let texts: Vec<Text> = read("texts.json");
    for Text {
        program,
        recording,
        text,
        class,
        of_session,
    } in &texts
    {
        assert_eq!(classify(text), *class, "{program} {recording}: {text}");
        assert_eq!(*class == C::Unknown, *of_session, "{program} {recording}");
    }
    let read: BTreeSet<_> = texts
        .into_iter()
        .map(|text| (text.program, text.recording))
        .collect();
    let listed = groups().into_iter().filter(|group| group.texts);
    let listed: BTreeSet<_> = listed
        .flat_map(|group| {
            let program = group.program;
            let recordings = group.recordings.into_iter();
            recordings.map(move |name| (program.clone(), name))
        })
        .collect();
    assert_eq!(read, listed);
}
