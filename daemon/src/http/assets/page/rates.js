// Updates and refusals a second over the last minutes, and how long updates take: by uPlot.

import { $, colour, onScheme } from "./dom.js";
import * as buckets from "./buckets.js";
import * as format from "./format.js";

const SECONDS = 120;
const HEIGHT = 220;

export class Rates {
  #past;
  #plot = null;

  constructor(past) {
    this.#past = past;
    onScheme(() => this.#rebuild());
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe($("rates"));
  }

  draw() {
    const data = [[], [], [], []];
    for (const [at, second] of this.#past.span(SECONDS)) {
      data[0].push(at);
      const rate = (events) => (second && second.covered > 0 ? events / second.covered : null);
      data[1].push(rate(second?.updates));
      data[2].push(rate(second?.rejects));
      const p99 = second ? buckets.quantile(second.host.update, 0.99) : null;
      data[3].push(p99 === null ? null : Math.min(64, buckets.bound(p99)));
    }
    if (data[0].length === 0) return;
    if (this.#plot) this.#plot.setData(data);
    else this.#build(data);
    // Who points at nothing reads the newest.
    if ((this.#plot.cursor.idx ?? null) === null) this.#plot.setLegend({ idx: data[0].length - 1 }, false);
  }

  #rebuild() {
    this.#plot?.destroy();
    this.#plot = null;
    this.draw();
  }

  #size() {
    return { width: Math.max(200, $("rates").clientWidth), height: HEIGHT };
  }

  #build(data) {
    const [ink, line] = [colour("--quiet"), colour("--line")];
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const known = (tell) => (_, value) => (value === null || value === undefined ? format.UNKNOWN : tell(value));
    const options = {
      ...this.#size(),
      cursor: { y: false },
      legend: { live: true },
      scales: { y: { range: (_, low, high) => [0, Math.max(10, high * 1.1)] }, seconds: { distr: 3, range: (_, low, high) => [Math.min(low ?? 1e-6, 1e-6) / 2, Math.max(high ?? 1e-3, 1e-4) * 2] } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((tick) => format.clock(1000 * tick)), space: 90 },
        { ...axis, values: (_, ticks) => ticks.map((tick) => format.count(tick)), size: 52 },
        { ...axis, scale: "seconds", side: 1, grid: { show: false }, ticks: { show: false }, values: (_, ticks) => ticks.map((tick) => (tick === null || Math.abs(Math.log10(tick) % 1) > 1e-6 ? "" : format.duration(tick))), size: 66 },
      ],
      series: [
        { label: "at", value: known((at) => format.clock(1000 * at)) },
        { label: "updates/s", stroke: colour("--blue"), width: 2, value: known(format.count) },
        { label: "refused/s", stroke: colour("--red"), width: 2, value: known(format.count) },
        { label: "update p99", scale: "seconds", stroke: colour("--amber"), dash: [4, 3], width: 1.5, value: known(format.duration) },
      ],
    };
    this.#plot = new window.uPlot(options, data, $("rates"));
  }
}
