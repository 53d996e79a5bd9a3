// One text: what is known, two explanations, the bar to drag, how far attention could go.

import { alternatives } from "./alternatives.js";
import { Compare } from "./compare.js";
import { dragged, mapsOf } from "./data.js";
import { fill, make } from "./dom.js";
import { Drag } from "./drag.js";
import { ErasureCurves } from "./erasure_curves.js";
import { factsOf } from "./facts.js";
import { limitsOf } from "./limits.js";

/** `changed()` is called when a link to what is shown would be another one. */
export class ExampleView {
  constructor(data, changed) {
    this.changed = changed;
    this.compare = new Compare(data, () => { this.#curves(); changed(); });
    this.drag = new Drag(changed);
    this.curves = new ErasureCurves();
    this.element = make("article", { class: "x-example", "aria-label": "The chosen text" });
  }

  async show(cell, row, given) {
    Object.assign(this, { cell, row, linear: dragged(row) });
    const maps = mapsOf(cell, row);
    if (this.linear) this.drag.show(cell, row, maps, this.linear, given);
    await this.compare.show(cell, row, given);
    if (row !== this.row) return;
    this.#curves();
    fill(this.element, factsOf(cell, row), this.compare.element,
      this.linear ? this.drag.element : fixed(cell, row), limitsOf(cell, row, maps, this.linear),
      this.curves.element);
  }

  state() {
    return { ...this.compare.state(), ...(this.linear ? this.drag.state() : {}) };
  }

  #curves() {
    this.curves.show(this.cell, this.row, this.linear, [this.compare.left, this.compare.right]);
  }
}

/** Why nothing can be dragged here, and where it can. */
function fixed(cell, row) {
  return make("section", { class: "x-part" }, make("h4", {}, "Drag the attention"),
    make("p", { class: "x-soft" }, why(cell, row), " ", make("code", {}, "heedful serve MODEL"),
      " lets you drag it live."), alternatives(cell, row));
}

function why(cell, row) {
  if (row.all > row.words.length) return "This text is too long to be dragged in this page.";
  if (cell.rows.some((each) => each.example.z)) return "What it takes to drag this text was not kept in this page.";
  return "This model’s decoder is not linear, or its logits by word were not recorded, so the page alone cannot "
    + "compute what moved attention would do.";
}
