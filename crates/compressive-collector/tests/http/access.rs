//! Who may do what: every request of the document, from every kind of sender.

use std::collections::BTreeSet;
use std::path::Path;

use compressive::SketchOperator;
use compressive::privacy::{LocalResponse, SeededEntropy};
use compressive_client::BatchKind;
use compressive_collector::{Limits, Role, Tokens};
use serde_json::{Value, json};

use crate::running::{BATCHES, Running, bits, made, offline, operator, rows};

/// Rows of each batch.
const ROWS: usize = 3;

/// The statuses for holders of tokens: ingest, read, admin of the stream, the same of another stream, the
/// same of all.
type Statuses = [u16; 9];

/// For everybody with a token, whatever it allows.
const METRICS: &str = "/metrics";
const PUBLIC: Statuses = [200; 9];
const READ: Statuses = [403, 200, 200, 403, 403, 403, 403, 200, 200];
const INGEST: Statuses = [200, 403, 200, 403, 403, 403, 200, 403, 200];
const EITHER: Statuses = [200, 200, 200, 403, 403, 403, 200, 200, 200];
const ADMIN: Statuses = [403, 403, 200, 403, 403, 403, 403, 403, 200];
const ADMIN_OF_ALL: Statuses = [403, 403, 403, 403, 403, 403, 403, 403, 200];
const READ_ALL: Statuses = [403, 403, 403, 403, 403, 403, 403, 200, 200];

/// One request, and how each sender fares with it.
struct Request {
    method: &'static str,
    path: &'static str,
    body: Vec<u8>,
    kind: BatchKind,
    expected: Statuses,
}

impl Request {
    fn new(method: &'static str, path: &'static str, expected: Statuses) -> Request {
        Request { method, path, body: Vec::new(), kind: BatchKind::Json, expected }
    }

    fn with(self, kind: BatchKind, body: impl Into<Vec<u8>>) -> Request {
        Request { kind, body: body.into(), ..self }
    }

    fn is_public(&self) -> bool {
        self.expected == PUBLIC && !self.path.starts_with("/v1/") && self.path != METRICS
    }

    /// Whether this is a request of an operation in the document.
    fn is_of(&self, method: &str, path: &str) -> bool {
        let own = self.path.split('?').next().unwrap_or_default();
        let (mut own, mut template) = (own.split('/'), path.split('/'));
        let parts = own.by_ref().zip(template.by_ref()).all(|(a, b)| a == b || b.starts_with('{'));
        self.method.eq_ignore_ascii_case(method)
            && parts
            && own.next().is_none()
            && path.split('/').count() == self.path.split('?').next().unwrap_or_default().split('/').count()
    }
}

/// With the status of a request that is allowed and then refused for another reason.
fn but(statuses: Statuses, status: u16) -> Statuses {
    statuses.map(|s| if s == 200 { status } else { s })
}

fn requests(operator: &SketchOperator) -> Vec<Request> {
    let all = rows(ROWS);
    let spec = serde_json::to_vec(operator.spec()).unwrap();
    let response = LocalResponse::new(operator.spec(), 2.0).unwrap();
    let reports = response.reports(&bits(operator, &all), &mut SeededEntropy::new(1)).unwrap();
    let private = LocalResponse::add_up(operator.spec(), &reports).unwrap().to_bytes();
    let csv: String = all.chunks(2).map(|r| format!("{},{}\n", r[0], r[1])).collect();
    let json = json!({ "columns": ["x", "y"], "rows": all.chunks(2).collect::<Vec<_>>() });
    let fit = |streams: Value| json!({ "streams": streams, "k": 1 }).to_string();
    let get = |path, expected| Request::new("GET", path, expected);
    let post = |kind, body: Vec<u8>| Request::new("POST", BATCHES, INGEST).with(kind, body);
    vec![
        get("/", PUBLIC),
        get("/page.css", PUBLIC),
        get("/page.js", PUBLIC),
        get("/healthz", PUBLIC),
        get(METRICS, PUBLIC),
        get("/openapi.json", PUBLIC),
        post(BatchKind::Bits, bits(operator, &all)),
        post(BatchKind::Reports, reports),
        post(BatchKind::Json, serde_json::to_vec(&json).unwrap()),
        post(BatchKind::Csv, format!("x,y\n{csv}").into_bytes()),
        post(BatchKind::Sketch, offline(operator, &all).to_bytes()),
        post(BatchKind::Sketch, private),
        Request::new("POST", BATCHES, but(INGEST, 400)).with(BatchKind::Arrow, "no stream"),
        get("/v1/streams", [200; 9]),
        get("/v1/streams/fleet", READ),
        get("/v1/streams/nobody", but(READ_ALL, 404)),
        get("/v1/streams/fleet/spec", EITHER),
        get("/v1/streams/fleet/senders", READ),
        Request::new("DELETE", "/v1/streams/fleet/senders/0123456789ab", ADMIN),
        Request::new("DELETE", "/v1/streams/nobody/senders/0123456789ab", but(ADMIN_OF_ALL, 404)),
        get("/v1/sketch?streams=fleet", READ),
        get("/v1/sketch?streams=fleet,other", READ_ALL),
        get("/v1/sketch?streams=nobody", but(READ_ALL, 404)),
        get("/v1/private?streams=fleet", READ),
        get("/v1/private?streams=fleet&key=nothing", but(READ, 404)),
        get("/v1/private?streams=fleet,other", READ_ALL),
        get("/v1/drift?streams=fleet", READ),
        get("/v1/drift?streams=fleet,other", READ_ALL),
        // A known sender learns what is wrong with the question.
        get("/v1/drift?stream=fleet", [400; 9]),
        Request::new("POST", "/v1/fit", READ).with(BatchKind::Json, fit(json!(["fleet"]))),
        Request::new("POST", "/v1/fit", READ_ALL).with(BatchKind::Json, fit(json!(["fleet", "other"]))),
        Request::new("POST", "/v1/fit", but(READ_ALL, 400)).with(BatchKind::Json, fit(json!([]))),
        Request::new("POST", "/v1/backup", ADMIN_OF_ALL),
        Request::new("PUT", "/v1/streams/fleet?every=day", ADMIN).with(BatchKind::Json, spec.clone()),
        Request::new("PUT", "/v1/streams/third?every=day", but(ADMIN_OF_ALL, 201))
            .with(BatchKind::Json, spec),
        Request::new("DELETE", "/v1/streams/fleet/buckets?to=2020-01-01", ADMIN),
        Request::new("DELETE", "/v1/streams/fleet/buckets", but(ADMIN, 400)),
        Request::new("DELETE", "/v1/streams/nobody", but(ADMIN_OF_ALL, 404)),
        // Last, since it takes the stream away.
        Request::new("DELETE", "/v1/streams/fleet", ADMIN),
    ]
}

/// The values of `Authorization` that senders have: those that are nobody, then holders in the order of
/// [`Statuses`], the last an admin of all.
fn senders(folder: &Path) -> (Vec<Vec<String>>, Vec<String>) {
    let mut tokens = Tokens::default();
    let mut make = |role, stream: Option<&str>| tokens.create(role, stream.map(String::from)).unwrap();
    let roles = [Role::Ingest, Role::Read, Role::Admin];
    let mut holders = Vec::new();
    for stream in [Some("fleet"), Some("other"), None] {
        holders.extend(roles.map(|role| format!("Bearer {}", make(role, stream))));
    }
    let revoked = make(Role::Admin, None);
    let id = tokens.tokens.last().unwrap().id.clone();
    assert!(tokens.revoke(&id));
    tokens.write(folder).unwrap();
    let admin = holders[8].clone();
    let secret = admin.trim_start_matches("Bearer ");
    let nobodies = vec![
        vec![],
        vec!["Bearer".into()],
        vec!["Bearer nonsense".into()],
        vec![format!("Bearer {revoked}")],
        // The right id with the wrong secret, and the other way round.
        vec![format!("Bearer {}{}", &secret[..secret.len() - 4], "zzzz")],
        vec![format!("Bearer cmp_000000000000_{}", secret.rsplit('_').next().unwrap())],
        vec![secret.into()],
        vec![format!("Basic {secret}")],
        vec![format!("bearer  {secret}")],
        vec![format!("{admin}, {admin}")],
        vec![admin.clone(), admin],
    ];
    (nobodies, holders)
}

/// The status, without the sender's secret in the answer.
fn status(
    running: &Running,
    operator: &SketchOperator,
    request: &Request,
    sender: &[String],
    key: usize,
) -> u16 {
    let key = format!("batch-{key}");
    let mut headers = vec![
        ("idempotency-key", key.as_str()),
        ("compressive-fingerprint", operator.fingerprint()),
        ("content-type", request.kind.media_type()),
    ];
    headers.extend(sender.iter().map(|value| ("authorization", value.as_str())));
    let (status, head, answer) = running.send(request.method, request.path, &headers, &request.body);
    let answer = String::from_utf8_lossy(&answer);
    let secrets = sender.iter().filter_map(|value| value.rsplit(['_', ' ']).next());
    for secret in secrets.filter(|secret| secret.len() > 20) {
        assert!(!answer.contains(secret) && !head.contains(secret), "a secret in the answer");
    }
    assert_eq!(status == 401, head.contains("www-authenticate: bearer"), "{head}");
    status
}

#[test]
fn every_role_may_do_its_own_and_nothing_else() {
    let (folder, operator) = (tempfile::tempdir().unwrap(), operator(1));
    let (nobodies, holders) = senders(folder.path());
    let running = Running::start(folder.path(), false, Limits::default());
    let admin = holders[8].trim_start_matches("Bearer ").to_owned();
    let (mut key, mut plain, mut private) = (0, 0, 0);
    let spec = serde_json::to_vec(operator.spec()).unwrap();
    let other = [("authorization", holders[8].as_str())];
    assert_eq!(running.send("PUT", "/v1/streams/other?every=day", &other, &spec).0, 201);
    made(&running, &operator, &admin);
    for request in requests(&operator) {
        let last = request.method == "DELETE" && request.path == "/v1/streams/fleet";
        let refused = if request.is_public() { 200 } else { 401 };
        let strangers = nobodies.iter().map(|sender| (sender.clone(), refused));
        let known = holders.iter().map(|sender| vec![sender.clone()]).zip(request.expected);
        if last {
            let (_, stream) = running.json("GET", "/v1/streams/fleet", &other, b"");
            let count = &stream["buckets"][0];
            // Nothing but what was acknowledged is there: reports and private sketches apart from exact rows.
            assert_eq!((&count["rows"], &count["private_rows"]), (&json!(plain), &json!(private)));
        }
        for (sender, expected) in strangers.chain(known) {
            key += 1;
            let found = status(&running, &operator, &request, &sender, key);
            let who: Vec<&str> = sender.iter().map(|s| s.get(..12).unwrap_or(s)).collect();
            assert_eq!(found, expected, "{who:?} ({key}): {} {}", request.method, request.path);
            let counted = if found == 200 && request.path == BATCHES { ROWS } else { 0 };
            let is_private =
                request.kind == BatchKind::Reports || request.body.windows(9).any(|w| w == b"mechanism");
            *(if is_private { &mut private } else { &mut plain }) += counted;
            if last && found == 200 {
                made(&running, &operator, &admin);
            }
        }
    }
    assert!(plain > 0 && private > 0);
}

#[test]
fn streams_are_listed_to_those_who_may_read_them() {
    let (folder, operator) = (tempfile::tempdir().unwrap(), operator(1));
    let (_, holders) = senders(folder.path());
    let running = Running::start(folder.path(), false, Limits::default());
    let spec = serde_json::to_vec(operator.spec()).unwrap();
    let admin = [("authorization", holders[8].as_str())];
    for name in ["fleet", "other"] {
        assert_eq!(running.send("PUT", &format!("/v1/streams/{name}"), &admin, &spec).0, 201);
    }
    let expected: [&[&str]; 9] = [
        &[],
        &["fleet"],
        &["fleet"],
        &[],
        &["other"],
        &["other"],
        &[],
        &["fleet", "other"],
        &["fleet", "other"],
    ];
    for (holder, expected) in holders.iter().zip(expected) {
        let (status, listed) = running.json("GET", "/v1/streams", &[("authorization", holder)], b"");
        let names: Vec<&str> =
            listed["streams"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
        assert_eq!((status, &names[..]), (200, expected));
    }
}

#[test]
fn every_operation_of_the_document_is_tried_and_nothing_else() {
    let (folder, operator) = (tempfile::tempdir().unwrap(), operator(1));
    let running = Running::start(folder.path(), true, Limits::default());
    let (status, document) = running.json("GET", "/openapi.json", &[], b"");
    assert_eq!((status, document["openapi"].as_str()), (200, Some("3.1.0")));
    let requests = requests(&operator);
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap().iter().filter(|(m, _)| *m != "parameters") {
            operations.push((path, method, operation));
        }
    }
    for (path, method, operation) in &operations {
        let tried: Vec<&Request> = requests.iter().filter(|r| r.is_of(method, path)).collect();
        assert!(!tried.is_empty(), "no sender is tried with {method} {path}");
        assert_eq!(operation["security"] == json!([]), tried[0].is_public(), "{method} {path}");
        let types = operation["requestBody"]["content"].as_object();
        let known: BTreeSet<&str> = types.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let sent: BTreeSet<&str> =
            tried.iter().filter(|r| !r.body.is_empty()).map(|r| r.kind.media_type()).collect();
        assert_eq!(known, sent, "media types of {method} {path}");
        // Each status that the matrix expects is one that the document names.
        let named = operation["responses"].as_object().unwrap();
        for status in tried.iter().flat_map(|r| r.expected) {
            assert!(
                named.contains_key(&status.to_string()),
                "{method} {path}: {status} is not in the document"
            );
        }
        assert!(tried[0].is_public() || named.contains_key("401"), "{method} {path}: no 401");
    }
    for request in &requests {
        let named = operations.iter().any(|(path, method, _)| request.is_of(method, path));
        assert!(named, "{} {} is not in the document", request.method, request.path);
    }
}

#[test]
fn the_document_names_every_path_and_only_those() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), true, Limits::default());
    let (_, document) = running.json("GET", "/openapi.json", &[], b"");
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path.replace("{name}", "nobody").replace("{id}", "0123456789ab");
        for method in ["get", "put", "post", "delete", "patch"] {
            let (status, head, _) = running.send(&method.to_uppercase(), &path, &[], b"");
            match methods[method]["responses"].as_object() {
                Some(named) => {
                    assert!(
                        named.contains_key(&status.to_string()),
                        "{method} {path}: {status} is not in the document"
                    );
                }
                None => assert!(status == 405 && head.contains("\r\nallow: "), "{method} {path}: {head}"),
            }
        }
    }
    assert_eq!(running.send("GET", "/v1/nothing", &[], b"").0, 404);
}
