// Which corpus, model and seed: selects of what there is, none where there is no choice.

import { runName } from "./data.js";
import { choice, fill, make } from "./dom.js";
import { visible } from "./visible.js";

/** `pick(key)` is called with a cell's key. */
export class Picks {
  constructor(data, pick) {
    this.data = data;
    this.pick = pick;
    this.element = make("div", { class: "x-tools x-picks" });
  }

  show(cell) {
    const { cells, corpora } = this.data;
    const used = corpora.filter((corpus) => cells.some((each) => each.corpus === corpus.key));
    const here = cells.filter((each) => each.corpus === cell.corpus);
    const alike = here.filter((each) => each.model === cell.model);
    const models = [...new Set(here.map((each) => each.model))];
    fill(this.element,
      this.#select("Texts", used.map((each) => [each.key, each.name]), cell.corpus,
        (corpus) => this.#nearest(cell, { corpus })),
      this.#select("Model", models.map((name) => [name, name]), cell.model,
        (model) => this.#nearest(cell, { model })),
      this.#select("Run", alike.map((each) => [each.key, runName(each, alike)]), cell.key, this.pick));
    this.element.hidden = this.element.childElementCount === 0;
  }

  #select(label, options, chosen, onchange) {
    if (options.length < 2) return null;
    return choice(label, options.map(([value, text]) => [value, visible(text)]), chosen, onchange);
  }

  /** What was asked for, and as much as possible of what was there. */
  #nearest(cell, asked) {
    const wanted = { ...cell, ...asked };
    const score = (each) => ["seed", "model", "corpus"]
      .reduce((sum, name, i) => sum + (each[name] === wanted[name] ? 2 ** i : 0), 0);
    const fits = (each) => Object.entries(asked).every(([name, value]) => each[name] === value)
      && (asked.corpus || each.corpus === cell.corpus);
    const found = this.data.cells.filter(fits).sort((a, b) => score(b) - score(a));
    this.pick(found[0].key);
  }
}
