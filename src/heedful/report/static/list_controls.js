// Search, filter and order of the list.

import { button, choice, fill, make } from "./dom.js";
import { className } from "./data.js";
import { valueOf } from "./sorting.js";
import { visible } from "./visible.js";

const PAUSE = 120; // milliseconds without a key, after which the list is drawn

/** `changed()` when the list must be drawn anew, `leave()` when the keyboard goes to the list. */
export class ListControls {
  constructor(changed, leave) {
    this.changed = changed;
    this.typed = "";
    this.filter = "all";
    this.search = make("input", { type: "search", placeholder: "Search words or ids",
      "aria-label": "Search words or ids", autocomplete: "off", spellcheck: "false" });
    this.search.addEventListener("input", () => this.#later());
    this.search.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown") return;
      event.preventDefault();
      leave();
    });
    this.turn = button("", () => { this.#turn(!this.descending); changed(); });
    this.rest = make("div", { class: "x-tools" });
    this.element = make("div", { class: "x-find", role: "search" }, this.search, this.rest);
  }

  /** A new cell keeps what was typed, and the order where it has that measure too. */
  show(cell) {
    this.cell = cell;
    this.keys = keysOf(cell);
    if (!this.keys.some((each) => each.key === this.key)) this.#order(this.keys[0].key);
    if (!filtersOf(cell).some(([value]) => value === this.filter)) this.filter = "all";
    this.#draw();
  }

  /** The key the list is sorted by, with its title. */
  get sorting() {
    return this.keys.find((each) => each.key === this.key);
  }

  #draw() {
    const filters = filtersOf(this.cell);
    fill(this.rest,
      filters.length > 1 ? choice("Show", filters, this.filter, (filter) => this.#set({ filter })) : null,
      choice("Sort by", this.keys.map((each) => [each.key, visible(each.title)]), this.key,
        (key) => { this.#order(key); this.changed(); }),
      this.turn);
  }

  #order(key) {
    this.key = key;
    this.#turn(this.keys.find((each) => each.key === key).descending);
  }

  #turn(descending) {
    this.descending = descending;
    this.turn.textContent = descending ? "↓ largest first" : "↑ smallest first";
    this.turn.title = "Turn the order around";
  }

  #set(values) {
    Object.assign(this, values);
    this.changed();
  }

  #later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#set({ typed: this.search.value }), PAUSE);
  }
}

const COUNTED = [
  { key: "confidence", title: "confidence", descending: true },
  { key: "length", title: "length", descending: true },
  { key: "id", title: "id", descending: false },
];

/** The model's measures first, then what any text has. */
function keysOf(cell) {
  const named = new Set(cell.measures.map((each) => each.key));
  const known = ({ key }) => cell.rows.some((row) => valueOf(row, key) !== null && valueOf(row, key) !== undefined);
  return [...cell.measures, ...COUNTED.filter((each) => !named.has(each.key) && known(each))];
}

/** [value, label] of every filter that leaves something out. */
function filtersOf(cell) {
  const count = (pass) => cell.rows.filter(pass).length;
  const wrong = count((row) => row.wrong);
  const classes = [...new Set(cell.rows.map((row) => row.example.p))].sort((a, b) => a - b);
  const labels = classes.map((p) => [`class:${p}`,
    `predicted ${visible(className(cell.corpus, p))} (${count((row) => row.example.p === p)})`]);
  return [
    ["all", `all (${cell.rows.length})`],
    ...(wrong ? [["wrong", `wrong predictions (${wrong})`]] : []),
    ...(labels.length > 1 ? labels : []),
  ];
}
