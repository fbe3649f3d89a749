//! Names for kernel addresses, found on a thread of its own: the kernel's list has some hundred
//! thousand lines. The only user of blazesym.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
};

use blazesym::{
    MaybeDefault,
    symbolize::{
        Symbolizer,
        source::{Kernel, Source},
    },
};

/// Names of addresses; `None` for one that has none.
pub type Answer = Vec<(u64, Option<Arc<str>>)>;

/// The thread that finds names. It ends when this is dropped.
#[derive(Debug)]
pub struct Symbols {
    questions: SyncSender<Vec<u64>>,
    answers: Receiver<Answer>,
}

impl Symbols {
    /// Starts the thread, which reads `kallsyms` below `proc` when it is asked.
    ///
    /// # Errors
    /// When the thread is refused.
    pub fn start(proc: &Path) -> io::Result<Self> {
        let (questions, asked) = sync_channel::<Vec<u64>>(1);
        let (answer, answers) = sync_channel(1);
        let proc = proc.to_owned();
        let run = move || {
            let mut finder = Finder::new(proc);
            for addresses in asked {
                if answer.send(finder.find(&addresses)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("symbols".into()).spawn(run)?;
        Ok(Self { questions, answers })
    }

    /// Asks for the names of `addresses`; `false` when the thread is busy with others.
    pub fn ask(&self, addresses: Vec<u64>) -> bool {
        match self.questions.try_send(addresses) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }

    /// The answer to what was asked, when it is there.
    pub fn answer(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

struct Finder {
    proc: PathBuf,
    said: bool,
}

impl Finder {
    fn new(proc: PathBuf) -> Self {
        Self { proc, said: false }
    }

    /// Reads the kernel's list and forgets it again: it takes some ten megabytes.
    fn find(&mut self, addresses: &[u64]) -> Answer {
        let names = named(&self.proc.join("kallsyms"), addresses);
        trim();
        match names {
            Ok(names) if names.iter().any(Option::is_some) => {
                addresses.iter().copied().zip(names).collect()
            }
            other => {
                self.say(other.err());
                addresses.iter().map(|&address| (address, None)).collect()
            }
        }
    }

    /// Says once why there are no names.
    fn say(&mut self, error: Option<blazesym::Error>) {
        if std::mem::replace(&mut self.said, true) {
            return;
        }
        let kptr_restrict = fs::read_to_string(self.proc.join("sys/kernel/kptr_restrict"));
        let kptr_restrict = kptr_restrict.unwrap_or_else(|_| "unknown".to_owned());
        tracing::info!(
            kptr_restrict = kptr_restrict.trim(),
            error = error.map(|error| error.to_string()),
            remedy = "set the sysctl kernel.kptr_restrict to 0 or 1, and give the process \
                      CAP_SYSLOG",
            "the kernel hides its addresses: callers are told without names on their stacks"
        );
    }
}

/// The name of each address's function.
fn named(kallsyms: &Path, addresses: &[u64]) -> Result<Vec<Option<Arc<str>>>, blazesym::Error> {
    let source = Source::Kernel(Kernel {
        kallsyms: MaybeDefault::Some(kallsyms.to_owned()),
        vmlinux: MaybeDefault::None,
        debug_syms: false,
        ..Kernel::default()
    });
    let symbolizer = Symbolizer::new();
    let input = blazesym::symbolize::Input::AbsAddr(addresses);
    let symbols = symbolizer.symbolize(&source, input)?;
    let name = |symbol: &blazesym::symbolize::Symbolized<'_>| {
        let symbol = symbol.as_sym()?;
        Some(Arc::from(&*symbol.name))
    };
    Ok(symbols.iter().map(name).collect())
}

/// Gives the memory back that reading the list took.
fn trim() {
    // SAFETY: the call takes a number only, and may be made at any time.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81200100 t htab_map_update_elem
ffffffff81200400 t htab_map_delete_elem
ffffffffc0009000 t bpf_trampoline_6442	[bpf]
";

    fn proc(name: &str, kallsyms: &str) -> PathBuf {
        let name = format!("mapstorm-symbols-{name}-{}", std::process::id());
        let proc = std::env::temp_dir().join(name);
        fs::create_dir_all(proc.join("sys/kernel")).unwrap();
        fs::write(proc.join("kallsyms"), kallsyms).unwrap();
        fs::write(proc.join("sys/kernel/kptr_restrict"), "2\n").unwrap();
        proc
    }

    fn find(proc: &Path, addresses: &[u64]) -> Vec<Option<String>> {
        let symbols = Symbols::start(proc).unwrap();
        assert!(symbols.ask(addresses.to_vec()));
        let answer = symbols.answers.recv().unwrap();
        fs::remove_dir_all(proc).unwrap();
        let names = answer.into_iter().zip(addresses);
        names
            .map(|((address, name), asked)| {
                assert_eq!(address, *asked);
                name.map(|name| name.to_string())
            })
            .collect()
    }

    #[test]
    fn an_address_has_the_name_of_the_function_before_it() {
        let addresses = [0xffff_ffff_8120_0123, 0xffff_ffff_c000_9040, 0x10];
        let names = find(&proc("shown", LIST), &addresses);
        let names: Vec<_> = names.iter().map(Option::as_deref).collect();
        assert_eq!(
            names,
            [
                Some("htab_map_update_elem"),
                Some("bpf_trampoline_6442"),
                None
            ]
        );
    }

    #[test]
    fn o13_where_addresses_are_zero_there_are_no_names_and_no_failure() {
        let hidden = LIST
            .lines()
            .map(|line| format!("{:016}{}\n", 0, &line[16..]));
        let hidden: String = hidden.collect();
        assert_eq!(
            find(&proc("zero", &hidden), &[0xffff_ffff_8120_0123]),
            [None]
        );
        assert_eq!(find(&proc("none", ""), &[0xffff_ffff_8120_0123]), [None]);
    }
}
