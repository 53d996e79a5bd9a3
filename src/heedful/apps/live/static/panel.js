// What is seen of one model: its prediction, its bars, other explanations, and attention apart.

import { AnswerView } from "./answers.js";
import { apart } from "./apart.js";
import { Bars } from "./bars.js";
import { button, choice, fill, make, word } from "./dom.js";
import { HeadView } from "./heads.js";
import { shortened } from "./names.js";
import { prediction } from "./prediction.js";
import { heat, shaded, weighted } from "./shades.js";
import { said } from "./units.js";

const ALL = "all";
const NO_FURTHEST = "it needs two classes, weights that sum to 1 and a linear decoder";

export class Panel {
  constructor(column) {
    this.column = column;
    this.short = shortened(column.facts.sites.map((each) => each.name));
    this.bars = new Bars({ move: (w) => column.edit(w), drop: (w) => column.keep(w) });
    this.output = make("div");
    this.notes = make("ul", { class: "notes" });
    this.places = make("div", { class: "tools" });
    this.text = make("div");
    this.tools = make("div", { class: "tools" });
    this.about = make("p", { class: "caption" });
    this.map = make("div");
    this.others = make("div", { class: "maps" });
    this.inside = make("div");
    this.apart = make("details", { class: "card", open: true },
      make("summary", {}, "Attention taken apart, step by step"), this.inside);
    this.apart.addEventListener("toggle", () => this.open && column.takeApart());
    this.lookedAt = make("div");
    this.heads = make("details", { class: "card" },
      make("summary", {}, "Every layer and head, token by token"), this.lookedAt);
    this.heads.addEventListener("toggle", () => this.looking && column.look());
    this.answers = make("div");
    this.tokens = make("details", { class: "card", open: true },
      make("summary", {}, "The answer, token by token"), this.answers);
    this.tokens.addEventListener("toggle", () => this.drawTokens());
    this.element = this.#built(column.facts);
  }

  get open() {
    return this.apart.open;
  }

  get looking() {
    return this.heads.open;
  }

  draw() {
    const { seen, weights, learned, spec, answer } = this.column;
    fill(this.notes, ...answer.notes.map((note) => make("li", {}, note)));
    this.notes.hidden = !answer.notes.length;
    this.bars.show(seen.labels, weights, learned, spec.normalised, said(`weights of ${seen.units}`));
    this.about.textContent = this.#says();
    this.drawPrediction();
    this.drawText();
    this.drawButtons();
    this.drawBeside();
    this.#drawPlaces();
    this.#drawMap();
  }

  drawPrediction() {
    fill(this.output, prediction(this.column.answer, this.column.edited));
  }

  /** The text shaded by the weights as they are now. */
  drawText() {
    const { seen, weights, answer } = this.column;
    if (seen.units !== "words") return fill(this.text);
    const scores = answer.words.map(() => null);
    seen.words.forEach((place, unit) => {
      if (place >= 0) scores[place] = weights[unit];
    });
    return fill(this.text, weighted(answer.words, scores));
  }

  drawButtons() {
    const { column } = this;
    const { furthest } = column.seen;
    fill(this.tools,
      button("Learned", () => column.to(column.learned)),
      button("Even", () => column.preset("uniform")),
      button("Shuffled", () => column.preset("shuffled")),
      button("Furthest, same prediction", () => column.preset("furthest"),
        { disabled: !furthest, title: furthest ? null : NO_FURTHEST }),
      button("Undo", () => column.undo(), { disabled: !column.past.length }),
      button("Reset", () => column.reset(), { class: "quiet" }));
  }

  drawBeside() {
    const { beside, answer } = this.column;
    fill(this.others, ...beside.map((name) => {
      const found = answer.explanations[name];
      const why = make("p", { class: "soft" }, found?.reason ?? "It was not answered.");
      return make("div", {}, make("h4", {}, spoken(name)),
        found?.scores ? shaded(answer.words, found.scores) : why);
    }));
  }

  /** Nothing is asked while nobody looks. An answer of one token has nothing to choose from. */
  drawTokens() {
    const { answer, beside } = this.column;
    this.tokens.hidden = (answer?.tokens.length ?? 0) < 2;
    if (this.tokens.hidden || !this.tokens.open) return;
    const maps = [...new Set(["attention", ...beside])].map((key) => ({ key, title: spoken(key) }));
    this.told = new AnswerView({ words: answer.words, tokens: answer.tokens, maps,
      ask: (key) => this.column.byToken(key) }, this.told);
    fill(this.answers, make("p", { class: "caption" },
      "Choose a token to explain its own probability, given the tokens before it and the learned attention."),
    this.told.element);
  }

  drawApart(found) {
    fill(this.inside, apart(found, this.column.spec));
  }

  /** Another text begins with the head that was looked at last. */
  drawHeads(found) {
    this.view = new HeadView(found, this.view);
    fill(this.lookedAt, this.view.element);
  }

  #built(facts) {
    return make("section", { class: "model", "aria-label": facts.name },
      make("div", { class: "card" }, make("h2", {}, facts.name), this.output, this.notes),
      make("div", { class: "card" }, make("h3", {}, "Attention"), this.places, this.text,
        this.bars.element, this.tools, this.about, this.map),
      make("div", { class: "card" }, make("h3", {}, "Other explanations of the prediction"),
        this.#checks(facts.explanations), this.others, key()),
      this.tokens,
      this.heads, this.apart);
  }

  #checks(explanations) {
    const boxes = explanations.map(({ name, reason, about }) => {
      const box = make("input", { type: "checkbox", disabled: Boolean(reason) });
      box.checked = this.column.beside.includes(name);
      box.addEventListener("change", () => this.column.explain(name, box.checked));
      return make("label", { class: "check", title: reason ?? about }, box, spoken(name));
    });
    return make("details", {}, make("summary", {}, "Choose"),
      make("fieldset", {}, make("legend", { class: "hidden" }, "explanations"), ...boxes));
  }

  #drawPlaces() {
    const { column } = this;
    const sites = column.facts.sites.map((each) => [each.name, this.short.get(each.name)]);
    const heads = [[ALL, "all (mean)"],
      ...Array.from({ length: column.spec.heads }, (_, n) => [String(n), String(n)])];
    const rows = [["reading", "rows that are read"], [ALL, "all rows"]];
    const { site, head, queries } = column;
    fill(this.places,
      sites.length > 1 ? choice("site", sites, site, (each) => column.choose(each)) : null,
      heads.length > 2 ? choice("head", heads, head, (each) => column.choose(site, each)) : null,
      column.seen.queries > 1 ? choice("edit", rows, queries, (each) => column.rows(each)) : null);
  }

  #drawMap() {
    const { column } = this;
    const rows = this.#rows();
    if (rows.length < 2) return fill(this.map);
    return fill(this.map, make("h4", {}, "By layer and head"),
      heat(rows, column.seen.labels, `${column.site}/${column.head}`,
        (row) => column.choose(row.site, row.head)));
  }

  /** The mean of every site over the same words, and the heads of the one that is looked at. */
  #rows() {
    const { seen, site, answer } = this.column;
    const alike = answer.sites.filter((each) => each.labels.length === seen.labels.length
      && each.units === seen.units);
    return alike.flatMap(({ name, heads, mean, weights }) => {
      const own = row(name, ALL, this.short.get(name), mean);
      if (name !== site || heads < 2) return [own];
      return [own, ...weights.map((each, n) => row(name, String(n), `head ${n}`, each))];
    });
  }

  #says() {
    const { seen, spec, facts, site } = this.column;
    const others = spec.normalised ? "the others keep their proportions"
      : "a gate's weights need not sum to 1, so the others stay";
    const read = seen.queries > 1
      ? ` ${seen.reading} of ${seen.queries} rows of weights are read for the prediction.` : "";
    const later = facts.sites.length - 1 - facts.sites.findIndex((each) => each.name === site);
    const anew = later ? ` After an edit the ${later} later sites are computed anew.` : "";
    return `Drag a bar up or down, or use the arrow keys: ${others}. Lines mark the learned weights; `
      + `heights are square roots.${read}${anew}`;
  }
}

function row(site, head, name, weights) {
  return { key: `${site}/${head}`, site, head, name, title: site, weights };
}

function spoken(name) {
  return name.replaceAll("_", " ");
}

/** What the colours say. */
function key() {
  return make("p", { class: "caption key" }, "Shaded ", word("for"), " the predicted class, or ",
    word("against", { class: "down" }), " it; each relative to its own largest score.");
}
