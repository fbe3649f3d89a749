//! The HTTP client: asks a daemon, and hands alerts to receivers. The only user of ureq and of rustls beneath it.
//!
//! It blocks, so it is used on threads that may wait. Every request is over, one way or the other, within the time
//! that was set for it.

mod daemon;
mod error;
mod target;

use std::{sync::Arc, time::Duration};

use serde::{Serialize, de::DeserializeOwned};
use ureq::{
    Agent,
    tls::{RootCerts, TlsConfig},
};

use crate::{api::Problem, build_info::BuildInfo};

pub use daemon::{Daemon, Question};
pub use error::{ClientError, Reason};
pub use target::{Target, TargetError};

/// The largest answer that is read, bytes: some ten thousand maps.
const MAX_ANSWER: u64 = 64 << 20;

/// The largest account of a problem that is read, bytes.
const MAX_PROBLEM: u64 = 64 << 10;

/// Sends requests, one after the other, and keeps the connection for the next. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
}

impl Client {
    /// A client whose requests take no longer than `timeout`, from the look-up of the name to the last byte.
    pub fn new(timeout: Duration) -> Self {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let agent = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            // Who was named is who is asked: nobody else gets to see alerts.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(format!("mapstorm/{}", BuildInfo::THIS.version))
            .tls_config(tls)
            .build()
            .new_agent();
        Self { agent }
    }

    /// Gets JSON. `None` where the server says that there is no such thing (404).
    ///
    /// # Errors
    /// When the server cannot be reached in time, or answers otherwise than with JSON of this shape.
    pub fn get<T: DeserializeOwned>(&self, target: &Target) -> Result<Option<T>, ClientError> {
        let failed = |reason| ClientError {
            target: target.to_string(),
            reason,
        };
        let request = self.agent.get(target.as_str());
        let response = request.header("accept", "application/json").call();
        let mut response = response.map_err(|error| failed(error.into()))?;
        match response.status().as_u16() {
            200 => {
                let body = response.body_mut().with_config().limit(MAX_ANSWER);
                let text = body.read_to_vec();
                let text = text.map_err(|error| failed(error.into()))?;
                serde_json::from_slice(&text)
                    .map(Some)
                    .map_err(|error| failed(Reason::Shape(error)))
            }
            404 => Ok(None),
            status => {
                let text = response.body_mut().with_config().limit(MAX_PROBLEM);
                let problem = text.read_to_vec().ok();
                let problem = problem.and_then(|text| serde_json::from_slice(&text).ok());
                Err(failed(match problem {
                    Some(Problem { detail, .. }) => Reason::Problem { status, detail },
                    None => Reason::Status(status),
                }))
            }
        }
    }

    /// Posts JSON; any answer of 200 to 299 will do.
    ///
    /// # Errors
    /// When the server cannot be reached in time, or answers otherwise.
    pub fn post<T: Serialize>(&self, target: &Target, body: &T) -> Result<(), ClientError> {
        let failed = |reason| ClientError {
            target: target.to_string(),
            reason,
        };
        let text = serde_json::to_vec(body).map_err(|error| failed(Reason::Shape(error)))?;
        let request = self.agent.post(target.as_str());
        let request = request.header("content-type", "application/json");
        let response = request
            .send(&text[..])
            .map_err(|error| failed(error.into()))?;
        match response.status().as_u16() {
            200..=299 => Ok(()),
            status => Err(failed(Reason::Status(status))),
        }
    }
}
