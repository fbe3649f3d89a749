// Is there a storm? In one line, with all that someone needs who was woken by it.

import { $, el, say, swap } from "./dom.js";
import * as format from "./format.js";

const KINDS = {
  full: "The map is full and refuses updates",
  alloc: "No memory for new elements",
  freelist: "CPUs fight for the map's free elements",
  lru: "CPUs fight for the map's LRU lists",
  hot_bucket: "CPUs fight for one bucket",
};

export const kind = (storm) => KINDS[storm.kind] ?? storm.kind;

export class Verdict {
  #open;

  /** `open` shows a map. */
  constructor(open) {
    this.#open = open;
  }

  /** Draws what the newest window and the list of probes say; either may be missing. */
  draw(frame, probes, lost) {
    const storms = frame?.storms ?? [];
    const [word, title, text] = judge(frame, storms, probes, lost);
    $("verdict").dataset.verdict = word;
    say($("verdict-title"), title);
    say($("verdict-text"), text);
    document.title = storms.length > 0 && !lost ? `${title} – mapstorm` : "mapstorm";
    this.#cards(storms, frame);
  }

  #cards(storms, frame) {
    const at = frame?.time ? Date.parse(frame.time) : null;
    const cards = [...storms].sort((a, b) => (b.cpu_seconds_per_second ?? 0) - (a.cpu_seconds_per_second ?? 0));
    swap($("storms"), ...cards.map((storm) => this.#card(storm, at)));
  }

  #card(storm, at) {
    const since = storm.opened.time ? Date.parse(storm.opened.time) : null;
    const facts = [
      ["since", since === null ? format.UNKNOWN : `${format.clock(since)}${at === null ? "" : `, for ${format.span((at - since) / 1000)}`}`],
      ["CPUs in it", `${storm.cpus} (most ${storm.peak_cpus})`],
      ["refused", `${format.count(storm.rejects_per_second)}/s (most ${format.count(storm.peak_rejects_per_second)}/s)`],
      ["CPU time burnt", format.cpu(storm.cpu_seconds_per_second)],
      ["full to", format.percent(storm.fill)],
    ];
    const callers = storm.callers.map((top) => el("li", {}, format.caller(top)));
    const name = el("button", { type: "button", className: "link", "data-focus": `${storm.map_id} ${storm.kind}` }, `${storm.map_name || "(no name)"}`);
    name.addEventListener("click", () => this.#open(storm.map_id));
    return el(
      "article",
      { className: "storm", "data-severity": storm.severity ?? "minor" },
      el("h3", {}, name, ` map ${storm.map_id}, ${storm.map_type} `, el("span", { className: "badge" }, storm.severity ?? "storm"), " ", el("span", { className: "badge plain" }, storm.kind)),
      el("p", {}, `${kind(storm)}. `, storm.evidence ? `${storm.evidence}.` : ""),
      el("dl", { className: "facts" }, ...facts.map(([what, value]) => el("div", {}, el("dt", {}, what), el("dd", {}, value)))),
      el("div", { className: "who" }, el("h4", {}, "Who does it"), callers.length > 0 ? el("ul", {}, ...callers) : el("p", {}, "unknown: no call was sampled yet")),
      el("div", { className: "advice" }, el("h4", {}, "What to change"), el("p", {}, el("strong", {}, storm.advice.action), `: ${storm.advice.reason}`)),
    );
  }
}

function judge(frame, storms, probes, lost) {
  if (!frame || frame.storms === null) {
    return ["unknown", "Not known yet", lost ? "The daemon does not answer." : "Waiting for the daemon's first sample."];
  }
  const stale = lost ? " That was when the connection was lost." : "";
  if (storms.length > 0) {
    const names = [...new Set(storms.map((storm) => storm.map_name || `map ${storm.map_id}`))];
    const told = names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
    const title = `Storm on ${told}`;
    return [lost ? "unknown" : "storm", title, `${storms.length === 1 ? "One storm is" : `${storms.length} storms are`} open.${stale}`];
  }
  if (frame.phase === "starting") return ["unknown", "Not known yet", `Probes are being attached.${stale}`];
  if (frame.phase === "stopping") return ["unknown", "The daemon stops", "What is shown is the last it has seen."];
  const blind = (probes?.coverage ?? []).filter((row) => row.signal.startsWith("storm_") && row.ratio === 0);
  const kinds = blind.map((row) => row.signal.slice("storm_".length).replace("_", " "));
  if (kinds.length === 5) {
    return ["unknown", "Storms cannot be seen here", "This kernel shows no updates by map; see below what is missing and why."];
  }
  const but = kinds.length > 0 ? ` Storms of kind ${kinds.join(", ")} cannot be seen here.` : "";
  return [lost ? "unknown" : "calm", lost ? "No storm when last seen" : "No storm", `${frame.maps_total} maps, ${frame.maps_moved} of them in use, ${format.count(frame.host.rates.updates_per_second)} updates/s, ${format.count(frame.host.rates.rejects_per_second)} refused/s.${but}${stale}`];
}
