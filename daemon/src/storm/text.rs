//! How a record's parts are written in JSON, and read again.

/// A map's type, as bpftool names it.
pub(super) mod map_type {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    use crate::identity::MapType;

    pub(in crate::storm) fn serialize<S: Serializer>(
        kind: &MapType,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&kind.label())
    }

    pub(in crate::storm) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<MapType, D::Error> {
        let label = String::deserialize(deserializer)?;
        let unknown = || D::Error::custom(format_args!("no type of maps: {label}"));
        MapType::of_label(&label).ok_or_else(unknown)
    }
}

/// A time, RFC 3339 in UTC to the millisecond, or nothing.
pub(super) mod time {
    use std::time::SystemTime;

    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(in crate::storm) fn serialize<S: Serializer>(
        time: &Option<SystemTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.collect_str(&humantime::format_rfc3339_millis(*time)),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::storm) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SystemTime>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let parsed = text.map(|text| humantime::parse_rfc3339(&text));
        parsed.transpose().map_err(D::Error::custom)
    }
}
