// The page: a text, one model or two, and an address that restores it all.

import { ask } from "./api.js";
import { Column } from "./column.js";
import { TextBoxes } from "./documents.js";
import { fill, make } from "./dom.js";
import * as link from "./link.js";

const PAUSE = 600; // milliseconds without a key, after which the text is asked about
const at = (id) => document.getElementById(id);

class Page {
  constructor(facts) {
    this.facts = facts;
    this.example = 0;
    this.reads = facts.models.some((each) => each.pairs !== "never");
    const { unit } = facts.models[0]; // of all models that are served
    if (unit !== "word") document.documentElement.dataset.unit = unit;
    const longest = facts.limits.characters;
    this.boxes = new TextBoxes(at("texts"), { several: unit === "document", longest,
      heard: { typed: () => this.#typed(), ask: () => this.ask() } });
    at("second").hidden = !this.reads;
    at("text_b").maxLength = longest;
    this.#restore();
    this.columns = facts.models.map((model, number) => new Column(number, model, this, this.beside));
    fill(at("columns"), ...this.columns.map((column) => column.panel.element));
    at("columns").classList.toggle("two", this.columns.length > 1);
    this.#listen();
  }

  texts() {
    const second = at("text_b").value;
    return { text: this.boxes.value, text_b: this.reads && second.trim() ? second : null };
  }

  changed() {
    const state = { ...this.texts(), beside: this.columns[0].beside.join(" "),
      models: this.columns.map((column) => column.state()) };
    history.replaceState(null, "", link.write(state));
  }

  /** A sentence, or none any more. */
  failed(error) {
    at("problem").textContent = error?.message ?? "";
    at("problem").hidden = !error;
  }

  async ask() {
    clearTimeout(this.timer);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.failed(null);
    at("status").textContent = "asking …";
    try {
      await Promise.all(this.columns.map((column) => column.read(this.texts())));
      this.changed();
    } catch (error) {
      this.failed(error);
    }
    if (turn === this.turn) at("status").textContent = "";
  }

  /** What the address says, else the first example. */
  #restore() {
    const state = link.read(location.hash);
    this.beside = state.beside?.split(" ").filter((each) => each) ?? null;
    this.given = state.models;
    if (state.text === null) this.#show(0);
    else {
      this.boxes.value = state.text;
      at("text_b").value = state.text_b ?? "";
    }
  }

  #show(number) {
    const examples = this.facts.models.flatMap((model) => model.examples);
    this.example = number % examples.length;
    this.boxes.value = examples[this.example].text;
    at("text_b").value = examples[this.example].text_b ?? "";
  }

  start() {
    this.columns.forEach((column, number) => column.restore(this.given[number]));
    return this.ask();
  }

  #typed() {
    clearTimeout(this.timer);
    if (!this.boxes.empty) this.timer = setTimeout(() => this.ask(), PAUSE);
  }

  #listen() {
    at("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    at("text_b").addEventListener("input", () => this.#typed());
    at("text_b").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.ask();
    });
    at("another").addEventListener("click", () => {
      this.#show(this.example + 1);
      this.ask();
    });
    at("copy").addEventListener("click", () => copied(location.href));
    addEventListener("hashchange", () => {
      this.#restore();
      this.start();
    });
  }
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    at("status").textContent = "The link is copied.";
  } catch {
    at("status").textContent = "Copy the address of this page: it is the link.";
  }
}

try {
  const page = new Page(await ask("/api/model"));
  await page.start();
} catch (error) {
  at("problem").textContent = error.message;
  at("problem").hidden = false;
  fill(at("columns"), make("p", { class: "soft" }, "Nothing to show."));
}
