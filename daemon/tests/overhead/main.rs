//! What mapstorm costs per update, measured in a guest whose clock counts instructions: the same
//! loops of a program, without and with the daemon. Run by `cargo xtask bench overhead`.
//!
//! Prints one line of JSON per measurement. There is no verdict here: whoever reads the numbers
//! compares them.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, ExitCode, Stdio},
    thread,
    time::Duration,
};

use mapstorm::{
    facts::privilege::memlock,
    facts::{Cpus, Kernel},
    kernel::workload::{Workload, pin_thread},
};
use mapstorm_abi::workload::{Run, Target};

/// Updates in one run of the program.
const LOOPS: u64 = 100;
/// Runs of each loop; the least of them is what nothing interrupted.
const RUNS: usize = 40;
/// Entries of both maps.
const ENTRIES: u32 = 1000;

/// A loop to measure: what it does to which map.
struct Case {
    name: &'static str,
    target: Target,
    run: Run,
}

/// The loops; keys are outside the filled range where the update is to fail.
fn cases() -> [Case; 3] {
    let new_key = Run {
        loops: LOOPS,
        first_key: u64::from(ENTRIES),
        ..Run::default()
    };
    [
        Case {
            name: "update refused, map full",
            target: Target::Full,
            run: new_key,
        },
        Case {
            name: "update in place of an element",
            target: Target::Churn,
            run: new_key,
        },
        Case {
            name: "insert and delete",
            target: Target::Churn,
            run: Run {
                delete: 1,
                ..new_key
            },
        },
    ]
}

fn main() -> ExitCode {
    match measure_both() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("overhead: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure_both() -> Result<(), Box<dyn std::error::Error>> {
    let kernel = Kernel::running()?;
    memlock::raise(&kernel)?;
    let possible = Cpus::read("/sys".as_ref())?.possible.table_len();
    let workload = Workload::load(
        &[(Target::Full, ENTRIES), (Target::Churn, ENTRIES)],
        possible,
    )?;
    pin_thread(0)?;
    for key in 0..ENTRIES {
        workload.update(Target::Full, key, 0)?;
    }
    // The boot has to settle: until then other work of the kernel lands between our instructions.
    thread::sleep(Duration::from_secs(5));
    let without = measure(&workload)?;
    let mut daemon = start_daemon()?;
    let with = measure(&workload);
    daemon.kill()?;
    daemon.wait()?;
    for ((case, without), with) in cases().iter().zip(without).zip(with?) {
        let row = serde_json::json!({
            "kernel": kernel.release,
            "case": case.name,
            "instructions_without": without,
            "instructions_with": with,
            "instructions_added": with - without,
        });
        println!("mapstorm-bench {row}");
    }
    Ok(())
}

/// Instructions per turn of each loop: nanoseconds, as the guest's clock has them.
fn measure(workload: &Workload) -> Result<[f64; 3], Box<dyn std::error::Error>> {
    let mut least = [f64::INFINITY; 3];
    for _ in 0..RUNS {
        for (case, least) in cases().iter().zip(&mut least) {
            let before = workload.tallies(case.target)?[0].ns;
            workload.run(case.target, case.run)?;
            let ns = workload.tallies(case.target)?[0].ns - before;
            *least = least.min(ns as f64 / LOOPS as f64);
        }
    }
    Ok(least)
}

/// Address the daemon is given.
const ADDRESS: &str = "127.0.0.1:10061";

/// Starts the daemon beside this program and waits until it is ready.
fn start_daemon() -> Result<Child, Box<dyn std::error::Error>> {
    let mut daemon = Command::new("/bin/mapstorm")
        .args(["serve", "--web.listen-address", ADDRESS])
        .stdin(Stdio::null())
        .spawn()?;
    while !ready() {
        if let Some(status) = daemon.try_wait()? {
            return Err(format!("the daemon ended before it was ready: {status}").into());
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(daemon)
}

/// Does `/-/ready` answer 200?
fn ready() -> bool {
    let answer = || {
        let mut stream = TcpStream::connect(ADDRESS).ok()?;
        stream
            .write_all(b"GET /-/ready HTTP/1.0\r\nHost: guest\r\n\r\n")
            .ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    };
    answer().is_some_and(|text| text.split(' ').nth(1) == Some("200"))
}
