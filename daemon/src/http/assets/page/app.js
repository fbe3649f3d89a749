// Wires the daemon's events to what is shown.

import { ask } from "./api.js";
import { $, say } from "./dom.js";
import { Detail } from "./detail.js";
import * as format from "./format.js";
import { Heat } from "./heat.js";
import { Maps } from "./maps.js";
import { Past } from "./past.js";
import { drawProbes, popsTimed } from "./probes.js";
import { Rates } from "./rates.js";
import { Stream } from "./stream.js";
import { Timeline } from "./timeline.js";
import { Verdict } from "./verdict.js";

/** Lists are asked for as often at most, ms. */
const PACE = 2000;

const past = new Past();
const detail = new Detail();
const open = (id) => detail.open(id);
const verdict = new Verdict(open);
const timeline = new Timeline(open);
const heat = new Heat(past);
const rates = new Rates(past);
const maps = new Maps(open);

let [run, frame, probes, lost, asked, drawn] = [null, null, null, false, 0, false];

/** Lists that change with time; nobody looks at a hidden page. */
function refresh(now = false) {
  if (document.hidden || (!now && Date.now() - asked < PACE)) return;
  asked = Date.now();
  maps.refresh();
  detail.refresh();
}

async function askProbes() {
  try {
    probes = await ask("probes");
    drawProbes(probes);
    heat.pops(popsTimed(probes));
    verdict.draw(frame, probes, lost);
  } catch (error) {
    say($("probes-text"), `Not known: ${error.message}`);
  }
}

async function askStorms() {
  try {
    timeline.past((await ask("storms")).closed);
  } catch {
    // The banner tells that the link is lost; the next storm or the next link asks again.
  }
}

/** Draws at most once a frame, however many windows come at once. */
function draw() {
  if (drawn) return;
  drawn = true;
  requestAnimationFrame(() => {
    drawn = false;
    verdict.draw(frame, probes, lost);
    if (frame?.storms) timeline.now(frame.storms, Date.parse(frame.time));
    heat.draw();
    rates.draw();
  });
}

new Stream({
  hello(hello) {
    // Another daemon counts its windows anew, and may run another kernel.
    if (run !== null && run !== hello.started) past.clear();
    run = hello.started;
    say($("host"), `Linux ${hello.kernel.release}`);
    askProbes();
    askStorms();
    refresh(true);
  },
  window(window) {
    if (frame && frame.phase !== window.phase) askProbes();
    past.add(window);
    frame = window;
    draw();
    refresh();
  },
  storm() {
    askStorms();
    refresh(true);
  },
  link(state, heard) {
    lost = state === "lost";
    document.body.dataset.link = state;
    say($("link"), { connecting: "connecting", live: "live", lost: "not live" }[state]);
    $("offline").hidden = !lost;
    if (lost) say($("offline"), `The connection to the daemon is lost. What is shown ended ${format.span((Date.now() - heard) / 1000)} ago, at ${format.clock(heard)}. Trying again.`);
    draw();
  },
});

document.addEventListener("visibilitychange", () => {
  draw();
  refresh(true);
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, select, textarea, dialog");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    $("filter").focus();
  }
  if (event.key === "Escape" && event.target === $("filter")) {
    $("filter").value = "";
    maps.refresh();
  }
});
