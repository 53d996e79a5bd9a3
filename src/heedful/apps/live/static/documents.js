// The text that is asked about: one box, or one for each document of a list.

import { button, fill, make } from "./dom.js";

export class TextBoxes {
  /** `several`: the model is asked about documents. `heard.typed()` while somebody writes,
   *  `heard.ask()` when they press Enter or change the list. */
  constructor(place, { several, longest, heard }) {
    Object.assign(this, { place, several, longest, heard });
    this.boxes = [];
    this.add = button("Add a document", () => this.#grow());
  }

  /** A text, or a list of documents; empty ones are left out, unless all are. */
  get value() {
    const texts = this.boxes.map((box) => box.value);
    if (!this.several) return texts[0];
    const written = texts.filter((text) => text.trim());
    return written.length ? written : texts.slice(0, 1);
  }

  set value(given) {
    const texts = Array.isArray(given) ? given : [given];
    this.boxes = (this.several ? texts : texts.slice(0, 1)).map((text) => this.#box(text));
    this.#draw();
  }

  get empty() {
    return !this.boxes.some((box) => box.value.trim());
  }

  #box(text = "") {
    const box = make("textarea", { rows: "2", spellcheck: "false", autocomplete: "off", maxlength: this.longest });
    box.value = text;
    box.addEventListener("input", () => this.heard.typed());
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.heard.ask();
    });
    return box;
  }

  #draw() {
    this.boxes.forEach((box, place) => {
      box.id = place ? `text-${place + 1}` : "text";
    });
    fill(this.place, ...this.boxes.map((box, place) => this.#line(box, place)),
      this.several ? make("p", { class: "tools" }, this.add) : null);
  }

  #line(box, place) {
    const name = this.several ? `Document ${place + 1}` : "Text";
    const gone = this.several && this.boxes.length > 1
      ? button("Remove", () => this.#shrink(box), { class: "quiet", "aria-label": `Remove document ${place + 1}` }) : null;
    return make("div", { class: "text-box" }, make("label", { for: box.id }, name), gone, box);
  }

  #grow() {
    this.boxes.push(this.#box());
    this.#draw();
    this.boxes.at(-1).focus();
  }

  #shrink(box) {
    const place = this.boxes.indexOf(box);
    this.boxes.splice(place, 1);
    this.#draw();
    this.boxes[Math.min(place, this.boxes.length - 1)].focus();
    this.heard.ask();
  }
}
