//! Kind `freelist`: CPUs that fight over the lists of free elements of a map that is not full, for one
//! because elements are taken on some CPUs and given back on others.

use super::{Advice, FreelistUse};

pub(super) fn advice(freelist: FreelistUse) -> Advice {
    match freelist {
        FreelistUse::EveryListLocked => Advice::new(
            "delete elements on the CPU that inserted them, raise max_entries, or move to Linux 6.0 or newer",
            "a CPU whose own list is empty locks one list after the other until it finds an element, empty ones too",
        ),
        _ => Advice::new(
            "delete elements on the CPU that inserted them, or raise max_entries so that each CPU's list keeps some",
            "a CPU whose own list is empty takes elements from the lists of others, under their locks",
        ),
    }
}
