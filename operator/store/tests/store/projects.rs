//! Projects are found by name, changed by who has read them, and say what the agents on their issues are given.

use protocol::board::{
    IssueEdit, IssueQuery, IssueStatus, NewIssue, NewProject, Project, ProjectEdit, Repository,
};
use store::{Acting, Error};

use crate::bed::{Bed, at, both};
use crate::board::{AGENTS, agent, elsewhere, titled, workspace};

fn repository(name: &str) -> Repository {
    Repository {
        name: name.to_owned(),
        url: format!("https://git.example.com/{name}.git"),
        default_branch: Some("main".to_owned()),
        credentials: Some("git-app".to_owned()),
    }
}

fn new(name: &str) -> NewProject {
    NewProject {
        name: name.to_owned(),
        title: format!(" {name} "),
        description: "# Why".to_owned(),
        repositories: vec![repository("app")],
    }
}

async fn made(bed: &Bed, by: &Acting, name: &str) -> Project {
    let made = bed.store.create_project(by, new(name), at(1)).await;
    made.unwrap()
}

/// What the issues of [`speak`] are called; others lie in the same workspace.
const FILED: &str = "filed";

fn filed(project: &str) -> NewIssue {
    NewIssue {
        project: Some(project.to_owned()),
        ..titled(FILED)
    }
}

/// Asked for by what is there, as who got no answer does.
pub(crate) async fn speak(bed: &Bed, ada: &Acting) -> Result<(), Error> {
    let store = &bed.store;
    if store.project(&workspace(), "app").await?.is_none() {
        store.create_project(ada, new("app"), at(8)).await?;
    }
    let edit = ProjectEdit {
        title: Some("another".to_owned()),
        ..ProjectEdit::default()
    };
    store.edit_project(&workspace(), "app", edit, at(9)).await?;
    end_one(bed, ada).await
}

/// Ends a project of another workspace, of which an issue is.
async fn end_one(bed: &Bed, ada: &Acting) -> Result<(), Error> {
    let store = &bed.store;
    let there = Acting {
        workspace: elsewhere(),
        ..ada.clone()
    };
    if store.project(&elsewhere(), "gone").await?.is_none() {
        store.create_project(&there, new("gone"), at(8)).await?;
    }
    let filed_there = store.issues(&elsewhere(), &IssueQuery::default()).await?;
    let ours = filed_there.items.iter().find(|issue| issue.title == FILED);
    match ours {
        None => {
            store
                .create_issue(&there, filed("gone"), &AGENTS, at(9))
                .await?;
        }
        Some(issue) => {
            let edit = IssueEdit {
                project: Some(Some("gone".to_owned())),
                ..IssueEdit::default()
            };
            store
                .edit_issue(&there, &issue.key, edit, &AGENTS, at(9))
                .await?;
        }
    }
    store
        .delete_project(&elsewhere(), "gone", true, at(10))
        .await
}

/// Nothing of it is lost, nothing is there twice.
pub(crate) async fn spoken(bed: &Bed) {
    let all = bed.store.projects(&workspace(), 9, None).await.unwrap();
    let stand: Vec<_> = all
        .items
        .iter()
        .map(|project| (project.title.as_str(), project.revision))
        .collect();
    assert_eq!(stand, [("another", 2)]);
    let there = bed.store.projects(&elsewhere(), 9, None).await.unwrap();
    assert_eq!(there.items, []);
    let issues = bed.store.issues(&elsewhere(), &IssueQuery::default()).await;
    let projects: Vec<_> = issues
        .unwrap()
        .items
        .into_iter()
        .filter(|issue| issue.title == FILED)
        .map(|issue| issue.project)
        .collect();
    assert_eq!(projects, [None]);
}

both! {
    async fn a_project_is_read_as_it_was_made(bed: Bed) {
        let ada = bed.ada().await;
        let made = made(&bed, &ada, "website").await;
        let wanted = Project {
            name: "website".to_owned(),
            title: "website".to_owned(),
            description: "# Why".to_owned(),
            repositories: vec![repository("app")],
            creator: ada.author.clone(),
            revision: 1,
            created: at(1),
            updated: at(1),
        };
        assert_eq!(made, wanted);
        assert_eq!(bed.store.project(&workspace(), "website").await.unwrap(), Some(wanted));
        assert_eq!(bed.store.project(&elsewhere(), "website").await.unwrap(), None);
        let again = bed.store.create_project(&ada, new("website"), at(2)).await;
        assert!(matches!(again, Err(Error::Conflict { .. })), "{again:?}");
        for wrong in ["", "Website", "a b", "../x"] {
            let refused = bed.store.create_project(&ada, new(wrong), at(2)).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{wrong}");
        }
        let mut wrong = new("other");
        wrong.repositories = vec![repository("app"), repository("app")];
        let refused = bed.store.create_project(&ada, wrong, at(2)).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })));
    }

    async fn a_project_goes_when_no_issue_belongs_to_it(bed: Bed) {
        let ada = bed.ada().await;
        let (store, gone) = (&bed.store, workspace());
        made(&bed, &ada, "app").await;
        made(&bed, &ada, "other").await;
        let issue = bed.issue(&ada, filed("app"), at(2)).await;
        let kept = bed.issue(&ada, filed("other"), at(2)).await;
        let refused = store.delete_project(&gone, "app", false, at(3)).await;
        assert!(matches!(&refused, Err(Error::Conflict { what }) if what.contains("`detach`")), "{refused:?}");
        for number in 0..250 {
            bed.issue(&ada, filed("app"), at(3 + number)).await;
        }
        store.delete_project(&gone, "app", true, at(300)).await.unwrap();
        let again = store.delete_project(&gone, "app", true, at(301)).await;
        assert!(matches!(again, Err(Error::Missing { .. })), "{again:?}");
        assert_eq!(store.project(&gone, "app").await.unwrap(), None);
        let query = IssueQuery { project: Some("app".to_owned()), ..IssueQuery::default() };
        let left = store.issues(&gone, &query).await;
        assert!(left.is_err() || left.unwrap().items.is_empty());
        let found = store.issue(&gone, &issue.key).await.unwrap().unwrap();
        assert_eq!((found.project, found.revision, found.updated), (None, 2, at(300)));
        let other = store.issue(&gone, &kept.key).await.unwrap().unwrap();
        assert_eq!((other.project.as_deref(), other.revision), (Some("other"), 1));
        // Nor is an issue put into it again.
        let refused = store.create_issue(&ada, filed("app"), &AGENTS, at(302)).await;
        assert!(matches!(refused, Err(Error::Missing { .. })), "{refused:?}");
        store.delete_project(&elsewhere(), "other", true, at(303)).await.unwrap_err();
        made(&bed, &ada, "app").await;
        store.delete_project(&gone, "app", false, at(304)).await.unwrap();
    }

    async fn an_issue_is_never_filed_into_a_project_that_goes(bed: Bed) {
        let ada = bed.ada().await;
        for round in 0..10 {
            made(&bed, &ada, "app").await;
            let file = bed.store.create_issue(&ada, filed("app"), &AGENTS, at(2 + round));
            let workspace = workspace();
            let end = bed.store.delete_project(&workspace, "app", true, at(2 + round));
            let (filed, ended) = tokio::join!(file, end);
            ended.unwrap();
            if let Ok(saved) = filed {
                let found = bed.store.issue(&workspace, &saved.issue.key).await.unwrap();
                assert_eq!(found.unwrap().project, None);
            }
        }
    }

    async fn projects_are_listed_by_name(bed: Bed) {
        let ada = bed.ada().await;
        for name in ["b", "c", "a"] {
            made(&bed, &ada, name).await;
        }
        let names = |page: &protocol::board::Page<Project>| -> Vec<String> {
            page.items.iter().map(|project| project.name.clone()).collect()
        };
        let first = bed.store.projects(&workspace(), 2, None).await.unwrap();
        assert_eq!(names(&first), ["a", "b"]);
        let last = bed.store.projects(&workspace(), 2, first.next.as_deref()).await.unwrap();
        assert_eq!((names(&last), last.next), (vec!["c".to_owned()], None));
        let foreign = bed.store.projects(&workspace(), 2, Some("../x")).await;
        assert!(matches!(foreign, Err(Error::Invalid { .. })));
        assert!(bed.store.projects(&elsewhere(), 2, None).await.unwrap().items.is_empty());
    }

    async fn an_edit_of_a_project_is_on_top_of_what_was_read(bed: Bed) {
        let ada = bed.ada().await;
        made(&bed, &ada, "app").await;
        let edit = |revision, title: &str| ProjectEdit {
            revision,
            title: Some(title.to_owned()),
            ..ProjectEdit::default()
        };
        let store = &bed.store;
        let edited = store.edit_project(&workspace(), "app", edit(Some(1), "new"), at(2)).await.unwrap();
        assert_eq!((edited.revision, edited.updated, edited.repositories.len()), (2, at(2), 1));
        let stale = store.edit_project(&workspace(), "app", edit(Some(1), "late"), at(3)).await;
        assert!(matches!(stale, Err(Error::Revision { present: 2 })));
        let same = store.edit_project(&workspace(), "app", edit(None, "new"), at(3)).await.unwrap();
        assert_eq!(same, edited);
        let absent = store.edit_project(&workspace(), "gone", edit(None, "x"), at(3)).await;
        assert!(matches!(absent, Err(Error::Missing { .. })));
    }

    async fn a_part_belongs_to_the_project_of_its_whole(bed: Bed) {
        let ada = bed.ada().await;
        for name in ["app", "docs"] {
            made(&bed, &ada, name).await;
        }
        let whole = bed.issue(&ada, filed("app"), at(2)).await;
        assert_eq!(whole.project.as_deref(), Some("app"));
        let part = || NewIssue { parent: Some(whole.key.clone()), ..titled("part") };
        assert_eq!(bed.issue(&ada, part(), at(3)).await.project.as_deref(), Some("app"));
        let other = NewIssue { project: Some("docs".to_owned()), ..part() };
        assert_eq!(bed.issue(&ada, other, at(3)).await.project.as_deref(), Some("docs"));
        assert_eq!(bed.issue(&ada, titled("alone"), at(3)).await.project, None);
        let absent = bed.store.create_issue(&ada, filed("gone"), &AGENTS, at(3)).await;
        assert!(matches!(absent, Err(Error::Missing { .. })));
        // It is moved, taken out, and never put where nothing is.
        let to = |project: Option<&str>| IssueEdit {
            project: Some(project.map(str::to_owned)),
            ..IssueEdit::default()
        };
        for (project, wanted) in [(Some("docs"), Some("docs")), (None, None), (Some("app"), Some("app"))] {
            let saved = bed.store.edit_issue(&ada, &whole.key, to(project), &AGENTS, at(4)).await.unwrap();
            assert_eq!(saved.issue.project.as_deref(), wanted);
            let read = bed.store.issue(&workspace(), &whole.key).await.unwrap().unwrap();
            assert_eq!(read.project.as_deref(), wanted);
        }
        let absent = bed.store.edit_issue(&ada, &whole.key, to(Some("gone")), &AGENTS, at(5)).await;
        assert!(matches!(absent, Err(Error::Missing { .. })));
    }

    async fn issues_are_found_by_their_project(bed: Bed) {
        let ada = bed.ada().await;
        for name in ["app", "docs"] {
            made(&bed, &ada, name).await;
        }
        let given = NewIssue { assignee: Some(agent("reviewer")), no_start: true, ..filed("app") };
        let mut keys = Vec::new();
        for new in [filed("app"), given, filed("docs"), titled("alone")] {
            keys.push(bed.issue(&ada, new, at(2)).await.key);
        }
        let done = IssueEdit { status: Some(IssueStatus::Done), ..IssueEdit::default() };
        bed.store.edit_issue(&ada, &keys[0], done, &AGENTS, at(3)).await.unwrap();
        let app = IssueQuery { project: Some("app".to_owned()), ..IssueQuery::default() };
        for (query, wanted) in [
            (app.clone(), vec![1, 0]),
            (IssueQuery { status: Some(IssueStatus::Done), ..app.clone() }, vec![0]),
            (IssueQuery { assignee: Some("agent:reviewer".to_owned()), ..app.clone() }, vec![1]),
            (IssueQuery { assignee: Some("agent:reviewer".to_owned()), status: Some(IssueStatus::Done), ..app }, vec![]),
            (IssueQuery { project: Some("docs".to_owned()), ..IssueQuery::default() }, vec![2]),
            (IssueQuery { project: Some("gone".to_owned()), ..IssueQuery::default() }, vec![]),
        ] {
            let found = bed.store.issues(&workspace(), &query).await.unwrap().items;
            let found: Vec<_> = found.into_iter().map(|issue| issue.key).collect();
            let wanted: Vec<_> = wanted.into_iter().map(|at| keys[at as usize].clone()).collect();
            assert_eq!(found, wanted, "{query:?}");
        }
    }

    async fn an_issue_has_the_repositories_of_its_project(bed: Bed) {
        let ada = bed.ada().await;
        made(&bed, &ada, "app").await;
        let issue = bed.issue(&ada, filed("app"), at(2)).await;
        let alone = bed.issue(&ada, titled("alone"), at(2)).await;
        let uid = workspace().namespace_uid;
        let of = async |uid: &str, number| bed.store.repositories_of_issue(uid, number).await.unwrap();
        assert_eq!(of(&uid, issue.key.number).await, [repository("app")]);
        assert_eq!(of(&uid, alone.key.number).await, []);
        assert_eq!(of(&elsewhere().namespace_uid, issue.key.number).await, []);
    }
}
