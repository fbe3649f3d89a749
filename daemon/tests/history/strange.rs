//! What lies in place of a history and is none, or none any more.

use std::{
    fs,
    path::{Path, PathBuf},
};

use mapstorm::{
    history::{Limits, Store},
    storm::End,
};
use redb::{Database, TableDefinition};

use crate::tools::{after, batch, closed, directory, open, storm};

/// Where the file of a directory is.
fn file(directory: &Path) -> PathBuf {
    directory.join("storms.redb")
}

/// What is there is moved aside as it is, and a new history is kept.
fn moved_aside(directory: &Path, why: &str) {
    let before = fs::read(file(directory)).unwrap();
    let (mut store, past) = open(directory);
    let (aside, said) = past
        .aside
        .unwrap_or_else(|| panic!("{why}: taken for ours"));
    assert!(said.contains(why), "{said}");
    assert!(fs::read(aside).unwrap() == before, "{why}: altered");
    assert!(past.storms.is_empty());
    store
        .write(&batch(&[storm("new", 1)], 1), after(100))
        .unwrap();
    drop(store);
    let (_store, past) = open(directory);
    assert_eq!((past.storms.len(), past.aside), (1, None));
}

#[test]
fn what_is_no_history_is_moved_aside_and_nothing_of_it_is_lost() {
    let directory = directory("foreign");
    fs::create_dir_all(&directory).unwrap();
    fs::write(
        file(&directory),
        "my shopping list, longer than a header is".repeat(300),
    )
    .unwrap();
    moved_aside(&directory, "");

    fs::remove_file(file(&directory)).unwrap();
    let other = Database::create(file(&directory)).unwrap();
    let table = TableDefinition::<u64, u64>::new("bank accounts");
    let writer = other.begin_write().unwrap();
    writer
        .open_table(table)
        .unwrap()
        .insert(1, 1_000_000)
        .unwrap();
    writer.commit().unwrap();
    drop(other);
    moved_aside(&directory, "another program's");

    let ours = Database::create(file(&directory)).unwrap();
    let about = TableDefinition::<&str, u64>::new("mapstorm");
    let writer = ours.begin_write().unwrap();
    writer
        .open_table(about)
        .unwrap()
        .insert("format", 99)
        .unwrap();
    writer.commit().unwrap();
    drop(ours);
    moved_aside(&directory, "its format is 99");
}

#[test]
fn a_file_that_was_never_finished_is_made_anew() {
    let directory = directory("unfinished");
    fs::create_dir_all(&directory).unwrap();
    let unfinished = directory.join("storms.redb.new");
    fs::write(&unfinished, [0; 4096]).unwrap();
    let (mut store, past) = open(&directory);
    assert_eq!((past.aside, past.storms.len()), (None, 0));
    let storm = closed(&storm("kept", 1), 1, End::Calm);
    store.write(&batch(&[storm], 1), after(100)).unwrap();
    drop(store);
    assert!(!unfinished.exists());
    assert_eq!(open(&directory).1.storms.len(), 1);
}

#[test]
fn a_damaged_file_is_told_from_a_good_one_wherever_it_is_damaged() {
    let directory = directory("damaged");
    let (mut store, _) = open(&directory);
    let storms: Vec<_> = (1..9)
        .map(|n| closed(&storm("x", n), n, End::Calm))
        .collect();
    store.write(&batch(&storms, 9), after(100)).unwrap();
    drop(store);
    let good = fs::read(file(&directory)).unwrap();
    let (mut moved, mut as_before) = (0, 0);
    let damages = (0..good.len()).step_by(good.len() / 150);
    for (n, at) in damages.enumerate() {
        let mut bad = good.clone();
        if n % 8 == 0 {
            bad.truncate(at);
        } else {
            bad[at..].iter_mut().take(64).for_each(|byte| *byte ^= 0x55);
        }
        fs::write(file(&directory), &bad).unwrap();
        let (_store, past) = open(&directory);
        match past.aside {
            Some((aside, _)) => {
                assert!(fs::read(&aside).unwrap() == bad, "altered: damage at {at}");
                fs::remove_file(aside).unwrap();
                moved += 1;
            }
            // An empty file is a new one, and in some places of a file there is nothing.
            None if bad.is_empty() => {}
            None => {
                assert_eq!(past.storms.len(), storms.len(), "damage at {at}");
                let mut kept = past.storms;
                kept.reverse();
                assert_eq!(kept, storms, "damage at {at}");
                as_before += 1;
            }
        }
    }
    println!("{moved} damaged files were moved aside, {as_before} were as before");
    assert!(moved > 20, "{moved}");
}

#[test]
fn what_cannot_be_had_is_refused_with_its_place_and_a_remedy() {
    let directory = directory("refused");
    let (_store, _) = open(&directory);
    let refused = |directory: &Path| {
        let refused = Store::open(directory, Limits::default(), after(100));
        refused
            .err()
            .unwrap_or_else(|| panic!("{directory:?} is fine"))
            .to_string()
    };
    let text = refused(&directory);
    assert!(
        text.contains("storms.redb open: give each a directory of its own"),
        "{text}"
    );
    let text = refused(&file(&directory));
    assert!(
        text.starts_with("--state-dir: cannot make the directory"),
        "{text}"
    );
    assert!(text.contains("choose another"), "{text}");
    let blocked = directory.join("blocked");
    fs::create_dir_all(file(&blocked)).unwrap();
    let text = refused(&blocked);
    assert!(
        text.contains("storms.redb to read and write it: Is a directory"),
        "{text}"
    );
}
