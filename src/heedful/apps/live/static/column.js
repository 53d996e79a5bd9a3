// One model on the page: what it was asked, its site and head, its weights and their past.

import { ask, latest } from "./api.js";
import { Panel } from "./panel.js";
import { normalise, parsed, same, written } from "./weights.js";

const ALL = "all"; // heads, or queries
const READING = "reading"; // the queries a prediction is read from
const FIRST_BESIDE = ["leave_one_out", "integrated_gradients"];

export class Column {
  /** `page` has `changed()` and `failed(error)`. */
  constructor(number, facts, page, beside) {
    Object.assign(this, { number, facts, page });
    this.past = [];
    this.seed = 0;
    this.#home();
    this.beside = (beside ?? FIRST_BESIDE).filter((name) => this.fits(name));
    this.request = latest((weights) => this.#run({ weights }));
    this.panel = new Panel(this);
  }

  fits(name) {
    return this.facts.explanations.some((each) => each.name === name && !each.reason);
  }

  /** What is known of the site without a text, with this text, and its weights as learned. */
  get spec() {
    return this.facts.sites.find((each) => each.name === this.site);
  }

  get seen() {
    return this.answer.sites.find((each) => each.name === this.site);
  }

  get learned() {
    return this.head === ALL ? this.seen.mean : this.seen.weights[Number(this.head)];
  }

  /** For the link; nothing where it is as at first. */
  state() {
    const learned = !this.answer || same(this.kept, this.learned);
    return {
      site: this.site === this.facts.main ? null : this.site,
      head: this.head === ALL ? null : this.head,
      queries: this.queries === READING ? null : this.queries,
      weights: learned ? null : written(this.kept),
    };
  }

  restore(state) {
    this.#home();
    if (this.facts.sites.some((each) => each.name === state.site)) this.site = state.site;
    if (/^\d+$/.test(state.head ?? "") && Number(state.head) < this.spec.heads) {
      this.head = String(Number(state.head));
    }
    if (state.queries === ALL) this.queries = ALL;
    this.given = state.weights;
  }

  /** A text is asked about. A model that reads one text is not given the second. */
  async read(texts) {
    const own = this.facts.pairs === "never" ? { ...texts, text_b: null } : texts;
    const body = { model: this.number, ...own, explanations: this.beside };
    this.answer = await ask("/api/predict", body);
    this.texts = own;
    await this.#settle();
    if (this.panel.looking) await this.look();
    this.panel.drawTokens();
  }

  /** What is shown moves at once; the prediction follows when the model has answered. */
  edit(weights) {
    this.weights = weights;
    this.panel.drawText();
    return this.request(weights);
  }

  /** A bar was let go, or a button gave weights: the step can be undone. */
  async keep(weights) {
    if (!same(this.kept, weights)) this.past.push(this.kept);
    this.kept = weights;
    this.panel.drawButtons();
    await this.edit(weights);
    this.page.changed();
  }

  to(weights) {
    this.panel.bars.set(weights);
    return this.keep(weights);
  }

  /** One step back is no step of its own. */
  undo() {
    this.kept = this.past.pop();
    return this.to(this.kept);
  }

  async preset(kind) {
    if (kind === "shuffled") this.seed += 1;
    if (!(await this.#run({ kind, seed: this.seed }))) return;
    const { weights } = this.edited;
    if (!same(this.kept, weights)) this.past.push(this.kept);
    this.weights = this.kept = weights;
    this.panel.bars.set(weights);
    this.panel.drawText();
    this.panel.drawButtons();
    this.page.changed();
  }

  /** Another site (all of its heads), or a head of one. */
  async choose(site, head = ALL) {
    this.site = site;
    this.head = head;
    await this.#settle();
    this.page.changed();
  }

  rows(queries) {
    this.queries = queries;
    return this.keep(this.weights);
  }

  reset() {
    this.#home();
    return this.choose(this.site);
  }

  async explain(name, wanted) {
    this.beside = wanted ? [...this.beside, name] : this.beside.filter((each) => each !== name);
    if (wanted && !this.answer.explanations[name]) {
      const body = { model: this.number, ...this.texts, explanations: [name] };
      const found = await this.#tried(() => ask("/api/predict", body));
      Object.assign(this.answer.explanations, found?.explanations);
    }
    this.panel.drawBeside();
    this.panel.drawTokens();
    this.page.changed();
  }

  /** The panel that takes attention apart is open, or was opened. */
  async takeApart() {
    if (!this.answer) return;
    const found = await this.#tried(() => ask("/api/explain", this.#place()));
    if (found) this.panel.drawApart(found);
  }

  /** What each token of the answer rests on, by one explanation: for `AnswerView`. */
  async byToken(explanation) {
    const body = { model: this.number, ...this.texts, explanation };
    const found = await this.#tried(() => ask("/api/tokens", body));
    return found ?? { whole: null, scores: null, reason: "It was not answered." };
  }

  /** The panel of all heads is open, or was opened. */
  async look() {
    if (!this.answer) return;
    const found = await this.#tried(() => ask("/api/heads", { model: this.number, ...this.texts }));
    if (found) this.panel.drawHeads(found);
  }

  #home() {
    this.site = this.facts.main;
    this.head = ALL;
    this.queries = READING;
  }

  /** A new text, site or head: the weights begin as learned, or as the link has them. */
  async #settle() {
    const given = parsed(this.given, this.seen.labels.length);
    const whole = given && this.spec.normalised ? normalise(given) : given;
    this.given = null;
    this.past = [];
    this.edited = null;
    this.weights = this.kept = whole ?? this.learned;
    this.panel.draw();
    if (whole) await this.#run({ weights: whole });
    if (this.panel.open) await this.takeApart();
  }

  /** Whether the model answered; the learned weights need no asking. */
  async #run(change) {
    const learned = change.weights && same(change.weights, this.learned);
    const body = { ...this.#place(), queries: this.queries, ...change };
    const found = learned ? null : await this.#tried(() => ask("/api/edit", body));
    if (found === undefined) return false;
    this.edited = found;
    this.panel.drawPrediction();
    return true;
  }

  /** What a call returns; undefined, and a sentence on the page, where it fails. */
  async #tried(call) {
    try {
      const found = await call();
      this.page.failed(null);
      return found;
    } catch (error) {
      this.page.failed(error);
      return undefined;
    }
  }

  #place() {
    const head = this.head === ALL ? null : Number(this.head);
    return { model: this.number, ...this.texts, site: this.site, head };
  }
}
