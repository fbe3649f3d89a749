//! `mapstorm serve`: preflight, plan, bind, load, attach, arm, sample, serve; and all of it back.

mod words;

use std::{
    io,
    net::TcpListener,
    sync::{Arc, mpsc},
    time::SystemTime,
};

use tokio::sync::oneshot;

use crate::{
    build_info::BuildInfo,
    config::ServeConfig,
    facts::{self, Facts, Kernel, Roots},
    fold::Fold,
    http::{self, BindError, Site},
    kernel::Attached,
    metrics::{Exposition, ExpositionError, ProcessStats},
    pops::PopSource,
    preflight::{Attempt, Preflight, PreflightError},
    probes::ProbeStatus,
    publisher::Publisher,
    require::{self, Unmet},
    sampler::Sampler,
    signals,
    storm::Detector,
    view::{Host, Phase, View, Views},
};

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
    } = Start::of(config)?;
    words::warn_of_refusals(&statuses);
    let phase = phase(&statuses);
    let fold = Fold::new(PopSource::of(&statuses));
    let detector = Detector::new(config.thresholds.clone(), kernel.generation);
    let host = Host {
        build: BuildInfo::THIS,
        kernel_release: kernel.release,
        freelist: kernel.generation,
        started,
        sample_interval: config.sample_interval,
    };
    let view = View::starting(host, Arc::from(statuses));
    let (mut publisher, views) = Publisher::new(view, detector);
    let exposition = Exposition::new(views.clone(), config.max_series, ProcessStats::read)?;
    let armed = attached.arm();
    let table_bytes = armed.tables().bytes();
    publisher.set_phase(phase);
    let sampler = Sampler::new(armed, fold, publisher, config.sample_interval);
    let sampler = sampler.spawn(ends.sampler);
    let sampler = sampler.map_err(system("starting the sampler"))?;
    let view = Arc::clone(&views.borrow());
    words::say_ready(&listeners, &view, table_bytes);
    let site = Site::new(views.clone(), exposition);
    let served = serve(listeners, site, views, ends.server);
    // Whoever ended first: now both do; the sampler may be gone already. Joining it waits until
    // everything is detached.
    let _gone = ends.stop.send(());
    let sampled = sampler.join();
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
}

impl Start {
    /// Preflight, plan, bind, load, attach; the kernel's types, some megabytes, are dropped again.
    fn of(config: &ServeConfig) -> Result<Self, ServeError> {
        let facts = Facts::gather(&Roots::default(), &[])?;
        let preflight = Preflight::new(facts, config.probe_memory)?;
        let listeners = http::bind(&config.listen)?;
        let Attempt { statuses, attached } = preflight.attach()?;
        let Some(attached) = attached.filter(Attached::observable) else {
            return Err(ServeError::Blind(statuses));
        };
        require::check(&config.require, &preflight.plan, &statuses)?;
        Ok(Self {
            kernel: preflight.facts.kernel,
            listeners,
            statuses,
            attached,
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

/// Serves until told to end, or until nobody publishes any more.
fn serve(
    listeners: Vec<TcpListener>,
    site: Site,
    mut views: Views,
    told: oneshot::Receiver<()>,
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(SERVERS)
        .thread_name("http")
        .enable_all()
        .build()
        .map_err(system("starting the HTTP server"))?;
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
