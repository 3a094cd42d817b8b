//! Rights: a verb on one of the resources of our group, as Kubernetes is asked for it.

/// What a route asks of its caller.
pub(crate) trait Right: Send + Sync + 'static {
    /// The verb of Kubernetes.
    const VERB: &'static str;
    /// The resource, of the group `mooring.dev`. Some are only in the store; Kubernetes does not mind.
    const RESOURCE: &'static str;
    /// Why a task's token does not have it; `None` where it has it within its scope.
    const NOT_FOR_AGENTS: Option<&'static str>;
}

macro_rules! rights {
    ($($(#[doc = $doc:literal])+ $name:ident: $verb:literal $resource:literal $(, people: $why:literal)?;)+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug)]
            pub(crate) struct $name;

            impl Right for $name {
                const VERB: &'static str = $verb;
                const RESOURCE: &'static str = $resource;
                const NOT_FOR_AGENTS: Option<&'static str> = rights!(@why $($why)?);
            }
        )+

        /// Every right, for tests: verb, resource, and whether agents have it.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str, bool)] =
            &[$(($name::VERB, $name::RESOURCE, $name::NOT_FOR_AGENTS.is_none()),)+];
    };
    (@why) => { None };
    (@why $why:literal) => { Some($why) };
}

rights! {
    /// The issues of the workspace.
    ListIssues: "list" "issues",
        people: "a task's token sees its own issue and the children of that, not the list of all";
    /// A new issue; an agent's is a child of its own.
    CreateIssues: "create" "issues";
    /// One issue.
    GetIssues: "get" "issues";
    /// Its title, text, status, priority, assignee.
    PatchIssues: "patch" "issues";
    /// The parts of an issue.
    ListChildren: "list" "issues";
    /// The comments of an issue.
    ListComments: "list" "comments";
    /// A new comment, and what it would do.
    CreateComments: "create" "comments";
    /// Another text in one's own comment; a thread that is settled or open again.
    PatchComments: "patch" "comments";
    /// A comment less.
    DeleteComments: "delete" "comments";
    /// The tasks of an issue.
    ListRuns: "list" "tasks";
    /// The tasks of the workspace.
    ListTasks: "list" "tasks",
        people: "a task's token sees its own task, not the list of all";
    /// One task; an agent's own.
    GetTasks: "get" "tasks";
    /// The end of a task.
    CancelTasks: "patch" "tasks",
        people: "only people cancel tasks: say in a comment that it should be";
    /// What happened in a task.
    GetTimelines: "get" "tasks",
        people: "only people read what happened in a task: an agent's words belong into a comment";
    /// Who can be asked.
    ListAgents: "list" "agents";
    /// Which people there are.
    ListMembers: "list" "members";
    /// What the caller should look at.
    ListInbox: "list" "inboxes", people: "only people have an inbox";
    /// That it was looked at.
    PatchInbox: "patch" "inboxes", people: "only people have an inbox";
    /// That it can go.
    DeleteInbox: "delete" "inboxes", people: "only people have an inbox";
}
