// The example browser: which model, which texts, which text. Its address restores it all.

import { has } from "./blobs.js";
import { openData } from "./data.js";
import { fill, make } from "./dom.js";
import { ExampleView } from "./example.js";
import { ExampleList } from "./example_list.js";
import { Grid } from "./grid.js";
import { counted } from "./numbers.js";
import { Picks } from "./picks.js";
import { readState, writeState } from "./state.js";
import { visible } from "./visible.js";

/** Fills the element, or says in it why there is nothing to see. What it answers has
 *  `pickAudit(number)`, which shows the texts of that audit of the page. */
export async function startBrowser(element) {
  element.classList.add("x-browser");
  const data = has("examples") ? await openData() : null;
  if (data?.cells.length) return new Browser(element, data).start();
  fill(element, make("p", { class: "x-soft" }, "No texts were kept in this page."));
  return { pickAudit: () => {} };
}

class Browser {
  constructor(element, data) {
    this.data = data;
    this.element = element;
    this.grid = new Grid(data, (key) => this.#cell(key));
    this.picks = new Picks(data, (key) => this.#cell(key));
    this.list = new ExampleList((row) => this.#open(row));
    this.view = new ExampleView(data, () => this.#address());
    this.note = make("p", { class: "x-soft x-note" });
    fill(element, this.grid.element, this.picks.element, this.note,
      make("div", { class: "x-columns" }, this.list.element, this.view.element));
  }

  async start() {
    const given = readState(location.hash);
    addEventListener("hashchange", () => this.#restore(readState(location.hash)));
    if (given) await this.#restore(given);
    else await still(() => this.#show(this.data.cells[0].key, {}));
    return this;
  }

  /** The cell of that audit, if it has one, with the text that is there if it has it. */
  async pickAudit(number) {
    const found = this.data.cells.find((cell) => cell.audit === number);
    if (found && found.key !== this.cell?.facts.key) await this.#cell(found.key);
  }

  /** What a link says; other anchors are none of ours. */
  async #restore(given) {
    if (!given) return;
    const known = this.data.find(given.model);
    await this.#show((known ?? this.data.cells[0]).key, known ? given : { text: given.text });
    if (given.text && this.row?.id !== given.text) this.#lost("text");
    if (given.model && !known) this.#lost("model");
    this.view.element.scrollIntoView();
  }

  #lost(what) {
    this.note.textContent = `The ${what} that the link names is not in this page. ${this.note.textContent}`;
    this.note.hidden = false;
  }

  /** Another model, with the text that is there if it has it. */
  async #cell(key) {
    await this.#show(key, { text: this.row?.id, ...this.view.state(), weights: "", shuffle: "" });
    this.#address();
  }

  async #show(key, given) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const cell = await this.data.open(key);
    if (turn !== this.turn) return;
    this.cell = cell;
    this.grid.show(cell.facts);
    this.picks.show(cell.facts);
    this.note.textContent = noteOf(cell);
    this.note.hidden = this.note.textContent === "";
    this.list.show(cell);
    const asked = cell.rows.find((row) => row.id === given.text);
    if (asked) return this.#text(asked, given);
    return this.#text(this.list.rows[0] ?? cell.rows[0], { ...given, weights: "", shuffle: "" });
  }

  async #text(row, given) {
    this.row = row;
    this.list.mark(row ?? null);
    if (row) await this.view.show(this.cell, row, given);
    else fill(this.view.element, make("p", { class: "x-soft" }, "No texts were kept for this model."));
  }

  /** A text of the list; the explanations stay the same. */
  async #open(row) {
    await this.#text(row, { ...this.view.state(), weights: "", shuffle: "" });
    this.#address();
    if (matchMedia("(max-width: 900px)").matches) this.view.element.scrollIntoView();
  }

  #address() {
    if (!this.row) return;
    const state = { text: this.row.id, model: this.cell.facts.key, ...this.view.state() };
    try {
      history.replaceState(null, "", writeState(state));
    } catch {
      // a page inside another page may not be allowed to; it works without an address
    }
  }
}

/** The anchor the page was opened at stays where it is while the browser grows above it. */
async function still(grow) {
  const target = document.getElementById(location.hash.slice(1));
  const place = () => target?.getBoundingClientRect().top ?? 0;
  const before = place();
  await grow();
  if (place() !== before) scrollBy(0, place() - before);
}

function noteOf(cell) {
  const { note, shown, of } = cell.facts;
  const some = shown < of ? `${shown.toLocaleString("en")} of ${counted(of, "text")} are in this page. ` : "";
  return `${some}${visible(note ?? "")}`.trim();
}
