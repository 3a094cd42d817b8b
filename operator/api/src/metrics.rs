//! What `/metrics` tells.

use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use store::Summary;

/// A request. All three are of small fixed sets, so the number of series is bounded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
    /// The route's pattern, or `none`.
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

/// Why a connection was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(crate) enum Refusal {
    /// There are too many.
    TooMany,
    /// Its handshake failed or took too long.
    Handshake,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: Refusal,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct State {
    state: &'static str,
}

/// The server's own numbers.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    requests: Family<Request, Counter>,
    durations: Family<Route, Histogram, fn() -> Histogram>,
    refused: Family<Reason, Counter>,
    tasks: Family<State, Gauge>,
    holders: Gauge,
    pub(crate) connections: Gauge,
    pub(crate) held: Gauge,
    pub(crate) live: Gauge,
    pub(crate) events: Counter,
}

impl Metrics {
    pub(crate) fn new(registry: &mut Registry) -> Self {
        // 0.5 ms to 16 s. Held requests last longer on purpose and are not observed.
        let durations = || Histogram::new(exponential_buckets(0.0005, 2.0, 16));
        let metrics = Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(durations),
            refused: Family::default(),
            tasks: Family::default(),
            holders: Gauge::default(),
            connections: Gauge::default(),
            held: Gauge::default(),
            live: Gauge::default(),
            events: Counter::default(),
        };
        let api = registry.sub_registry_with_prefix("api");
        api.register("requests", "Requests answered", metrics.requests.clone());
        api.register(
            "request_duration_seconds",
            "Time to an answer, held requests aside",
            metrics.durations.clone(),
        );
        api.register(
            "connections",
            "Open connections",
            metrics.connections.clone(),
        );
        api.register(
            "connections_refused",
            "Connections not served",
            metrics.refused.clone(),
        );
        api.register(
            "held_requests",
            "Runners waiting for a command",
            metrics.held.clone(),
        );
        api.register(
            "live_connections",
            "People who look on",
            metrics.live.clone(),
        );
        api.register("events", "Events of runs taken", metrics.events.clone());
        registry.register(
            "tasks",
            "Tasks that are not finished, by state",
            metrics.tasks.clone(),
        );
        registry.register(
            "holders",
            "Sessions whose volume an attempt holds",
            metrics.holders.clone(),
        );
        metrics
    }

    pub(crate) fn answered(
        &self,
        method: &Method,
        route: &str,
        status: StatusCode,
        took: Duration,
    ) {
        let request = Request {
            method: word(method),
            route: route.to_owned(),
            status: status.as_u16(),
        };
        self.requests.get_or_create(&request).inc();
        if route != crate::routes::CONTROL {
            self.durations
                .get_or_create(&Route {
                    route: route.to_owned(),
                })
                .observe(took.as_secs_f64());
        }
    }

    pub(crate) fn refused(&self, reason: Refusal) {
        self.refused.get_or_create(&Reason { reason }).inc();
    }

    /// Takes over what the store says at a scrape.
    pub(crate) fn stands(&self, summary: Summary) {
        let Summary {
            queued,
            claimed,
            preparing,
            running,
            finishing,
            suspended,
            holders,
        } = summary;
        let states = [
            ("queued", queued),
            ("claimed", claimed),
            ("preparing", preparing),
            ("running", running),
            ("finishing", finishing),
            ("suspended", suspended),
        ];
        for (state, count) in states {
            self.tasks
                .get_or_create(&State { state })
                .set(number(count));
        }
        self.holders.set(number(holders));
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Methods are the caller's words, so only those that a route may know become a label.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        _ => "other",
    }
}
