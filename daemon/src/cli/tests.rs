//! Command lines as people write them, and as they mistype them.

use clap::{Arg, CommandFactory};

use super::*;
use crate::config::{DoctorConfig, DrillConfig, LogConfig, LogFormat, LogLevel, ServeConfig, Via};

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
    assert_eq!(serve.command, Command::Serve(ServeConfig::default()));
    assert_eq!(serve.log, LogConfig::default());
    assert_eq!(
        parsed("mapstorm doctor").command,
        Command::Doctor(DoctorConfig::default())
    );
    assert_eq!(
        parsed("mapstorm drill full").command,
        Command::DrillFull(DrillConfig::default())
    );
}

#[test]
fn every_flag_of_serve_arrives() {
    let line = "mapstorm serve --web.listen-address 127.0.0.1:1 --web.listen-address=[::1]:2 \
        --sample-interval 100ms --require pop --require update --storm-full-rejects-per-second 20.5 \
        --storm-full-fill-ratio 1 --storm-open-windows 3 --storm-close-windows 4 \
        --metrics.max-series 5 --probe-memory 2MiB --log.level=debug --log.format json";
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
    assert_eq!((serve.max_series, serve.probe_memory), (5, 2 << 20));
}

#[test]
fn every_flag_of_the_drill_arrives() {
    let line = "mapstorm --log.level error drill full --seconds 5 --cpus 0-3,5 --max-entries 7 \
        --rate 100 --via syscall --json";
    let Command::DrillFull(drill) = parsed(line).command else {
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
        ("serve --storm-open-windows 0", "0 is not in 1..=1000"),
        (
            "serve --require popp",
            "[possible values: update, pop, maps, htab_update_out, htab_update_in,",
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
        ("maps", "unrecognized subcommand 'maps'"),
        ("", "Usage: mapstorm"),
    ] {
        let (status, text) = refused(&format!("mapstorm {line}"));
        assert_eq!(status, USAGE, "{line}");
        assert!(text.contains(words), "{line}: {text}");
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
        for word in ["serve", "doctor", "drill", "sample-interval"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}
