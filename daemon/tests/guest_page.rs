//! The page in a real browser, before the daemon of a guest that makes one storm after the other.
//!
//! Needs Chromium and that guest, so `cargo xtask test` runs it by name.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod browser;

use std::{fs, path::Path};

use browser::{Browser, CELL, COLUMN};

#[test]
fn a_real_storm_in_a_guest_is_seen_without_loading_anew() {
    let url = std::env::var("MAPSTORM_GUEST");
    let url = url.expect("cargo xtask test sets MAPSTORM_GUEST to the daemon's address");
    let mut browser = Browser::start();
    browser.resize(1280, 1500, "light");
    browser.open(&url);
    browser.wait_for("document.getElementById('link').innerText === 'live'");
    browser.evaluate("window.marked = true");
    browser.wait_for("document.getElementById('verdict').dataset.verdict === 'calm'");
    browser.wait_for("document.getElementById('verdict').dataset.verdict === 'storm'");
    let text = browser.evaluate("document.getElementById('storms').innerText");
    let text = text.as_str().unwrap();
    for words in [
        "drill_full",
        "full",
        "program",
        "raise max_entries",
        "since",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Pops of the full map have a colour; before the daemon began there is none.
    browser
        .wait_for("document.querySelector('#heat-labels span').innerText.startsWith('drill_full')");
    browser.wait_for(&format!("({CELL})(0, 1)[3] === 255"));
    let head = "document.querySelector('#maps-table th[data-key=name]')";
    browser.evaluate(&format!("{head}.querySelector('button').click()"));
    browser.wait_for(&format!("{head}.ariaSort === 'ascending'"));
    browser.wait_for(&format!(
        "(n => n.length > 0 && n.every((name, at) => at === 0 || n[at - 1] <= name))(({COLUMN})('name'))"
    ));
    browser.evaluate(
        "[...document.querySelectorAll('#maps-table tbody button')].find(b => b.innerText.startsWith('drill_full')).click()",
    );
    browser.wait_for("document.getElementById('detail').open");
    browser.wait_for("document.querySelector('#detail canvas')");
    browser.wait_for("document.getElementById('detail').innerText.includes('e2big')");
    // For whoever wants to look.
    let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest-page.png");
    fs::write(picture, browser.screenshot()).unwrap();
    browser.press("Escape");
    browser.wait_for("document.getElementById('verdict').dataset.verdict === 'calm'");
    browser.wait_for("document.querySelectorAll('#lanes .bar[data-open=false]').length > 0");
    assert_eq!(
        browser.evaluate("window.marked"),
        true,
        "the page was loaded once"
    );
    assert_eq!(browser.complaints(), [""; 0]);
}
