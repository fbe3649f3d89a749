//! Alerts on their way to receivers that answer, fail, refuse, hang or are not there.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, SystemTime},
};

use mapstorm::{
    client::Client,
    notify::{Outcome, Recipient, Source, Tally},
    storm::{Closed, End, Moment, Severity, Storm},
    view::View,
};
use serde_json::Value;
use tokio::{runtime::Runtime, sync::watch};

use crate::by_hand;

/// Longer than any of it takes; it only ends a test that has failed.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often an open storm is told again.
const INTERVAL: Duration = Duration::from_millis(100);

/// What the receiver does with the next request.
#[derive(Clone, Copy)]
enum Answer {
    Status(u16),
    /// Reads it, and says nothing.
    Hang,
    /// Cuts the connection.
    Cut,
}

/// What a client sent.
struct Request {
    first_line: String,
    authorization: Option<String>,
    alerts: Vec<Value>,
}

/// A receiver that does as it is told, and then answers 200.
struct Receiver {
    address: SocketAddr,
    requests: mpsc::Receiver<Request>,
}

impl Receiver {
    fn start(answers: &'static [Answer]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), answers)
    }

    fn on(listener: TcpListener, answers: &'static [Answer]) -> Self {
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            let mut answers = answers.iter().copied();
            let mut hanging = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                // A client keeps its connection for the next request.
                while let Some(request) = read(&stream) {
                    let answer = answers.next().unwrap_or(Answer::Status(200));
                    if sender.send(request).is_err() {
                        return;
                    }
                    let status = match answer {
                        Answer::Status(status) => status,
                        Answer::Cut => break,
                        Answer::Hang => {
                            hanging.push(stream);
                            break;
                        }
                    };
                    let text = format!("HTTP/1.1 {status} Words\r\nContent-Length: 0\r\n\r\n");
                    if stream.write_all(text.as_bytes()).is_err() {
                        break;
                    }
                }
            }
        });
        Self { address, requests }
    }

    /// The next request.
    fn request(&self) -> Request {
        self.requests.recv_timeout(PATIENCE).unwrap()
    }

    /// The next request's alerts.
    fn alerts(&self) -> Vec<Value> {
        let request = self.request();
        assert_eq!(request.first_line, "POST /api/v2/alerts HTTP/1.1");
        request.alerts
    }

    /// The next request that tells of a storm's end.
    fn end(&self) -> Value {
        loop {
            let alert = self.alerts().remove(0);
            if alert["annotations"]["summary"]
                .as_str()
                .unwrap()
                .ends_with("is over")
            {
                return alert;
            }
        }
    }
}

/// One request; `None` at the connection's end.
fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let (mut first_line, mut authorization, mut length) = (String::new(), None, 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if first_line.is_empty() {
            first_line = line.to_owned();
        } else if line.is_empty() {
            break;
        } else if let Some((name, value)) = line.split_once(':') {
            match &*name.to_lowercase() {
                "content-length" => length = value.trim().parse().unwrap(),
                "authorization" => authorization = Some(value.trim().to_owned()),
                _ => {}
            }
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        first_line,
        authorization,
        alerts: serde_json::from_slice(&body).unwrap(),
    })
}

/// The daemon's side.
struct Daemon {
    views: watch::Sender<Arc<View>>,
    tally: Arc<Tally>,
    _runtime: Runtime,
}

impl Daemon {
    fn notifying(address: SocketAddr) -> Self {
        Self::posting(&format!("http://{address}"))
    }

    fn posting(url: &str) -> Self {
        let mut calm = by_hand::view();
        calm.storms.active.clear();
        let (views, receiver) = watch::channel(Arc::new(calm));
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(1).enable_all().build().unwrap();
        let tally = Arc::new(Tally::default());
        let recipient = Recipient {
            target: url.parse().unwrap(),
            client: Client::new(Duration::from_millis(300)),
            source: Arc::new(Source {
                instance: "node-1".into(),
                page: "http://node-1:10061/".into(),
            }),
            interval: INTERVAL,
            tally: Arc::clone(&tally),
        };
        runtime.spawn(recipient.attend(receiver));
        Self {
            views,
            tally,
            _runtime: runtime,
        }
    }

    /// The next window, `seconds` after the epoch, with these storms.
    fn show(&self, window: u64, active: &[Storm], closed: &[Storm]) {
        self.views.send_modify(|view| {
            let view = Arc::make_mut(view);
            let snapshot = Arc::make_mut(&mut view.snapshot);
            let moment = moment(window);
            (snapshot.window, snapshot.taken) = (moment.window, moment.time);
            view.storms.active = active.to_vec();
            view.storms.closed = Arc::new(closed.to_vec().into());
        });
    }

    fn counts(&self) -> [u64; Outcome::COUNT] {
        Outcome::ALL.map(|outcome| self.tally.get(outcome))
    }

    /// Waits until an outcome has been counted.
    fn wait_for(&self, outcome: Outcome) {
        while self.tally.get(outcome) == 0 {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn moment(window: u64) -> Moment {
    Moment {
        window,
        time: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(window)),
    }
}

fn opened(window: u64) -> Storm {
    Storm {
        opened: moment(window),
        ..by_hand::storm()
    }
}

fn closed(from: u64, to: u64) -> Storm {
    let end = End::Calm;
    Storm {
        closed: Some(Closed {
            at: moment(to),
            end,
        }),
        ..opened(from)
    }
}

#[test]
fn a_storm_is_told_when_it_opens_while_it_is_open_and_when_it_closes() {
    let receiver = Receiver::start(&[]);
    let daemon = Daemon::notifying(receiver.address);
    daemon.show(50, &[opened(50)], &[]);
    let first = receiver.alerts();
    assert_eq!(first.len(), 1);
    assert_eq!(first[0]["labels"]["alertname"], "MapStorm");
    assert_eq!(first[0]["labels"]["map_id"], by_hand::FULL.to_string());
    assert_eq!(first[0]["startsAt"], "1970-01-01T00:00:50.000Z");
    let again = receiver.alerts();
    assert_eq!(first[0]["labels"], again[0]["labels"]);
    daemon.show(60, &[], &[closed(50, 60)]);
    let end = receiver.end();
    assert_eq!(end["labels"], first[0]["labels"]);
    assert_eq!(end["endsAt"], "1970-01-01T00:01:00.000Z");
    // Nothing is told of what is over: the next is another storm.
    daemon.show(70, &[opened(70)], &[closed(50, 60)]);
    assert_eq!(receiver.alerts()[0]["startsAt"], "1970-01-01T00:01:10.000Z");
    let [sent, rest @ ..] = daemon.counts();
    assert!(sent >= 3, "{sent}");
    assert_eq!(rest, [0, 0, 0]);
}

#[test]
fn one_that_fails_hears_the_newest_state_when_it_works_again() {
    let receiver = Receiver::start(&[Answer::Status(500), Answer::Status(503)]);
    let daemon = Daemon::notifying(receiver.address);
    daemon.show(50, &[opened(50)], &[]);
    receiver.alerts();
    daemon.show(60, &[], &[closed(50, 60)]);
    receiver.end();
    daemon.wait_for(Outcome::Failed);
    receiver.end();
    daemon.wait_for(Outcome::Sent);
    assert_eq!(daemon.counts(), [1, 2, 0, 0]);
}

#[test]
fn one_that_hangs_holds_up_nobody_and_is_asked_again() {
    let receiver = Receiver::start(&[Answer::Hang]);
    let daemon = Daemon::notifying(receiver.address);
    daemon.show(50, &[opened(50)], &[]);
    receiver.alerts();
    // It hangs; views go on.
    for window in 51..1000 {
        daemon.show(window, &[opened(50)], &[]);
    }
    receiver.alerts();
    daemon.wait_for(Outcome::Sent);
    assert_eq!(daemon.tally.get(Outcome::Failed), 1);
}

#[test]
fn one_that_is_not_there_yet_is_told_when_it_comes() {
    let place = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = place.local_addr().unwrap();
    drop(place);
    let daemon = Daemon::notifying(address);
    daemon.show(50, &[opened(50)], &[]);
    daemon.wait_for(Outcome::Failed);
    let receiver = Receiver::on(TcpListener::bind(address).unwrap(), &[]);
    assert_eq!(receiver.alerts().len(), 1);
    daemon.wait_for(Outcome::Sent);
}

#[test]
fn what_is_refused_is_not_tried_again_but_its_end_is_told() {
    let receiver = Receiver::start(&[Answer::Status(400)]);
    let daemon = Daemon::notifying(receiver.address);
    daemon.show(50, &[], &[closed(49, 50)]);
    receiver.end();
    daemon.wait_for(Outcome::Refused);
    daemon.show(60, &[opened(60)], &[closed(49, 50)]);
    let alerts = receiver.alerts();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!(alerts[0]["startsAt"], "1970-01-01T00:01:00.000Z");
    assert_eq!(daemon.tally.get(Outcome::Failed), 0);
}

#[test]
fn one_that_cuts_the_connection_is_asked_again() {
    let receiver = Receiver::start(&[Answer::Cut]);
    let daemon = Daemon::notifying(receiver.address);
    daemon.show(50, &[opened(50)], &[]);
    receiver.alerts();
    receiver.alerts();
    daemon.wait_for(Outcome::Sent);
    assert_eq!(daemon.tally.get(Outcome::Refused), 0);
}

#[test]
fn a_storm_that_gets_worse_ends_one_alert_and_begins_another() {
    let receiver = Receiver::start(&[]);
    let daemon = Daemon::notifying(receiver.address);
    daemon.show(50, &[opened(50)], &[]);
    assert_eq!(receiver.alerts()[0]["labels"]["severity"], "warning");
    let worse = Storm {
        severity: Severity::Critical,
        ..opened(50)
    };
    daemon.show(55, &[worse], &[]);
    let both = loop {
        let alerts = receiver.alerts();
        if alerts.len() == 2 {
            break alerts;
        }
    };
    let [was, is] = ["warning", "critical"].map(|severity| {
        let mut alerts = both.iter();
        alerts
            .find(|alert| alert["labels"]["severity"] == severity)
            .unwrap()
    });
    assert_eq!(was["endsAt"], "1970-01-01T00:00:55.000Z");
    assert_eq!(is["startsAt"], "1970-01-01T00:00:50.000Z");
    assert_eq!(is["annotations"]["advice"], "raise max_entries: it is full");
}

#[test]
fn a_path_a_query_and_a_password_go_where_they_were_meant_to() {
    let receiver = Receiver::start(&[]);
    let address = receiver.address;
    let daemon = Daemon::posting(&format!("http://me:secret@{address}/hook?token=1"));
    daemon.show(50, &[opened(50)], &[]);
    let request = receiver.request();
    assert_eq!(request.first_line, "POST /hook?token=1 HTTP/1.1");
    // "me:secret" in base64.
    assert_eq!(request.authorization.as_deref(), Some("Basic bWU6c2VjcmV0"));
}
