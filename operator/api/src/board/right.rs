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

        /// Every right: verb, resource, and whether agents have it.
        pub(crate) const ALL: &[(&str, &str, bool)] =
            &[$(($name::VERB, $name::RESOURCE, $name::NOT_FOR_AGENTS.is_none()),)+];
    };
    (@why) => { None };
    (@why $why:literal) => { Some($why) };
}

rights! {
    /// The issues of the workspace.
    ListIssues: "list" "issues";
    /// A new issue; an agent's is a child of its own.
    CreateIssues: "create" "issues";
    /// One issue.
    GetIssues: "get" "issues";
    /// Its title, text, status, priority, assignee.
    PatchIssues: "patch" "issues";
    /// The projects of the workspace; an agent's own.
    ListProjects: "list" "projects";
    /// One project; an agent's own.
    GetProjects: "get" "projects";
    /// A new project.
    CreateProjects: "create" "projects",
        people: "only people make projects: say in a comment which one is missing";
    /// Its texts and repositories.
    PatchProjects: "patch" "projects",
        people: "only people change projects: say in a comment what should be changed";
    /// The end of a project.
    DeleteProjects: "delete" "projects", people: "only people end projects: say in a comment that one should end";
    /// The files of an issue.
    ListAttachments: "list" "attachments";
    /// A file more.
    CreateAttachments: "create" "attachments";
    /// The content of a file.
    GetAttachments: "get" "attachments";
    /// A file less; an agent's own.
    DeleteAttachments: "delete" "attachments";
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
    /// A task that does another one again.
    RerunTasks: "create" "tasks",
        people: "only people have a task done again: say in a comment what is missing";
    /// A task put aside, or going on.
    SuspendTasks: "patch" "tasks",
        people: "only people put tasks aside";
    /// What happened in a task.
    GetTimelines: "get" "tasks",
        people: "only people read what happened in a task: an agent's words belong into a comment";
    /// What its program wrote.
    GetRawLogs: "get" "rawlogs",
        people: "only people read what an agent's program wrote";
    /// What happens, as it happens.
    LookOn: "list" "issues",
        people: "only people look on: an agent is woken by what it has to know";
    /// What was said on an issue, and who was woken; the latter is asked for apart.
    ListHistory: "list" "comments";
    /// Who can be asked.
    ListAgents: "list" "agents";
    /// Which teams can be asked.
    ListTeams: "list" "agentteams";
    /// One team, with who is in it.
    GetTeams: "get" "agentteams";
    /// What agents can load.
    ListSkills: "list" "skills";
    /// One skill.
    GetSkills: "get" "skills";
    /// What begins by the clock.
    ListSchedules: "list" "agentschedules", people: "only people look at schedules";
    /// One schedule.
    GetSchedules: "get" "agentschedules", people: "only people look at schedules";
    /// Through which doors other systems come in.
    ListWebhooks: "list" "agentwebhooks", people: "only people look at webhooks";
    /// One of them, and what it has delivered.
    GetWebhooks: "get" "agentwebhooks", people: "only people look at webhooks";
    /// On what agents run.
    ListRuntimes: "list" "runtimes", people: "only people look at runtimes";
    /// One runtime.
    GetRuntimes: "get" "runtimes", people: "only people look at runtimes";
    /// Which people there are.
    ListMembers: "list" "members";
    /// The caller's chats.
    ListChats: "list" "chats", people: "only people have chats; a task that answers one sees that one";
    /// A chat, or a message in one.
    CreateChats: "create" "chats",
        people: "only people write into chats: the last message of a task is its answer";
    /// One chat of the caller's; an agent's own.
    GetChats: "get" "chats";
    /// Its title, and whether it was put away.
    PatchChats: "patch" "chats", people: "only people change their chats";
    /// An issue that an agent is to write.
    CreateQuickIssues: "create" "issues",
        people: "only people have an issue written: an agent makes it with `moor issue create`";
    /// What became of it.
    GetQuickIssues: "get" "issues", people: "only people have an issue written";
    /// What agents wait for a decision on.
    ListApprovals: "list" "approvals",
        people: "only people see what waits for a decision";
    /// One of these.
    GetApprovals: "get" "approvals",
        people: "only people see what waits for a decision";
    /// The decision.
    DecideApprovals: "approve" "approvals",
        people: "only people decide which tools an agent may use";
    /// What the caller should look at.
    ListInbox: "list" "inboxes", people: "only people have an inbox";
    /// That it was looked at.
    PatchInbox: "patch" "inboxes", people: "only people have an inbox";
    /// That it can go.
    DeleteInbox: "delete" "inboxes", people: "only people have an inbox";
}

/// What a task's token may do within its scope, a verb and a resource each, for `whoami`.
pub(crate) fn verbs_of_agents() -> Vec<String> {
    let allowed = ALL.iter().filter(|(_, _, agents)| *agents);
    let mut verbs: Vec<String> = allowed
        .map(|(verb, resource, _)| format!("{verb} {resource}"))
        .collect();
    verbs.sort_unstable();
    verbs.dedup();
    verbs
}
