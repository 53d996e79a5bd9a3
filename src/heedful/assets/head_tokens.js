// The tokens of one side as a list: one of them is pointed at, or held.

import { make, word } from "./dom.js";

export class TokenList {
  /** `point(place, held)` is told what is pointed at (null: nothing any more). */
  constructor(units, { title, point, two }) {
    this.units = units;
    this.point = point;
    this.items = units.map((unit, place) => this.#item(unit, place, two));
    this.element = make("ul", { class: "head-tokens", "aria-label": title }, ...this.items.map((item) =>
      make("li", {}, item.element)));
    this.element.addEventListener("keydown", (event) => this.#move(event));
    this.element.addEventListener("pointerleave", () => point(null, false));
    this.#reach(0);
  }

  /** Shaded by weights, which are written beside them; null for none. */
  shade(weights) {
    this.items.forEach(({ element, number }, place) => {
      const weight = weights?.[place] ?? 0;
      element.style.setProperty("--s", String(Math.round(100 * Math.sqrt(Math.min(1, weight)))));
      number.textContent = weights && weight >= 0.005 ? short(weight) : "";
    });
  }

  mark(place, held) {
    this.items.forEach(({ element }, each) => {
      element.classList.toggle("pointed", each === place);
      element.setAttribute("aria-pressed", String(held && each === place));
    });
    if (place !== null) this.#reach(place);
  }

  #item(unit, place, two) {
    const number = make("span", { class: "head-number" });
    const kind = [unit.special ? "special" : "", unit.goesOn ? "goes-on" : "", two ? `part-${unit.part}` : ""];
    const element = make("button", { type: "button", class: `head-token ${kind.join(" ").trim()}`, tabindex: "-1",
      "aria-pressed": "false", onclick: () => this.point(place, true) }, word(unit.label), number);
    element.title = unit.label;
    element.addEventListener("pointerenter", () => this.point(place, false));
    element.addEventListener("focus", () => this.point(place, false));
    return { element, number };
  }

  #reach(place) {
    this.items.forEach(({ element }, each) => {
      element.tabIndex = each === place ? 0 : -1;
    });
  }

  #move(event) {
    const here = this.items.findIndex(({ element }) => element === event.target);
    const to = { ArrowUp: here - 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowRight: here + 1,
      Home: 0, End: this.items.length - 1 }[event.key];
    if (to === undefined || here < 0 || !this.items[to]) return;
    event.preventDefault();
    this.items[to].element.focus();
  }
}

/** A weight in two digits: `.42`, `1`. */
export function short(weight) {
  const text = weight.toFixed(2);
  return text === "1.00" ? "1" : text.replace(/^0/, "");
}
