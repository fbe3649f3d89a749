//! A daemon, asked by its API.

use std::time::Duration;

use form_urlencoded::Serializer;
use serde::de::DeserializeOwned;

use super::{Client, ClientError, Reason, Target};
use crate::{
    api::{MapDetail, MapList, ProbeList, SortKey, SortOrder, StormList},
    identity::MapId,
};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A running `mapstorm serve`. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Daemon {
    client: Client,
    target: Target,
}

/// Which maps, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// What they are sorted by.
    pub sort: SortKey,
    /// Which way; `None` for the key's own.
    pub order: Option<SortOrder>,
    /// Only maps whose names contain this.
    pub name: Option<String>,
    /// Only maps of this type.
    pub kind: Option<String>,
    /// How many at most; `None` for as many as the daemon likes.
    pub limit: Option<u32>,
    /// How many to leave out in front.
    pub offset: u32,
}

impl Question {
    /// The question as a query string.
    pub fn query(&self) -> String {
        let mut pairs = Serializer::new(String::new());
        pairs.append_pair("sort", self.sort.label());
        if let Some(order) = self.order {
            pairs.append_pair("order", order.label());
        }
        for (key, text) in [("name", &self.name), ("type", &self.kind)] {
            if let Some(text) = text {
                pairs.append_pair(key, text);
            }
        }
        if let Some(limit) = self.limit {
            pairs.append_pair("limit", &limit.to_string());
        }
        if self.offset > 0 {
            pairs.append_pair("offset", &self.offset.to_string());
        }
        pairs.finish()
    }
}

impl Daemon {
    /// The daemon at this address.
    pub fn at(target: Target) -> Self {
        let client = Client::new(TIMEOUT);
        Self { client, target }
    }

    /// Its maps.
    ///
    /// # Errors
    /// When it cannot be reached, or is none.
    pub fn maps(&self, question: &Question) -> Result<MapList, ClientError> {
        self.get(&format!("/api/v1/maps?{}", question.query()))
    }

    /// All there is to tell of one map; `None` when there is no such map.
    ///
    /// # Errors
    /// As [`maps`](Self::maps).
    pub fn map(&self, id: MapId) -> Result<Option<MapDetail>, ClientError> {
        self.client
            .get(&self.target.at(&format!("/api/v1/maps/{id}")))
    }

    /// Its storms: those that are open, and the last that are over.
    ///
    /// # Errors
    /// As [`maps`](Self::maps).
    pub fn storms(&self) -> Result<StormList, ClientError> {
        self.get("/api/v1/storms?limit=10")
    }

    /// Its probes, its kernel and its build.
    ///
    /// # Errors
    /// As [`maps`](Self::maps).
    pub fn probes(&self) -> Result<ProbeList, ClientError> {
        self.get("/api/v1/probes")
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let target = self.target.at(path);
        self.client.get(&target)?.ok_or_else(|| ClientError {
            target: target.to_string(),
            reason: Reason::NoDaemon,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_encoded_as_servers_read_it() {
        assert_eq!(Question::default().query(), "sort=id");
        let question = Question {
            sort: SortKey::P99,
            order: Some(SortOrder::Asc),
            name: Some("a&b \"\\x".into()),
            kind: Some("hash".into()),
            limit: Some(5),
            offset: 2,
        };
        assert_eq!(
            question.query(),
            "sort=p99&order=asc&name=a%26b+%22%5Cx&type=hash&limit=5&offset=2"
        );
    }
}
