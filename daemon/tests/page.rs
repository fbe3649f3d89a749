//! The page in a real browser, before a real server: what a person sees when a storm comes.
//!
//! Needs Chromium, so `cargo xtask test` runs it by name. With `UPDATE_SCREENSHOTS=1` it makes the pictures
//! of the README anew.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod browser;
mod by_hand;
mod scene;
mod serving;
mod usage;

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::SystemTime,
};

use browser::{Browser, CELL, COLUMN};
use scene::{INTERVAL, Scene};
use serving::Serving;

/// Windows that have passed before anybody looks.
const PASSED: u32 = 200;

#[test]
fn a_storm_is_seen_as_it_comes_and_all_about_it_and_then_that_the_daemon_is_gone() {
    let mut browser = Browser::start();
    let (scene, server) = serve(true);
    browser.resize(1280, 1500, "light");
    let url = format!("http://{}/", server.address);
    while_time_passes(&scene, || {
        browser.open(&url);
        calm(&mut browser);
        scene.lock().unwrap().set_storm(true);
        storm(&mut browser);
        heat_map(&mut browser);
        table(&mut browser);
        keyboard(&mut browser);
        detail(&mut browser);
        pictures(&mut browser);
        scene.lock().unwrap().set_storm(false);
        browser.wait_for("document.getElementById('verdict').dataset.verdict === 'calm'");
        browser.wait_for("document.querySelectorAll('#lanes .bar[data-open=false]').length === 1");
    });
    assert_eq!(browser.complaints(), [""; 0]);
    server.stop();
    browser.wait_for("!document.getElementById('offline').hidden");
    browser.wait_for("document.getElementById('offline').innerText.includes('is lost')");
    browser.wait_for("document.getElementById('verdict').dataset.verdict === 'unknown'");
    assert_eq!(
        browser.evaluate("window.marked"),
        true,
        "the page was loaded once"
    );
}

#[test]
fn where_pops_cannot_be_timed_the_page_says_so_and_shows_updates() {
    let mut browser = Browser::start();
    let (scene, server) = serve(false);
    while_time_passes(&scene, || {
        browser.open(&format!("http://{}/", server.address));
        browser
            .wait_for("document.getElementById('heat-note').innerText.includes('cannot be timed')");
        browser.wait_for("document.getElementById('heat-signal').value === 'update'");
        browser.wait_for(&format!("({CELL})(0, 3)[3] === 255"));
        choose(&mut browser, "heat-rows", "cpus");
        browser.wait_for("document.getElementById('heat').hidden");
    });
    assert_eq!(browser.complaints(), [""; 0]);
    server.stop();
}

/// A server of a host that has been watched for a while.
fn serve(pops_are_timed: bool) -> (Mutex<Scene>, Serving) {
    let (mut scene, views) = Scene::start(pops_are_timed);
    let now = SystemTime::now();
    for ago in (1..=PASSED).rev() {
        scene.pass(now - INTERVAL * ago);
    }
    (Mutex::new(scene), Serving::start(views, |site| site))
}

/// Does `work` while one window passes after the other.
fn while_time_passes(scene: &Mutex<Scene>, work: impl FnOnce()) {
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        // Also when the work panics.
        let _end = End(&ended);
        scope.spawn(|| {
            while !ended.load(Relaxed) {
                thread::sleep(INTERVAL);
                scene.lock().unwrap().pass(SystemTime::now());
            }
        });
        work();
    });
}

fn choose(browser: &mut Browser, id: &str, value: &str) {
    browser.evaluate(&format!(
        "{{ const s = document.getElementById('{id}'); s.value = '{value}'; s.dispatchEvent(new Event('change')); }}"
    ));
}

fn calm(browser: &mut Browser) {
    browser.wait_for("document.getElementById('verdict').dataset.verdict === 'calm'");
    browser.wait_for("document.getElementById('verdict-title').innerText === 'No storm'");
    browser.wait_for("document.getElementById('link').innerText === 'live'");
    browser.evaluate("window.marked = true");
    browser.wait_for("document.querySelectorAll('#rates canvas').length === 1");
    // No row is hot, and what was before the daemon looked is no row at all.
    browser.wait_for(&format!("({CELL})(0, 3)[3] === 255"));
    let cell = browser.evaluate(&format!("({CELL})(0, 3)"));
    assert!(cell[2].as_u64() > cell[0].as_u64(), "calm is blue: {cell}");
}

fn storm(browser: &mut Browser) {
    browser.wait_for("document.getElementById('verdict').dataset.verdict === 'storm'");
    browser.wait_for("document.title.includes('Storm on flows')");
    let text = browser.evaluate("document.getElementById('storms').innerText");
    let text = text.as_str().unwrap();
    for words in [
        "flows",
        "map 7",
        "full",
        "program 21 \"ingress\"",
        "raise max_entries",
        "since",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(
        browser.evaluate("window.marked"),
        true,
        "without loading anew"
    );
    browser.wait_for("document.querySelectorAll('#lanes .bar[data-open=true]').length === 1");
}

fn heat_map(browser: &mut Browser) {
    let hot = |row| format!("(c => c[3] === 255 && c[0] > c[2] + 40)(({CELL})({row}, 1))");
    let cold = |row| format!("(c => c[3] === 255 && c[2] > c[0])(({CELL})({row}, 1))");
    // The worst is the first row.
    browser.wait_for("document.querySelector('#heat-labels span').innerText === 'flows 7'");
    browser.wait_for(&hot(0));
    browser.wait_for(&cold(1));
    // Of what came before the first window nothing is known: hatched, no colour.
    let before = browser.evaluate(&format!("({CELL})(0, 119)"));
    assert_ne!(before[3], 255, "{before}");
    choose(browser, "heat-rows", "cpus");
    browser.wait_for("document.querySelectorAll('#heat-labels span').length === 6");
    browser.wait_for(&hot(5));
    choose(browser, "heat-rows", "latency");
    browser.wait_for("document.querySelectorAll('#heat-labels span').length > 8");
    choose(browser, "heat-rows", "maps");
}

fn table(browser: &mut Browser) {
    let head = |key: &str| format!("document.querySelector('#maps-table th[data-key={key}]')");
    browser.wait_for(&format!("{}.ariaSort === 'descending'", head("cost")));
    browser.wait_for(&format!("({COLUMN})('name')[0].startsWith('flows')"));
    let fill = browser.evaluate(&format!("({COLUMN})('fill')"));
    let fill = fill.as_array().unwrap();
    assert_eq!(fill.len(), 9);
    assert!(
        fill.contains(&"100 %".into()) && fill.contains(&"unknown".into()),
        "{fill:?}"
    );
    browser.evaluate(&format!("{}.querySelector('button').click()", head("name")));
    browser.wait_for(&format!("{}.ariaSort === 'ascending'", head("name")));
    let sorted = |way: &str| {
        format!("(n => n[0].startsWith('{way}') && n.length === 9)(({COLUMN})('name'))")
    };
    browser.wait_for(&sorted("conn_track"));
    browser.evaluate(&format!("{}.querySelector('button').click()", head("name")));
    browser.wait_for(&sorted("tenants"));
    browser.evaluate(&format!("{}.querySelector('button').click()", head("cost")));
    browser.wait_for(&sorted("flows"));
}

fn keyboard(browser: &mut Browser) {
    browser.evaluate("document.activeElement.blur()");
    browser.press("/");
    browser.wait_for("document.activeElement.id === 'filter'");
    for letter in ["d", "n", "s"] {
        browser.press(letter);
    }
    browser.wait_for(&format!("({COLUMN})('name').join() === 'dns_cache'"));
    browser.press("Escape");
    browser.wait_for(&format!("({COLUMN})('name').length === 9"));
    browser.evaluate("document.querySelector('#maps-table tbody button').focus()");
    let row = "document.activeElement.closest('tr')?.rowIndex";
    browser.wait_for(&format!("{row} === 1"));
    browser.press("ArrowDown");
    browser.wait_for(&format!("{row} === 2"));
    browser.press("ArrowUp");
    browser.wait_for(&format!("{row} === 1"));
}

fn detail(browser: &mut Browser) {
    browser.press("Enter");
    browser.wait_for("document.getElementById('detail').open");
    browser.wait_for("document.getElementById('detail-title').innerText === 'flows, map 7'");
    browser.wait_for("document.querySelector('#detail canvas')");
    browser.wait_for(
        "(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(b => b > 0))(document.querySelector('#detail canvas'))",
    );
    let text = browser.evaluate("document.getElementById('detail').innerText");
    let text = text.as_str().unwrap();
    for words in [
        "program 21 \"ingress\"",
        "process 42 \"nginx\"",
        "e2big",
        "65536 of 65536",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    browser.press("Escape");
    browser.wait_for("!document.getElementById('detail').open && location.hash === ''");
}

/// In light, in dark and narrow; nothing has to be scrolled sideways.
fn pictures(browser: &mut Browser) {
    let keep = std::env::var_os("UPDATE_SCREENSHOTS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/docs/img");
    for (name, width, height, scheme) in [
        ("page-light", 1280, 1340, "light"),
        ("page-dark", 1280, 1340, "dark"),
        ("page-narrow", 400, 1100, "light"),
    ] {
        browser.resize(width, height, scheme);
        browser.wait_for(&format!("innerWidth === {width}"));
        browser.wait_for(&format!(
            "matchMedia('(prefers-color-scheme: {scheme})').matches"
        ));
        browser.wait_for("document.documentElement.scrollWidth <= innerWidth");
        let ground = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        let is_dark = ground.as_str().unwrap().starts_with("rgb(18,");
        assert_eq!(is_dark, scheme == "dark", "{ground}");
        let picture = browser.screenshot();
        assert!(
            picture.len() > 20_000,
            "{name} shows something: {} bytes",
            picture.len()
        );
        if keep {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{name}.png")), picture).unwrap();
        }
    }
    browser.resize(1280, 1340, "light");
}
