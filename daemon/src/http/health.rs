//! `/-/healthy` and `/-/ready`: for supervisors, in a status and one line of words.

use std::time::Duration;

use axum::{extract::State, http::StatusCode};

use super::Site;
use crate::view::{Phase, View};

/// The sampler is alive while its last sample is younger than so many windows …
const HEALTHY_WINDOWS: u32 = 20;
/// … or than this, because a busy host may delay anyone for a second or two.
const HEALTHY_AT_LEAST: Duration = Duration::from_secs(5);

type Answer = (StatusCode, String);

/// 200 while samples come in, 503 when they have stopped.
pub(super) async fn healthy(State(site): State<Site>) -> Answer {
    judge(&site.view())
}

fn judge(view: &View) -> Answer {
    let age = view.published.elapsed();
    let limit = HEALTHY_AT_LEAST.max(view.host.sample_interval * HEALTHY_WINDOWS);
    let (age_s, limit_s) = (age.as_secs_f64(), limit.as_secs_f64());
    match view.phase {
        Phase::Starting => (StatusCode::OK, "healthy: starting\n".to_owned()),
        _ if age <= limit => {
            let text = format!("healthy: the last sample is {age_s:.2} s old\n");
            (StatusCode::OK, text)
        }
        _ => {
            let text = format!(
                "unhealthy: the last sample is {age_s:.2} s old, the limit is {limit_s} s\n"
            );
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
    }
}

/// 200 once the daemon counts, be it degraded: it has said so. 503 before and on the way out.
pub(super) async fn ready(State(site): State<Site>) -> Answer {
    let view = site.view();
    let refused = view.probes.iter().filter(|probe| !probe.attached()).count();
    match view.phase {
        Phase::Armed => (StatusCode::OK, "ready: armed\n".to_owned()),
        Phase::Degraded => {
            let text = format!(
                "ready: degraded, {refused} of {} probes are not attached; see /api/v1/probes\n",
                view.probes.len()
            );
            (StatusCode::OK, text)
        }
        phase => {
            let text = format!("not ready: {}\n", phase.label());
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        time::{Instant, SystemTime},
    };

    use super::*;
    use crate::{build_info::BuildInfo, facts::FreelistGeneration, view::Host};

    #[test]
    fn a_sampler_that_stopped_is_unhealthy_and_one_that_starts_is_not() {
        let host = Host {
            build: BuildInfo::THIS,
            kernel_release: String::new(),
            freelist: FreelistGeneration::Unknown,
            started: SystemTime::UNIX_EPOCH,
            sample_interval: Duration::from_millis(500),
        };
        let mut view = View::starting(host, Arc::default());
        let ago = |seconds| {
            Instant::now()
                .checked_sub(Duration::from_secs(seconds))
                .unwrap()
        };
        view.published = ago(60);
        assert_eq!(judge(&view).0, StatusCode::OK);
        view.phase = Phase::Armed;
        view.published = ago(9);
        assert_eq!(judge(&view).0, StatusCode::OK);
        view.published = ago(11);
        let (status, text) = judge(&view);
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(text.contains("the limit is 10 s"), "{text}");
    }
}
