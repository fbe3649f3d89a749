//! From which duration on a call is worth a sample: told to the programs in the timings they write.

use std::{collections::BTreeMap, mem::offset_of, sync::atomic::Ordering};

use mapstorm_abi::{Histogram, Op, Timings};

use super::{
    places::{Places, map_of},
    tables::Tables,
};
use crate::identity::MapId;

impl Tables {
    /// Sets it on every CPU, in nanoseconds, by map and operation. What is not in `slow` stays as it
    /// was; timings that change hands are zeroed, and so forget it.
    pub(super) fn set_slow(&self, places: &Places, slow: &BTreeMap<(MapId, Op), u64>) {
        for (cpu, taken) in places.cpus.iter().enumerate() {
            for place in &taken.places {
                let op = Op::from_byte(place.key as u8);
                let ns = op.and_then(|op| slow.get(&(map_of(place.key), op)));
                let timings = self.timings(cpu, place);
                if let Some(&ns) = ns.filter(|_| self.geometry().has_timings(timings)) {
                    let at = offset_of!(Timings, operation) + offset_of!(Histogram, slow);
                    // The programs keep it with all bits flipped, so that zero is never.
                    let word = self.values.word(cpu, timings as usize + at);
                    word.store(!ns, Ordering::Relaxed);
                }
            }
        }
    }
}
