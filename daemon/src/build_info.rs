//! Which build this is: what `--version`, the metrics and the page tell.

use serde::Serialize;

/// One build of mapstorm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BuildInfo {
    /// The package's version.
    pub version: &'static str,
    /// Git revision it was built from, `unknown` outside a checkout.
    pub revision: &'static str,
    /// Version of the compiler, `unknown` when the build did not say.
    pub rustversion: &'static str,
}

impl BuildInfo {
    /// This build. The build script sets the variables.
    pub const THIS: Self = Self {
        version: env!("CARGO_PKG_VERSION"),
        revision: or_unknown(option_env!("MAPSTORM_REVISION")),
        rustversion: or_unknown(option_env!("MAPSTORM_RUSTVERSION")),
    };
}

const fn or_unknown(value: Option<&'static str>) -> &'static str {
    match value {
        Some(value) => value,
        None => "unknown",
    }
}
