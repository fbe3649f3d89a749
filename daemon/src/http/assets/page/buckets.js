// The daemon's buckets: four an octave, bounds 2^(index/4 - 24) seconds; 121 has no bound.

const LAST = 121;

/** Upper bound of a bucket, seconds. */
export const bound = (index) => (index >= LAST ? Infinity : 2 ** (index / 4 - 24));

/** Bucket of a duration in seconds. */
export const index = (seconds) => Math.max(0, Math.min(LAST, Math.ceil(4 * (Math.log2(seconds) + 24))));

/** Adds pairs of index and count to a Map. */
export function add(sum, pairs) {
  for (const [at, events] of pairs) sum.set(at, (sum.get(at) ?? 0) + events);
}

export function total(sum) {
  let events = 0;
  for (const more of sum.values()) events += more;
  return events;
}

/** Index of the bucket that holds the quantile; null of nothing. */
export function quantile(sum, q) {
  let left = Math.ceil(q * total(sum));
  if (left === 0) return null;
  for (const at of [...sum.keys()].sort((a, b) => a - b)) {
    left -= sum.get(at);
    if (left <= 0) return at;
  }
  return null;
}
