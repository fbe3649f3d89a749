// Heat map: a column a second, a row a map, a CPU or a duration. Empty is nothing timed; hatched is not known.

import { $, colour, el, onScheme, say } from "./dom.js";
import * as buckets from "./buckets.js";
import * as format from "./format.js";

/** Seconds shown. */
const SECONDS = 120;
/** Rows at most, the worst. */
const ROWS = 24;
const ROW = 16;
/** The scale of durations, buckets of 119 ns and 15.6 ms: the same colour is always the same time. */
const COLD = 4;
const HOT = 72;

export class Heat {
  #past;
  #timed = null;
  #rows = [];
  #at = null;

  constructor(past) {
    this.#past = past;
    for (const id of ["heat-rows", "heat-signal"]) $(id).addEventListener("change", () => this.draw());
    onScheme(() => this.draw());
    new ResizeObserver(() => this.draw()).observe($("heat").parentElement);
    $("heat").addEventListener("pointermove", (event) => this.#point(event));
    $("heat").addEventListener("pointerleave", () => say($("heat-tip"), ""));
    $("heat").addEventListener("keydown", (event) => this.#walk(event));
  }

  /** Whether this kernel shows how long pops take. */
  pops(timed) {
    if (timed === this.#timed) return;
    this.#timed = timed;
    const pop = $("heat-signal").options[0];
    pop.disabled = !timed;
    if (!timed) $("heat-signal").value = "update";
    this.draw();
  }

  draw() {
    const rows = $("heat-rows").value;
    const signal = $("heat-signal").value;
    const cpus = rows === "cpus";
    const untimed = "Freelist pops cannot be timed on this kernel: from 6.13 on they are inlined.";
    const note = cpus && (signal !== "pop" || this.#timed === false)
      ? `By CPU only freelist pops are timed. ${this.#timed === false ? `${untimed} ` : ""}Choose maps or latency.`
      : this.#timed === false ? `${untimed} Shown is how long updates take.` : "";
    say($("heat-note"), note);
    $("heat-note").hidden = note === "";
    this.#rows = rows === "latency" ? this.#durations(signal) : this.#things(rows, signal);
    this.#labels();
    this.#paint();
    this.#legend(rows);
  }

  /** A row for each map or CPU: the longest of 99 of 100 in each second. */
  #things(rows, signal) {
    const worst = new Map();
    for (const [, second] of this.#past.span(SECONDS)) {
      for (const [id, cell] of second?.[rows][signal] ?? []) {
        worst.set(id, Math.max(worst.get(id) ?? 0, cell.at * 1e6 + Math.min(cell.events, 1e6 - 1)));
      }
    }
    const ids = [...worst.keys()];
    if (ids.length > ROWS) ids.sort((a, b) => worst.get(b) - worst.get(a)).splice(ROWS);
    ids.sort((a, b) => (rows === "cpus" ? a - b : worst.get(b) - worst.get(a) || a - b));
    return ids.map((id) => ({
      name: rows === "cpus" ? `CPU ${id}` : `${this.#past.names.get(id) || "(no name)"} ${id}`,
      heat: (second) => {
        const cell = second[rows][signal].get(id);
        return cell && (cell.at - COLD) / (HOT - COLD);
      },
      tell: (second) => {
        const cell = second[rows][signal].get(id);
        return cell ? `99 of 100 took at most ${format.duration(buckets.bound(cell.at))}, of ${format.count(cell.events)}` : "nothing timed";
      },
    }));
  }

  /** A row for each octave of durations: how many events. */
  #durations(signal) {
    let [low, high, most] = [Infinity, -Infinity, 1];
    const octave = (at) => Math.floor((at + 3) / 4);
    const count = (second, row) => {
      let events = 0;
      for (const [at, more] of second.host[signal]) if (octave(at) === row) events += more;
      return events;
    };
    for (const [, second] of this.#past.span(SECONDS)) {
      for (const [at, events] of second?.host[signal] ?? []) {
        [low, high, most] = [Math.min(low, octave(at)), Math.max(high, octave(at)), Math.max(most, events)];
      }
    }
    const rows = [];
    for (let row = high; row >= low; row -= 1) {
      rows.push({
        name: `≤ ${format.duration(buckets.bound(4 * row))}`,
        heat: (second) => {
          const events = count(second, row);
          return events > 0 ? 0.1 + (0.9 * Math.log1p(events)) / Math.log1p(4 * most) : undefined;
        },
        tell: (second) => `${format.count(Math.round(count(second, row)))} events`,
      });
    }
    return rows;
  }

  #labels() {
    const labels = this.#rows.map(({ name }) => el("span", { title: name }, name));
    $("heat-labels").replaceChildren(...labels);
    $("heat").hidden = this.#rows.length === 0;
    const empty = this.#past.last === null ? "Nothing is known yet." : "Nothing was timed in the last two minutes.";
    if (this.#rows.length === 0) $("heat-labels").replaceChildren(el("p", { className: "note" }, empty));
  }

  #paint() {
    const canvas = $("heat");
    const width = canvas.parentElement.clientWidth - $("heat-labels").offsetWidth;
    const scale = window.devicePixelRatio || 1;
    const height = ROW * this.#rows.length;
    canvas.style.height = `${height}px`;
    canvas.width = Math.max(1, Math.floor(width * scale));
    canvas.height = Math.max(1, Math.floor(height * scale));
    const draw = canvas.getContext("2d");
    const [wide, high] = [canvas.width / SECONDS, ROW * scale];
    const unknown = hatch(draw, scale);
    let column = 0;
    for (const [, second] of this.#past.span(SECONDS)) {
      const [left, right] = [Math.floor(column * wide), Math.floor((column + 1) * wide)];
      column += 1;
      if (second === undefined) {
        draw.fillStyle = unknown;
        draw.fillRect(left, 0, right - left, canvas.height);
        continue;
      }
      this.#rows.forEach(({ heat }, row) => {
        const value = heat(second);
        if (value === undefined) return;
        draw.fillStyle = ramp(value);
        draw.fillRect(left, Math.floor(row * high), right - left, Math.ceil(high) - scale);
      });
    }
  }

  #legend(rows) {
    const cells = Array.from({ length: 12 }, (_, i) => {
      const cell = el("span", {});
      cell.style.background = ramp(i / 11);
      return cell;
    });
    const [cold, hot] = rows === "latency" ? ["few", "many events"] : [format.duration(buckets.bound(COLD)), `${format.duration(buckets.bound(HOT))} for 99 of 100`];
    $("heat-legend").replaceChildren(el("span", { className: "from" }, cold), el("span", { className: "ramp" }, ...cells), el("span", {}, hot), el("span", { className: "empty" }, "empty: none"), el("span", { className: "hatched" }, "hatched: not known"));
  }

  #point(event) {
    const box = $("heat").getBoundingClientRect();
    this.#at = [
      Math.min(SECONDS - 1, Math.floor((SECONDS * (event.clientX - box.left)) / box.width)),
      Math.floor((event.clientY - box.top) / ROW),
    ];
    this.#tell();
  }

  #walk(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!steps) return;
    event.preventDefault();
    const [column, row] = this.#at ?? [SECONDS - 1, -1];
    const within = (value, end) => Math.max(0, Math.min(end - 1, value));
    this.#at = [within(column + steps[0], SECONDS), within(row + steps[1], this.#rows.length)];
    this.#tell();
  }

  #tell() {
    const [column, row] = this.#at;
    const at = this.#past.last - SECONDS + 1 + column;
    const second = this.#past.at(at);
    const thing = this.#rows[row];
    if (thing) say($("heat-tip"), `${format.clock(1000 * at)}, ${thing.name}: ${second ? thing.tell(second) : "not known"}`);
  }
}

/** Colours from cold to hot: ever darker in light, ever lighter in dark, so that colour is not all. */
const RAMPS = {
  light: [[219, 233, 246], [140, 186, 224], [246, 205, 110], [229, 113, 52], [150, 16, 36]],
  dark: [[24, 48, 82], [44, 104, 164], [176, 132, 44], [238, 120, 58], [255, 214, 196]],
};

function ramp(value) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const stops = RAMPS[dark ? "dark" : "light"];
  const at = Math.max(0, Math.min(1, value)) * (stops.length - 1);
  const from = Math.min(stops.length - 2, Math.floor(at));
  const mixed = stops[from].map((part, i) => Math.round(part + (at - from) * (stops[from + 1][i] - part)));
  return `rgb(${mixed.join(" ")})`;
}

function hatch(draw, scale) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6 * scale;
  const lines = tile.getContext("2d");
  lines.strokeStyle = colour("--line");
  lines.lineWidth = scale;
  lines.moveTo(0, tile.height);
  lines.lineTo(tile.width, 0);
  lines.stroke();
  return draw.createPattern(tile, "repeat");
}
