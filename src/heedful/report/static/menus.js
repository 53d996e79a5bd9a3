// A small menu: a button that shows a few others.

import { button, make } from "./dom.js";

/** `choices` are [label, what to do]. It closes after a choice, by Escape, or when left. */
export function menu(label, about, choices) {
  const items = choices.map(([name, act]) => button(name, () => run(act), { class: "quiet" }));
  const summary = make("summary", { class: "quiet", "aria-label": `${label}: ${about}` }, label);
  const element = make("details", { class: "menu" }, summary, make("div", { class: "menu-items" }, ...items));
  const run = async (act) => {
    element.open = false;
    summary.focus();
    await act();
  };
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    event.stopPropagation();
    event.preventDefault();
    element.open = false;
    summary.focus();
  });
  element.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !element.contains(event.relatedTarget)) element.open = false;
  });
  element.addEventListener("toggle", () => watchOutside(element));
  return element;
}

function watchOutside(element) {
  if (!element.open) return;
  const close = (event) => {
    if (element.open && element.contains(event.target)) return;
    element.open = false;
    document.removeEventListener("pointerdown", close);
  };
  document.addEventListener("pointerdown", close);
}
