// The bar to drag: attention moved by hand, and what the model would then have said.

import { Bars } from "./bars.js";
import { classRows, sentence } from "./classes.js";
import { button, fill, make } from "./dom.js";
import { predict } from "./linear.js";
import { offered, restored, shuffledBy } from "./presets.js";
import { shown } from "./visible.js";
import { same, written } from "./weights.js";
import { said } from "./units.js";

/** `changed()` is called when the weights have settled. */
export class Drag {
  constructor(changed) {
    this.changed = changed;
    this.bars = new Bars({ move: (weights) => this.#say(weights, true), drop: (weights) => this.#settle(weights) });
    this.says = make("p", { class: "x-says", "aria-live": "polite" });
    this.classes = make("div", { class: "x-classes" });
    this.tools = make("div", { class: "x-tools" });
    this.status = make("span", { class: "x-soft", role: "status" });
    this.undo = button("Undo", () => this.#undo(), { title: "Ctrl+Z" });
    this.body = make("div", {}, this.says, this.classes, this.tools, this.bars.element,
      make("p", { class: "x-soft" }, "Drag a bar, or use the arrow keys; the other " + said("words") + " share the rest in "
        + "their proportions. The line across a bar is what the model learned. Heights are square roots."));
    this.element = make("section", { class: "x-part x-drag" }, make("h4", {}, "Drag the attention"), this.body);
    this.element.addEventListener("keydown", (event) => this.#key(event));
  }

  /** `given` has the texts `weights` and `shuffle` of a link. */
  show(cell, row, maps, linear, given) {
    Object.assign(this, { corpus: cell.corpus, linear, stack: [], seed: seedOf(given.shuffle) });
    this.presets = offered(maps, row, linear);
    this.before = predict(linear.learned, linear.z);
    const words = shown(linear.read.map((i) => row.words[i]));
    this.weights = this.#start(given);
    this.bars.show(words.map((each) => each.whole), this.weights, linear.learned, true, said("attention of each word"));
    this.bars.element.querySelectorAll(".label").forEach((label, i) => { label.textContent = words[i].text; });
    this.status.textContent = "";
    this.#offer();
    this.#say(this.weights, false);
  }

  state() {
    const learned = same(this.weights, this.linear.learned);
    return { weights: learned ? "" : written(this.weights), shuffle: this.seed || "" };
  }

  #start(given) {
    const mixed = this.seed ? shuffledBy(this.linear, this.seed) : null;
    const known = [...this.presets.map((each) => each.weights), ...(mixed ? [mixed] : [])];
    return restored(given.weights, this.linear, known) ?? this.linear.learned;
  }

  #offer() {
    this.buttons = this.presets.map((each) => button(each.name, () => this.#set(each.weights)));
    const [learned, even, ...rest] = this.buttons;
    const mix = button("Shuffled", () => this.#shuffle(), { title: "Each press is another order" });
    fill(this.tools, learned, even, mix, ...rest, this.undo, button("Copy link", () => this.#copy()), this.status);
  }

  #shuffle() {
    this.seed += 1;
    this.#set(shuffledBy(this.linear, this.seed));
  }

  #set(weights) {
    this.bars.set(weights);
    this.bars.reveal();
    this.#settle(weights);
  }

  #settle(weights) {
    if (!same(weights, this.weights)) this.stack.push(this.weights);
    this.weights = weights;
    this.#say(weights, false);
    this.changed();
  }

  #undo() {
    if (this.stack.length === 0) return;
    this.weights = this.stack.pop();
    this.bars.set(this.weights);
    this.#say(this.weights, false);
    this.changed();
  }

  #key(event) {
    if (event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
    event.preventDefault();
    this.#undo();
  }

  /** While a bar is held, the sentence is not read aloud. */
  #say(weights, held) {
    const now = predict(weights, this.linear.z);
    this.element.dataset.weights = weights.join(",");
    this.says.setAttribute("aria-busy", String(held));
    this.undo.disabled = this.stack.length === 0;
    this.presets.forEach((each, i) =>
      this.buttons[i].setAttribute("aria-pressed", String(same(weights, each.weights))));
    fill(this.says, ...sentence(this.corpus, this.linear.learned, weights, this.before, now));
    fill(this.classes, ...classRows(this.corpus, this.before, now));
  }

  async #copy() {
    this.changed();
    try {
      await navigator.clipboard.writeText(location.href);
      this.status.textContent = "The link is copied.";
    } catch {
      this.status.textContent = "Copy the address of this page: it is the link.";
    }
  }
}

function seedOf(text) {
  const seed = Number(text ?? 0);
  return Number.isSafeInteger(seed) && seed > 0 ? seed : 0;
}
