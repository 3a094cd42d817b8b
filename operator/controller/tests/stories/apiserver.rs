//! A small apiserver in memory, behind the same client as the real one: get, list, watch, create, merge
//! patch, apply, delete with preconditions and grace, and the garbage collection of owned objects.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use bytes::Bytes;
use controller::Clock;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::{Value, json};

use crate::answer::{Answer, Watcher};

/// Kinds that an operator watches.
const WATCHED: usize = 14;

/// Resource, namespace (empty for none), name.
type Place = (String, String, String);

/// One request that was not a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) verb: &'static str,
    /// Resource, with `/status` where it was that.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) code: u16,
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.verb, self.resource, self.name)?;
        if self.code >= 300 {
            write!(f, " -> {}", self.code)
        } else {
            Ok(())
        }
    }
}

/// The server. A clone is the same.
#[derive(Clone)]
pub(crate) struct ApiServer {
    state: Arc<Mutex<State>>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct State {
    version: u64,
    uids: u64,
    objects: BTreeMap<Place, Value>,
    /// Every change: version, resource, event.
    history: Vec<(u64, String, Value)>,
    watchers: Vec<Watcher>,
    asked: Vec<Asked>,
    refusals: Vec<(String, u16, String)>,
    is_away: bool,
}

impl ApiServer {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            state: Arc::default(),
            clock,
        }
    }

    pub(crate) fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    /// Everything asked so far, watches and lists aside.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.lock().asked.clone()
    }

    /// From now on creates of this resource are refused, or writes of `resource/status`.
    pub(crate) fn refuse(&self, resource: &str, code: u16, message: &str) {
        self.lock()
            .refusals
            .push((resource.to_owned(), code, message.to_owned()));
    }

    /// Whether it is there for the operator; the node goes on meanwhile, as kubelets do.
    pub(crate) fn away(&self, is_away: bool) {
        let mut state = self.lock();
        state.is_away = is_away;
        if is_away {
            state.watchers.clear();
        }
    }

    /// Whether the operator has taken in every change there was. One that cannot ask knows what it can.
    pub(crate) fn has_told(&self) -> bool {
        let mut state = self.lock();
        state.watchers.retain(Watcher::is_there);
        let all = state.watchers.len() >= WATCHED;
        state.is_away || (all && state.watchers.iter().all(Watcher::knows_all))
    }

    pub(crate) fn forget_asked(&self) {
        self.lock().asked.clear();
    }

    pub(crate) fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.lock()
            .objects
            .get(&place(resource, namespace, name))
            .cloned()
    }

    pub(crate) fn list(&self, resource: &str) -> Vec<Value> {
        self.lock()
            .objects
            .iter()
            .filter(|((of, _, _), _)| of == resource)
            .map(|(_, object)| object.clone())
            .collect()
    }

    /// Creates what a person would.
    pub(crate) fn create(&self, resource: &str, object: Value) -> Value {
        self.do_create(resource, object).expect("a new name")
    }

    /// Changes an object as its owner would; the generation rises when the spec does.
    pub(crate) fn edit(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) {
        let mut state = self.lock();
        let place = place(resource, namespace, name);
        let old = state.objects.get(&place).cloned();
        let old = old.unwrap_or_else(|| panic!("no {resource} {name}"));
        self.change(&mut state, place, &old, change);
    }

    /// Changes a pod that may be gone by now, or another one of its name.
    pub(crate) fn edit_pod(&self, pod: &Value, change: impl FnOnce(&mut Value)) {
        let mut state = self.lock();
        if let Some((place, old)) = same(&state, "pods", pod) {
            self.change(&mut state, place, &old, change);
        }
    }

    /// Removes a pod that may be gone by now, or another one of its name.
    pub(crate) fn remove_pod(&self, pod: &Value) {
        let mut state = self.lock();
        if let Some((place, _)) = same(&state, "pods", pod) {
            self.do_remove(&mut state, &place);
        }
    }

    fn change(
        &self,
        state: &mut State,
        place: Place,
        old: &Value,
        change: impl FnOnce(&mut Value),
    ) {
        let mut new = old.clone();
        change(&mut new);
        if new["spec"] != old["spec"] && old["metadata"]["generation"].is_i64() {
            new["metadata"]["generation"] =
                json!(old["metadata"]["generation"].as_i64().unwrap() + 1);
        }
        self.put(state, place, old, new);
    }

    /// Deletes an object, gracefully where it is a pod that runs.
    pub(crate) fn delete(&self, resource: &str, namespace: &str, name: &str) {
        let mut state = self.lock();
        self.do_delete(&mut state, &place(resource, namespace, name), None);
    }

    /// Removes an object at once, as a force delete or the kubelet's last word does.
    pub(crate) fn remove(&self, resource: &str, namespace: &str, name: &str) {
        let mut state = self.lock();
        self.do_remove(&mut state, &place(resource, namespace, name));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn now(&self) -> String {
        serde_json::to_value(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
            self.clock.now(),
        ))
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
    }

    fn put(&self, state: &mut State, place: Place, old: &Value, mut new: Value) -> Value {
        if *old == new {
            return new;
        }
        state.version += 1;
        new["metadata"]["resourceVersion"] = json!(state.version.to_string());
        let kind = if old.is_null() { "ADDED" } else { "MODIFIED" };
        state.objects.insert(place.clone(), new.clone());
        self.tell(state, &place.0, kind, &new);
        new
    }

    fn tell(&self, state: &mut State, resource: &str, kind: &str, object: &Value) {
        let event = json!({"type": kind, "object": object});
        state
            .history
            .push((state.version, resource.to_owned(), event.clone()));
        let line = Bytes::from(format!("{event}\n"));
        state.watchers.retain_mut(|watcher| {
            let wanted =
                watcher.resource == resource && selects(watcher.selector.as_deref(), object);
            !wanted || watcher.tell(line.clone())
        });
    }

    fn do_create(&self, resource: &str, mut object: Value) -> Result<Value, (StatusCode, String)> {
        let mut state = self.lock();
        let refusal = state
            .refusals
            .iter()
            .find(|(of, _, _)| of == resource)
            .cloned();
        if let Some((_, code, message)) = refusal {
            return Err((StatusCode::from_u16(code).unwrap(), message));
        }
        let text = |object: &Value, key: &str| {
            object["metadata"][key]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let place = place(
            resource,
            &text(&object, "namespace"),
            &text(&object, "name"),
        );
        if state.objects.contains_key(&place) {
            return Err((StatusCode::CONFLICT, "AlreadyExists".into()));
        }
        state.uids += 1;
        let number = state.uids;
        object["metadata"]["uid"] = json!(format!("00000000-0000-4000-8000-{number:012}"));
        object["metadata"]["creationTimestamp"] = json!(self.now());
        object["metadata"]["generation"] = json!(1);
        Ok(self.put(&mut state, place, &Value::Null, object))
    }

    fn do_delete(&self, state: &mut State, place: &Place, grace: Option<i64>) {
        let Some(old) = state.objects.get(place).cloned() else {
            return;
        };
        let over = matches!(
            old["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed")
        );
        let runs = place.0 == "pods" && old["spec"]["nodeName"].is_string() && !over;
        if !runs || grace == Some(0) {
            return self.do_remove(state, place);
        }
        if old["metadata"]["deletionTimestamp"].is_null() {
            let mut new = old.clone();
            new["metadata"]["deletionTimestamp"] = json!(self.now());
            self.put(state, place.clone(), &old, new);
        }
    }

    fn do_remove(&self, state: &mut State, place: &Place) {
        let Some(mut object) = state.objects.remove(place) else {
            return;
        };
        state.version += 1;
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        self.tell(state, &place.0, "DELETED", &object);
        let uid = object["metadata"]["uid"].clone();
        let owned = |child: &Value| {
            child["metadata"]["ownerReferences"]
                .as_array()
                .is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == uid))
        };
        let mut children: Vec<Place> = state
            .objects
            .iter()
            .filter(|(_, child)| owned(child))
            .map(|(place, _)| place.clone())
            .collect();
        if place.0 == "namespaces" {
            children.extend(
                state
                    .objects
                    .keys()
                    .filter(|(_, namespace, _)| *namespace == place.2)
                    .cloned(),
            );
        }
        for child in children {
            self.do_delete(state, &child, None);
        }
    }

    async fn answer(self, request: Request<Body>) -> Response<Answer> {
        if self.lock().is_away {
            return unavailable();
        }
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap_or_default();
        let query: BTreeMap<String, String> = parts.uri.query().map(pairs).unwrap_or_default();
        let target = Target::of(parts.uri.path());
        let content_type = parts
            .headers
            .get("content-type")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        if parts.method == Method::GET && target.name.is_none() {
            return self.list_or_watch(&target.resource, &query);
        }
        let json: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let (verb, result) = match parts.method {
            Method::GET => (
                "get",
                self.get(&target.resource, &target.namespace, target.name())
                    .ok_or_else(not_found),
            ),
            Method::POST => ("create", self.do_create(&target.resource, json.clone())),
            Method::PATCH => (
                "patch",
                self.patch(&target, &json, content_type.contains("apply")),
            ),
            Method::DELETE => ("delete", self.delete_with(&target, &json)),
            other => panic!("{other} is not spoken here"),
        };
        let name = target
            .name
            .clone()
            .or(json["metadata"]["name"].as_str().map(str::to_owned))
            .unwrap_or_default();
        let (code, value) = match result {
            Ok(value) => (StatusCode::OK, value),
            Err((code, message)) => (code, status(code, &message)),
        };
        let resource = match &target.sub {
            Some(sub) => format!("{}/{sub}", target.resource),
            None => target.resource.clone(),
        };
        self.lock().asked.push(Asked {
            verb,
            resource,
            namespace: target.namespace,
            name,
            code: code.as_u16(),
        });
        Response::builder()
            .status(code)
            .body(Answer::Whole(Some(Bytes::from(value.to_string()))))
            .unwrap()
    }

    fn patch(
        &self,
        target: &Target,
        patch: &Value,
        apply: bool,
    ) -> Result<Value, (StatusCode, String)> {
        let place = place(&target.resource, &target.namespace, target.name());
        if apply && !self.lock().objects.contains_key(&place) {
            return self.do_create(&target.resource, patch.clone());
        }
        let mut state = self.lock();
        let old = state.objects.get(&place).cloned().ok_or_else(not_found)?;
        let uid = &patch["metadata"]["uid"];
        if !uid.is_null() && *uid != old["metadata"]["uid"] {
            return Err((StatusCode::CONFLICT, "Conflict".into()));
        }
        let mut new = old.clone();
        if target.sub.as_deref() == Some("status") {
            let sub = format!("{}/status", target.resource);
            if let Some((_, code, message)) = state.refusals.iter().find(|(of, _, _)| *of == sub) {
                return Err((StatusCode::from_u16(*code).unwrap(), message.clone()));
            }
            merge(&mut new["status"], &patch["status"]);
        } else {
            merge(&mut new, patch);
        }
        Ok(self.put(&mut state, place, &old, new))
    }

    fn delete_with(&self, target: &Target, options: &Value) -> Result<Value, (StatusCode, String)> {
        let mut state = self.lock();
        let place = place(&target.resource, &target.namespace, target.name());
        let old = state.objects.get(&place).cloned().ok_or_else(not_found)?;
        let uid = &options["preconditions"]["uid"];
        if !uid.is_null() && *uid != old["metadata"]["uid"] {
            return Err((StatusCode::CONFLICT, "Conflict".into()));
        }
        self.do_delete(&mut state, &place, options["gracePeriodSeconds"].as_i64());
        Ok(state
            .objects
            .get(&place)
            .cloned()
            .unwrap_or_else(|| status(StatusCode::OK, "deleted")))
    }

    fn list_or_watch(&self, resource: &str, query: &BTreeMap<String, String>) -> Response<Answer> {
        let selector = query.get("labelSelector").cloned();
        let mut state = self.lock();
        if query.contains_key("watch") {
            let since: u64 = query
                .get("resourceVersion")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            let (mut watcher, answer) = Watcher::new(resource, selector);
            for (version, of, event) in &state.history {
                if *version > since
                    && of == resource
                    && selects(watcher.selector.as_deref(), &event["object"])
                {
                    watcher.tell(Bytes::from(format!("{event}\n")));
                }
            }
            state.watchers.push(watcher);
            return Response::new(answer);
        }
        let wanted = |((of, _, _), object): &(&Place, &Value)| {
            of == resource && selects(selector.as_deref(), object)
        };
        let items: Vec<Value> = state
            .objects
            .iter()
            .filter(wanted)
            .map(|(_, object)| object.clone())
            .collect();
        let list = json!({
            "apiVersion": "v1", "kind": "List",
            "metadata": {"resourceVersion": state.version.to_string()}, "items": items,
        });
        Response::new(Answer::Whole(Some(Bytes::from(list.to_string()))))
    }
}

/// What a path names.
struct Target {
    resource: String,
    namespace: String,
    name: Option<String>,
    sub: Option<String>,
}

impl Target {
    fn of(path: &str) -> Self {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let rest = if parts[0] == "api" {
            &parts[2..]
        } else {
            &parts[3..]
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        Self {
            resource: rest[0].to_owned(),
            namespace: namespace.to_owned(),
            name: rest.get(1).map(|name| (*name).to_owned()),
            sub: rest.get(2).map(|sub| (*sub).to_owned()),
        }
    }

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

fn place(resource: &str, namespace: &str, name: &str) -> Place {
    (resource.to_owned(), namespace.to_owned(), name.to_owned())
}

/// Where this object is and how it is now, if it is still there.
fn same(state: &State, resource: &str, object: &Value) -> Option<(Place, Value)> {
    let meta = &object["metadata"];
    let place = place(
        resource,
        meta["namespace"].as_str()?,
        meta["name"].as_str()?,
    );
    let now = state.objects.get(&place)?.clone();
    (now["metadata"]["uid"] == meta["uid"]).then_some((place, now))
}

fn not_found() -> (StatusCode, String) {
    (StatusCode::NOT_FOUND, "NotFound".into())
}

fn status(code: StatusCode, message: &str) -> Value {
    let reason = match code {
        StatusCode::CONFLICT | StatusCode::NOT_FOUND => message,
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::UNPROCESSABLE_ENTITY => "Invalid",
        _ => "",
    };
    let word = if code.is_success() {
        "Success"
    } else {
        "Failure"
    };
    json!({
        "apiVersion": "v1", "kind": "Status", "status": word, "code": code.as_u16(), "message": message, "reason": reason,
    })
}

fn selects(selector: Option<&str>, object: &Value) -> bool {
    selector.is_none_or(|selector| {
        selector.split(',').all(|term| match term.split_once('=') {
            Some((key, value)) => object["metadata"]["labels"][key] == value,
            None => true,
        })
    })
}

fn pairs(query: &str) -> BTreeMap<String, String> {
    let decode = |text: &str| {
        text.replace("%3D", "=")
            .replace("%2F", "/")
            .replace("%2C", ",")
    };
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(key, value)| *key != "watch" || *value == "true")
        .map(|(key, value)| (key.to_owned(), decode(value)))
        .collect()
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

impl tower::Service<Request<Body>> for ApiServer {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}

fn unavailable() -> Response<Answer> {
    let code = StatusCode::SERVICE_UNAVAILABLE;
    let mut response = Response::new(Answer::Whole(Some(status(code, "away").to_string().into())));
    *response.status_mut() = code;
    response
}
