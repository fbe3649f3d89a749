//! A process that keeps storms, and is killed.

use std::{
    collections::{BTreeMap, hash_map::RandomState},
    fs,
    hash::{BuildHasher as _, Hasher as _},
    io::{self, BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use mapstorm::storm::{End, Storm, StormEvent};

use crate::tools::{PATIENCE, closed, keeper, moment, open, storm};

/// Set for the process that is to be killed: where it keeps its storms.
const VICTIM: &str = "MAPSTORM_TEST_HISTORY";
const ROUNDS: usize = 200;
/// Rounds in one directory.
const ROUNDS_EACH: usize = 20;

/// Says on standard error what is on the disk, as soon as it is, until it is killed.
fn keep_until_killed(directory: &Path) {
    let (keeper, mut recorder, past) = keeper(directory);
    let run = past.storms.len();
    let said = |what: &str, storm: &Storm| {
        assert!(keeper.flush(PATIENCE));
        // At once: of a line that is written in parts a kill may leave some.
        let line = format!("{what} {}\n", storm.map_name);
        io::stderr().write_all(line.as_bytes()).unwrap();
    };
    for window in 1.. {
        let storm = storm(&format!("{}-{run}-{window}", std::process::id()), window);
        recorder.note(
            &[StormEvent::Opened(storm.clone())],
            [].iter(),
            moment(window),
        );
        said("opened", &storm);
        if window % 3 == 0 {
            let storm = closed(&storm, window, End::Calm);
            recorder.note(
                &[StormEvent::Closed(storm.clone())],
                [].iter(),
                moment(window),
            );
            said("closed", &storm);
        }
    }
}

/// A number below `end`.
fn random(end: u64) -> u64 {
    RandomState::new().build_hasher().finish() % end
}

#[test]
fn none_that_was_acknowledged_is_lost_by_200_kills_at_random_points() {
    if let Some(directory) = std::env::var_os(VICTIM) {
        return keep_until_killed(Path::new(&directory));
    }
    let name = "kills::none_that_was_acknowledged_is_lost_by_200_kills_at_random_points";
    let (mut storms, mut left_open) = (0, 0);
    for round in 0..ROUNDS {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("history-killed-{}", round / ROUNDS_EACH));
        if round % ROUNDS_EACH == 0 && directory.exists() {
            fs::remove_dir_all(&directory).unwrap();
        }
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture", "--test-threads", "1"])
            .env(VICTIM, &directory)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(victim.stderr.take().unwrap()).lines();
        // Some are killed before they have kept anything: while the file is made, or mended.
        let lines = random(12) as usize;
        let mut acknowledged: Vec<_> = said.by_ref().take(lines).map(Result::unwrap).collect();
        thread::sleep(Duration::from_micros(random(4000)));
        victim.kill().unwrap();
        victim.wait().unwrap();
        acknowledged.extend(said.map_while(Result::ok));
        let (_store, past) = open(&directory);
        assert!(past.aside.is_none(), "round {round}: {:?}", past.aside);
        let kept: BTreeMap<_, _> = { past.storms.iter() }
            .map(|storm| (&*storm.map_name, storm))
            .collect();
        for line in acknowledged {
            let (what, name) = line.split_once(' ').unwrap_or_default();
            let Some(storm) = kept.get(name) else {
                panic!("round {round}: {line}, and it is lost");
            };
            let end = storm.closed.map(|closed| closed.end);
            assert!(end.is_some(), "round {round}: {name} stays open");
            let calmed = what == "opened" || end == Some(End::Calm);
            assert!(calmed, "round {round}: {line}, and is {end:?}");
            storms += 1;
        }
        left_open += past.left_open;
    }
    println!("{storms} states acknowledged, {left_open} storms left open");
    assert!(storms > ROUNDS && left_open > 0);
}
