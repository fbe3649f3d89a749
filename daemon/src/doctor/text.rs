//! The report for people: what is seen, what is not, what to do, and what this host is.

use std::fmt::{Display, Write as _};

use super::{Report, SignalReport, TableReport};
use crate::{
    facts::{Facts, FreelistGeneration},
    plan::{LOCK_WAIT, POP},
    probes::{Mechanism, ProbeStatus, Refusal},
};

/// Columns before the value of a fact.
const KEY: usize = 12;

impl Report {
    /// The whole report, plain text, no line wrapped.
    pub fn text(&self) -> String {
        let mut text = self.headline();
        text.push_str("\nSignals\n");
        for signal in &self.signals {
            self.signal(&mut text, signal);
        }
        self.remedies(&mut text);
        text.push_str("\nNot watched, on any kernel\n");
        for unwatched in &self.unwatched {
            line(
                &mut text,
                format_args!("  {}: {}", unwatched.what, unwatched.why),
            );
        }
        text.push_str("\nThis host\n");
        for (key, value) in host(&self.facts, self.tables.as_ref()) {
            line(&mut text, format_args!("  {key:KEY$}{value}"));
        }
        text
    }

    fn headline(&self) -> String {
        let seen = self.signals.iter().filter(|s| s.seen_on.is_some()).count();
        let what = match seen {
            0 => "nothing can be observed here".to_owned(),
            n if n < self.signals.len() => {
                format!("{n} of {} signals can be observed", self.signals.len())
            }
            _ if self.probes.iter().all(ProbeStatus::attached) => {
                "everything of the plan can be observed".to_owned()
            }
            _ => "every signal can be observed, some in a lesser way".to_owned(),
        };
        let (version, revision) = (self.build.version, self.build.revision);
        let release = &self.facts.kernel.release;
        format!("mapstorm {version} ({revision}) on Linux {release}: {what}\n")
    }

    /// One part of a signal: how it is seen, and each way that was refused.
    fn signal(&self, text: &mut String, report: &SignalReport) {
        let seen = if report.seen_on.is_some() {
            "seen"
        } else {
            "NOT SEEN"
        };
        line(
            text,
            format_args!("  {:18}{}: {seen}", report.signal, report.what),
        );
        for &hook in &report.hooks {
            let of_hook = |p: &&ProbeStatus| p.signal == report.signal && p.hook == hook;
            let mut probes: Vec<_> = self.probes.iter().filter(of_hook).collect();
            let kind = |p: &ProbeStatus| {
                let alone = p.mechanism == Mechanism::Kretprobe;
                (alone, p.mechanism.is_suppressed())
            };
            probes.sort_by_key(|p| kind(p));
            for probes in probes.chunk_by(|a, b| kind(a) == kind(b)) {
                way(text, hook, probes);
            }
            if !self.probes.iter().any(|p| of_hook(&p)) {
                line(
                    text,
                    format_args!("          {hook}: not needed, not tried"),
                );
            }
        }
        let by = |way: fn(Mechanism) -> bool| {
            let mut attached = self.probes.iter().filter(|p| {
                let of_this = p.signal == report.signal && report.hooks.contains(&&*p.hook);
                of_this && p.attached()
            });
            attached.any(|p| way(p.mechanism))
        };
        if by(|mechanism| mechanism == Mechanism::Kretprobe) {
            let limits = "for the whole host, without maps, storms or times";
            line(text, format_args!("          counted {limits}"));
        }
        if by(Mechanism::is_suppressed) {
            let unseen = "what bpf(2) does, and programs of kprobes, tracepoints and perf events";
            line(text, format_args!("          not seen: {unseen}"));
        }
        if report.signal == LOCK_WAIT && report.seen_on.is_some() {
            let classes = self.facts.offsets.as_ref();
            let classes = if classes.is_ok_and(|offsets| offsets.locks.is_some()) {
                "bucket, freelist, lru or other"
            } else {
                "all as other: the kernel's types do not tell where a map's locks lie"
            };
            line(
                text,
                format_args!("          locks are told apart: {classes}"),
            );
        }
        if report.signal == POP {
            let pops = self
                .pops
                .map_or_else(|| "not at all".to_owned(), |p| p.to_string());
            line(text, format_args!("          pops are known: {pops}"));
        }
    }

    /// What can be done, each reason once.
    fn remedies(&self, text: &mut String) {
        let mut remedies: Vec<(&str, &str)> = Vec::new();
        for refusal in self.probes.iter().filter_map(|p| p.refusal.as_ref()) {
            let remedy = (refusal.reason, refusal.remedy.as_str());
            if !remedies.contains(&remedy) {
                remedies.push(remedy);
            }
        }
        if !remedies.is_empty() {
            text.push_str("\nWhat to do\n");
        }
        for (reason, remedy) in remedies {
            line(text, format_args!("  {reason}: {remedy}"));
        }
    }
}

/// One way to see a signal on a function, tried.
fn way(text: &mut String, hook: &str, probes: &[&ProbeStatus]) {
    let mut mechanisms: Vec<_> = probes.iter().map(|p| p.mechanism.label()).collect();
    mechanisms.dedup();
    let mechanisms = mechanisms.join(" and ");
    match probes.iter().find_map(|probe| probe.refusal.as_ref()) {
        None => {
            let names: Vec<_> = probes.iter().map(|p| p.probe).collect();
            let names = names.join(", ");
            line(
                text,
                format_args!("          {hook}: {mechanisms} attached ({names})"),
            );
        }
        Some(Refusal { reason, detail, .. }) => line(
            text,
            format_args!("          {hook}: {mechanisms} refused, {reason}: {detail}"),
        ),
    }
}

/// The facts that matter to a reader, in words.
fn host(facts: &Facts, tables: Option<&TableReport>) -> Vec<(&'static str, String)> {
    let kernel = &facts.kernel;
    let freelist = match kernel.generation {
        FreelistGeneration::LocksEveryList => "an update on a full map locks every CPU's list",
        FreelistGeneration::LooksFirst => "an update on a full map looks before it locks a list",
        FreelistGeneration::Unknown => "unknown: the release names no version",
    };
    let nesting = if kernel.self_nesting {
        "a program can run inside itself on one CPU: counters are atomic"
    } else {
        "a program never runs inside itself on one CPU: such runs are counted as misses"
    };
    let capabilities = known(&facts.privilege.capabilities, |held| {
        let missing = held.missing_to_trace();
        let missing: Vec<_> = missing.into_iter().map(|c| c.name()).collect();
        match missing[..] {
            [] => "enough to trace".to_owned(),
            _ => format!("{} missing", missing.join(" and ")),
        }
    });
    let memory = tables.map_or_else(
        || "none: the kernel refused the probes' tables".to_owned(),
        |tables| {
            let TableReport {
                bytes,
                cpus,
                slots,
                timings,
            } = tables;
            let each = bytes / cpus / 1024;
            format!(
                "{} KiB for the probes' tables while they are loaded: {each} KiB on each of {cpus} \
                 possible CPUs, for {slots} pairs of map and operation, {timings} of them timed \
                 (--probe-memory)",
                bytes / 1024
            )
        },
    );
    vec![
        ("kernel", kernel.release.clone()),
        (
            "freelist",
            format!("{} ({freelist})", kernel.generation.label()),
        ),
        ("nesting", nesting.to_owned()),
        (
            "BTF",
            known(&facts.btf, |btf| format!("readable, {} types", btf.len())),
        ),
        ("spinlocks", facts.spinlocks.words().to_owned()),
        (
            "lockdown",
            known(&facts.security.lockdown, |l| l.label().to_owned()),
        ),
        ("privilege", capabilities),
        (
            "symbols",
            known(&facts.symbols, |symbols| {
                let shown = if symbols.addresses_hidden {
                    "addresses are hidden (the sysctl kernel.kptr_restrict, or CAP_SYSLOG is \
                     missing): callers are told without names on their stacks"
                } else {
                    "readable: stacks of sampled calls have names"
                };
                shown.to_owned()
            }),
        ),
        (
            "CPUs",
            known(&facts.cpus, |cpus| {
                let (possible, online) = (&cpus.possible, &cpus.online);
                format!("{possible} possible, {online} online")
            }),
        ),
        ("memory", memory),
    ]
}

fn known<T, E: Display>(fact: &Result<T, E>, words: impl Fn(&T) -> String) -> String {
    match fact {
        Ok(fact) => words(fact),
        Err(error) => format!("unknown: {error}"),
    }
}

fn line(text: &mut String, line: impl Display) {
    // Writing to a string cannot fail.
    let _written = writeln!(text, "{line}");
}
