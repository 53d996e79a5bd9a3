// The list of texts: search, filter, sort. Lines are drawn as they come into sight.

import { fill, make } from "./dom.js";
import { ListControls } from "./list_controls.js";
import { lineOf } from "./list_line.js";
import { counted } from "./numbers.js";
import { matching, sorted } from "./sorting.js";

const BATCH = 50;
const FAR = 300; // lines that are drawn at once to show where a text stands
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };

/** `open(row)` is called with the text that was chosen. */
export class ExampleList {
  constructor(open) {
    this.open = open;
    this.rows = [];
    this.controls = new ListControls(() => this.draw(), () => this.#focus(0));
    this.hits = make("p", { class: "x-hits", role: "status", "aria-live": "polite" });
    this.lines = make("ol", { class: "x-lines" });
    this.more = make("button", { type: "button", class: "x-more", onclick: () => this.#more() },
      "Show more texts");
    this.scroll = make("div", { class: "x-sheet" }, this.lines, this.more);
    this.element = make("section", { class: "x-list", "aria-label": "List of texts" },
      this.controls.element, this.hits, this.scroll);
    this.lines.addEventListener("keydown", (event) => this.#key(event));
    new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && this.#more(),
      { root: this.scroll, rootMargin: "400px" }).observe(this.more);
  }

  show(cell) {
    this.cell = cell;
    this.chosen = null;
    this.controls.show(cell);
    this.draw();
  }

  draw() {
    const { typed, filter, key, descending } = this.controls;
    this.rows = sorted(matching(this.cell.rows, typed, filter), key, descending);
    fill(this.lines);
    this.scroll.scrollTop = 0;
    this.hits.textContent = said(this.rows.length, this.cell);
    this.#more();
  }

  /** The text that is shown beside the list; the list goes there unless it is far down. */
  mark(row) {
    this.chosen = row;
    const place = this.rows.indexOf(row);
    if (place < FAR) this.#until(place);
    for (const line of this.lines.children) this.#dress(line.firstChild);
    this.#reveal(this.lines.children[place]);
  }

  /** Scrolls the list alone, never the page. */
  #reveal(line) {
    if (!line) return;
    const [box, frame] = [line, this.scroll].map((each) => each.getBoundingClientRect());
    if (box.top < frame.top) this.scroll.scrollTop -= frame.top - box.top;
    if (box.bottom > frame.bottom) this.scroll.scrollTop += box.bottom - frame.bottom;
  }

  #until(place) {
    while (this.lines.childElementCount <= place && !this.more.hidden) this.#more();
  }

  #more() {
    const from = this.lines.childElementCount;
    const next = this.rows.slice(from, from + BATCH);
    this.lines.append(...next.map((row, i) => make("li", {}, this.#line(row, from + i))));
    this.more.hidden = this.lines.childElementCount >= this.rows.length;
  }

  #line(row, place) {
    const element = lineOf(this.cell, row, this.controls);
    element.dataset.place = place;
    element.addEventListener("click", () => this.open(row));
    this.#dress(element);
    return element;
  }

  /** One line can be reached by the tab key: the chosen one, else the first. */
  #dress(element) {
    const place = Number(element.dataset.place);
    const chosen = this.rows[place] === this.chosen;
    const first = place === 0 && !this.rows.includes(this.chosen);
    element.toggleAttribute("aria-current", chosen);
    if (chosen) element.setAttribute("aria-current", "true");
    element.tabIndex = chosen || first ? 0 : -1;
  }

  #key(event) {
    const here = Number(event.target.closest("[data-place]")?.dataset.place ?? NaN);
    const to = { Home: 0, End: this.rows.length - 1 }[event.key] ?? here + (STEPS[event.key] ?? NaN);
    if (Number.isNaN(to)) return;
    event.preventDefault();
    this.#focus(Math.max(0, Math.min(this.rows.length - 1, to)));
  }

  #focus(place) {
    this.#until(place);
    this.lines.children[place]?.firstChild.focus();
  }
}

function said(hits, cell) {
  const all = cell.rows.length;
  if (hits === 0) return "No text fits. Try fewer words, or another filter.";
  return hits === all ? `${counted(all, "text")}.` : `${hits.toLocaleString("en")} of ${counted(all, "text")}.`;
}
