// The last minutes in seconds: what the charts draw. Bounded, whatever the daemon sends.

import * as buckets from "./buckets.js";

/** Seconds kept. */
export const KEPT = 300;

const p99 = (pairs) => {
  const sum = new Map();
  buckets.add(sum, pairs);
  const at = buckets.quantile(sum, 0.99);
  return at === null ? null : { at, events: buckets.total(sum) };
};

/** One second: quantiles of each row, and the host's histograms. */
class Second {
  updates = 0;
  rejects = 0;
  covered = 0;
  host = { pop: new Map(), update: new Map() };
  maps = { pop: new Map(), update: new Map() };
  cpus = { pop: new Map(), update: new Map() };

  /** Adds a window, or its share of one that is longer than a second. */
  add(frame, seconds) {
    const { host } = frame;
    const share = seconds / frame.seconds;
    this.covered += seconds;
    this.updates += host.rates.updates_per_second * seconds;
    this.rejects += host.rates.rejects_per_second * seconds;
    for (const signal of ["pop", "update"]) {
      buckets.add(this.host[signal], host[signal].map(([at, events]) => [at, events * share]));
      for (const map of frame.maps) this.#worst(this.maps[signal], map.id, map[signal]);
      for (const cpu of frame.cpus) this.#worst(this.cpus[signal], cpu.cpu, cpu[signal] ?? []);
    }
  }

  /** Of several windows in a second the worst is shown: a mean would hide it. */
  #worst(rows, id, pairs) {
    const cell = p99(pairs);
    const known = rows.get(id);
    if (cell === null) return;
    if (known) known.events += cell.events;
    if (!known) rows.set(id, cell);
    else if (cell.at > known.at) known.at = cell.at;
  }
}

export class Past {
  #seconds = new Map();
  names = new Map();
  last = null;

  /** Takes in a window. One that is the sum of several seconds is shown in all of them. */
  add(frame) {
    if (frame.time === null) return;
    const end = Date.parse(frame.time) / 1000;
    const first = Math.floor(Math.max(end - frame.seconds, end - KEPT));
    const last = Math.floor(end - 1e-4);
    for (const map of frame.maps) this.names.set(map.id, map.name);
    for (let at = frame.seconds > 1 ? first : last; at <= last; at += 1) {
      const second = this.#seconds.get(at) ?? new Second();
      second.add(frame, frame.seconds > 1 ? 1 : frame.seconds);
      this.#seconds.set(at, second);
    }
    this.last = Math.max(this.last ?? last, last);
    for (const at of this.#seconds.keys()) if (at <= this.last - KEPT) this.#seconds.delete(at);
  }

  clear() {
    this.#seconds.clear();
    this.names.clear();
    this.last = null;
  }

  /** The second; undefined where nothing is known of it. */
  at(second) {
    return this.#seconds.get(second);
  }

  /** The last seconds, the oldest first. */
  *span(seconds) {
    if (this.last === null) return;
    for (let at = this.last - seconds + 1; at <= this.last; at += 1) yield [at, this.#seconds.get(at)];
  }
}
