//! The API under a fuzzer that knows its OpenAPI file: whatever it is asked, it answers what the file says.
//!
//! Needs schemathesis, so `cargo xtask test` runs it by name. Event streams have no end and are left out;
//! they have tests of their own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_hand;
mod serving;
mod usage;

use std::{process::Command, sync::Arc};

use serving::Serving;
use tokio::sync::watch;

#[test]
fn whatever_is_asked_is_answered_as_the_openapi_file_says() {
    let program = std::env::var_os("MAPSTORM_SCHEMATHESIS");
    let program = program.expect("cargo xtask test sets MAPSTORM_SCHEMATHESIS to the program");
    let (_views, receiver) = watch::channel(Arc::new(by_hand::view()));
    let server = Serving::start(receiver, |site| site);
    let url = format!("http://{}/api/v1/openapi.json", server.address);
    let mut fuzzer = Command::new(program);
    // It leaves a folder behind where it runs.
    fuzzer.current_dir(env!("CARGO_TARGET_TMPDIR"));
    fuzzer.args([
        "run",
        &url,
        "--checks",
        "all",
        "--exclude-path",
        "/api/v1/events",
    ]);
    // The same questions each time.
    fuzzer.args([
        "--max-examples",
        "60",
        "--seed",
        "1",
        "--generation-database",
        "none",
    ]);
    fuzzer.args(["--request-timeout", "60", "--no-color"]);
    let output = fuzzer.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    server.stop();
}
