//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::kernels::DEFAULT;
use crate::vm::{Cpus, Forward, GuestFile, qemu};

/// Everything a person or CI runs on mapstorm. Each command sets up by itself what it needs.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One command each.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Install what the BPF build and the guests need, and say what is used
    Setup,
    /// Build the BPF objects and the daemon, a static binary that embeds them
    Build(Build),
    /// List or fetch the kernels that mapstorm is tested on
    Kernels(Kernels),
    /// Run one command in a guest and exit with its status
    Vm(Vm),
    /// Watch a real storm: a guest with the daemon and a drill in it, its metrics on loopback
    Demo(Demo),
    /// Run every check, and the guest suite on every kernel
    Test(Test),
    /// Write the README's table of limits from what is on record
    Docs,
    /// Fetch the chart library of the page anew, in the version that is pinned
    Vendor,
    /// Measure what mapstorm costs
    Bench(Bench),
}

/// `bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// What to measure.
    #[command(subcommand)]
    pub what: BenchKind,
}

/// What `bench` can measure.
#[derive(Debug, Subcommand)]
pub enum BenchKind {
    /// Instructions per update, without and with the daemon, in guests whose clock counts them
    #[command(after_help = "Examples:
  cargo xtask bench overhead
  cargo xtask bench overhead --kernel 5.10 --kernel 7.3 --json")]
    Overhead(BenchOverhead),
}

/// `bench overhead`.
#[derive(Debug, Args)]
pub struct BenchOverhead {
    /// Kernels to measure on, as `kernels list` shows them; may be repeated
    #[arg(long, value_name = "NAME", default_values = [DEFAULT])]
    pub kernel: Vec<String>,
    /// One line of JSON per measurement in place of the table
    #[arg(long)]
    pub json: bool,
}

/// `build`.
#[derive(Debug, Args)]
pub struct Build {
    /// Optimise as for shipping
    #[arg(long)]
    pub release: bool,
}

/// `kernels`.
#[derive(Debug, Args)]
pub struct Kernels {
    /// What to do with them; list when nothing is said.
    #[command(subcommand)]
    pub action: Option<KernelsAction>,
}

/// What `kernels` can do.
#[derive(Debug, Subcommand)]
pub enum KernelsAction {
    /// Show each era and what is in the cache
    List,
    /// Fetch the newest package of each era named
    #[command(
        after_help = "Example:\n  cargo xtask kernels fetch 6.12 7.3\n  cargo xtask kernels fetch all"
    )]
    Fetch {
        /// Eras as `kernels list` shows them, or all
        #[arg(required = true)]
        names: Vec<String>,
    },
}

/// `vm`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask vm --kernel 5.10 -- /bin/mapstorm doctor
  cargo xtask vm --icount -- /bin/mapstorm drill full --seconds 1
  cargo xtask vm --kernel 6.12 --cpus 2,maxcpus=8 \\
    --forward 10061:10061 -- /bin/mapstorm serve --web.listen-address 0.0.0.0:10061")]
pub struct Vm {
    /// An era as `kernels list` shows it, or the path of a kernel image
    #[arg(long, default_value = DEFAULT, value_name = "NAME|PATH")]
    pub kernel: String,
    /// Processors online after boot, of M possible ones where `,maxcpus=M` follows
    #[arg(long, default_value = "4", value_name = "N[,maxcpus=M]")]
    pub cpus: Cpus,
    /// Memory in MiB
    #[arg(long, default_value_t = 1024, value_name = "MIB")]
    pub memory: u32,
    /// More parameters for the kernel; may be repeated
    #[arg(long, value_name = "PARAMETERS", allow_hyphen_values = true)]
    pub append: Vec<String>,
    /// One processor whose time counts instructions: every run is the same
    #[arg(long, conflicts_with_all = ["cpus", "accel"])]
    pub icount: bool,
    /// QEMU's model of the processor; `max` shows the kernel that it is in a virtual machine
    #[arg(long, default_value = qemu::DEFAULT_CPU, value_name = "MODEL")]
    pub cpu: String,
    /// QEMU's accelerator
    #[arg(long, default_value = qemu::DEFAULT_ACCEL)]
    pub accel: String,
    /// Lead a port of 127.0.0.1 into the guest; may be repeated
    #[arg(long, value_name = "HOSTPORT:GUESTPORT")]
    pub forward: Vec<Forward>,
    /// Load a module of the kernel's package, and what it depends on; may be repeated
    #[arg(long, value_name = "NAME")]
    pub module: Vec<String>,
    /// Put a file into the guest; may be repeated
    #[arg(long, value_name = "HOST:GUEST")]
    pub file: Vec<GuestFile>,
    /// Run binaries optimised as for shipping
    #[arg(long)]
    pub release: bool,
    /// Show the kernel's console on standard error, too
    #[arg(long)]
    pub console: bool,
    /// Keep every line of the guest here, with its time
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// The command; its first word is an absolute path in the guest
    #[arg(last = true, required = true)]
    pub command: Vec<String>,
}

/// `demo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask demo
  cargo xtask demo --kernel 5.10 --port 18061
  cargo xtask demo --once")]
pub struct Demo {
    /// An era as `kernels list` shows it, or the path of a kernel image
    #[arg(long, default_value = DEFAULT, value_name = "NAME|PATH", conflicts_with = "host")]
    pub kernel: String,
    /// Run on this machine's kernel instead of a guest's
    #[arg(long)]
    pub host: bool,
    /// The port of 127.0.0.1 where the metrics appear
    #[arg(long, default_value_t = 10061)]
    pub port: u16,
    /// End after this many drills; without it, at Ctrl-C
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cycles: Option<u32>,
    /// One drill, then a verdict: status 0 only if the storm was flagged and cleared
    #[arg(long, conflicts_with = "cycles")]
    pub once: bool,
}

/// `test`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask test
  cargo xtask test --quick
  cargo xtask test --kernel 5.10 --kernel 7.3 --filter exact")]
pub struct Test {
    /// Leave the guests out
    #[arg(long)]
    pub quick: bool,
    /// Only these kernels of the matrix; may be repeated
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Only tests of the guest suite whose names contain one of these; leaves the other checks out
    #[arg(long, value_name = "WORD[,WORD...]")]
    pub filter: Option<String>,
    /// Guests to run at once; as many as there are processors when nothing is said
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Put on record how exact the guests found the counts to be, and show it in the README
    #[arg(long, conflicts_with = "quick")]
    pub bless: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_command_of_a_guest_follows_two_dashes() {
        let cli = Cli::parse_from([
            "x",
            "vm",
            "--append",
            "a=b",
            "--",
            "/bin/mapstorm",
            "--help",
        ]);
        let Command::Vm(vm) = cli.command else {
            unreachable!("vm was asked for")
        };
        assert_eq!(vm.command, ["/bin/mapstorm", "--help"]);
        assert!(Cli::try_parse_from(["x", "vm", "/bin/mapstorm"]).is_err());
    }
}
