// What is seen of this kernel, what is not, and why.

import { $, el, say } from "./dom.js";
import * as format from "./format.js";

const HOW = { locks_every_list: "an update on a full map locks every CPU's free list", looks_first: "an update on a full map looks at every CPU's free list before it locks one" };
const SOURCES = { program: "by programs", probe_program: "by programs of probes", syscall: "by bpf(2)", "": "on the host" };

/** Whether the list says that freelist pops are timed. */
export const popsTimed = (list) => list.probes.some((probe) => probe.hook === "__pcpu_freelist_pop" && probe.refusal === null);

export function drawProbes(list) {
  const missing = list.probes.filter((probe) => probe.refusal !== null);
  say($("host"), `Linux ${list.kernel.release}`);
  say($("version"), `mapstorm ${list.build.version}, revision ${list.build.revision}; a sample every ${format.duration(list.sample_seconds)}`);
  const how = HOW[list.kernel.freelist];
  say($("probes-text"), `${list.probes.length - missing.length} of ${list.probes.length} probes are attached.${how ? ` On this kernel ${how}.` : ""}`);
  drawCoverage(list.coverage);
  const rows = list.probes.map((probe) => el("tr", { "data-attached": String(probe.refusal === null) }, ...[probe.probe, probe.signal, probe.hook, probe.mechanism].map((text) => el("td", {}, text)), el("td", {}, state(probe))));
  $("probes-table").tBodies[0].replaceChildren(...rows);
}

function state({ refusal }) {
  if (refusal === null) return "attached";
  return [refusal.reason, refusal.detail, refusal.remedy].filter((text) => text).join(": ");
}

function drawCoverage(rows) {
  const signals = new Map();
  for (const row of rows) signals.set(row.signal, [...(signals.get(row.signal) ?? []), row]);
  const items = [...signals].map(([signal, of]) => {
    const least = Math.min(...of.map((row) => row.ratio));
    const differs = of.some((row) => row.ratio !== least);
    const word = least === 1 ? "all" : !differs && least === 0 ? "not seen" : !differs ? format.percent(least) : of.map((row) => `${SOURCES[row.source] ?? row.source} ${format.percent(row.ratio)}`).join(", ");
    return el("li", { "data-seen": least === 1 ? "all" : least === 0 && !differs ? "none" : "part" }, el("span", {}, signal.replaceAll("_", " ")), " ", el("span", {}, word));
  });
  $("coverage").replaceChildren(el("ul", {}, ...items));
}
