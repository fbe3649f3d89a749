//! `mapstorm serve`: preflight, plan, bind, load, attach, arm, sample, serve; and all of it back.

mod past;
mod words;

use std::{
    io,
    net::TcpListener,
    sync::{Arc, mpsc},
    time::{Duration, SystemTime},
};

use tokio::{runtime::Runtime, sync::oneshot};

use past::Kept;

use crate::{
    build_info::BuildInfo,
    client::Client,
    config::ServeConfig,
    facts::{self, Facts, Kernel, Roots},
    fill::Books,
    fold::Fold,
    history::{HistoryError, Keeper},
    http::{self, BindError, Site},
    kernel::Attached,
    memory::Memory,
    metrics::{By, Exposition, ExpositionError, ProcessStats, Tallies},
    notify::{self, NotifyConfig, Recipient, Source, Tally},
    plan,
    pops::PopSource,
    preflight::{Attempt, Preflight, PreflightError},
    probes::{self, ProbeStatus},
    publisher::Publisher,
    require::{self, Unmet},
    sampler::Sampler,
    signals,
    storm::Detector,
    view::{Host, Phase, View, Views},
};

pub(crate) use words::listed as reasons;

/// How long the history may take to be written in the end.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Threads that answer requests: rendering is elsewhere, and there is little else to do.
const SERVERS: usize = 2;

/// Why the daemon ended, other than by being told to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// mapstorm cannot work on this machine.
    #[error(transparent)]
    Machine(#[from] facts::KernelError),
    /// Nothing could be tried.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// An address cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The kernel lets nothing be seen.
    #[error("nothing can be observed on this host:{}", words::listed(.0))]
    Blind(Vec<ProbeStatus>),
    /// What was required is not there.
    #[error("--require: {0}")]
    Unmet(#[from] Unmet),
    /// Storms cannot be kept where they are to be kept.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The metrics cannot be set up.
    #[error(transparent)]
    Exposition(#[from] ExpositionError),
    /// The system refused something that every program needs.
    #[error("{what}: {error}")]
    System {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// The sampler ended though nobody told it to.
    #[error("the sampler ended early: the metrics would stand still; see the log, and report it")]
    Sampler,
}

/// Watches and serves until SIGINT or SIGTERM.
///
/// # Errors
/// See [`ServeError`]: before anything is attached where that is possible, and nothing stays
/// attached in any case.
pub fn run(config: &ServeConfig) -> Result<(), ServeError> {
    let started = SystemTime::now();
    let ends = Ends::on_signal().map_err(system("catching signals"))?;
    let Start {
        kernel,
        listeners,
        statuses,
        attached,
        memory,
        waits_are_seen,
        kept,
    } = Start::of(config, started)?;
    words::warn_of_refusals(&statuses);
    words::warn_of_blindness(&statuses);
    let phase = phase(&statuses);
    let books = Books::of(&statuses, &kernel);
    let mut fold = Fold::new(PopSource::of(&statuses));
    fold = fold.telling(memory).keeping(books);
    if config.metrics.by == By::Name {
        fold = fold.remembering();
    }
    let detector = Detector::new(config.thresholds.clone(), kernel.generation);
    let detector = detector.remembering(kept.past);
    let detector = detector.seeing_waits(waits_are_seen);
    let (keeper, recorder) = kept.keeper.unzip();
    let host = Host {
        build: BuildInfo::THIS,
        kernel_release: kernel.release,
        freelist: kernel.generation,
        started,
        sample_interval: config.sample_interval,
    };
    let view = View::starting(host, Arc::from(statuses));
    let (publisher, views) = Publisher::new(view, detector);
    let mut publisher = publisher.recording(recorder);
    let tally = (!config.notify.targets.is_empty()).then(Arc::<Tally>::default);
    let tallies = Tallies {
        notified: tally.clone(),
        kept: keeper.as_ref().map(Keeper::tally),
    };
    let settings = config.metrics.clone();
    let exposition = Exposition::telling(views.clone(), settings, ProcessStats::read, tallies)?;
    let armed = attached.arm();
    let table_bytes = armed.tables().bytes();
    publisher.set_phase(phase);
    let sampler = Sampler::new(armed, fold, publisher, config.sample_interval);
    let sampler = sampler.spawn(ends.sampler);
    let sampler = sampler.map_err(system("starting the sampler"))?;
    let view = Arc::clone(&views.borrow());
    words::say_ready(&listeners, &view, table_bytes);
    let site = Site::new(views.clone(), exposition);
    let notices = tally.map(|tally| Notices {
        config: &config.notify,
        source: Arc::new(words::source(&listeners)),
        tally,
    });
    let served = serve(listeners, site, views, notices, ends.server);
    // Whoever ended first: now both do; the sampler may be gone already. Joining it waits until
    // everything is detached.
    let _gone = ends.stop.send(());
    let sampled = sampler.join();
    if let Some(keeper) = keeper {
        keeper.end(LAST_WRITES);
    }
    served?;
    sampled.map_err(|_| ServeError::Sampler)?;
    tracing::info!(uptime = ?started.elapsed().unwrap_or_default(), "ended");
    Ok(())
}

/// A daemon that could start: everything is attached, and looks away until it is armed.
struct Start {
    kernel: Kernel,
    listeners: Vec<TcpListener>,
    statuses: Vec<ProbeStatus>,
    attached: Attached,
    /// How this kernel tells a map's memory.
    memory: Option<Memory>,
    /// Are waits for locks seen, and which lock of a map each is for?
    waits_are_seen: bool,
    /// Storms past, and who keeps those to come.
    kept: Kept,
}

impl Start {
    /// Preflight, plan, bind, read the history, load, attach; the kernel's types, some megabytes, are dropped again.
    fn of(config: &ServeConfig, now: SystemTime) -> Result<Self, ServeError> {
        let facts = Facts::gather(&Roots::default(), &[])?;
        let preflight = Preflight::new(facts, config.probe_memory, config.no_trampolines)?;
        let listeners = http::bind(&config.listen)?;
        let kept = Kept::open(config.state_dir.as_deref(), now)?;
        let Attempt { statuses, attached } = preflight.attach()?;
        let Some(attached) = attached.filter(Attached::observable) else {
            return Err(ServeError::Blind(statuses));
        };
        require::check(&config.require, &preflight.plan, &statuses)?;
        Ok(Self {
            memory: preflight.memory(),
            waits_are_seen: preflight.tells_locks_apart()
                && probes::any_attached(&statuses, |probe| probe.signal == plan::LOCK_WAIT),
            kernel: preflight.facts.kernel,
            listeners,
            statuses,
            attached,
            kept,
        })
    }
}

/// How the sampler and the server are told to end.
struct Ends {
    sampler: mpsc::Receiver<()>,
    server: oneshot::Receiver<()>,
    stop: mpsc::Sender<()>,
}

impl Ends {
    /// Both are told by the first signal.
    fn on_signal() -> io::Result<Self> {
        let (stop, sampler) = mpsc::channel();
        let (end, server) = oneshot::channel();
        let first = stop.clone();
        signals::on_end(move || {
            // Either may be gone by itself. The server first: a sampler that ends unannounced is
            // a failure to it.
            let _gone = end.send(());
            let _gone = first.send(());
        })?;
        Ok(Self {
            sampler,
            server,
            stop,
        })
    }
}

/// Who is told of storms, and by whom.
struct Notices<'a> {
    config: &'a NotifyConfig,
    source: Arc<Source>,
    tally: Arc<Tally>,
}

impl Notices<'_> {
    /// Attends to every receiver, each on its own, until the runtime ends.
    fn attend(self, runtime: &Runtime, views: &Views) {
        for target in &self.config.targets {
            let recipient = Recipient {
                target: target.clone(),
                client: Client::new(notify::TIMEOUT),
                source: Arc::clone(&self.source),
                interval: self.config.interval,
                tally: Arc::clone(&self.tally),
            };
            runtime.spawn(recipient.attend(views.clone()));
        }
    }
}

/// Serves until told to end, or until nobody publishes any more.
fn serve(
    listeners: Vec<TcpListener>,
    site: Site,
    mut views: Views,
    notices: Option<Notices<'_>>,
    told: oneshot::Receiver<()>,
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(SERVERS)
        .thread_name("http")
        .enable_all()
        .build()
        .map_err(system("starting the HTTP server"))?;
    if let Some(notices) = notices {
        notices.attend(&runtime, &views);
    }
    let mut early = false;
    let end = async {
        let silence = async { while views.changed().await.is_ok() {} };
        tokio::select! {
            biased;
            _ = told => {}
            () = silence => early = true,
        }
    };
    let served = runtime.block_on(http::serve(listeners, site, end));
    runtime.shutdown_background();
    served.map_err(system("serving HTTP"))?;
    if early {
        Err(ServeError::Sampler)
    } else {
        Ok(())
    }
}

fn system(what: &'static str) -> impl Fn(io::Error) -> ServeError {
    move |error| ServeError::System { what, error }
}

fn phase(probes: &[ProbeStatus]) -> Phase {
    if probes.iter().all(ProbeStatus::attached) {
        Phase::Armed
    } else {
        Phase::Degraded
    }
}
