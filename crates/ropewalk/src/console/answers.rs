//! What is answered to whom.

use super::admission::{admit, decoded, query};
use super::{page, state};
use crate::__json::Json;
use crate::runtime::Handle;
use crate::sync::{Mutex, Semaphore};
use crate::{DumpOptions, spawn_blocking};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

const POLICY: &str =
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
/// So many tasks are listed unless it is said otherwise, and at most.
const TASKS: usize = 500;
const MOST_TASKS: usize = 10_000;
/// How long a walk over all tasks may take.
const WALK: Duration = Duration::from_secs(1);
/// At a time; others wait. One that is under way goes on when its client is gone, so clients alone would not be a limit.
const LOOKS: usize = 2;
const DUMPS: usize = 2;
/// How many seconds are recorded unless it is said otherwise, and what is accepted.
const SECONDS: f64 = 2.0;
const ACCEPTED_SECONDS: std::ops::RangeInclusive<f64> = 0.1..=30.0;
/// Events of each worker that a recording keeps.
const EVENTS: usize = 1 << 16;

pub(super) struct Answers {
    shown: Handle,
    token: Option<String>,
    begun: Instant,
    /// One records at a time.
    recorder: Mutex<()>,
    looks: Arc<Semaphore>,
    /// Dumps and traces: they take longer, and looks do not wait for them.
    dumps: Arc<Semaphore>,
}

struct Answer {
    status: StatusCode,
    kind: &'static str,
    body: Bytes,
}

impl Answer {
    fn ok(kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status: StatusCode::OK, kind, body: body.into() }
    }

    fn error(status: StatusCode, what: impl Into<String>) -> Self {
        let body = Json::map([("error", Json::text(what))]).to_string();
        Self { status, kind: JSON, body: body.into() }
    }
}

impl Answers {
    /// Histograms are sampled from now on, until it is dropped.
    pub(super) fn new(shown: Handle, token: Option<String>) -> Self {
        shown.shared.viewer_comes();
        let [looks, dumps] = [LOOKS, DUMPS].map(|most| Arc::new(Semaphore::new(most)));
        Self { shown, token, begun: Instant::now(), recorder: Mutex::new(()), looks, dumps }
    }

    pub(super) async fn to(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let token = self.token.as_deref().filter(|_| !page::is_public(request.uri().path()));
        let answer = match admit(&request, token) {
            Err((status, why)) => Answer::error(status, why),
            Ok(()) => self.answer(&request).await,
        };
        let Answer { status, kind, body } = answer;
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let mut say = |name: HeaderName, value| headers.insert(name, HeaderValue::from_static(value));
        say(CONTENT_TYPE, kind);
        say(CACHE_CONTROL, "no-store");
        say(CONTENT_SECURITY_POLICY, POLICY);
        say(HeaderName::from_static("x-content-type-options"), "nosniff");
        say(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
        say(HeaderName::from_static("referrer-policy"), "no-referrer"); // it may have the token
        if status == StatusCode::METHOD_NOT_ALLOWED {
            say(ALLOW, "GET, HEAD");
        }
        Ok(response)
    }

    async fn answer(&self, request: &Request<Incoming>) -> Answer {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let text = format!("{} is not accepted; GET and HEAD are", request.method());
            return Answer::error(StatusCode::METHOD_NOT_ALLOWED, text);
        }
        let shown = self.shown.clone();
        match request.uri().path() {
            "/metrics" => {
                Answer::ok("text/plain; version=0.0.4; charset=utf-8", shown.metrics().to_prometheus())
            }
            "/api/state" => self.state(request).await,
            "/api/dump.txt" => elsewhere(&self.dumps, TEXT, move || shown.dump().to_string()).await,
            "/api/dump.json" => elsewhere(&self.dumps, JSON, move || shown.dump().to_json()).await,
            "/api/trace" => self.trace(request).await,
            path => {
                if let Some((kind, text)) = page::file(path) {
                    return Answer::ok(kind, text);
                }
                let known = "/, /metrics, /api/state, /api/trace, /api/dump.txt and /api/dump.json";
                Answer::error(StatusCode::NOT_FOUND, format!("there is no {path}; there are {known}"))
            }
        }
    }

    /// What happens in the next seconds.
    async fn trace(&self, request: &Request<Incoming>) -> Answer {
        let seconds = query(request, "seconds").map_or(Ok(SECONDS), str::parse::<f64>);
        let Some(seconds) = seconds.ok().filter(|seconds| ACCEPTED_SECONDS.contains(seconds)) else {
            let (least, most) = ACCEPTED_SECONDS.into_inner();
            let text = format!("seconds: how long to record, a number from {least} to {most}");
            return Answer::error(StatusCode::BAD_REQUEST, text);
        };
        let Ok(_alone) = self.recorder.try_lock() else {
            return Answer::error(
                StatusCode::CONFLICT,
                "somebody records already; try again when that is over",
            );
        };
        let recording = Recording::begin(&self.shown);
        crate::time::sleep(Duration::from_secs_f64(seconds)).await;
        let shown = self.shown.clone();
        let answer = elsewhere(&self.dumps, JSON, move || shown.trace().to_chrome()).await;
        drop(recording);
        answer
    }

    async fn state(&self, request: &Request<Incoming>) -> Answer {
        let tasks = match query(request, "tasks").map(str::parse::<usize>) {
            None => TASKS,
            Some(Ok(tasks)) if tasks <= MOST_TASKS => tasks,
            Some(_) => {
                let text = format!("tasks: how many are listed, a number from 0 to {MOST_TASKS}");
                return Answer::error(StatusCode::BAD_REQUEST, text);
            }
        };
        let wanted = query(request, "q").map(decoded).unwrap_or_default();
        let (shown, begun) = (self.shown.clone(), self.begun);
        let walk = DumpOptions::new().max_tasks(MOST_TASKS).backtraces(0).time_limit(WALK);
        let look = move || state::json(&shown, begun, &walk, tasks, &wanted).to_string();
        elsewhere(&self.looks, JSON, look).await
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.shown.shared.viewer_goes();
    }
}

/// Ends when it is dropped, unless the program records by itself.
struct Recording<'a>(Option<&'a Handle>);

impl<'a> Recording<'a> {
    fn begin(shown: &'a Handle) -> Self {
        let by_itself = shown.is_recorded();
        Self((!by_itself && shown.record(EVENTS).is_ok()).then_some(shown))
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if let Some(shown) = self.0 {
            let _ = shown.record(0); // nothing is refused that is less
        }
    }
}

/// What takes long does not keep the others waiting; it has one of the `places` until it is over, whoever waits for it.
async fn elsewhere(
    places: &Arc<Semaphore>,
    kind: &'static str,
    find: impl FnOnce() -> String + Send + 'static,
) -> Answer {
    let place = places.clone().acquire_owned().await;
    let found = spawn_blocking(move || {
        let text = find();
        drop(place);
        text
    });
    match found.await {
        Ok(text) => Answer::ok(kind, text),
        Err(error) => Answer::error(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}
