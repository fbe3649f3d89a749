//! The commands that ask for maps, and the one that writes man pages, as clap sees them.

use std::{path::PathBuf, time::Duration};

use clap::value_parser;

use super::values;
use crate::{
    api::{SortKey, SortOrder},
    client::{Question, Target},
    config::{Ask, ManConfig, MapsConfig, TopConfig, TopForm},
};

/// Where the daemon is.
#[derive(Debug, clap::Args)]
pub(super) struct UrlArgs {
    /// Address of the daemon to ask.
    #[arg(long, env = "MAPSTORM_URL", hide_env_values = true)]
    #[arg(value_name = "URL", value_parser = values::Url)]
    #[arg(default_value = values::daemon_url())]
    url: Target,
}

/// Which maps, and in which order.
#[derive(Debug, clap::Args)]
pub(super) struct ChoiceArgs {
    /// Which way to sort; when not given, names, types and ids the least first, numbers the greatest
    /// first.
    #[arg(long, value_name = "WAY")]
    #[arg(value_parser = values::choice(&SortOrder::ALL, SortOrder::label))]
    order: Option<SortOrder>,
    /// Only maps whose names contain this, in whatever case.
    #[arg(long, value_name = "TEXT", value_parser = values::short_text)]
    name: Option<String>,
    /// Only maps of this type, as bpftool names it.
    #[arg(long = "type", value_name = "TYPE", value_parser = values::short_text)]
    kind: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 done, 1 nobody was there to answer, 2 the kernel does not tell (--local).

Examples:
  mapstorm maps --sort cost --limit 10
  mapstorm maps --type lru_hash --json | jq '.maps[].name'
  mapstorm maps --local")]
pub(super) struct MapsArgs {
    #[command(flatten)]
    url: UrlArgs,
    /// Ask the kernel of this host instead of a daemon (CAP_BPF and CAP_PERFMON): what maps there are,
    /// not what happens on them.
    #[arg(long)]
    local: bool,
    /// What to sort by; maps of which it is not known come last.
    #[arg(long, value_name = "COLUMN", default_value = SortKey::default().label())]
    #[arg(value_parser = values::choice(&SortKey::ALL, SortKey::label))]
    sort: SortKey,
    #[command(flatten)]
    choice: ChoiceArgs,
    /// How many maps to print at most, 1 to 10000.
    #[arg(long, value_name = "MAPS", default_value_t = 1000)]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// How many to leave out in front.
    #[arg(long, value_name = "MAPS", default_value_t = 0)]
    #[arg(value_parser = value_parser!(u32).range(0..=1_000_000))]
    offset: u32,
    /// Print JSON, as /api/v1/maps has it.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Keys: arrows select, Enter opens a map, s and S sort by the next and the last column, r turns the
order, / filters by name, ? shows all keys, q ends.

Examples:
  mapstorm top
  mapstorm top --url http://node-7:10061 --sort rejects
  mapstorm top --once --limit 10
  mapstorm top --json | jq '.storms.active'")]
pub(super) struct TopArgs {
    #[command(flatten)]
    url: UrlArgs,
    /// How often to ask, 100ms to 1m.
    #[arg(long, value_name = "TIME", value_parser = values::top_interval)]
    #[arg(default_value = values::time_text(TopConfig::INTERVAL))]
    interval: Duration,
    /// What to sort by at first; maps of which it is not known come last.
    #[arg(long, value_name = "COLUMN", default_value = SortKey::Cost.label())]
    #[arg(value_parser = values::choice(&SortKey::ALL, SortKey::label))]
    sort: SortKey,
    #[command(flatten)]
    choice: ChoiceArgs,
    /// How many maps to show at most, 1 to 10000.
    #[arg(long, value_name = "MAPS", default_value_t = 200)]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Print one screen as plain text, and end; needs no terminal.
    #[arg(long)]
    once: bool,
    /// Print one reading as JSON, and end.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  mapstorm man /usr/share/man/man1")]
pub(super) struct ManArgs {
    /// Where to write them; it is made if need be.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

impl ChoiceArgs {
    fn question(self, sort: SortKey, limit: u32, offset: u32) -> Question {
        Question {
            sort,
            order: self.order,
            name: self.name,
            kind: self.kind,
            limit: Some(limit),
            offset,
        }
    }
}

impl From<MapsArgs> for MapsConfig {
    fn from(args: MapsArgs) -> Self {
        Self {
            ask: match args.local {
                true => Ask::Kernel,
                false => Ask::Daemon(args.url.url),
            },
            question: args.choice.question(args.sort, args.limit, args.offset),
            json: args.json,
        }
    }
}

impl From<TopArgs> for TopConfig {
    fn from(args: TopArgs) -> Self {
        Self {
            target: args.url.url,
            question: args.choice.question(args.sort, args.limit, 0),
            interval: args.interval,
            form: match (args.json, args.once) {
                (true, _) => TopForm::Json,
                (false, true) => TopForm::Text,
                (false, false) => TopForm::Screen,
            },
        }
    }
}

impl ManArgs {
    /// With the pages to be written.
    pub(super) fn with(self, pages: Vec<(String, String)>) -> ManConfig {
        let directory = self.directory;
        ManConfig { directory, pages }
    }
}
