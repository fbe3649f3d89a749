//! How an operation ended, as the kernel returned it.

/// Outcome of one map operation: `ok` or the errno that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Outcome {
    /// The operation did what was asked.
    Ok,
    /// `-E2BIG`: the map is full (on 6.15+ also a freelist lock that could not be taken).
    E2big,
    /// `-ENOMEM`: the allocator or the LRU had nothing to give.
    Enomem,
    /// `-EBUSY`: the same CPU holds the bucket already (5.11 to 6.14).
    Ebusy,
    /// `-EEXIST`: an answer, not a refusal.
    Eexist,
    /// `-ENOENT`: an answer, not a refusal.
    Enoent,
    /// `-EDEADLK`: the lock would have deadlocked (6.15+).
    Edeadlk,
    /// `-ETIMEDOUT`: the lock was not had in time (6.15+).
    Etimedout,
    /// Any other errno.
    Other,
}

impl Outcome {
    /// How many outcomes there are.
    pub const COUNT: usize = 9;

    /// All of them, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Ok,
        Self::E2big,
        Self::Enomem,
        Self::Ebusy,
        Self::Eexist,
        Self::Enoent,
        Self::Edeadlk,
        Self::Etimedout,
        Self::Other,
    ];

    /// Outcome of a return value. The kernel's map operations returned `int` up to 6.3 and `long`
    /// after: the caller casts to `i32`, which is right for both.
    #[inline(always)]
    pub fn of(ret: i32) -> Self {
        match ret {
            0 => Self::Ok,
            -7 => Self::E2big,
            -12 => Self::Enomem,
            -16 => Self::Ebusy,
            -17 => Self::Eexist,
            -2 => Self::Enoent,
            -35 => Self::Edeadlk,
            -110 => Self::Etimedout,
            _ => Self::Other,
        }
    }

    /// Did the map refuse? `eexist` and `enoent` are answers.
    pub const fn is_reject(self) -> bool {
        !matches!(self, Self::Ok | Self::Eexist | Self::Enoent)
    }

    /// Value of the label `outcome`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::E2big => "e2big",
            Self::Enomem => "enomem",
            Self::Ebusy => "ebusy",
            Self::Eexist => "eexist",
            Self::Enoent => "enoent",
            Self::Edeadlk => "edeadlk",
            Self::Etimedout => "etimedout",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o31_errnos_map_to_their_outcomes_and_an_unknown_one_is_still_counted() {
        for (ret, outcome) in [
            (0, Outcome::Ok),
            (-7, Outcome::E2big),
            (-12, Outcome::Enomem),
            (-16, Outcome::Ebusy),
            (-17, Outcome::Eexist),
            (-2, Outcome::Enoent),
            (-35, Outcome::Edeadlk),
            (-110, Outcome::Etimedout),
            (-1, Outcome::Other),
            (-4095, Outcome::Other),
            (1, Outcome::Other),
        ] {
            assert_eq!(Outcome::of(ret), outcome, "return value {ret}");
        }
    }

    #[test]
    fn the_table_is_in_index_order() {
        for (i, outcome) in Outcome::ALL.iter().enumerate() {
            assert_eq!(*outcome as usize, i);
        }
    }

    #[test]
    fn answers_are_not_refusals() {
        let refusals: usize = Outcome::ALL.iter().filter(|o| o.is_reject()).count();
        assert_eq!(refusals, Outcome::COUNT - 3);
        assert!(!Outcome::Eexist.is_reject() && !Outcome::Enoent.is_reject());
    }
}
