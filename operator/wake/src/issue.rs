//! Whom a write of an issue means.

use protocol::board::{IssueStatus, Recipient, RecipientKind};

/// How an issue stood before a write.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// Where it stood.
    pub status: IssueStatus,
    /// Who it was assigned to.
    pub assignee: Option<&'a Recipient>,
}

/// The agent or team that is to begin with an issue: it was given to that one, or has left the backlog. What is parked
/// there begins nothing. `before` is absent for a new issue.
#[must_use]
pub fn assignment<'a>(
    before: Option<Before<'_>>,
    status: IssueStatus,
    assignee: Option<&'a Recipient>,
) -> Option<&'a Recipient> {
    let to = assignee.filter(|assignee| assignee.kind != RecipientKind::Member)?;
    let begins = match before {
        None => status != IssueStatus::Backlog,
        Some(before) if before.assignee != assignee => status != IssueStatus::Backlog,
        Some(before) => {
            before.status == IssueStatus::Backlog
                && status != IssueStatus::Backlog
                && !status.is_closed()
        }
    };
    begins.then_some(to)
}

/// A stage of the children of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its number; absent for the children without one, which are a stage of their own.
    pub stage: Option<u32>,
    /// How many of its children are not closed.
    pub open: u32,
}

/// What has come to its end with a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedStage {
    /// The children without a stage.
    Unstaged,
    /// All stages up to this one.
    UpTo(u32),
}

/// The stage that is closed now that a child of stage `child` is: all children of that stage and of those before
/// it must be. Where later ones are closed too, the last of them is named.
#[must_use]
pub fn closed_stage(stages: &[Stage], child: Option<u32>) -> Option<ClosedStage> {
    let Some(child) = child else {
        let open = stages
            .iter()
            .any(|each| each.stage.is_none() && each.open > 0);
        return (!open).then_some(ClosedStage::Unstaged);
    };
    let first_open = stages
        .iter()
        .filter(|each| each.open > 0)
        .filter_map(|each| each.stage)
        .min();
    let before = |stage: &u32| first_open.is_none_or(|open| *stage < open);
    let last = stages
        .iter()
        .filter_map(|each| each.stage)
        .filter(before)
        .max();
    last.filter(|last| *last >= child).map(ClosedStage::UpTo)
}

/// Whether an issue hears of its children: not when it is closed or parked, nor when a person has it.
#[must_use]
pub fn hears_of_children(status: IssueStatus, assignee: Option<&Recipient>) -> bool {
    let with_person = assignee.is_some_and(|assignee| assignee.kind == RecipientKind::Member);
    !status.is_closed() && status != IssueStatus::Backlog && !with_person
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn recipient(kind: RecipientKind, id: &str) -> Recipient {
        Recipient {
            kind,
            id: id.to_owned(),
        }
    }

    #[test]
    fn who_is_given_an_issue_begins() {
        use IssueStatus as S;
        let (a, b) = (
            recipient(RecipientKind::Agent, "a"),
            recipient(RecipientKind::Agent, "b"),
        );
        let eve = recipient(RecipientKind::Member, "eve");
        let before = |status, assignee| Some(Before { status, assignee });
        for (name, before, status, assignee, wanted) in [
            ("created", None, S::Todo, Some(&a), Some("a")),
            ("created and parked", None, S::Backlog, Some(&a), None),
            ("created for a person", None, S::Todo, Some(&eve), None),
            ("created for nobody", None, S::Todo, None, None),
            (
                "assigned",
                before(S::Todo, None),
                S::Todo,
                Some(&a),
                Some("a"),
            ),
            (
                "taken over",
                before(S::InProgress, Some(&b)),
                S::InProgress,
                Some(&a),
                Some("a"),
            ),
            (
                "assigned while parked",
                before(S::Backlog, None),
                S::Backlog,
                Some(&a),
                None,
            ),
            (
                "nothing changed",
                before(S::Todo, Some(&a)),
                S::Todo,
                Some(&a),
                None,
            ),
            ("taken away", before(S::Todo, Some(&a)), S::Todo, None, None),
            (
                "no longer parked",
                before(S::Backlog, Some(&a)),
                S::Todo,
                Some(&a),
                Some("a"),
            ),
            (
                "parked and dropped",
                before(S::Backlog, Some(&a)),
                S::Cancelled,
                Some(&a),
                None,
            ),
            (
                "another status",
                before(S::Todo, Some(&a)),
                S::InProgress,
                Some(&a),
                None,
            ),
            (
                "both at once",
                before(S::Backlog, Some(&b)),
                S::Todo,
                Some(&a),
                Some("a"),
            ),
        ] {
            let begins = assignment(before, status, assignee).map(|to| to.id.as_str());
            assert_eq!(begins, wanted, "{name}");
        }
    }

    #[test]
    fn a_stage_closes_with_its_last_child() {
        let stage = |stage, open| Stage { stage, open };
        let staged = |list: &[(u32, u32)]| {
            list.iter()
                .map(|(number, open)| stage(Some(*number), *open))
                .collect::<Vec<_>>()
        };
        for (stages, child, wanted) in [
            (vec![stage(None, 1)], None, None),
            (vec![stage(None, 0)], None, Some(ClosedStage::Unstaged)),
            (
                vec![stage(None, 0), stage(Some(1), 3)],
                None,
                Some(ClosedStage::Unstaged),
            ),
            (
                staged(&[(1, 0), (2, 1)]),
                Some(1),
                Some(ClosedStage::UpTo(1)),
            ),
            (staged(&[(1, 1), (2, 0)]), Some(2), None),
            (
                staged(&[(1, 0), (2, 0), (3, 2)]),
                Some(1),
                Some(ClosedStage::UpTo(2)),
            ),
            (staged(&[(1, 0), (2, 1)]), Some(2), None),
            (
                vec![stage(None, 1), stage(Some(1), 0)],
                Some(1),
                Some(ClosedStage::UpTo(1)),
            ),
        ] {
            assert_eq!(closed_stage(&stages, child), wanted, "{stages:?} {child:?}");
        }
    }

    #[test]
    fn who_hears_of_children() {
        let (a, eve, core) = (
            recipient(RecipientKind::Agent, "a"),
            recipient(RecipientKind::Member, "eve"),
            recipient(RecipientKind::Team, "core"),
        );
        assert!(hears_of_children(IssueStatus::Todo, Some(&core)));
        assert!(hears_of_children(IssueStatus::InProgress, Some(&a)));
        assert!(hears_of_children(IssueStatus::Blocked, None));
        assert!(!hears_of_children(IssueStatus::InProgress, Some(&eve)));
        for status in [
            IssueStatus::Backlog,
            IssueStatus::Done,
            IssueStatus::Cancelled,
        ] {
            assert!(!hears_of_children(status, Some(&a)), "{status:?}");
        }
    }

    proptest! {
        /// Whatever order children close in, all closed means that the last one's end is heard.
        #[test]
        fn the_last_child_is_always_heard(stages in proptest::collection::vec(proptest::option::of(1..4_u32), 1..8), order: prop::sample::Index) {
            let last = stages[order.index(stages.len())];
            let all: Vec<_> = stages.iter().map(|stage| Stage { stage: *stage, open: 0 }).collect();
            prop_assert!(closed_stage(&all, last).is_some());
        }
    }
}
