//! The machine's Debian mirrors, read from its own apt sources in either of their two formats.

/// Where packages come from. Addresses are only ever read, never written down.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mirrors {
    /// The archive: stable releases and backports.
    pub(super) archive: Option<String>,
    /// Security updates.
    pub(super) security: Option<String>,
}

/// One repository that apt may use: an address and a suite.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    uri: String,
    suite: String,
    components: Vec<String>,
    signed_by: String,
}

/// The mirrors named in apt's source files, given as (file name, text) in apt's order.
pub(super) fn mirrors<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Mirrors {
    let mut entries = Vec::new();
    for (name, text) in files {
        entries.extend(if name.ends_with(".sources") {
            deb822(text)
        } else {
            one_line(text)
        });
    }
    entries.retain(|entry| {
        entry.components.iter().any(|component| component == "main")
            && (entry.uri.starts_with("http://") || entry.uri.starts_with("https://"))
    });
    let best = |is_wanted: fn(&str) -> bool| {
        let candidates = entries.iter().filter(|entry| is_wanted(&entry.suite));
        // max_by_key returns the last of equals; apt prefers the first.
        candidates
            .rev()
            .max_by_key(|entry| confidence(entry))
            .map(|entry| entry.uri.clone())
    };
    Mirrors {
        archive: best(is_archive),
        security: best(is_security),
    }
}

/// How sure we are that this is Debian's own archive: others use Debian's suite names, too.
fn confidence(entry: &Entry) -> usize {
    let path = entry.uri.trim_end_matches('/');
    let signed = entry.signed_by.contains("debian-archive-keyring");
    let named = path.ends_with("/debian") || path.ends_with("/debian-security");
    usize::from(signed) * 2 + usize::from(named)
}

fn is_security(suite: &str) -> bool {
    suite.ends_with("-security") || suite.ends_with("/updates")
}

fn is_archive(suite: &str) -> bool {
    const SUITES: [&str; 9] = [
        "bullseye",
        "bookworm",
        "trixie",
        "forky",
        "sid",
        "stable",
        "oldstable",
        "testing",
        "unstable",
    ];
    let base = suite
        .strip_suffix("-updates")
        .or_else(|| suite.strip_suffix("-backports"));
    SUITES.contains(&base.unwrap_or(suite))
}

/// The one-line format: `deb [option=value …] uri suite component …`.
fn one_line(text: &str) -> Vec<Entry> {
    text.lines().filter_map(one_line_entry).collect()
}

fn one_line_entry(line: &str) -> Option<Entry> {
    let line = line.split('#').next()?.trim().strip_prefix("deb")?;
    let line = line.strip_prefix(char::is_whitespace)?.trim_start();
    let (options, rest) = match line.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => ("", line),
    };
    let mut words = rest.split_whitespace().map(str::to_owned);
    let signed_by = options
        .split_whitespace()
        .find_map(|option| option.strip_prefix("signed-by="));
    Some(Entry {
        uri: words.next()?,
        suite: words.next()?,
        components: words.collect(),
        signed_by: signed_by.unwrap_or_default().to_owned(),
    })
}

/// The deb822 format: stanzas of `Field: value`, where a value goes on in indented lines.
fn deb822(text: &str) -> Vec<Entry> {
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.push("");
    lines
        .split(|line| line.trim().is_empty())
        .flat_map(stanza)
        .collect()
}

fn stanza(lines: &[&str]) -> Vec<Entry> {
    let types = field(lines, "types");
    let enabled = field(lines, "enabled")
        .first()
        .is_none_or(|word| !is_no(word));
    if !enabled || !types.iter().any(|kind| kind == "deb") {
        return Vec::new();
    }
    let (uris, suites) = (field(lines, "uris"), field(lines, "suites"));
    let components = field(lines, "components");
    let signed_by = field(lines, "signed-by").join(" ");
    let entry = |uri: &String, suite: &String| Entry {
        uri: uri.clone(),
        suite: suite.clone(),
        components: components.clone(),
        signed_by: signed_by.clone(),
    };
    uris.iter()
        .flat_map(|uri| suites.iter().map(move |suite| entry(uri, suite)))
        .collect()
}

fn is_no(word: &str) -> bool {
    ["no", "false", "0", "off"].contains(&word.to_ascii_lowercase().as_str())
}

/// The words of one field of a stanza, its continuation lines included.
fn field(lines: &[&str], name: &str) -> Vec<String> {
    let mut inside = false;
    let mut words = Vec::new();
    for line in lines {
        let value = if line.starts_with(char::is_whitespace) {
            line
        } else {
            let (key, value) = line.split_once(':').unwrap_or((line, ""));
            inside = key.trim().eq_ignore_ascii_case(name);
            value
        };
        if inside {
            words.extend(value.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEB822: &str = "\
Types: deb
# the snapshot of the day
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://mirror.example/debian-security
Suites:
 bookworm-security
Components: main contrib

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
";

    const ONE_LINE: &str = "\
# deb http://commented.example/debian bookworm main
deb http://vendor.example/apt bookworm main
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] https://mirror.example/debian bookworm main # ours
deb https://mirror.example/debian-security bookworm-security main
deb cdrom:[disc]/ bookworm main
";

    fn expect(archive: &str, security: &str) -> Mirrors {
        Mirrors {
            archive: Some(archive.into()),
            security: Some(security.into()),
        }
    }

    #[test]
    fn reads_deb822() {
        let found = mirrors([("debian.sources", DEB822)]);
        assert_eq!(
            found,
            expect(
                "http://mirror.example/debian",
                "http://mirror.example/debian-security"
            )
        );
    }

    #[test]
    fn reads_one_line_entries_and_prefers_debian_over_a_vendor() {
        let found = mirrors([("sources.list", ONE_LINE)]);
        assert_eq!(
            found,
            expect(
                "https://mirror.example/debian",
                "https://mirror.example/debian-security"
            )
        );
    }

    #[test]
    fn the_first_of_equals_wins_and_strangers_are_ignored() {
        let vendor = (
            "vendor.list",
            "deb https://packages.example/apt cloud-sdk-bookworm main\n",
        );
        assert_eq!(mirrors([vendor]), Mirrors::default());
        let two = "deb http://a.example/debian trixie main\ndeb http://b.example/debian sid main\n";
        assert_eq!(
            mirrors([("sources.list", two)]).archive,
            Some("http://a.example/debian".into())
        );
    }

    #[test]
    fn a_disabled_or_source_only_stanza_is_no_mirror() {
        let text = "Types: deb-src\nURIs: http://a.example/debian\nSuites: sid\nComponents: main\n";
        assert_eq!(mirrors([("a.sources", text)]), Mirrors::default());
    }
}
