// The page: a text, one model or two, and an address that restores it all.

import { ask } from "./api.js";
import { Column } from "./column.js";
import { fill, make } from "./dom.js";
import * as link from "./link.js";

const PAUSE = 600; // milliseconds without a key, after which the text is asked about
const at = (id) => document.getElementById(id);

class Page {
  constructor(facts) {
    this.facts = facts;
    this.example = 0;
    this.reads = facts.models.some((each) => each.pairs !== "never");
    at("second").hidden = !this.reads;
    at("text").maxLength = at("text_b").maxLength = facts.limits.characters;
    this.#restore();
    this.columns = facts.models.map((model, number) => new Column(number, model, this, this.beside));
    fill(at("columns"), ...this.columns.map((column) => column.panel.element));
    at("columns").classList.toggle("two", this.columns.length > 1);
    this.#listen();
  }

  texts() {
    const second = at("text_b").value;
    return { text: at("text").value, text_b: this.reads && second.trim() ? second : null };
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
      at("text").value = state.text;
      at("text_b").value = state.text_b ?? "";
    }
  }

  #show(number) {
    const examples = this.facts.models.flatMap((model) => model.examples);
    this.example = number % examples.length;
    at("text").value = examples[this.example].text;
    at("text_b").value = examples[this.example].text_b ?? "";
  }

  start() {
    this.columns.forEach((column, number) => column.restore(this.given[number]));
    return this.ask();
  }

  #listen() {
    at("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    for (const id of ["text", "text_b"]) {
      at(id).addEventListener("input", () => {
        clearTimeout(this.timer);
        if (at("text").value.trim()) this.timer = setTimeout(() => this.ask(), PAUSE);
      });
      at(id).addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        this.ask();
      });
    }
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
