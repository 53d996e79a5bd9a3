// Everything that was measured at a glance: texts by models, shaded by a measure's mean.

import { runName } from "./data.js";
import { choice, fill, make } from "./dom.js";
import { short } from "./numbers.js";
import { visible } from "./visible.js";

/** `pick(key)` is called with a cell's key. */
export class Grid {
  constructor(data, pick) {
    this.data = data;
    this.pick = pick;
    this.measures = measuresOf(data.cells);
    this.measure = this.measures[0]?.key;
    this.table = make("div", { class: "x-scroll", tabindex: "0", role: "region",
      "aria-label": "means by texts and models" });
    this.element = make("div", { class: "x-grid" });
    this.element.hidden = data.cells.length < 2 || this.measures.length === 0;
    fill(this.element, make("div", { class: "x-tools" },
      choice("Mean of", this.measures.map((each) => [each.key, visible(each.title)]), this.measure,
        (key) => { this.measure = key; this.show(this.cell); })), this.table);
  }

  show(cell) {
    this.cell = cell;
    if (this.element.hidden) return;
    const models = [...new Set(this.data.cells.map((each) => each.model))];
    const head = make("tr", {}, make("td", {}),
      ...models.map((name) => make("th", { scope: "col" }, visible(name))));
    const shade = shading(this.data.cells.map((each) => each.means?.[this.measure]));
    const lines = linesOf(this.data).map((line) => make("tr", {},
      make("th", { scope: "row" }, visible(line.name)),
      ...models.map((name) => this.#place(line.cells.filter((each) => each.model === name), shade))));
    fill(this.table, make("table", { class: "x-heat" }, make("thead", {}, head),
      make("tbody", {}, ...lines)));
  }

  #place(cells, shade) {
    return make("td", {}, ...cells.map((each) => this.#button(each, shade)));
  }

  #button(cell, shade) {
    const mean = cell.means?.[this.measure];
    const chosen = cell.key === this.cell.key;
    const text = Number.isFinite(mean) ? short(mean) : "–";
    const name = visible(`${this.data.corpusOf(cell).name}, ${cell.model}, ${runName(cell, [])}: ${text}`);
    const element = make("button", { type: "button", class: "x-cell", "aria-pressed": String(chosen),
      title: name, "aria-label": name, onclick: () => this.#press(cell.key) }, text);
    if (Number.isFinite(mean)) element.style.setProperty("--s", shade(mean));
    return element;
  }

  /** The table is drawn anew, so the focus is put back where it was. */
  async #press(key) {
    await this.pick(key);
    this.table.querySelector('[aria-pressed="true"]')?.focus({ preventScroll: true });
  }
}

function measuresOf(cells) {
  const all = new Map(cells.flatMap((cell) => cell.measures).map((each) => [each.key, each]));
  return [...all.values()].filter((each) => cells.some((cell) => Number.isFinite(cell.means?.[each.key])));
}

/** One line for each corpus and run; the run is named where a corpus has several. */
function linesOf(data) {
  return data.corpora.flatMap((corpus) => {
    const own = data.cells.filter((cell) => cell.corpus === corpus.key);
    const runs = [...new Set(own.map((cell) => runName(cell, own)))];
    return runs.map((run) => ({
      name: runs.length > 1 ? `${corpus.name}, ${run}` : corpus.name,
      cells: own.filter((cell) => runName(cell, own) === run),
    }));
  });
}

/** From the smallest mean to the largest, 8 to 80 of 100. */
function shading(means) {
  const known = means.filter((mean) => Number.isFinite(mean));
  const low = Math.min(...known);
  const width = Math.max(...known) - low;
  return (mean) => String(width > 0 ? Math.round(8 + (72 * (mean - low)) / width) : 40);
}
