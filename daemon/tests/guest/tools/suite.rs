//! Runs tests one after the other and says how each ended, in the words the host reads.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use anyhow::{Result, anyhow};

use super::guest::Guest;

/// One test.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Guest) -> Result<()>,
}

/// Tests by the names of their functions.
macro_rules! tests {
    ($($room:ident::$name:ident),* $(,)?) => {
        &[$($crate::tools::suite::Test {
            name: stringify!($name),
            run: $room::$name,
        }),*]
    };
}
pub(crate) use tests;

/// Those of `tests` whose names contain one of the words of `filter`, which commas part.
fn chosen<'a>(tests: &'a [Test], filter: &'a str) -> impl Iterator<Item = &'a Test> {
    let is_chosen = move |test: &&Test| filter.split(',').any(|word| test.name.contains(word));
    tests.iter().filter(is_chosen)
}

/// Names the tests that [`run`] would run.
pub(crate) fn list(tests: &[Test], filter: &str) {
    chosen(tests, filter).for_each(|test| println!("{}", test.name));
}

/// Runs those of `tests` that `filter` chooses. Did none fail?
pub(crate) fn run(tests: &[Test], filter: &str, guest: &Guest) -> bool {
    let mut count = 0;
    let mut all_held = true;
    for test in chosen(tests, filter) {
        let result = catch_unwind(AssertUnwindSafe(|| (test.run)(guest)));
        let result = result.unwrap_or_else(|panic| Err(anyhow!("panicked: {}", words(&*panic))));
        let word = match result {
            Ok(()) => "ok".to_owned(),
            Err(error) => {
                all_held = false;
                format!("failed: {}", one_line(&format!("{error:#}")))
            }
        };
        println!("mapstorm-test {} {word}", test.name);
        count += 1;
    }
    println!("mapstorm-test-end {count}");
    all_held
}

/// A result is one line for the host.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let literal = || panic.downcast_ref::<&str>().copied();
    text.or_else(literal).unwrap_or("without words")
}
