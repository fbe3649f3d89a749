// One map: what it is, its storms, how long operations take, who calls.

import { ask } from "./api.js";
import { $, colour, el, say } from "./dom.js";
import * as buckets from "./buckets.js";
import * as format from "./format.js";
import { kind } from "./verdict.js";

export class Detail {
  #id = null;
  #what = null;
  #map = null;
  #plot = null;
  #parts = null;

  constructor() {
    const dialog = $("detail");
    dialog.addEventListener("close", () => this.#closed());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    addEventListener("hashchange", () => this.#follow());
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(dialog);
    this.#follow();
  }

  /** Shows a map; its address can be kept and sent. */
  open(id) {
    location.hash = `map/${id}`;
  }

  #follow() {
    const id = /^#map\/([0-9]+)$/.exec(location.hash)?.[1];
    if (id === undefined) return $("detail").close();
    if (this.#id !== Number(id)) {
      this.#id = Number(id);
      this.#what = null;
      this.#build();
    }
    if (!$("detail").open) $("detail").showModal();
    return this.refresh();
  }

  #closed() {
    this.#id = null;
    this.#plot?.destroy();
    this.#plot = null;
    if (location.hash.startsWith("#map/")) history.replaceState(null, "", location.pathname + location.search);
  }

  /** Asks for the newest about the map that is open. */
  async refresh() {
    const id = this.#id;
    if (id === null) return;
    try {
      const map = await ask(`maps/${id}`);
      if (id === this.#id) this.#show(map);
    } catch (error) {
      if (id === this.#id) say(this.#parts.note, error.status === 404 ? "The map is gone; what is shown is the last that was known of it." : `Not known: ${error.message}`);
    }
  }

  #build() {
    this.#plot?.destroy();
    this.#plot = null;
    const part = (name, className = "") => el(name, { className });
    const close = el("button", { type: "button", className: "close", "aria-label": "Close" }, "×");
    close.addEventListener("click", () => $("detail").close());
    const select = el("select", {});
    select.addEventListener("change", () => {
      this.#what = select.value;
      this.#histogram();
    });
    this.#parts = { title: el("h2", { id: "detail-title" }, `map ${this.#id}`), note: part("p", "note"), storms: part("div"), facts: part("dl", "facts"), select, quantiles: part("p"), chart: part("div", "chart"), callers: part("div"), outcomes: part("div", "scroll"), users: part("div") };
    const { title, note, storms, facts, quantiles, chart, callers, outcomes, users } = this.#parts;
    say(note, "Asking the daemon.");
    $("detail").replaceChildren(
      el("div", { className: "head" }, title, close),
      note, storms, facts,
      el("section", {}, el("div", { className: "head" }, el("h3", {}, "How long it takes"), el("label", {}, "Of ", select)), quantiles, chart),
      el("section", {}, el("h3", {}, "Who calls"), callers),
      el("section", {}, el("h3", {}, "Operations"), outcomes),
      el("section", {}, el("h3", {}, "Programs that use it"), users),
    );
  }

  #show(map) {
    const { title, note, storms, facts, select, callers, outcomes, users } = this.#parts;
    this.#map = map;
    const unfolded = new Set([...callers.querySelectorAll("details[open]")].map((open) => open.dataset.who));
    say(title, `${map.name || "(no name)"}, map ${map.id}`);
    say(note, "");
    storms.replaceChildren(...map.open_storms.map((storm) => el("article", { className: "storm", "data-severity": storm.severity ?? "minor" }, el("p", {}, `${kind(storm)}. ${storm.evidence ?? ""}`), el("p", {}, el("strong", {}, storm.advice.action), `: ${storm.advice.reason}`))));
    const told = [
      ["type", map.type],
      ["elements", map.entries === null ? `unknown, of ${map.max_entries}` : `${map.entries} of ${map.max_entries}`],
      ["key and value", map.key_size === null ? format.UNKNOWN : `${map.key_size} + ${map.value_size} bytes`],
      ["memory", format.bytes(map.memory_bytes)],
      ["flags", `0x${map.flags.toString(16)}`],
      ["updates", `${format.count(map.rates?.updates_per_second)}/s`],
      ["refused", `${format.count(map.rates?.rejects_per_second)}/s`],
      ["CPU cost", format.cpu(map.rates?.busy)],
    ];
    facts.replaceChildren(...told.map(([what, value]) => el("div", {}, el("dt", {}, what), el("dd", {}, value))));
    const choices = [...this.#histograms().keys()];
    if (!choices.includes(this.#what)) this.#what = choices[0] ?? null;
    if ([...select.options].map((option) => option.value).join() !== choices.join()) {
      select.replaceChildren(...choices.map((what) => el("option", { value: what }, what)));
    }
    if (this.#what) select.value = this.#what;
    this.#histogram();
    callers.replaceChildren(...this.#callers(map, unfolded));
    outcomes.replaceChildren(operations(map));
    const programs = map.users.map((user) => el("li", {}, `${user.prog_id} "${user.prog_name}" (${user.prog_type})`));
    users.replaceChildren(programs.length > 0 ? el("ul", {}, ...programs) : el("p", { className: "note" }, "No program is known to use it."));
  }

  #histograms() {
    const { durations, pop_durations: pops, lock_durations: locks } = this.#map;
    const all = new Map(Object.entries(durations));
    if (pops) all.set("freelist pop", pops);
    for (const [place, waits] of Object.entries(locks)) all.set(`wait for ${place} lock`, waits);
    return all;
  }

  #size() {
    return { width: Math.max(200, this.#parts?.chart.clientWidth ?? 200), height: 200 };
  }

  #histogram() {
    const { quantiles, chart } = this.#parts;
    const histogram = this.#what ? this.#histograms().get(this.#what) : null;
    if (!histogram || histogram.count === 0) {
      this.#plot?.destroy();
      this.#plot = null;
      say(quantiles, "Nothing was timed on this map.");
      return;
    }
    const { p50, p90, p99 } = histogram.quantiles;
    const tell = (q) => format.duration(q ?? Infinity);
    say(quantiles, `${histogram.count} timed since the daemon began to count: half took at most ${tell(p50)}, 90 of 100 ${tell(p90)}, 99 of 100 ${tell(p99)}.`);
    const low = histogram.buckets[0].index - 1;
    const high = histogram.buckets.at(-1).index + 1;
    const counts = new Map(histogram.buckets.map((bucket) => [bucket.index, bucket.count]));
    const xs = Array.from({ length: high - low + 1 }, (_, i) => low + i);
    const data = [xs, xs.map((at) => counts.get(at) ?? 0)];
    if (this.#plot) this.#plot.setData(data);
    else this.#plot = new window.uPlot(this.#options(), data, chart);
  }

  #options() {
    const [ink, line, blue] = [colour("--quiet"), colour("--line"), colour("--blue")];
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    return {
      ...this.#size(),
      cursor: { y: false },
      scales: { x: { time: false }, y: { range: (_, low, high) => [0, Math.max(1, high)] } },
      axes: [
        { ...axis, space: 70, incrs: [1, 2, 4, 8, 16], values: (_, ticks) => ticks.map((at) => format.duration(buckets.bound(at))) },
        { ...axis, values: (_, ticks) => ticks.map((tick) => format.count(tick)), size: 52 },
      ],
      series: [
        { label: "at most", value: (_, at) => (at === null ? "" : format.duration(buckets.bound(at))) },
        { label: "events", stroke: blue, fill: blue, paths: window.uPlot.paths.bars({ size: [0.9] }), points: { show: false }, value: (_, events) => (events === null ? "" : String(events)) },
      ],
    };
  }

  #callers(map, unfolded) {
    if (map.callers.length === 0) return [el("p", { className: "note" }, "Nobody is known: no refused or slow call was sampled.")];
    return map.callers.map((top) => {
      const newest = `newest: ${top.op}, ${top.outcome}, ${top.duration_ns > 0 ? format.duration(top.duration_ns / 1e9) : "duration unknown"}; ${top.samples} samples`;
      const stack = el("ol", { className: "stack" }, ...(top.stack ?? []).map((frame) => el("li", {}, frame)));
      const who = `${top.source} ${top.prog_id ?? top.pid ?? ""}`;
      return el("details", { "data-who": who, open: unfolded.has(who) }, el("summary", {}, format.caller(top)), el("p", { className: "note" }, newest), stack);
    });
  }
}

function operations(map) {
  const names = Object.keys(map.operations);
  const outcomes = [...new Set(names.flatMap((name) => Object.entries(map.operations[name]).filter(([, count]) => count > 0).map(([outcome]) => outcome)))];
  if (outcomes.length === 0) return el("p", { className: "note" }, "None was seen since the daemon began to count.");
  const head = ["operation", ...outcomes].map((text) => el("th", { scope: "col" }, text));
  const rows = names.map((name) => el("tr", {}, el("th", { scope: "row" }, name), ...outcomes.map((outcome) => el("td", { className: "number" }, String(map.operations[name][outcome] ?? 0)))));
  return el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
}
