//! Types and reasons of an AgentTask's conditions.

/// Types of a task's conditions, in the order in which they are written.
pub mod condition {
    /// True when the task is entered and everything it names is there.
    pub const ACCEPTED: &str = "Accepted";
    /// True from the claim on: the task has the session, the agent's and the Runtime's room.
    pub const CLAIMED: &str = "Claimed";
    /// True when the workdir stands.
    pub const WORKDIR_READY: &str = "WorkdirReady";
    /// True while the attempt's token is valid. False before and after.
    pub const CREDENTIAL_ISSUED: &str = "CredentialIssued";
    /// True while the agent's container runs.
    pub const POD_READY: &str = "PodReady";
    /// True when an attempt was ended before its turn was over.
    pub const INTERRUPTED: &str = "Interrupted";
    /// True while the agent waits for a person's decision: `moor approval list` shows on what.
    pub const WAITING_FOR_HUMAN: &str = "WaitingForHuman";
    /// True while there is something to do; tools that know kstatus read it.
    pub const RECONCILING: &str = "Reconciling";
    /// True after any end. `kubectl wait --for=condition=Finished` waits for it.
    pub const FINISHED: &str = "Finished";
    /// The verdict; Unknown while the task runs, with a reason that says what it does.
    pub const SUCCEEDED: &str = "Succeeded";

    /// All of them; every one exists from the first pass on.
    pub const ALL: [&str; 10] = [
        ACCEPTED,
        CLAIMED,
        WORKDIR_READY,
        CREDENTIAL_ISSUED,
        POD_READY,
        INTERRUPTED,
        WAITING_FOR_HUMAN,
        RECONCILING,
        FINISHED,
        SUCCEEDED,
    ];
}

/// Reasons of a task's conditions. A failed task's `Succeeded` has its failure class as the reason.
pub mod reason {
    /// Accepted: entered, and everything it names is there.
    pub const ACCEPTED: &str = "Accepted";
    /// Accepted is False: the Agent does not exist (yet). Create it, or delete the task.
    pub const AGENT_NOT_FOUND: &str = "AgentNotFound";
    /// Accepted is False: none of the Agent's Runtimes exists (yet).
    pub const RUNTIME_NOT_FOUND: &str = "RuntimeNotFound";
    /// Accepted is False: none of the Agent's Runtimes is ready; their conditions say why.
    pub const RUNTIME_NOT_READY: &str = "RuntimeNotReady";
    /// Accepted is False: its Agent says which tools it may use, and the coding agent of none of its ready Runtimes can be
    /// held to that. Change the Agent's `tools` or `runtimeRefs`.
    pub const TOOLS_NOT_ENFORCED: &str = "ToolsNotEnforced";
    /// Accepted is False: the namespace lacks the label `mooring.dev/workspace: enabled`.
    pub const NOT_A_WORKSPACE: &str = "NotAWorkspace";
    /// Accepted is False: the same task has run already and its object was removed by its ttl. To run it again give it
    /// another name.
    pub const ALREADY_RAN: &str = "AlreadyRan";
    /// Accepted is False: the ConfigMap of `promptFrom` is not there, or holds no prompt. It is looked for again every
    /// half minute.
    pub const PROMPT_NOT_FOUND: &str = "PromptNotFound";
    /// Accepted is False: as many tasks wait in the workspace as its `AgentQuota` allows. It is looked at again when one
    /// of them has begun.
    pub const QUEUE_FULL: &str = "QueueFull";
    /// Accepted is False: its Agent does not let who asked for it wake it, or the workspace wants a person to ask. Have
    /// yourself added to the Agent's `access`, then create the task again.
    pub const NOT_ALLOWED: &str = "NotAllowed";
    /// Accepted is False: `startAfter` is too far ahead. Create it later, or let an `AgentSchedule` do it.
    pub const START_TOO_LATE: &str = "StartTooLate";
    /// Accepted is False: it has a cause, but Mooring did not make it. Write a comment that mentions the agent instead.
    pub const NOT_FROM_STORE: &str = "NotFromStore";
    /// Accepted is False: store and cluster belong to different installations; nothing is written.
    pub const READ_ONLY: &str = "ReadOnly";

    /// It waits; `status.waiting` says for what.
    pub const QUEUED: &str = "Queued";
    /// Its objects are being made and its pod starts.
    pub const CLAIMED: &str = "Claimed";
    /// The runner prepares the workdir.
    pub const PREPARING: &str = "Preparing";
    /// The agent works.
    pub const RUNNING: &str = "Running";
    /// The verdict is in; Secret and pod are being cleared away.
    pub const FINISHING: &str = "Finishing";
    /// It was put aside by `desiredState: Suspend`.
    pub const SUSPENDED: &str = "Suspended";
    /// It is over.
    pub const FINISHED: &str = "Finished";
    /// The agent ended its turn with an answer.
    pub const SUCCEEDED: &str = "Succeeded";

    /// Not there yet, or never will be because the task ended before.
    pub const NOT_YET: &str = "NotYet";
    /// The workdir stands.
    pub const PREPARED: &str = "Prepared";
    /// The token is valid.
    pub const ISSUED: &str = "Issued";
    /// The token is dead.
    pub const REVOKED: &str = "Revoked";
    /// The agent's container runs.
    pub const CONTAINER_RUNNING: &str = "ContainerRunning";
    /// The pod has not started its container yet; the message holds what the cluster says.
    pub const POD_STARTING: &str = "PodStarting";
    /// The pod is over.
    pub const POD_ENDED: &str = "PodEnded";
    /// Uses of tools wait for a decision; the message names them. Decide with `moor approval approve` or `deny`.
    pub const APPROVAL_PENDING: &str = "ApprovalPending";
    /// Nothing waits for a decision.
    pub const NOTHING_ASKED: &str = "NothingAsked";
    /// No attempt was interrupted.
    pub const NOT_INTERRUPTED: &str = "NotInterrupted";
    /// An attempt was ended before its turn was over; the message says by what.
    pub const ATTEMPT_ENDED: &str = "AttemptEnded";
}
