// The maps by cost. The daemon sorts and filters: it may have ten thousand.

import { ask } from "./api.js";
import { $, el, say, swap } from "./dom.js";
import * as format from "./format.js";

/** Maps shown. */
const LIMIT = 100;
/** Typing is over after this, ms. */
const PAUSE = 200;

const worst = (quantiles) => (quantiles ? (quantiles.p99 ?? Infinity) : null);

const COLUMNS = [
  { key: "id", title: "Id", number: true, cell: (map) => String(map.id) },
  { key: "name", title: "Name", cell: null },
  { key: "type", title: "Type", cell: (map) => map.type },
  { key: "cost", title: "CPU cost", number: true, hint: "CPU time that operations take, of one CPU", cell: (map) => format.cpu(map.rates?.busy) },
  { key: "updates", title: "Updates/s", number: true, cell: (map) => format.count(map.rates?.updates_per_second) },
  { key: "rejects", title: "Refused/s", number: true, cell: (map) => format.count(map.rates?.rejects_per_second) },
  { key: "p99", title: "Update p99", number: true, hint: "since the daemon began to count", cell: (map) => format.duration(worst(map.update_quantiles)) },
  { key: "fill", title: "Fill", cell: fill },
  { key: "memory", title: "Memory", number: true, cell: (map) => format.bytes(map.memory_bytes) },
];

function fill(map) {
  if (map.fill === null) return el("span", { className: "unknown" }, format.UNKNOWN);
  const bar = el("span", { className: "fill", "data-full": String(map.fill >= 0.9) }, el("span", {}));
  bar.firstChild.style.width = `${Math.min(100, 100 * map.fill)}%`;
  const entries = `${map.entries} of ${map.max_entries}`;
  return el("span", { className: "filled", title: entries }, bar, el("span", {}, format.percent(map.fill)));
}

export class Maps {
  #open;
  #sort = "cost";
  #order = "desc";
  #asking = null;
  #again = false;

  constructor(open) {
    this.#open = open;
    const heads = COLUMNS.map((column) => {
      const button = el("button", { type: "button", title: column.hint ?? `sort by ${column.title.toLowerCase()}` }, column.title);
      button.addEventListener("click", () => this.#sortBy(column));
      return el("th", { scope: "col", className: column.number ? "number" : "", "data-key": column.key }, button);
    });
    $("maps-table").tHead.rows[0].append(...heads);
    let typed = null;
    $("filter").addEventListener("input", () => {
      clearTimeout(typed);
      typed = setTimeout(() => this.refresh(), PAUSE);
    });
    $("maps-table").tBodies[0].addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-id]");
      if (row) this.#open(Number(row.dataset.id));
    });
    $("maps-table").addEventListener("keydown", (event) => this.#walk(event));
    this.#mark();
  }

  /** Asks anew. While an answer is awaited only one more question waits. */
  async refresh() {
    if (this.#asking) {
      this.#again = true;
      return;
    }
    const query = new URLSearchParams({ sort: this.#sort, order: this.#order, limit: LIMIT });
    const name = $("filter").value.trim();
    if (name) query.set("name", name);
    this.#asking = ask(`maps?${query}`);
    try {
      this.#show(await this.#asking);
    } catch (error) {
      say($("maps-count"), `not known: ${error.message}`);
    }
    this.#asking = null;
    if (this.#again) {
      this.#again = false;
      await this.refresh();
    }
  }

  #sortBy({ key, cell }) {
    const number = !["id", "name", "type"].includes(key);
    const first = number ? "desc" : "asc";
    const other = { asc: "desc", desc: "asc" };
    this.#order = this.#sort === key ? other[this.#order] : first;
    this.#sort = key;
    this.#mark();
    this.refresh();
  }

  #mark() {
    for (const head of $("maps-table").tHead.rows[0].cells) {
      const here = head.dataset.key === this.#sort;
      if (here) head.setAttribute("aria-sort", this.#order === "asc" ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
  }

  #show(list) {
    const shown = list.maps.length;
    say($("maps-count"), shown === list.total ? `${list.total} maps` : `${shown} of ${list.total} maps`);
    const body = $("maps-table").tBodies[0];
    const none = el("tr", {}, el("td", { colSpan: COLUMNS.length }, "No map of that name."));
    swap(body, ...(shown === 0 ? [none] : list.maps.map((map) => this.#row(map))));
  }

  #row(map) {
    const cells = COLUMNS.map(({ key, title, number, cell }) => {
      const content = key === "name" ? this.#name(map) : cell(map);
      const unknown = content === format.UNKNOWN ? "unknown" : "";
      return el("td", { className: `${number ? "number" : ""} ${unknown}`.trim(), "data-key": key, "data-title": title }, content);
    });
    return el("tr", { "data-id": String(map.id), "data-storm": String(map.storms.length > 0) }, ...cells);
  }

  #name(map) {
    const storms = map.storms.map((kind) => el("span", { className: "badge" }, kind));
    return el("span", { className: "named" }, el("button", { type: "button", className: "link", "data-focus": String(map.id), "aria-label": `${map.name || "no name"}, map ${map.id}: open` }, map.name || "(no name)"), ...storms);
  }

  #walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest("tr");
    if (!step || !row) return;
    event.preventDefault();
    const rows = [...$("maps-table").rows];
    rows[rows.indexOf(row) + step]?.querySelector("button")?.focus();
  }
}
