// Two explanations of one prediction side by side.

import { choice, fill, make } from "./dom.js";
import { cellName, className, mapsOf } from "./data.js";
import { agreement } from "./kendall.js";
import { counted, number, precise, short } from "./numbers.js";
import { heaviest } from "./orders.js";
import { oneWord, shadedBy, shownOf, visible } from "./visible.js";
import { said } from "./units.js";

/** `changed()` is called when other maps were chosen. */
export class Compare {
  constructor(data, changed) {
    this.data = data;
    this.changed = changed;
    this.sides = make("div", { class: "x-two" });
    this.verdict = make("p", { class: "x-verdict", "aria-live": "polite" });
    this.element = make("section", { class: "x-part" },
      make("h4", {}, "Two explanations of this prediction"), this.sides, this.verdict);
  }

  /** `given` has the keys `left`, `right` and `from` of a link or of the text before. */
  async show(cell, row, given) {
    Object.assign(this, { cell, row, maps: mapsOf(cell, row), beside: null, from: "" });
    if (given.from) await this.#fetch(given.from);
    this.leftKey = known(this.maps, given.left) ?? this.maps[0]?.key;
    this.rightKey = known(this.#theirs(), given.right) ?? second(this.#theirs(), this.leftKey, this.from);
    this.#draw();
  }

  state() {
    return { left: this.leftKey, right: this.rightKey, from: this.from };
  }

  get left() {
    return this.maps.find((map) => map.key === this.leftKey);
  }

  get right() {
    const map = this.#theirs().find((each) => each.key === this.rightKey);
    if (!map || !this.from) return map;
    return { ...map, title: `${map.title} of ${cellName(this.data, this.beside.cell.facts)}` };
  }

  /** The right map of another model, where it has read this text. */
  async #fetch(key) {
    const facts = this.data.besides(this.cell.facts).find((each) => each.key === key);
    this.from = facts?.key ?? "";
    const { row } = this;
    const cell = facts ? await this.data.open(key) : null;
    const found = cell?.rows.find((each) => each.example.t === row.example.t);
    if (row === this.row) this.beside = found ? { cell, row: found } : null;
  }

  #theirs() {
    if (!this.from) return this.maps;
    return this.beside ? mapsOf(this.beside.cell, this.beside.row) : [];
  }

  async #choose(values) {
    Object.assign(this, values);
    if ("from" in values) {
      this.beside = null;
      await this.#fetch(values.from);
      this.rightKey = known(this.#theirs(), this.rightKey) ?? second(this.#theirs(), this.leftKey, this.from);
    }
    const at = [...this.sides.querySelectorAll("select")].indexOf(document.activeElement);
    this.#draw();
    this.sides.querySelectorAll("select")[at]?.focus({ preventScroll: true });
    this.changed();
  }

  #draw() {
    this.element.hidden = this.maps.length === 0;
    if (this.element.hidden) return;
    const first = this.#side(this.left, this.maps, "First", (leftKey) => this.#choose({ leftKey }));
    if (this.cell.facts.maps.length === 0) { // what people marked, and nothing to hold it against
      this.verdict.textContent = "";
      return fill(this.sides, first);
    }
    fill(this.sides, first, this.#side(this.right, this.#theirs(), "Second", (rightKey) => this.#choose({ rightKey }), this.#models()));
    this.verdict.textContent = verdict(this.left, this.right);
  }

  #models() {
    const others = this.data.besides(this.cell.facts);
    if (others.length === 0) return null;
    const options = others.map((each) => [each.key, visible(cellName(this.data, each))]);
    return choice("from", [["", "this model"], ...options], this.from, (from) => this.#choose({ from }));
  }

  #side(map, maps, label, pick, models = null) {
    const options = maps.map((each) => [each.key, visible(each.title)]);
    return make("div", { class: "x-side" },
      make("div", { class: "x-tools" },
        options.length ? choice(label, options, map?.key, pick) : null, models),
      make("h5", { class: "x-printed" }, map ? visible(map.title) : ""),
      models && this.from ? this.#theirSays() : null,
      map ? shadedBy(shownOf(this.row), map) : null,
      map ? top(this.row.words, map) : null);
  }

  #theirSays() {
    if (!this.beside) return make("p", { class: "x-soft" }, "This text is not here for that model.");
    const { cell, row } = this.beside;
    return make("p", { class: "x-soft" }, "That model says ",
      visible(className(cell.corpus, row.example.p)),
      Number.isFinite(row.example.c) ? ` with ${precise(row.example.c)}.` : ".");
  }
}

function known(maps, key) {
  return maps.find((map) => map.key === key)?.key;
}

/** Another model's map of the same kind, else a map that differs from the left one. */
function second(maps, left, from) {
  if (from) return known(maps, left) ?? maps[0]?.key;
  return (maps.find((map) => map.key !== left && map.kind === "explanation")
    ?? maps.find((map) => map.key !== left) ?? maps[0])?.key;
}

function top(words, map) {
  const found = heaviest(map.scores);
  if (found.length === 0) return make("p", { class: "x-none" }, said("No word has any weight."));
  return make("ol", { class: "x-top", "aria-label": said("heaviest words") }, ...found.map(({ index, score }) =>
    make("li", {}, oneWord(words[index]), " ", make("span", { class: "x-soft" }, short(score)))));
}

function verdict(left, right) {
  if (!left || !right) return "";
  const tau = agreement(left, right);
  const [one, other] = [left, right].map((map) => heaviest(map.scores).map((each) => each.index));
  const shared = one.filter((index) => other.includes(index)).length;
  const most = Math.min(one.length, other.length);
  const signs = left.signed || right.signed;
  const order = Number.isNaN(tau) ? "Kendall’s τ-b is undefined: one of the two is constant."
    : `Kendall’s τ-b ${signs ? "of their sizes, whatever the signs, " : ""}is ${number(tau, 2)} (1: the same order of ${said("words")}, 0: no relation, −1: reversed).`;
  if (Number.isNaN(tau) || most === 0) return order;
  return `${order} They share ${shared} of their ${counted(most, said("heaviest word"))}.`;
}
