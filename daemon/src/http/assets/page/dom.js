// Elements without markup in strings: nothing that the kernel names can become HTML.

export const $ = (id) => document.getElementById(id);

/** An element with properties, `data-…` and `aria-…` attributes, and children. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (name.includes("-") || name === "role" || name === "scope" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Sets text only where it changes: a screen reader says it once, and a selection stays. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let pressed = false;
addEventListener("pointerdown", () => (pressed = true), true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => (pressed = false), true);

/**
 * Replaces what changes all the time: whoever stands on a `data-focus` stays on it. Nothing is replaced
 * under a finger, or its click would meet nothing; the next window brings it.
 */
export function swap(parent, ...children) {
  if (pressed && parent.childElementCount > 0) return;
  const active = document.activeElement;
  const key = parent.contains(active) ? active.dataset.focus : undefined;
  parent.replaceChildren(...children);
  if (key) parent.querySelector(`[data-focus="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

/** A colour of the style sheet. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Calls back when light turns to dark or back. */
export function onScheme(changed) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
