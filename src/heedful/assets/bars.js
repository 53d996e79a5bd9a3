// Bars to drag: one for each word, up and down. Heights are square roots, so that the small
// weights of long texts can be seen and held.

import { button, fill, make, word } from "./dom.js";
import { said } from "./units.js";
import { moved, percent } from "./weights.js";

const GRID = [0.01, 0.05, 0.2, 0.5, 1];
const STEPS = { ArrowUp: 0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowLeft: -0.01,
  PageUp: 0.1, PageDown: -0.1 };

/** `heard.move(weights)` while a bar is dragged, `heard.drop(weights)` when it is let go. */
export class Bars {
  constructor(heard) {
    this.heard = heard;
    this.tracks = [];
    this.columns = make("div", { class: "columns" });
    const lines = GRID.map((share) => {
      const line = make("span", { class: "grid-line" }, percent(share));
      line.style.setProperty("--at", height(share));
      return line;
    });
    this.scroll = make("div", { class: "bars-scroll", role: "group" }, this.columns);
    this.hint = make("span", { class: "bars-hint" });
    this.more = make("p", { class: "bars-more" }, this.hint,
      button("←", () => this.#turn(-1), { class: "quiet", "aria-label": said("Words before these") }),
      button("→", () => this.#turn(1), { class: "quiet", "aria-label": said("Words after these") }));
    this.element = make("div", { class: "bars" },
      make("div", { class: "grid", "aria-hidden": "true" }, ...lines), this.scroll, this.more);
    this.scroll.addEventListener("scroll", () => this.#tell());
    new ResizeObserver(() => this.#sized()).observe(this.scroll);
  }

  /** New words. */
  show(labels, weights, learned, normalised, name) {
    this.normalised = normalised;
    this.scroll.setAttribute("aria-label", name);
    this.tracks = labels.map((label, index) => this.#column(label, index));
    fill(this.columns, ...this.tracks.map((track) => track.element));
    learned.forEach((share, i) => this.tracks[i].ghost.style.setProperty("--at", height(share)));
    this.set(weights);
    this.seen = false;
    this.#sized();
  }

  /** Brings the heaviest word into sight. */
  reveal() {
    const { element } = this.tracks[this.weights.indexOf(Math.max(...this.weights))];
    const { scrollLeft, clientWidth } = this.scroll;
    const inside = element.offsetLeft >= scrollLeft
      && element.offsetLeft + element.offsetWidth <= scrollLeft + clientWidth;
    if (!inside) this.scroll.scrollLeft = element.offsetLeft + (element.offsetWidth - clientWidth) / 2;
    this.#tell();
  }

  /** New words are revealed once there is room to see them in. */
  #sized() {
    if (this.tracks.length === 0 || this.scroll.clientWidth === 0) return;
    if (!this.seen) {
      this.seen = true;
      this.scroll.scrollLeft = 0;
      this.reveal();
    } else this.#tell();
  }

  #turn(way) {
    this.scroll.scrollLeft += way * 0.8 * this.scroll.clientWidth;
  }

  /** Says which words are in sight, unless all are. */
  #tell() {
    const { scrollLeft, clientWidth, scrollWidth } = this.scroll;
    this.more.hidden = scrollWidth <= clientWidth + 1;
    if (this.more.hidden) return;
    const there = this.tracks.flatMap(({ element: { offsetLeft, offsetWidth } }, index) =>
      (offsetLeft + offsetWidth / 2 >= scrollLeft && offsetLeft + offsetWidth / 2 <= scrollLeft + clientWidth
        ? [index + 1] : []));
    this.hint.textContent = said(`Words ${there[0]} to ${there.at(-1)} of ${this.tracks.length}: scroll sideways for the others.`);
  }

  set(weights) {
    this.weights = weights;
    weights.forEach((share, index) => {
      const { slider, bar, number } = this.tracks[index];
      bar.style.setProperty("--at", height(share));
      number.textContent = share < 0.001 ? "" : percent(share);
      slider.setAttribute("aria-valuenow", (100 * share).toFixed(1));
      slider.setAttribute("aria-valuetext", percent(share));
    });
  }

  #column(label, index) {
    const bar = make("span", { class: "bar" });
    const ghost = make("span", { class: "ghost" });
    const number = make("span", { class: "number", "aria-hidden": "true" });
    const slider = make("div", {
      class: "track", role: "slider", tabindex: "0", "aria-orientation": "vertical",
      "aria-valuemin": "0", "aria-valuemax": "100", "aria-label": label.slice(0, 200),
    }, ghost, bar);
    slider.addEventListener("pointerdown", (event) => this.#grab(event, slider, index));
    slider.addEventListener("keydown", (event) => this.#key(event, index));
    const name = word(label, { class: "label" });
    name.title = label.slice(0, 200);
    return { slider, bar, ghost, number,
      element: make("div", { class: "column" }, number, slider, name) };
  }

  #grab(event, slider, index) {
    event.preventDefault();
    slider.focus({ preventScroll: true });
    slider.setPointerCapture(event.pointerId);
    const box = slider.getBoundingClientRect();
    const start = this.weights;
    const follow = (now) => {
      const share = share_at((box.bottom - now.clientY) / box.height);
      this.set(moved(start, index, share, this.normalised));
      this.heard.move(this.weights);
    };
    const stop = (now) => {
      slider.removeEventListener("pointermove", follow);
      slider.removeEventListener("pointerup", stop);
      slider.removeEventListener("pointercancel", stop);
      if (now.type === "pointerup") follow(now);
      else this.set(start);
      this.heard.drop(this.weights);
    };
    slider.addEventListener("pointermove", follow);
    slider.addEventListener("pointerup", stop);
    slider.addEventListener("pointercancel", stop);
    follow(event);
  }

  #key(event, index) {
    const to = { Home: 0, End: 1 }[event.key] ?? null;
    const step = STEPS[event.key] ?? null;
    if (to === null && step === null) return;
    event.preventDefault();
    const wanted = to ?? Math.round((this.weights[index] + step) * 1e6) / 1e6;
    this.set(moved(this.weights, index, wanted, this.normalised));
    this.heard.drop(this.weights);
  }
}

function height(share) {
  return `${100 * Math.sqrt(Math.min(1, Math.max(0, share)))}%`;
}

function share_at(part) {
  const bounded = Math.min(1, Math.max(0, part));
  return bounded * bounded;
}
