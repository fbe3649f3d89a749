//! Command lines as people write them, and as they mistype them.

use std::time::Duration;

use clap::{Arg, CommandFactory};

use super::*;
use crate::{
    config::{
        Ask, DoctorConfig, DrillConfig, DrillKind, LogConfig, LogFormat, LogLevel, TopConfig,
        TopForm, Via,
    },
    storm::{ContentionThresholds, Scale},
};

fn parsed(line: &str) -> Invocation {
    parse_from(line.split_whitespace()).unwrap_or_else(|exit| panic!("{line}: {}", exit.0))
}

fn refused(line: &str) -> (u8, String) {
    let exit = parse_from(line.split_whitespace()).expect_err(line);
    (exit.status(), exit.0.to_string())
}

#[test]
fn the_definition_is_sound() {
    Args::command().debug_assert();
}

#[test]
fn without_flags_the_defaults_are_those_of_the_configuration() {
    let serve = parsed("mapstorm serve");
    assert_eq!(serve.command, Command::Serve(Box::default()));
    assert_eq!(serve.log, LogConfig::default());
    assert_eq!(
        parsed("mapstorm doctor").command,
        Command::Doctor(DoctorConfig::default())
    );
    for kind in DrillKind::ALL {
        let name = kind.label().replace('_', "-");
        let config = DrillConfig::of(kind);
        let command = parsed(&format!("mapstorm drill {name}")).command;
        assert_eq!(command, Command::Drill(config));
    }
}

#[test]
fn every_flag_of_serve_arrives() {
    let line = "mapstorm serve --web.listen-address 127.0.0.1:1 --web.listen-address=[::1]:2 \
        --sample-interval 100ms --require pop --require update --storm-full-rejects-per-second 20.5 \
        --storm-full-fill-ratio 1 --storm-open-windows 3 --storm-close-windows 4 \
        --storm-alloc-rejects-per-second 21 --storm-lru-rejects-per-second 22 \
        --storm-contention-cpu-ratio 0.2 --storm-contention-cpus 5 --storm-contention-waits-ratio 0.5 \
        --storm-contention-mean-wait 2ms --storm-latency-shift 1.5 --storm-starved-shift 2.5 \
        --storm-calm-latency 7us --storm-major-cpus 6 --storm-major-cpu-seconds 0.7 \
        --storm-critical-cpus 8 --storm-critical-cpu-seconds 9 \
        --state-dir /var/lib/storms --metrics.max-series 5 --probe-memory 2MiB --no-trampolines --log.level=debug \
        --log.format json --notify-url http://am:9093 \
        --notify-url https://me:pw@other/hook --notify-interval 30s";
    let Invocation { log, command } = parsed(line);
    let Command::Serve(serve) = command else {
        panic!("{command:?}");
    };
    assert_eq!((log.level, log.format), (LogLevel::Debug, LogFormat::Json));
    assert_eq!(
        serve.listen,
        ["127.0.0.1:1".parse().unwrap(), "[::1]:2".parse().unwrap()]
    );
    assert_eq!(serve.sample_interval.as_millis(), 100);
    assert_eq!(serve.require, ["pop", "update"]);
    assert_eq!(serve.thresholds.full.rejects_per_second, 20.5);
    assert_eq!(serve.thresholds.full.fill_ratio, 1.0);
    assert_eq!(
        (
            serve.thresholds.open_windows,
            serve.thresholds.close_windows
        ),
        (3, 4)
    );
    assert_eq!(serve.thresholds.alloc_rejects_per_second, 21.0);
    assert_eq!(serve.thresholds.lru_rejects_per_second, 22.0);
    let contention = ContentionThresholds {
        cpu_ratio: 0.2,
        cpus: 5,
        waits_ratio: 0.5,
        mean_wait: Duration::from_millis(2),
        latency_shift: 1.5,
        starved_shift: 2.5,
        calm_latency: Duration::from_micros(7),
    };
    assert_eq!(serve.thresholds.contention, contention);
    let scale = |cpus, cpu_seconds_per_second| Scale {
        cpus,
        cpu_seconds_per_second,
    };
    assert_eq!(serve.thresholds.severity.major, scale(6, 0.7));
    assert_eq!(serve.thresholds.severity.critical, scale(8, 9.0));
    assert_eq!((serve.metrics.max_series, serve.probe_memory), (5, 2 << 20));
    assert!(serve.no_trampolines);
    assert_eq!(serve.state_dir, Some("/var/lib/storms".into()));
    let targets: Vec<_> = serve
        .notify
        .targets
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(targets, ["http://am:9093/", "https://other/hook"]);
    assert_eq!(serve.notify.interval.as_secs(), 30);
}

#[test]
fn every_flag_of_the_drill_arrives() {
    let line = "mapstorm --log.level error drill full --seconds 5 --cpus 0-3,5 --max-entries 7 \
        --rate 100 --via syscall --json";
    let Command::Drill(drill) = parsed(line).command else {
        panic!("another command");
    };
    assert_eq!((drill.duration.as_secs(), drill.max_entries), (5, 7));
    assert_eq!(drill.cpus.unwrap().as_slice(), [0, 1, 2, 3, 5]);
    assert_eq!(
        (drill.rate.unwrap().get(), drill.via, drill.json),
        (100, Via::Syscall, true)
    );
}

#[test]
fn what_makes_no_sense_is_status_64_and_names_the_flag_and_the_way_out() {
    for (line, words) in [
        (
            "serve --sample-interval 2s",
            "--sample-interval <TIME>': not within 50ms to 500ms",
        ),
        ("serve --sample-interval 49ms", "not within 50ms to 500ms"),
        ("serve --sample-interval 250", "a time looks like 250ms"),
        (
            "serve --web.listen-address 10061",
            "--web.listen-address <ADDRESS:PORT>'",
        ),
        ("serve --storm-full-rejects-per-second 0", "not above 0"),
        ("serve --storm-full-rejects-per-second nan", "not above 0"),
        (
            "serve --storm-full-fill-ratio 1.5",
            "not above 0 and up to 1",
        ),
        ("serve --storm-contention-cpus 1", "1 is not in 2..=10000"),
        ("serve --storm-latency-shift 1", "not above 1"),
        ("serve --storm-calm-latency 20", "--storm-calm-latency"),
        (
            "serve --notify-url am:9093",
            "invalid value for '--notify-url <URL>': not a URL; one looks like http://host:9093",
        ),
        ("serve --notify-url ftp://am", "only http:// and https://"),
        ("serve --notify-interval 0s", "not within 1s to 1h"),
        ("serve --storm-open-windows 0", "0 is not in 1..=1000"),
        (
            "serve --require popp",
            "[possible values: update, pop, delete, lookup_and_delete, batch,",
        ),
        (
            "serve --probe-memory 5parsecs",
            "one looks like 512KiB or 2MiB",
        ),
        ("serve --probe-memory 0", "not within 16KiB to 64MiB"),
        ("serve --probe-memory 99999999999999999MiB", "not a size"),
        (
            "serve --log.level loud",
            "[possible values: error, warn, info, debug, trace]",
        ),
        ("serve --metrics.max-series -1", "--metrics.max-series"),
        (
            "serve --storm-ful-fill-ratio 1",
            "a similar argument exists: '--storm-full-fill-ratio'",
        ),
        ("serv", "a similar subcommand exists: 'serve'"),
        ("drill", "Usage: mapstorm drill"),
        ("drill full --max-entries 0", "0 is not in 1..=1000000"),
        (
            "drill full --max-entries 1000001",
            "1000001 is not in 1..=1000000",
        ),
        (
            "drill full --cpus 3-1",
            "ends before it starts; a list looks like 0-3,5",
        ),
        (
            "drill full --cpus x",
            "is neither a CPU number nor a range of them",
        ),
        ("drill full --cpus ,", "a list looks like 0-3,5"),
        ("drill full --rate 0", "--rate"),
        (
            "drill full --via magic",
            "[possible values: program, syscall]",
        ),
        (
            "completions tcsh",
            "[possible values: bash, elvish, fish, powershell, zsh]",
        ),
        (
            "maps --sort size",
            "[possible values: id, name, type, cost,",
        ),
        ("maps --limit 0", "0 is not in 1..=10000"),
        ("maps --url node-7:10061", "one looks like http://host:9093"),
        ("maps --name", "--name <TEXT>"),
        ("top --interval 10ms", "not within 100ms to 1m"),
        ("top --order up", "[possible values: asc, desc]"),
        ("man", "<DIRECTORY>"),
        ("", "Usage: mapstorm"),
    ] {
        let (status, text) = refused(&format!("mapstorm {line}"));
        assert_eq!(status, USAGE, "{line}");
        assert!(text.contains(words), "{line}: {text}");
    }
}

#[test]
fn every_flag_of_maps_and_top_arrives() {
    let Command::Maps(maps) = parsed(
        "mapstorm maps --url http://h:1 --sort p99 --order asc --name flow --type hash --limit 5 \
         --offset 2 --json",
    )
    .command
    else {
        panic!("another command");
    };
    assert_eq!(maps.ask, Ask::Daemon("http://h:1".parse().unwrap()));
    assert_eq!(
        maps.question.query(),
        "sort=p99&order=asc&name=flow&type=hash&limit=5&offset=2"
    );
    assert!(maps.json);
    let Command::Maps(maps) = parsed("mapstorm maps --local").command else {
        panic!("another command");
    };
    assert_eq!((maps.ask, maps.json), (Ask::Kernel, false));
    let top = |line: &str| match parsed(line).command {
        Command::Top(top) => top,
        other => panic!("{other:?}"),
    };
    let plain = top("mapstorm top");
    assert_eq!(plain.target.to_string(), "http://127.0.0.1:10061/");
    assert_eq!(
        (plain.form, plain.interval),
        (TopForm::Screen, TopConfig::INTERVAL)
    );
    assert_eq!(plain.question.query(), "sort=cost&limit=200");
    let all = top("mapstorm top --url http://h:1 --interval 5s --sort fill --limit 3 --once");
    assert_eq!((all.form, all.interval.as_secs()), (TopForm::Text, 5));
    assert_eq!(all.question.query(), "sort=fill&limit=3");
    assert_eq!(top("mapstorm top --json").form, TopForm::Json);
}

#[test]
fn a_password_is_not_shown_even_where_its_url_is_wrong() {
    for url in ["me:secret@am:9093", "ftp://me:secret@am"] {
        let (_, text) = refused(&format!("mapstorm serve --notify-url {url}"));
        assert!(!text.contains("secret"), "{text}");
    }
}

/// A return probe on a lock can stop a machine: nobody can name a kernel function here, only probes and
/// signals of ours.
#[test]
fn o32_no_flag_takes_the_name_of_a_kernel_function() {
    for line in [
        "serve --require _raw_spin_lock_irqsave",
        "serve --probe _raw_spin_lock_irqsave",
        "serve --hook _raw_spin_lock_irqsave",
        "serve _raw_spin_lock_irqsave",
    ] {
        assert_eq!(refused(line).0, 64, "{line}");
    }
}

#[test]
fn help_and_version_are_answers() {
    for line in [
        "--help",
        "-h",
        "serve --help",
        "doctor --help",
        "drill full --help",
        "drill hot-bucket --help",
        "maps --help",
        "top --help",
    ] {
        let (status, text) = refused(&format!("mapstorm {line}"));
        assert_eq!(status, 0, "{line}");
        assert!(text.contains("Examples:"), "{line}: {text}");
    }
    let (status, text) = refused("mapstorm --version");
    assert_eq!(status, 0);
    assert!(text.starts_with("mapstorm 0.1.0 (revision "), "{text}");
}

#[test]
fn every_flag_of_serve_and_of_the_log_has_its_environment_variable() {
    let command = Args::command();
    let serve = command.find_subcommand("serve").unwrap();
    let own = |arg: &&Arg| !matches!(arg.get_id().as_str(), "help" | "version");
    for arg in serve
        .get_arguments()
        .chain(command.get_arguments())
        .filter(own)
    {
        let flag = arg.get_long().unwrap();
        let name = format!("MAPSTORM_{}", flag.to_uppercase().replace(['.', '-'], "_"));
        assert_eq!(arg.get_env(), Some(name.as_ref()), "--{flag}");
        assert!(arg.get_help().is_some(), "--{flag}");
    }
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let Command::Completions(script) = parsed(&format!("mapstorm completions {shell}")).command
        else {
            panic!("another command");
        };
        for word in ["serve", "doctor", "maps", "top", "drill", "sample-interval"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}
