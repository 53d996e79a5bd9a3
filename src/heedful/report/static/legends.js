// Legends as switches: one series stands out, the others fade, in all charts beside the legend.

import { make } from "./dom.js";

const MARKS = ".role-mark path, .role-mark line, .role-mark rect, .role-mark text";

/** The legend's [words, colour] that belong to a chart; none where it has no legend. */
export function seriesOf(chart) {
  const list = legendOf(chart);
  return list ? [...list.children].map((entry) => [wordsOf(entry), colourOf(entry)]) : [];
}

export function startLegends(root) {
  for (const list of root.querySelectorAll("ul.legend")) {
    const charts = chartsOf(list);
    if (list.children.length < 2 || charts.length === 0 || list.dataset.live) continue;
    list.dataset.live = "yes";
    for (const entry of list.children) switchOf(entry, list);
  }
}

/** Fade what the legend of this chart says; after it was drawn anew. */
export function repaint(chart) {
  const list = legendOf(chart);
  if (list) paint(chart, chosenOf(list), seriesOf(chart).map(([, colour]) => colour));
}

function switchOf(entry, list) {
  const colour = colourOf(entry);
  const toggle = make("button", { type: "button", "aria-pressed": "false", "data-colour": colour,
    title: "Let this stand out" }, ...entry.childNodes);
  toggle.addEventListener("click", () => {
    const on = toggle.getAttribute("aria-pressed") === "true";
    for (const each of list.querySelectorAll("button")) each.setAttribute("aria-pressed", "false");
    toggle.setAttribute("aria-pressed", String(!on));
    chartsOf(list).forEach(repaint);
  });
  entry.replaceChildren(toggle);
}

/** A mark fades if it has another entry's colour and not the chosen one. */
function paint(chart, chosen, colours) {
  const there = chosen !== null && chart.querySelector(`.role-mark [fill="${chosen}"], .role-mark [stroke="${chosen}"]`);
  for (const mark of chart.querySelectorAll(MARKS)) {
    const own = [mark.getAttribute("fill"), mark.getAttribute("stroke")];
    const other = own.some((colour) => colours.includes(colour)) && !own.includes(chosen);
    mark.classList.toggle("faded", Boolean(there) && other);
  }
}

function chosenOf(list) {
  return list.querySelector('button[aria-pressed="true"]')?.dataset.colour ?? null;
}

function chartsOf(list) {
  return [...list.parentElement.querySelectorAll(".chart")];
}

/** The legend beside the chart: in the nearest element around it that has one. */
function legendOf(chart) {
  const around = chart.closest(".group, .card");
  return around?.querySelector("ul.legend") ?? null;
}

function wordsOf(entry) {
  const inner = entry.querySelector("button") ?? entry;
  const words = [...inner.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
  return words.map((node) => node.textContent).join(" ").trim();
}

function colourOf(entry) {
  const painted = entry.querySelector("[fill]")?.getAttribute("fill");
  return painted ?? hex(entry.querySelector(".swatch")?.style.backgroundColor ?? "");
}

function hex(colour) {
  const parts = colour.match(/\d+/g) ?? [];
  return `#${parts.slice(0, 3).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
}
