// The head view: all layers and heads, and one of them token by token.

import { choice, fill, make, word } from "./dom.js";
import { Lines, Matrix } from "./head_drawings.js";
import { Overview, groupsOf } from "./head_overview.js";
import { TokenList, short } from "./head_tokens.js";
import { HeadWeights, hasSubWords, unitsOf } from "./head_weights.js";
import { said } from "./units.js";

const LINES = "lines";
const MATRIX = "matrix";
const NAMED = 5; // tokens that are named with their weights
const HELP = "Point at a token, or go to it with the arrow keys. A click holds it.";

export class HeadView {
  /** `before` is a view of another text, whose choices are kept. */
  constructor(data, before = null) {
    this.weights = new HeadWeights(data);
    this.unit = data.unit;
    this.state = { view: LINES, words: false, special: true, ...before?.state };
    this.held = null;
    this.overview = new Overview(this.weights, (site, head) => this.choose(site, head));
    this.title = make("h3", { class: "head-title" });
    this.tools = make("div", { class: "tools" });
    this.place = make("div", { class: "head-place" });
    this.says = make("p", { class: "head-says", "aria-live": "polite" });
    this.about = make("p", { class: "caption" });
    const notes = data.notes.map((note) => make("li", {}, note));
    this.element = make("div", { class: "heads" }, this.overview.element,
      make("div", { class: "head-one" }, this.title, this.tools, this.says, this.place, this.about,
        notes.length ? make("ul", { class: "notes" }, ...notes) : null));
    this.#drawTools();
    const { sites } = this.weights;
    const same = sites.find((site) => site.name === before?.site.name && before.head < site.heads);
    this.choose(same ?? sites[sites.length - 1], same ? before.head : 0);
  }

  choose(site, head) {
    const moved = this.site && (this.site.queries !== site.queries || this.site.keys !== site.keys);
    if (moved) this.held = null;
    Object.assign(this, { site, head });
    this.overview.mark(site, head);
    this.draw();
  }

  draw() {
    const { words, special, view } = this.state;
    const { sides } = this.weights;
    const group = groupsOf(this.weights.sites).find((each) => each.sites.includes(this.site));
    const several = this.weights.sites.length > group.sites.length ? `${group.title}: ` : "";
    this.title.textContent = `${several}layer ${group.sites.indexOf(this.site)}, head ${this.head}`;
    this.title.title = this.site.name;
    this.queries = unitsOf(sides[this.site.queries], words, special);
    this.keys = unitsOf(sides[this.site.keys], words, special);
    this.matrix = this.weights.matrix(this.site, this.head, this.queries, this.keys);
    const point = (side) => (at, held) => this.#point(at === null ? null : { [side]: at }, held);
    const two = [this.queries, this.keys].map((units) => units.some((unit) => unit.part > 0));
    this.from = new TokenList(this.queries, { title: "tokens that attend", point: point("from"), two: two[0] });
    this.to = new TokenList(this.keys, { title: "tokens that are attended", point: point("to"), two: two[1] });
    this.drawing = view === LINES ? new Lines() : new Matrix((from, to) => this.#point({ from, to }, false));
    fill(this.place, this.#laidOut(view));
    this.about.textContent = this.#tells(two.some(Boolean));
    this.#show(this.#still(this.held), true);
  }

  #laidOut(view) {
    const head = (text) => make("span", { class: "head-side" }, text);
    const one = this.site.queries === this.site.keys;
    const names = one ? ["attends", "to"] : ["target", "source"];
    if (!one && this.site.queries !== "target") names.splice(0, 2, "query", "text");
    return make("div", { class: `head-${view}-view`, tabindex: "0", role: "region", "aria-label": "weights of this head" },
      head(names[0]), view === LINES ? make("span") : null, head(names[1]),
      this.from.element, ...(view === LINES ? [this.drawing.element, this.to.element]
        : [this.to.element, this.drawing.element]));
  }

  #drawTools() {
    const pick = (name) => (value) => {
      this.state[name] = name === "words" ? value === "words" : value;
      this.held = null;
      this.draw();
    };
    const box = make("input", { type: "checkbox", checked: !this.state.special });
    box.addEventListener("change", () => {
      this.state.special = !box.checked;
      this.held = null;
      this.draw();
    });
    const { sides } = this.weights;
    const some = Object.values(sides).some((side) => side.special.some(Boolean) && !side.special.every(Boolean));
    fill(this.tools,
      choice("Drawn as", [[LINES, "lines"], [MATRIX, "matrix"]], this.state.view, pick("view")),
      hasSubWords(sides) ? choice("between", [["tokens", "tokens"], ["words", said("words", this.unit)]], this.state.words ? "words" : "tokens", pick("words")) : null,
      some ? make("label", { class: "check" }, box, "hide special tokens") : null);
  }

  /** What is pointed at is shown, or else what is held. */
  #point(at, held) {
    if (held) this.held = JSON.stringify(at) === JSON.stringify(this.held) ? null : at;
    this.#show(at ?? this.held, held || at === null);
  }

  #show(at, settled) {
    const [from, to] = [at?.from ?? null, at?.to ?? null];
    const one = from !== null && to !== null;
    this.drawing.draw(this.matrix, at);
    this.from.mark(from, settled && from !== null && this.held !== null);
    this.to.mark(to, settled && to !== null && this.held !== null);
    this.to.shade(from !== null && !one ? this.matrix[from] : null);
    this.from.shade(to !== null && !one ? this.matrix.map((row) => row[to]) : null);
    fill(this.says, ...this.#sentence(from, to));
  }

  #still(at) {
    const there = at && (at.from ?? 0) < this.queries.length && (at.to ?? 0) < this.keys.length;
    return there ? at : null;
  }

  #sentence(from, to) {
    if (from === null && to === null) return [make("span", { class: "soft" }, HELP)];
    if (from !== null && to !== null) {
      return [name(this.queries[from]), " attends to ", name(this.keys[to]), `: ${this.matrix[from][to].toFixed(3)}`];
    }
    const weights = from !== null ? [...this.matrix[from]] : this.matrix.map((row) => row[to]);
    const others = from !== null ? this.keys : this.queries;
    const order = weights.map((weight, place) => [weight, place]).sort((a, b) => b[0] - a[0])
      .filter(([weight]) => weight >= 0.005).slice(0, NAMED);
    const told = order.flatMap(([weight, place], i) => [i ? ", " : " ", name(others[place]), ` ${short(weight)}`]);
    if (!told.length) told.push(from !== null ? " nothing that is shown" : " nothing that is shown looks here");
    return from !== null ? [name(this.queries[from]), " attends to", ...told]
      : [name(this.keys[to]), " is attended by", ...told];
  }

  #tells(two) {
    const merged = this.state.words
      ? said(" A word is attended as much as its tokens together, and attends as its tokens do on average.", this.unit) : "";
    const hidden = this.state.special ? "" : " Weights are as they were: those of special tokens are only hidden.";
    const target = this.site.queries === "target"
      ? " A token of the target stands where the decoder, having read it, writes the next one." : "";
    const parts = two ? " A bar marks the second text." : "";
    const sums = this.site.normalised ? "Weights of a row sum to 1; they are rounded by up to 0.004."
      : "A gate's weights need not sum to 1; they are rounded by up to 0.004.";
    return `${this.site.name}. ${sums}${merged}${hidden}${target}${parts}`;
  }
}

function name(unit) {
  return word(unit.label, { class: "name" });
}
