use api::Authority as _;
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::scripted::{Scripted, failure};

const REQUEST: &str = "/apis/mooring.dev/v1alpha1/namespaces/mooring-system/loginrequests/login-1";
const POLICY: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/mooring-login";
const BINDING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/mooring-login";
const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews?";
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews?";
/// When the request is made; policy and binding are older.
const MADE: &str = "2027-01-15T08:00:00Z";

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    let group = match kind {
        "LoginRequest" => "mooring.dev/v1alpha1",
        _ => "admissionregistration.k8s.io/v1",
    };
    json!({
        "apiVersion": group, "kind": kind, "spec": spec,
        "metadata": {"name": name, "uid": "u-1", "creationTimestamp": "2027-01-15T07:00:00Z"},
    })
}

fn request() -> Value {
    let spec = json!({
        "user": "ada", "groups": ["dev", "system:authenticated"],
        "nonceHash": crds::nonce_hash(&[1; 32]),
    });
    let mut request = object("LoginRequest", "login-1", &spec);
    request["metadata"]["creationTimestamp"] = MADE.into();
    request
}

fn policy() -> Value {
    let spec = serde_json::to_value(crds::login_policy::policy()).unwrap();
    object("ValidatingAdmissionPolicy", "mooring-login", &spec)
}

fn binding() -> Value {
    let spec = serde_json::to_value(crds::login_policy::binding("mooring-login")).unwrap();
    object("ValidatingAdmissionPolicyBinding", "mooring-login", &spec)
}

/// A cluster in which everything is as it should be.
fn sound() -> (Scripted, KubeAuthority) {
    let cluster = Scripted::default();
    cluster.answer(Method::GET, REQUEST, 200, request());
    cluster.answer(Method::GET, POLICY, 200, policy());
    cluster.answer(Method::GET, BINDING, 200, binding());
    let (namespace, name) = ("mooring-system".to_owned(), "mooring-login".to_owned());
    let authority = KubeAuthority::new(cluster.client(), namespace, name);
    (cluster, authority)
}

async fn closed(authority: &KubeAuthority) -> String {
    match authority.login_request("mooring-system", "login-1").await {
        Err(AuthorityError::Closed(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_request_under_a_sound_policy_says_who_made_it() {
    let (_, authority) = sound();
    let found = authority.login_request("mooring-system", "login-1").await;
    let wanted = PendingLogin {
        uid: "u-1".to_owned(),
        name: "login-1".to_owned(),
        person: Person {
            user: "ada".to_owned(),
            groups: vec!["dev".to_owned(), "system:authenticated".to_owned()],
        },
        nonce_hash: hex::decode(crds::nonce_hash(&[1; 32]))
            .unwrap()
            .try_into()
            .unwrap(),
        created: MADE.parse::<Timestamp>().unwrap(),
    };
    assert_eq!(found.unwrap(), Some(wanted));
}

#[tokio::test]
async fn what_is_not_there_is_nobodys() {
    let (cluster, authority) = sound();
    let elsewhere = authority.login_request("team-a", "login-1").await;
    assert_eq!(elsewhere.unwrap(), None);
    assert!(cluster.asked().is_empty(), "another namespace was asked");
    let other = authority.login_request("mooring-system", "login-2").await;
    assert_eq!(other.unwrap(), None);
    let mut going = request();
    going["metadata"]["deletionTimestamp"] = MADE.into();
    cluster.answer(Method::GET, REQUEST, 200, going);
    let going = authority.login_request("mooring-system", "login-1").await;
    assert_eq!(going.unwrap(), None);
}

#[tokio::test]
async fn without_the_policy_word_for_word_nobody_logs_in() {
    for (path, kind) in [(POLICY, "Policy "), (BINDING, "PolicyBinding ")] {
        let (cluster, authority) = sound();
        cluster.remove(path);
        let why = closed(&authority).await;
        assert!(why.contains(kind) && why.contains("is not there"), "{why}");
        assert!(why.contains("helm upgrade"), "{why}");
    }
    let changes: [(&str, &str, Value); 9] = [
        (POLICY, "/spec/failurePolicy", json!("Ignore")),
        (POLICY, "/spec/validations", json!([])),
        (POLICY, "/spec/validations/0/expression", json!("true")),
        (
            POLICY,
            "/spec/matchConditions",
            json!([{"name": "x", "expression": "false"}]),
        ),
        (
            POLICY,
            "/spec/matchConstraints/resourceRules/0/operations",
            json!(["UPDATE"]),
        ),
        (
            POLICY,
            "/spec/matchConstraints/namespaceSelector/matchLabels",
            json!({"a": "b"}),
        ),
        // What this program does not know may be a way around the policy.
        (POLICY, "/spec/younger", json!({})),
        (BINDING, "/spec/validationActions", json!(["Audit"])),
        (BINDING, "/spec/policyName", json!("other")),
    ];
    for (path, at, value) in changes {
        let (cluster, authority) = sound();
        let mut object = if path == POLICY { policy() } else { binding() };
        let (parent, key) = at.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[key] = value;
        cluster.answer(Method::GET, path, 200, object);
        let why = closed(&authority).await;
        assert!(why.contains("is not as it should be"), "{at}: {why}");
    }
    let (cluster, authority) = sound();
    let mut going = binding();
    going["metadata"]["deletionTimestamp"] = MADE.into();
    cluster.answer(Method::GET, BINDING, 200, going);
    assert!(closed(&authority).await.contains("is being deleted"));
}

#[tokio::test]
async fn a_request_from_a_moment_without_the_policy_is_worth_nothing() {
    let write = |time: &str, subresource: Option<&str>| {
        let mut write = json!({"manager": "m", "operation": "Apply", "time": time});
        if let Some(subresource) = subresource {
            write["subresource"] = subresource.into();
        }
        write
    };
    let cases = [
        ("2027-01-15T07:59:55Z", None, true),
        ("2027-01-15T07:59:56Z", None, false),
        ("2027-01-15T09:00:00Z", None, false),
        ("2027-01-15T09:00:00Z", Some("status"), true),
    ];
    for (time, subresource, passes) in cases {
        for path in [POLICY, BINDING] {
            let (cluster, authority) = sound();
            let mut object = if path == POLICY { policy() } else { binding() };
            object["metadata"]["managedFields"] = json!([write(time, subresource)]);
            cluster.answer(Method::GET, path, 200, object);
            if passes {
                let found = authority.login_request("mooring-system", "login-1").await;
                assert!(found.unwrap().is_some(), "{time} {subresource:?}");
            } else {
                let why = closed(&authority).await;
                assert!(why.contains("log in again after 5 seconds"), "{why}");
            }
        }
    }
    let (cluster, authority) = sound();
    let mut young = policy();
    young["metadata"]["creationTimestamp"] = MADE.into();
    cluster.answer(Method::GET, POLICY, 200, young);
    assert!(closed(&authority).await.contains("log in again"));
}

#[tokio::test]
async fn a_cluster_that_fails_is_no_answer() {
    for path in [REQUEST, POLICY, BINDING] {
        let (cluster, authority) = sound();
        cluster.answer(Method::GET, path, 500, failure(500, "InternalError"));
        let found = authority.login_request("mooring-system", "login-1").await;
        assert!(
            matches!(found, Err(AuthorityError::Unavailable { .. })),
            "{path}: {found:?}"
        );
    }
}

#[tokio::test]
async fn only_the_object_that_was_read_is_removed() {
    let (cluster, authority) = sound();
    let login = authority.login_request("mooring-system", "login-1").await;
    let login = login.unwrap().unwrap();
    let path = format!("{REQUEST}?");
    for (status, reason) in [(404, "NotFound"), (409, "Conflict")] {
        cluster.answer(Method::DELETE, &path, status, failure(status, reason));
        authority.remove_login_request(&login).await.unwrap();
    }
    let (asked, body) = cluster.asked().pop().unwrap();
    assert_eq!(asked, format!("DELETE {path}"));
    assert_eq!(body["preconditions"], json!({"uid": "u-1"}));
    cluster.answer(Method::DELETE, &path, 403, failure(403, "Forbidden"));
    assert!(authority.remove_login_request(&login).await.is_err());
}

#[tokio::test]
async fn a_service_account_is_known_by_a_token_made_for_us() {
    let name = "system:serviceaccount:team-a:ci";
    let user = |name: &str| json!({"username": name, "groups": ["system:serviceaccounts"]});
    let good = json!({"authenticated": true, "audiences": ["mooring"], "user": user(name)});
    let cases = [
        (good.clone(), true),
        (
            json!({"authenticated": false, "audiences": ["mooring"], "user": user(name)}),
            false,
        ),
        (json!({"audiences": ["mooring"], "user": user(name)}), false),
        // Whoever looked at it does not know audiences, or it is made for somebody else.
        (json!({"authenticated": true, "user": user(name)}), false),
        (
            json!({"authenticated": true, "audiences": ["api"], "user": user(name)}),
            false,
        ),
        (
            json!({"authenticated": true, "audiences": ["mooring"], "user": user("ada")}),
            false,
        ),
        (
            json!({"authenticated": true, "audiences": ["mooring"]}),
            false,
        ),
    ];
    for (status, passes) in cases {
        let (cluster, authority) = sound();
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {},
            "spec": {}, "status": status,
        });
        cluster.answer(Method::POST, TOKEN_REVIEWS, 201, review);
        let found = authority.review_token(&"a.b.c".into()).await.unwrap();
        let wanted = passes.then(|| Person {
            user: name.to_owned(),
            groups: vec!["system:serviceaccounts".to_owned()],
        });
        assert_eq!(found, wanted, "{status}");
        let (_, body) = cluster.asked().pop().unwrap();
        assert_eq!(
            body["spec"],
            json!({"audiences": ["mooring"], "token": "a.b.c"})
        );
    }
}

#[tokio::test]
async fn rights_are_asked_with_name_and_groups() {
    let person = Person {
        user: "ada".to_owned(),
        groups: vec!["dev".to_owned()],
    };
    let action = Action {
        namespace: "team-a".to_owned(),
        verb: "create",
        resource: "comments",
    };
    for allowed in [true, false] {
        let (cluster, authority) = sound();
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
            "spec": {}, "status": {"allowed": allowed},
        });
        cluster.answer(Method::POST, ACCESS_REVIEWS, 201, review);
        assert_eq!(authority.may(&person, &action).await.unwrap(), allowed);
        let (_, body) = cluster.asked().pop().unwrap();
        let wanted = json!({
            "user": "ada", "groups": ["dev"],
            "resourceAttributes": {
                "group": "mooring.dev", "namespace": "team-a", "verb": "create", "resource": "comments",
            },
        });
        assert_eq!(body["spec"], wanted);
    }
    let (_, authority) = sound();
    assert!(authority.may(&person, &action).await.is_err());
}
