//! `/api/v1/events`: server-sent events, as [`crate::api`] describes them.
//!
//! Nothing waits for a reader: each takes the newest view when it can, and gets what happened since its
//! last event as one sum. So memory stays flat, however slow a reader is.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, UNIX_EPOCH},
};

use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header::RETRY_AFTER},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{Stream, stream};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::{Site, params::Params, problem::Refused};
use crate::{
    api::{Hello, Problem, StormNews, WindowFrame},
    identity::MapId,
    motion::WINDOWS_KEPT,
    storm::{Closed, Kind, Storm},
    view::{View, Views},
};

/// Event streams at a time.
pub const MAX_STREAMS: usize = 256;
/// No `window` event comes sooner than this after another, in whole windows.
const SHORTEST: Duration = Duration::from_millis(200);
/// How long there may be silence: proxies and browsers give up on a connection that says nothing.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// What a client is told when there is no room, seconds.
const COME_BACK: HeaderValue = HeaderValue::from_static("10");

/// What happens, as it happens: server-sent events `hello`, `window` and `storm`. The data of each is JSON,
/// see the schemas Hello, WindowFrame and StormNews.
#[utoipa::path(
    get,
    path = "/api/v1/events",
    params(
        ("history" = Option<u32>, Query, minimum = 0, maximum = 240, description = "How many of the last windows to begin with; none when nothing is said"),
        ("Last-Event-ID" = Option<String>, Header, description = "Where another stream ended; this one goes on from there, as far back as it is kept"),
    ),
    responses(
        (status = 200, content_type = "text/event-stream", body = String, description = "The events; a comment after 10 s of silence"),
        (status = 400, body = Problem, content_type = "application/problem+json", description = "A parameter is wrong"),
        (status = 503, body = Problem, content_type = "application/problem+json", description = "Too many streams are open"),
    )
)]
pub(super) async fn events(
    State(site): State<Site>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let params = Params::of(&uri, &["history"])?;
    let history = params.number("history", 0..=WINDOWS_KEPT as u64)?;
    let Ok(place) = Arc::clone(&site.streams).try_acquire_owned() else {
        let detail = format!(
            "{MAX_STREAMS} event streams are open, which is the limit; close one, or ask /api/v1/storms and /api/v1/maps from time to time"
        );
        let refused = Refused::new(StatusCode::SERVICE_UNAVAILABLE, &uri, detail);
        return Ok(([(RETRY_AFTER, COME_BACK)], refused).into_response());
    };
    let reader = Reader::new(&site, history.unwrap_or(0), last_event(&headers), place);
    let keep_alive = KeepAlive::new().interval(HEARTBEAT).text("still here");
    Ok(Sse::new(reader.stream())
        .keep_alive(keep_alive)
        .into_response())
}

/// The id of the last event that a client has seen.
fn last_event(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id")?.to_str().ok()
}

/// Frames that were just made: readers that keep up with each other share one.
#[derive(Debug, Default)]
pub(super) struct Frames(Mutex<Option<Made>>);

#[derive(Debug)]
struct Made {
    run: u64,
    after: u64,
    window: u64,
    text: Arc<str>,
}

impl Frames {
    /// What happened after window `after`, up to the view; `None` when nothing did.
    fn since(&self, view: &View, after: u64) -> Option<Arc<str>> {
        let (run, window) = (run(view), view.snapshot.window);
        // Whoever panicked with the lock had not begun to write.
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |made: &&Made| (made.run, made.after, made.window) == (run, after, window);
        if let Some(made) = made.as_ref().filter(fits) {
            return Some(Arc::clone(&made.text));
        }
        let stormy = |id| view.storms.active.iter().any(|storm| storm.map_id == id);
        let motion = view.history.since(after, stormy)?;
        let text: Arc<str> = json(&WindowFrame::now(view, &motion)).into();
        *made = Some(Made {
            run,
            after,
            window,
            text: Arc::clone(&text),
        });
        Some(text)
    }
}

/// When the daemon started: windows of another run count anew.
fn run(view: &View) -> u64 {
    let since = view.host.started.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// What names a storm among those of a run.
type Key = (MapId, Kind, u64);

fn key(storm: &Storm) -> Key {
    (storm.map_id, storm.kind, storm.opened.window)
}

/// What names the end of a storm.
type Ending = (Key, Option<Closed>);

fn ending(storm: &Storm) -> Ending {
    (key(storm), storm.closed)
}

/// One stream's place in what happens.
struct Reader {
    views: Views,
    ended: watch::Receiver<bool>,
    frames: Arc<Frames>,
    _place: OwnedSemaphorePermit,
    said_hello: bool,
    /// Windows up to this are history, told one by one.
    past: u64,
    /// The last window that was told.
    told: u64,
    /// The last window whose storms were looked at, and those that were open then.
    looked: u64,
    open: Vec<Key>,
    /// The storm that had closed last by then.
    closed: Option<Ending>,
    news: Vec<Event>,
}

impl Reader {
    fn new(site: &Site, history: u64, last: Option<&str>, place: OwnedSemaphorePermit) -> Self {
        let mut views = site.views.clone();
        let view = Arc::clone(&views.borrow_and_update());
        let now = view.snapshot.window;
        let begin = now.saturating_sub(history.max(1));
        let resumed = last.and_then(|id| {
            let (of, window) = id.split_once('-')?;
            let window = window.parse().ok().filter(|&window| window <= now)?;
            (of == run(&view).to_string()).then_some(window)
        });
        Self {
            views,
            ended: site.ended.subscribe(),
            frames: Arc::clone(&site.frames),
            _place: place,
            said_hello: false,
            past: now.saturating_sub(1),
            told: resumed.unwrap_or(begin),
            looked: now,
            open: view.storms.active.iter().map(key).collect(),
            closed: view.storms.closed.front().map(ending),
            news: Vec::new(),
        }
    }

    fn stream(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(self, async |mut reader| {
            let event = reader.next().await?;
            Some((Ok(event), reader))
        })
    }

    /// The next event; `None` when the server or the sampler ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let view = Arc::clone(&self.views.borrow_and_update());
            if let Some(event) = self.due(&view) {
                return Some(event);
            }
            tokio::select! {
                changed = self.views.changed() => changed.ok()?,
                _ = self.ended.wait_for(|&ended| ended) => return None,
            }
        }
    }

    /// What there is to say now.
    fn due(&mut self, view: &View) -> Option<Event> {
        if !self.said_hello {
            self.said_hello = true;
            return Some(event("hello", json(&Hello::of(view))));
        }
        self.look(view);
        if let Some(news) = self.news.pop() {
            return Some(news);
        }
        let mut history = view.history.iter();
        let later = history.find(|motion| motion.window > self.told);
        if let Some(motion) = later.filter(|motion| motion.window <= self.past) {
            self.told = motion.window;
            let text = json(&WindowFrame::past(view, motion));
            return Some(event("window", text).id(self.id(view)));
        }
        let now = view.snapshot.window;
        let enough = SHORTEST.div_duration_f64(view.host.sample_interval).ceil() as u64;
        if self.told > self.past && now < self.told + enough {
            return None;
        }
        let text = self.frames.since(view, self.told)?;
        self.told = now;
        Some(event("window", text).id(self.id(view)))
    }

    fn id(&self, view: &View) -> String {
        format!("{}-{}", run(view), self.told)
    }

    /// Notes the storms that opened or closed since the last look, the oldest last.
    fn look(&mut self, view: &View) {
        if view.snapshot.window == self.looked {
            return;
        }
        let mut news = |what: &str, storm: &Storm| {
            let news = StormNews {
                what: what.to_owned(),
                storm: storm.into(),
            };
            self.news.insert(0, event("storm", json(&news)));
        };
        let opened = view.storms.active.iter();
        for storm in opened.filter(|storm| !self.open.contains(&key(storm))) {
            news("opened", storm);
        }
        // The newest come first. Those of earlier runs, whose windows were counted anew, were there before.
        let known = self.closed;
        let is_new = |storm: &&Storm| Some(ending(storm)) != known;
        for storm in view.storms.closed.iter().take_while(is_new) {
            news("closed", storm);
        }
        self.closed = view.storms.closed.front().map(ending);
        self.looked = view.snapshot.window;
        self.open = view.storms.active.iter().map(key).collect();
    }
}

fn event(name: &str, data: impl AsRef<str>) -> Event {
    Event::default().event(name).data(data)
}

fn json(data: &impl Serialize) -> String {
    // The types have nothing that JSON cannot say.
    serde_json::to_string(data).unwrap_or_default()
}
