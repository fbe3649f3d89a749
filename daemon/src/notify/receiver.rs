//! Attends to one receiver: looks at every view, and posts what is due. One request at a time, on a thread that may
//! block, so that a receiver that hangs holds up nobody.

use std::{
    future::pending,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tokio::{
    task::{self, JoinHandle},
    time::sleep_until,
};

use super::{
    ALERTS_PATH, Alert, NotifyConfig, Outbox, Outcome, Patience, Sent, Source, Tally, Ticket,
    patience::chance,
};
use crate::{
    client::{Client, ClientError, Target},
    storm::Moment,
    view::Views,
};

/// How long a request may take.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// Somebody to be told of storms.
#[derive(Clone, Debug)]
pub struct Recipient {
    /// Where; the path of the API is added where there is none.
    pub target: Target,
    /// How, and in which time.
    pub client: Client,
    /// By whom.
    pub source: Arc<Source>,
    /// How often again while a storm is open.
    pub interval: Duration,
    /// Where it is counted.
    pub tally: Arc<Tally>,
}

impl Recipient {
    /// Tells of storms that open from now on, until nobody publishes views any more; what was not told by then ends
    /// by itself, at its `endsAt`.
    pub fn attend(mut self, mut views: Views) -> impl Future<Output = ()> + Send {
        if self.target.is_bare() {
            self.target = self.target.at(ALERTS_PATH);
        }
        let mut seen = Moment::of(&views.borrow_and_update().snapshot);
        // Before the first sample there is no time yet, but there may be storms of an earlier run.
        seen.time = seen.time.or_else(|| Some(SystemTime::now()));
        let receiver = Receiver {
            outbox: Outbox::new(self.interval, seen),
            patience: Patience::default(),
            not_before: Instant::now(),
            recipient: self,
        };
        receiver.watch(views)
    }
}

/// A request on its way.
struct Request {
    tickets: Vec<Ticket>,
    answer: JoinHandle<Result<(), ClientError>>,
}

/// The answer to a request; never, without one. `None` when the thread was lost.
async fn answer(request: &mut Option<Request>) -> Option<Result<(), ClientError>> {
    match request {
        Some(request) => (&mut request.answer).await.ok(),
        None => pending().await,
    }
}

async fn wait(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until.into()).await,
        None => pending().await,
    }
}

/// A recipient, and what it has been told.
struct Receiver {
    recipient: Recipient,
    outbox: Outbox,
    patience: Patience,
    /// It has failed, and is left alone until then.
    not_before: Instant,
}

impl Receiver {
    /// Takes in views and answers until there are no more views.
    async fn watch(mut self, mut views: Views) {
        let mut request: Option<Request> = None;
        loop {
            if request.is_none() {
                request = self.request(Instant::now());
            }
            tokio::select! {
                changed = views.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let view = Arc::clone(&views.borrow_and_update());
                    let moment = Moment::of(&view.snapshot);
                    self.outbox.observe(&view.storms, moment, Instant::now());
                    self.count_dropped();
                }
                () = wait(self.due()), if request.is_none() => {}
                answer = answer(&mut request) => {
                    let tickets = request.take().map_or_else(Vec::new, |request| request.tickets);
                    self.settle(&tickets, answer, Instant::now());
                }
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        self.outbox.due().map(|due| due.max(self.not_before))
    }

    /// Posts what is due, if anything is.
    fn request(&self, now: Instant) -> Option<Request> {
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        let (tickets, storms): (Vec<_>, Vec<_>) = self.outbox.take(now).into_iter().unzip();
        let time = SystemTime::now();
        let Recipient {
            target,
            client,
            source,
            interval,
            ..
        } = &self.recipient;
        let silence = *interval * NotifyConfig::SILENCES;
        let alert = |storm| Alert::new(&storm, source, time, silence);
        let alerts: Vec<_> = storms.into_iter().map(alert).collect();
        let (client, target) = (client.clone(), target.clone());
        let answer = task::spawn_blocking(move || client.post(&target, &alerts));
        Some(Request { tickets, answer })
    }

    /// Notes an answer, and says in the log when the receiver begins to fail or works again.
    fn settle(
        &mut self,
        tickets: &[Ticket],
        answer: Option<Result<(), ClientError>>,
        now: Instant,
    ) {
        let (sent, outcome, error) = match answer {
            Some(Ok(())) => (Sent::Delivered, Outcome::Sent, None),
            Some(Err(error)) if error.reason.is_final() => {
                (Sent::Refused, Outcome::Refused, Some(error.to_string()))
            }
            Some(Err(error)) => (Sent::Failed, Outcome::Failed, Some(error.to_string())),
            None => (
                Sent::Failed,
                Outcome::Failed,
                Some("the request was lost".to_owned()),
            ),
        };
        self.recipient.tally.add(outcome, tickets.len());
        self.outbox.settle(tickets, sent, now);
        let receiver = &self.recipient.target;
        match error {
            None if self.patience.succeed() => {
                tracing::info!(%receiver, "a receiver of alerts works again");
            }
            None => {}
            Some(error) => {
                if self.patience.failures() == 0 {
                    tracing::warn!(
                        %receiver,
                        error,
                        refused = sent == Sent::Refused,
                        "alerts cannot be delivered; mapstorm_notifications_total counts them"
                    );
                }
                self.not_before = now + self.patience.fail(chance());
            }
        }
    }

    fn count_dropped(&mut self) {
        let dropped = self.outbox.take_dropped();
        if dropped > 0 {
            self.recipient.tally.add(Outcome::Dropped, dropped);
            tracing::warn!(receiver = %self.recipient.target, dropped, "too many storms wait to be told");
        }
    }
}
