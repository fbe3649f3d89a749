//! The test kernels by era, and which package of a mirror stands for each.

use super::version;

/// An era of the kernel that mapstorm is tested on.
#[derive(Debug, PartialEq, Eq)]
pub struct Era {
    /// What people call it on the command line: `6.12-rt`.
    pub name: &'static str,
    /// Why it is in the matrix.
    pub why: &'static str,
    /// Packages that make it up: text before and after the release in the package's name. The
    /// first holds the image; an era may keep its modules in another.
    packages: &'static [(&'static str, &'static str)],
    /// What the release starts with, up to its patch level: `6.12.`.
    series: &'static str,
}

/// The matrix, oldest first.
pub const ERAS: [Era; 5] = [
    Era {
        name: "5.10",
        why: "every refused update takes all freelist locks; no recursion protection",
        packages: &[("linux-image-", "-cloud-amd64")],
        series: "5.10.",
    },
    Era {
        name: "6.1",
        why: "first stable series with the freelist patch",
        packages: &[("linux-image-", "-cloud-amd64")],
        series: "6.1.",
    },
    Era {
        name: "6.12",
        why: "last series with a traceable freelist; the default guest",
        packages: &[("linux-image-", "-cloud-amd64")],
        series: "6.12.",
    },
    Era {
        name: "6.12-rt",
        why: "PREEMPT_RT: probes and bucket locks may be preempted",
        packages: &[("linux-image-", "-rt-amd64")],
        series: "6.12.",
    },
    Era {
        name: "7.3",
        why: "freelist not traceable, resilient spin locks",
        packages: &[
            ("linux-binary-", "-cloud-amd64"),
            ("linux-modules-", "-cloud-amd64"),
        ],
        series: "7.3.",
    },
];

/// Suites that hold the packages: of the archive, then of the security mirror.
pub const ARCHIVE_SUITES: [&str; 4] = [
    "bullseye",
    "bookworm",
    "bookworm-backports",
    "trixie-backports",
];
/// See [`ARCHIVE_SUITES`].
pub const SECURITY_SUITES: [&str; 2] = ["bullseye-security", "bookworm-security"];

/// The packages of one kernel, chosen from a mirror.
#[derive(Debug, PartialEq, Eq)]
pub struct Choice {
    /// The kernel's release as `uname -r` says it: `6.12.117+deb12-cloud-amd64`.
    pub release: String,
    /// Package names, the image first.
    pub packages: Vec<String>,
}

impl Era {
    /// The era called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        ERAS.iter().find(|era| era.name == name)
    }

    /// Names of the packages to ask the mirror for: all begin with one of these.
    pub fn prefixes(&self) -> impl Iterator<Item = String> {
        self.packages
            .iter()
            .map(|(before, _)| format!("{before}{}", self.series))
    }

    /// The newest kernel of the era for which `available` has every package.
    pub fn newest(&self, available: &[String]) -> Option<Choice> {
        let ((before, after), others) = self.packages.split_first()?;
        let complete = |release: &str| {
            others.iter().all(|(before, after)| {
                let name = format!("{before}{release}{after}");
                available.contains(&name)
            })
        };
        let newest = available
            .iter()
            .filter_map(|name| name.strip_prefix(before)?.strip_suffix(after))
            .filter(|release| self.is_release(release) && complete(release))
            .max_by(|left, right| version::compare(left, right))?;
        let name = |(before, after): &(&str, &str)| format!("{before}{newest}{after}");
        Some(Choice {
            release: format!("{newest}{after}"),
            packages: self.packages.iter().map(name).collect(),
        })
    }

    /// Whether `text` is a release of this series and nothing more, no other flavour's name.
    fn is_release(&self, text: &str) -> bool {
        let flavoured = text
            .split('-')
            .skip(1)
            .any(|part| !part.starts_with(|c: char| c.is_ascii_digit()));
        text.starts_with(self.series) && !flavoured
    }
}

/// The names of all eras, for messages.
pub fn names() -> String {
    ERAS.map(|era| era.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(era: &str, available: &[&str]) -> Option<Choice> {
        let available: Vec<String> = available.iter().map(|name| (*name).to_owned()).collect();
        Era::find(era).unwrap().newest(&available)
    }

    #[test]
    fn the_newest_release_of_the_right_flavour_is_chosen() {
        let available = [
            "linux-image-6.12.95+deb12-cloud-amd64",
            "linux-image-6.12.117+deb12-cloud-amd64",
            "linux-image-6.12.117+deb12-cloud-amd64-unsigned",
            "linux-image-6.12.118+deb12-amd64",
            "linux-image-6.12.90+deb12.1-rt-amd64",
            "linux-image-6.12.119+deb12-rt-cloud-amd64",
        ];
        let cloud = choose("6.12", &available).unwrap();
        assert_eq!(cloud.release, "6.12.117+deb12-cloud-amd64");
        assert_eq!(cloud.packages, ["linux-image-6.12.117+deb12-cloud-amd64"]);
        assert_eq!(
            choose("6.12-rt", &available).unwrap().release,
            "6.12.90+deb12.1-rt-amd64"
        );
    }

    #[test]
    fn an_abi_number_is_part_of_the_release() {
        let available = [
            "linux-image-5.10.0-9-cloud-amd64",
            "linux-image-5.10.0-46-cloud-amd64",
        ];
        assert_eq!(
            choose("5.10", &available).unwrap().release,
            "5.10.0-46-cloud-amd64"
        );
        assert_eq!(choose("6.1", &available), None);
    }

    #[test]
    fn an_image_without_its_modules_is_not_chosen() {
        let available = [
            "linux-binary-7.3.4+deb13-cloud-amd64",
            "linux-modules-7.3.4+deb13-cloud-amd64",
            "linux-binary-7.3.5+deb13-cloud-amd64",
        ];
        let choice = choose("7.3", &available).unwrap();
        assert_eq!(choice.packages, available[..2]);
        assert_eq!(choice.release, "7.3.4+deb13-cloud-amd64");
    }
}
