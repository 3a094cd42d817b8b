//! `AgentSchedule`: work that begins by the clock.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentRef, Assignee};

/// Firings of a schedule that may go on at the same time.
pub const MAX_ACTIVE: usize = 32;

/// Work that begins by the clock: an issue that is made, or a task that is run.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "mooring.dev",
    version = "v1alpha1",
    kind = "AgentSchedule",
    plural = "agentschedules",
    namespaced,
    status = "AgentScheduleStatus",
    shortname = "asch",
    category = "mooring",
    derive = "PartialEq",
    doc = "AgentSchedule is work that begins by the clock: an issue that is made, or a task that is run. Each time of it begins once, whatever crashes.",
    printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.schedule"),
    printcolumn(name = "Time zone", type_ = "string", json_path = ".spec.timeZone"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Last", type_ = "date", json_path = ".status.lastScheduleTime"),
    printcolumn(name = "Next", type_ = "string", json_path = ".status.nextScheduleTime"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')")
        .message("AgentSchedule names are at most 40 lower-case letters, digits and hyphens: choose a shorter or simpler name"),
)]
#[x_kube(validation = Rule::new("has(self.createIssue) != has(self.run)")
    .message("a schedule does one thing: give it either createIssue or run"))]
#[serde(rename_all = "camelCase")]
pub struct AgentScheduleSpec {
    /// schedule is when it begins: five fields as in cron, or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually.
    #[schemars(length(min = 1, max = 100))]
    #[x_kube(validation = Rule::new(r"self.matches('^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|[^ @]+( +[^ ]+){4})$')")
        .message("schedule has not the form of cron: write five fields, minute hour day month weekday, or @daily and the like"))]
    pub schedule: String,
    /// timeZone is the name of the time zone of schedule in the IANA database, for example Europe/Berlin.
    #[schemars(
        length(min = 1, max = 64),
        regex(pattern = r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$")
    )]
    #[serde(default = "time_zone")]
    pub time_zone: String,
    /// concurrencyPolicy says what happens when a time comes while an earlier one still goes on.
    #[serde(default)]
    pub concurrency_policy: ConcurrencyPolicy,
    /// startingDeadlineSeconds is how late a time may begin. Without it a time that was missed begins whenever it can; of several only the last does.
    #[schemars(range(min = 1, max = 31_536_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting_deadline_seconds: Option<i32>,
    /// suspend lets no time begin; what goes on is left alone, and what comes meanwhile is not made up for.
    #[serde(default)]
    pub suspend: bool,
    /// createIssue makes an issue; who it is given to is woken by the usual rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_issue: Option<ScheduledIssue>,
    /// run makes an AgentTask, without an issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<ScheduledRun>,
}

/// What happens when a time comes while an earlier one still goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConcurrencyPolicy {
    /// Both go on.
    Allow,
    /// The later one waits for the end of the earlier one; of several that wait only the last begins.
    #[default]
    Forbid,
    /// The earlier one is cancelled.
    Replace,
}

/// An issue that a schedule makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledIssue {
    /// title of the issue. {date} and {time} in it stand for the time that it is made for.
    #[schemars(length(min = 1, max = 200))]
    #[x_kube(validation = Rule::new(r"self.matches('^[^\\p{C}\\s]([^\\p{C}]*[^\\p{C}\\s])?$')")
        .message("title is one line of printable characters and neither begins nor ends with a blank: shorten it to one line"))]
    pub title: String,
    /// description of the issue, at most 65536 bytes of UTF-8. {date} and {time} in it stand for the time that it is made for.
    #[schemars(length(max = 65536))]
    #[x_kube(validation = Rule::new("bytes(self).size() <= 65536")
        .message("description is longer than 65536 bytes of UTF-8: shorten it, or let the agent read the rest from a file"))]
    #[serde(default)]
    pub description: String,
    /// assignee gets the issue and is woken. Without one the issue waits for somebody who takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<Assignee>,
    /// priority of the issue.
    #[schemars(range(min = -1000, max = 1000))]
    #[serde(default)]
    pub priority: i32,
}

/// A task that a schedule runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledRun {
    /// agentRef names the Agent in the same namespace that does the task.
    pub agent_ref: AgentRef,
    /// subject is the Key under which the agent remembers from time to time. Without one it is the name of the schedule.
    #[schemars(length(min = 1, max = 128))]
    #[x_kube(validation = Rule::new(r"self.matches('^[^\\p{C}\\s]([^\\p{C}]*[^\\p{C}\\s])?$')")
        .message("subject names are 1 to 128 printable characters and neither begin nor end with a blank: choose another name"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// prompt is what the agent is asked, at most 65536 bytes of UTF-8.
    #[schemars(length(min = 1, max = 65536))]
    #[x_kube(validation = Rule::new("bytes(self).size() <= 65536")
        .message("prompt is longer than 65536 bytes of UTF-8: shorten it, or let the agent read the rest from a file"))]
    pub prompt: String,
    /// deadlineSeconds is how long after its creation the task is ended.
    #[schemars(range(min = 1, max = 31_536_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<i32>,
}

/// What is known about a schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentScheduleStatus {
    /// observedGeneration is the metadata.generation that this status was computed from.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_i64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// conditions are what is known; Ready says whether its times begin.
    #[schemars(schema_with = "crate::conditions::list_schema")]
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// lastScheduleTime is the last time that began, as the schedule says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<Time>,
    /// nextScheduleTime is the next time that will begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_schedule_time: Option<Time>,
    /// lastMissedTime is the last time that did not begin because it would have been too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_missed_time: Option<Time>,
    /// active are the times that still go on, oldest first.
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<ActiveFiring>,
}

/// A time of a schedule that still goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActiveFiring {
    /// scheduleTime is the time, as the schedule says it.
    pub schedule_time: Time,
    /// issue is the key of the issue that was made.
    #[schemars(length(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// task is the name of the AgentTask that was made.
    #[schemars(length(max = 253))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// Reasons of a schedule's `Ready`.
pub mod reason {
    /// Its times begin.
    pub const READY: &str = "Ready";
    /// Its times begin, and the last one waits for the end of an earlier one, or for the 33rd not to go on at once.
    pub const EARLIER_GOES_ON: &str = "EarlierGoesOn";
    /// `suspend` is set.
    pub const SUSPENDED: &str = "Suspended";
    /// `schedule` is no cron expression. The message says what is wrong with it.
    pub const SCHEDULE_INVALID: &str = "ScheduleInvalid";
    /// `schedule` names no time that ever comes, for example the 30th of February.
    pub const NEVER_DUE: &str = "NeverDue";
    /// `timeZone` is none that is known. Take a name of the IANA database, for example `Europe/Berlin`.
    pub const TIME_ZONE_UNKNOWN: &str = "TimeZoneUnknown";
    /// Whoever is to do it does not exist. Create it, or correct the name; a time that is due waits until then.
    pub const AGENT_NOT_FOUND: &str = "AgentNotFound";
    /// The time that is due could not begin. The message says why; another try follows by itself.
    pub const NOT_BEGUN: &str = "NotBegun";
    /// An issue was made, but who gets it was not woken, for the reason that the Event says.
    pub const NOT_WOKEN: &str = "NotWoken";
    /// The time that was due did not begin within `startingDeadlineSeconds`; only said in an Event.
    pub const MISSED: &str = "Missed";
}

fn time_zone() -> String {
    "Etc/UTC".to_owned()
}
