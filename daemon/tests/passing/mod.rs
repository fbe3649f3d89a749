//! Time passes for the view made by hand.

use std::sync::Arc;

use mapstorm::{motion::Motion, snapshot::Snapshot, view::View};
use mapstorm_abi::{Op, Outcome, bucket};

use crate::by_hand::FULL;

/// One window later: [`FULL`] was updated a hundred times more, half of them refused, and is now told to have
/// been.
pub(crate) fn pass_window(view: &mut View) {
    let mut next = Snapshot::clone(&view.snapshot);
    next.window += 1;
    let full = next.maps.get_mut(&FULL).map(Arc::make_mut);
    let full = full.unwrap_or_else(|| unreachable!("it is in the view"));
    let update = full.ops.entry(Op::Update).or_default();
    update.outcomes[Outcome::Ok as usize] += 50;
    update.outcomes[Outcome::E2big as usize] += 50;
    let timed = update.durations.get_or_insert_default();
    timed.buckets[bucket::index(1_000)] += 100;
    timed.sum_ns += 100_000;
    let motion = Motion::between(&view.snapshot, &next, |_| false);
    view.history = view.history.with(motion);
    view.snapshot = Arc::new(next);
}
