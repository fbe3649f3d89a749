// Numbers as people read them. What is not known is never 0.

export const UNKNOWN = "unknown";

const SCALES = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];

const digits = (number) => number.toFixed(number >= 100 ? 0 : number >= 10 ? 1 : 2);

/** A count or a rate: 1.24k. */
export function count(number) {
  if (number === null || number === undefined) return UNKNOWN;
  for (const [scale, letter] of SCALES) {
    if (number >= scale) return digits(number / scale) + letter;
  }
  return number >= 10 || Number.isInteger(number) ? number.toFixed(0) : digits(number);
}

/** A duration in seconds: 1.20 ms. Infinity is longer than the last bucket. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  if (seconds === Infinity) return "> 64 s";
  for (const [scale, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
    if (seconds >= scale) return `${digits(seconds / scale)} ${unit}`;
  }
  return `${(seconds * 1e9).toFixed(0)} ns`;
}

/** How long ago or how long: 3 min 20 s. */
export function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const told = [];
  let rest = whole;
  for (const [size, unit] of parts) {
    if (rest >= size && told.length < 2) told.push(`${Math.floor(rest / size)} ${unit}`);
    rest %= size;
  }
  return told.join(" ") || "0 s";
}

export function bytes(number) {
  if (number === null || number === undefined) return UNKNOWN;
  for (const [scale, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (number >= scale) return `${digits(number / scale)} ${unit}`;
  }
  return `${number} B`;
}

export function percent(ratio) {
  if (ratio === null || ratio === undefined) return UNKNOWN;
  return `${(100 * ratio).toFixed(ratio < 0.1 && ratio > 0 ? 1 : 0)} %`;
}

/** Share of a CPU: 1 is a whole one. */
export function cpu(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  return seconds >= 1 ? `${digits(seconds)} CPUs` : percent(seconds);
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

/** A time as the clock on the wall has it, with the day where that is another. */
export function clock(time) {
  if (time === null || Number.isNaN(time)) return UNKNOWN;
  const date = new Date(time);
  const today = new Date().toDateString() === date.toDateString();
  return today ? CLOCK.format(date) : `${DAY.format(date)} ${CLOCK.format(date)}`;
}

/** Who called, in a line. */
export function caller(top) {
  const who = {
    program: () => `program ${top.prog_id} "${top.prog_name}" (${top.prog_type})`,
    process: () => `process ${top.pid} "${top.comm}"${top.cgroup ? ` in ${top.cgroup}` : ""}`,
  }[top.source];
  return `${who ? who() : "unknown caller"}, ${percent(top.share)} of samples`;
}
