// When there were storms, on which maps: a lane for each.

import { $, el, swap } from "./dom.js";
import * as format from "./format.js";
import { kind } from "./verdict.js";

/** Lanes at most: the maps with the latest storms. */
const LANES = 8;
const TICKS = 4;

const time = (moment) => (moment?.time ? Date.parse(moment.time) : null);

export class Timeline {
  #open;
  #closed = [];
  #active = [];
  #now = null;

  constructor(open) {
    this.#open = open;
    $("timeline-span").addEventListener("change", () => this.#draw());
  }

  /** What is over, from the list of storms. */
  past(closed) {
    this.#closed = closed;
    this.#draw();
  }

  /** What is on, as of a time. */
  now(active, now) {
    this.#active = active;
    this.#now = now;
    this.#draw();
  }

  #draw() {
    const seconds = Number($("timeline-span").value);
    const end = this.#now ?? Date.now();
    const begin = end - 1000 * seconds;
    const key = (storm) => `${storm.map_id} ${storm.kind} ${storm.opened.time}`;
    const open = new Set(this.#active.map(key));
    const over = this.#closed.filter((storm) => !open.has(key(storm)));
    const storms = [...this.#active, ...over].filter((storm) => {
      const until = storm.closed ? time(storm.closed) : end;
      return time(storm.opened) !== null && until !== null && until >= begin;
    });
    const lanes = new Map();
    for (const storm of storms) {
      const name = `${storm.map_name || "(no name)"} ${storm.map_id}`;
      lanes.set(name, [...(lanes.get(name) ?? []), storm]);
    }
    const shown = [...lanes].slice(0, LANES);
    const place = (at) => (100 * (Math.min(end, Math.max(begin, at)) - begin)) / (end - begin);
    const rows = shown.map(([name, of]) => {
      const bars = of.map((storm) => this.#bar(storm, place, end));
      return el("div", { className: "lane" }, el("span", { className: "name", title: name }, name), el("div", { className: "track" }, ...bars));
    });
    if (rows.length === 0) {
      rows.push(el("p", { className: "note" }, `No storm is remembered in the last ${$("timeline-span").selectedOptions[0].textContent}.`));
    } else {
      rows.push(axis(begin, end));
    }
    if (lanes.size > LANES) rows.push(el("p", { className: "note" }, `and ${lanes.size - LANES} more maps`));
    swap($("lanes"), ...rows);
  }

  #bar(storm, place, end) {
    const until = storm.closed ? time(storm.closed) : end;
    const left = place(time(storm.opened));
    const text = `${storm.kind}, ${storm.severity ?? ""}: ${kind(storm)}, from ${format.clock(time(storm.opened))} ${storm.closed ? `to ${format.clock(until)} (${storm.closed.end.replace("_", " ")})` : "on"}, at most ${format.count(storm.peak_rejects_per_second)} refused/s on ${storm.peak_cpus} CPUs`;
    const bar = el("button", { type: "button", className: "bar", title: text, "aria-label": text, "data-severity": storm.severity ?? "minor", "data-open": String(!storm.closed), "data-focus": `${storm.map_id} ${storm.kind} ${storm.opened.time}` });
    bar.style.left = `min(${left}%, 100% - 6px)`;
    bar.style.width = `max(6px, ${place(until) - left}%)`;
    bar.addEventListener("click", () => this.#open(storm.map_id));
    return bar;
  }
}

function axis(begin, end) {
  const ticks = Array.from({ length: TICKS + 1 }, (_, i) => {
    const tick = el("span", {}, format.clock(begin + ((end - begin) * i) / TICKS));
    tick.style.left = `${(100 * i) / TICKS}%`;
    return tick;
  });
  return el("div", { className: "lane axis", "aria-hidden": "true" }, el("span", { className: "name" }), el("div", { className: "ticks" }, ...ticks));
}
