//! Sets of CPUs in the kernel's list format: `0-3,5`.

use std::{fmt, path::Path, str::FromStr};

use serde::{Serialize, Serializer};

use super::read::{self, FactError};

/// A set of CPU numbers, ascending, each once. Parses and prints the kernel's list format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(Vec<u32>);

/// Why a text is no list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuListError {
    /// A part is neither a number nor a range.
    #[error("{part:?} is neither a CPU number nor a range of them; a list looks like 0-3,5")]
    Part {
        /// The part between two commas.
        part: String,
    },
    /// A range ends before it starts.
    #[error("the range {part:?} ends before it starts; a list looks like 0-3,5")]
    Backwards {
        /// The part between two commas.
        part: String,
    },
    /// A number is larger than any kernel has CPUs.
    #[error("CPU {cpu} is beyond {}, the last that an x86-64 kernel can have", CpuList::LIMIT - 1)]
    TooLarge {
        /// The number.
        cpu: u32,
    },
}

impl CpuList {
    /// CPU numbers are below this: `NR_CPUS` of an x86-64 kernel built with `MAXSMP`.
    pub const LIMIT: u32 = 8192;

    /// The numbers, ascending.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// How many CPUs the set has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Is it the empty set?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Is `cpu` in the set?
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// Entries that a table indexed by CPU number needs: the highest number plus one, which is more
    /// than [`len`](Self::len) when the numbering has holes.
    pub fn table_len(&self) -> usize {
        self.0.last().map_or(0, |&last| last as usize + 1)
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut cpus = Vec::from_iter(cpus);
        cpus.sort_unstable();
        cpus.dedup();
        Self(cpus)
    }
}

impl FromStr for CpuList {
    type Err = CpuListError;

    /// Parses `0-3,5`. Space around the list is ignored; an empty text is the empty set, as the
    /// kernel prints it. Parts may overlap and come in any order.
    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::default());
        }
        let mut cpus = vec![false; Self::LIMIT as usize];
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first, part)?, number(last, part)?);
            if first > last {
                return Err(CpuListError::Backwards { part: part.into() });
            }
            cpus[first as usize..=last as usize].fill(true);
        }
        Ok((0..Self::LIMIT).filter(|&cpu| cpus[cpu as usize]).collect())
    }
}

fn number(text: &str, part: &str) -> Result<u32, CpuListError> {
    // `u32` would take a leading plus.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(cpu) if digits && cpu < CpuList::LIMIT => Ok(cpu),
        Ok(cpu) if digits => Err(CpuListError::TooLarge { cpu }),
        _ => Err(CpuListError::Part { part: part.into() }),
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        for (i, run) in runs.enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match run {
                [only] => write!(f, "{comma}{only}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

impl Serialize for CpuList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The CPUs of this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cpus {
    /// CPUs that can ever be: per-CPU tables are sized by these, once.
    pub possible: CpuList,
    /// CPUs that run now; changes when one is plugged in or taken out.
    pub online: CpuList,
}

impl Cpus {
    /// Reads `devices/system/cpu/{possible,online}` below `sys`.
    ///
    /// # Errors
    /// The file and, when it was read, its text.
    pub fn read(sys: &Path) -> Result<Self, FactError> {
        let list = |name| {
            let path = sys.join("devices/system/cpu").join(name);
            let text = read::text(&path)?;
            match text.parse::<CpuList>() {
                Ok(list) if list.is_empty() => {
                    Err(FactError::malformed(&path, &text, "expected CPUs"))
                }
                Ok(list) => Ok(list),
                Err(error) => Err(FactError::malformed(&path, &text, error)),
            }
        };
        Ok(Self {
            possible: list("possible")?,
            online: list("online")?,
        })
    }
}

/// Why CPUs that were asked for cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// One does not exist.
    #[error("--cpus: there is no CPU {cpu}: this host has {possible}")]
    NoSuchCpu {
        /// The CPU.
        cpu: u32,
        /// Those that there can be.
        possible: CpuList,
    },
    /// One does not run.
    #[error("--cpus: CPU {cpu} is offline: {online} are online")]
    Offline {
        /// The CPU.
        cpu: u32,
        /// Those that run.
        online: CpuList,
    },
}

impl Cpus {
    /// The CPUs to work from: those asked for, if they run, else all that do.
    ///
    /// # Errors
    /// One that was asked for does not run.
    pub fn choose(&self, asked: Option<&CpuList>) -> Result<CpuList, ChoiceError> {
        let Some(asked) = asked else {
            return Ok(self.online.clone());
        };
        for &cpu in asked.as_slice() {
            if !self.possible.contains(cpu) {
                let possible = self.possible.clone();
                return Err(ChoiceError::NoSuchCpu { cpu, possible });
            }
            if !self.online.contains(cpu) {
                let online = self.online.clone();
                return Err(ChoiceError::Offline { cpu, online });
            }
        }
        Ok(asked.clone())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    #[test]
    fn lists_of_the_kernel_are_read_and_printed_alike() {
        assert_eq!(list("0-3,5\n").as_slice(), [0, 1, 2, 3, 5]);
        for text in ["", "0", "0-1", "0-3,5", "2,4,6-7", "0-319"] {
            assert_eq!(list(text).to_string(), text);
        }
        assert_eq!(list(" 5,0-2,1-3\n").to_string(), "0-3,5");
        assert_eq!(list("\n"), CpuList::default());
    }

    #[test]
    fn o04_only_cpus_that_run_are_taken_and_the_error_says_which_do() {
        let host = Cpus {
            possible: list("0-7"),
            online: list("0-1,4"),
        };
        assert_eq!(host.choose(None).unwrap(), host.online);
        assert_eq!(host.choose(Some(&list("1,4"))).unwrap(), list("1,4"));
        let refused = |text| host.choose(Some(&list(text))).unwrap_err().to_string();
        assert_eq!(refused("0-2"), "--cpus: CPU 2 is offline: 0-1,4 are online");
        assert_eq!(refused("9"), "--cpus: there is no CPU 9: this host has 0-7");
    }

    #[test]
    fn o28_three_hundred_and_twenty_cpus() {
        let cpus = list("0-319");
        assert_eq!((cpus.len(), cpus.table_len()), (320, 320));
        assert!(cpus.contains(319) && !cpus.contains(320));
    }

    #[test]
    fn a_table_reaches_to_the_highest_number_whatever_the_holes() {
        assert_eq!((list("0,4,64").len(), list("0,4,64").table_len()), (3, 65));
        assert_eq!(list("").table_len(), 0);
    }

    #[test]
    fn what_is_no_list_is_refused_with_the_part_that_is_wrong() {
        for (text, part) in [
            ("0,,2", "\"\""),
            ("0,x", "\"x\""),
            ("-1", "\"-1\""),
            ("+1", "\"+1\""),
        ] {
            let error = text.parse::<CpuList>().unwrap_err();
            assert!(error.to_string().starts_with(part), "{text}: {error}");
        }
        let backwards = "0,3-1".parse::<CpuList>().unwrap_err().to_string();
        assert!(backwards.contains("\"3-1\" ends before"), "{backwards}");
        let large = "0-4294967295".parse::<CpuList>().unwrap_err().to_string();
        assert!(large.contains("beyond 8191"), "{large}");
    }

    proptest! {
        #[test]
        fn any_set_survives_printing_and_reading(
            cpus in prop::collection::vec(0..CpuList::LIMIT, 0..64),
        ) {
            let set = CpuList::from_iter(cpus);
            prop_assert_eq!(list(&set.to_string()), set);
        }

        #[test]
        fn any_text_is_an_answer_or_an_error(text in "[0-9,x +-]{0,24}|.{0,24}") {
            drop(text.parse::<CpuList>());
        }
    }
}
