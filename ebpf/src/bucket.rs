//! Which bucket a duration falls into: four per octave, the same arithmetic in the kernel and here.
//!
//! Bounds are `2^(k/4)` *seconds* for k from -96 (59.6 ns) to 24 (64 s), upper bound inclusive like
//! Prometheus `le`; these are native-histogram schema 2 buckets, so nothing is ever re-bucketed.

/// Exponent k of the first bound: 2^(-96/4) s = 59.6 ns.
pub const FIRST_K: i32 = -96;
/// Exponent k of the last finite bound: 2^(24/4) s = 64 s.
pub const LAST_K: i32 = 24;
/// Finite upper bounds.
pub const BOUNDS: usize = (LAST_K - FIRST_K + 1) as usize;
/// Buckets: one per finite bound and one above them all.
pub const BUCKETS: usize = BOUNDS + 1;
/// The bound table is padded to a power of two, so that a masked index is always inside.
pub const TABLE: usize = 128;

/// `floor(1e9 · 2^(k/4))` nanoseconds for every k: a whole number of nanoseconds is within a bound
/// exactly when it is within the bound's floor. The padding is `u64::MAX`.
pub static BOUNDS_NS: [u64; TABLE] = bounds_ns();

/// `2^(m/4)` in fixed point with 96 fractional bits, m = 0..4.
const QUARTERS: [u128; 4] = [
    0x1_0000_0000_0000_0000_0000_0000,
    0x1_306f_e0a3_1b71_52de_8d5a_4630,
    0x1_6a09_e667_f3bc_c908_b2fb_1366,
    0x1_ae89_f995_ad3a_d5e8_734d_1773,
];

const fn bounds_ns() -> [u64; TABLE] {
    let mut table = [u64::MAX; TABLE];
    let mut i = 0;
    while i < BOUNDS {
        let k = FIRST_K + i as i32;
        let octave = k.div_euclid(4);
        let scaled = 1_000_000_000u128 * QUARTERS[k.rem_euclid(4) as usize];
        table[i] = (scaled >> (96 - octave)) as u64;
        i += 1;
    }
    table
}

/// Durations below this are looked up cell by cell: most operations are that short.
const SHORT_NS: u64 = 16_384;
/// Nanoseconds in a cell; no cell holds more than one bound.
const CELL_NS: u64 = 8;
/// For every cell the first bucket that a duration in it can belong to, times 16, plus how much
/// must be added to a duration's place in the cell to carry, past the bound in it, to 8.
static CELLS: [u16; (SHORT_NS / CELL_NS) as usize] = cells();

const fn cells() -> [u16; (SHORT_NS / CELL_NS) as usize] {
    let mut cells = [0; (SHORT_NS / CELL_NS) as usize];
    let mut bucket = 0;
    let mut cell = 0;
    while cell < cells.len() {
        let first_ns = cell as u64 * CELL_NS;
        while BOUNDS_NS[bucket] < first_ns {
            bucket += 1;
        }
        let place = BOUNDS_NS[bucket] - first_ns;
        let carry = if place < CELL_NS {
            CELL_NS - 1 - place
        } else {
            0
        };
        cells[cell] = (bucket as u16) << 4 | carry as u16;
        cell += 1;
    }
    cells
}

/// Offset in bytes, within a histogram's buckets, of the one that holds `ns`: the first whose bound
/// is at least `ns`, the last of all when it is above every bound.
#[inline(always)]
pub fn offset(ns: u64) -> usize {
    if ns >= SHORT_NS {
        return long(ns) * size_of::<u64>();
    }
    let cell = u64::from(CELLS[(ns / CELL_NS) as usize & (CELLS.len() - 1)]);
    let first = (cell >> 1) & 0x3f8;
    let carry = ((ns % CELL_NS) + (cell & 0xf)) & CELL_NS;
    (first + carry) as usize
}

/// Index of the bucket that holds `ns`.
pub fn index(ns: u64) -> usize {
    offset(ns) / size_of::<u64>()
}

/// The bucket of a long duration.
///
/// The position of the highest bit and the three bits below it name a cell in which at most one
/// bound lies, so one comparison with the table decides; a multiply-and-shift would put 60 ns
/// below 59.6 ns.
#[inline(always)]
fn long(ns: u64) -> usize {
    if ns > BOUNDS_NS[BOUNDS - 1] {
        return BOUNDS;
    }
    // 16,384 <= ns < 2^36: five halvings leave the highest bit and the three below it in `top`
    // (8..16), and in `octave` four times the shift that took.
    let mut top = ns >> 2;
    let mut octave = 8;
    if top >> 19 != 0 {
        top >>= 16;
        octave += 64;
    }
    if top >> 11 != 0 {
        top >>= 8;
        octave += 32;
    }
    if top >> 7 != 0 {
        top >>= 4;
        octave += 16;
    }
    if top >> 5 != 0 {
        top >>= 2;
        octave += 8;
    }
    if top >> 4 != 0 {
        top >>= 1;
        octave += 4;
    }
    let candidate = (octave + ((top + 1) >> 1) - 15) as usize & (TABLE - 1);
    candidate + usize::from(ns > BOUNDS_NS[candidate])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: the first bound that is at least `ns`.
    fn by_search(ns: u64) -> usize {
        BOUNDS_NS[..BOUNDS].partition_point(|&bound| bound < ns)
    }

    #[test]
    fn bounds_are_the_floors_of_the_quarter_powers() {
        // b = floor(1e9 · 2^(k/4)) exactly when b^4 <= 1e36 · 2^k < (b+1)^4; in u128 that can be
        // checked up to k = 8, and beyond it each bound is the one four below, doubled, plus 0 or 1.
        let e36 = 10u128.pow(36);
        for (i, &bound) in BOUNDS_NS[..BOUNDS].iter().enumerate() {
            let k = FIRST_K + i as i32;
            let b = u128::from(bound);
            if k <= 0 {
                assert!(
                    b.pow(4) <= e36 >> -k,
                    "bound {bound} of k = {k} is too large"
                );
                assert!(
                    (b + 1).pow(4) > e36 >> -k,
                    "bound {bound} of k = {k} is too small"
                );
            } else {
                let half = BOUNDS_NS[i - 4];
                assert!(
                    bound == 2 * half || bound == 2 * half + 1,
                    "k = {k}: {bound}, {half}"
                );
            }
        }
        assert_eq!(BOUNDS_NS[0], 59);
        assert_eq!(BOUNDS_NS[96], 1_000_000_000);
        assert_eq!(BOUNDS_NS[BOUNDS - 1], 64_000_000_000);
    }

    #[test]
    fn every_bound_belongs_to_its_own_bucket_and_the_next_nanosecond_does_not() {
        for (i, &bound) in BOUNDS_NS[..BOUNDS].iter().enumerate() {
            for ns in [bound - 1, bound, bound + 1] {
                assert_eq!(
                    index(ns),
                    by_search(ns),
                    "{ns} ns, next to bound {i} = {bound}"
                );
            }
            assert_eq!(index(bound), i);
            assert_eq!(index(bound + 1), i + 1);
        }
    }

    #[test]
    fn small_huge_and_dense_values_agree_with_the_definition() {
        for ns in (0..300_000).chain([u64::MAX, u64::MAX - 1, 1 << 36, (1 << 36) - 1, 1 << 63]) {
            assert_eq!(index(ns), by_search(ns), "{ns} ns");
        }
        let mut ns = 1u64;
        while ns < 1 << 40 {
            assert_eq!(index(ns), by_search(ns), "{ns} ns");
            ns += ns / 997 + 1;
        }
    }
}
