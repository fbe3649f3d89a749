//! The start of a batch operation, in one word: written and read as a whole, it needs no lock between
//! the CPU where a call begins and the one where it ends.

/// Starts that are kept at a time: threads whose ids are this far apart share a place.
pub const STARTS: u32 = 4096;
/// Offset of `batch.count` in the kernel's `union bpf_attr` (uapi), bytes.
pub const OFFSET_COUNT: usize = 32;

/// Bits of a thread's id: the kernel's `PID_MAX_LIMIT` is 2^22.
const THREAD_BITS: u32 = 22;
/// Bits of the time: 2^42 ns are 73 minutes.
const TIME_MASK: u64 = (1 << (64 - THREAD_BITS)) - 1;

/// A thread, and when its call began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start(u64);

impl Start {
    /// The call of `thread` that begins at `now_ns`.
    #[inline(always)]
    pub const fn new(thread: u32, now_ns: u64) -> Self {
        Self((thread as u64) << (64 - THREAD_BITS) | now_ns & TIME_MASK)
    }

    /// The word that is kept; 0 is none, as no thread that calls has the id 0.
    #[inline(always)]
    pub const fn word(self) -> u64 {
        self.0
    }

    /// The start that a word stands for.
    #[inline(always)]
    pub const fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// Is it this thread's?
    #[inline(always)]
    pub const fn is_of(self, thread: u32) -> bool {
        self.0 >> (64 - THREAD_BITS) == thread as u64
    }

    /// Nanoseconds from then to `now_ns`, of calls that take less than 73 minutes.
    #[inline(always)]
    pub const fn elapsed_ns(self, now_ns: u64) -> u64 {
        now_ns.wrapping_sub(self.0) & TIME_MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_of_its_thread_only_and_knows_its_age() {
        let last = (1 << THREAD_BITS) - 1;
        for thread in [1, 4096, last] {
            for now in [0, 1, TIME_MASK, u64::MAX - 5] {
                let start = Start::from_word(Start::new(thread, now).word());
                assert!(start.is_of(thread) && !start.is_of(thread ^ 1));
                assert_eq!(start.elapsed_ns(now.wrapping_add(5)), 5);
            }
        }
    }

    #[test]
    fn no_thread_has_the_empty_word() {
        assert_ne!(Start::new(1, 0).word(), 0);
        assert!(!Start::from_word(0).is_of(1));
    }
}
