// All layers and heads at once: a small map of each, or a number; one of them is chosen.

import { choice, fill, make } from "./dom.js";
import { SUMMARIES, summary, unitsOf } from "./head_weights.js";

const MAPS = "maps";
const FINEST = 40; // pixels of a small map
const TITLES = {
  "a a": "Within the text",
  "target a": "From the target to the source",
  "target target": "Within the target",
};

/** Sites by what attends to what, in the order of the model; a group's sites are its layers. */
export function groupsOf(sites) {
  const groups = new Map();
  sites.forEach((site) => {
    const key = `${site.queries} ${site.keys}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(site);
  });
  const pairs = [...groups.entries()];
  const both = pairs.some(([key]) => key.startsWith("target"));
  return pairs.map(([key, members]) => ({
    title: key === "a a" && both ? "Within the source" : TITLES[key] ?? "Over the text", sites: members }));
}

export class Overview {
  /** `choose(site, head)` is called with another head. */
  constructor(weights, choose) {
    Object.assign(this, { weights, choose, by: MAPS, buttons: [] });
    this.groups = groupsOf(weights.sites);
    this.places = make("div", { class: "head-groups" });
    this.about = make("p", { class: "caption" });
    this.element = make("div", { class: "head-overview" }, this.#choices(), this.about, this.places);
    this.element.addEventListener("keydown", (event) => this.#move(event));
    this.#draw();
  }

  mark(site, head) {
    Object.assign(this, { site, head });
    for (const each of this.buttons.flat()) {
      const chosen = each.site === site && each.head === head;
      each.element.setAttribute("aria-pressed", String(chosen));
      each.element.tabIndex = chosen ? 0 : -1;
    }
  }

  #choices() {
    const fitting = SUMMARIES.filter((by) =>
      this.weights.sites.some((site) => summary(this.weights, site, 0, by) !== null));
    const options = [[MAPS, "small maps"], ...fitting.map((by) => [by.key, by.name])];
    return make("div", { class: "tools" }, choice("Heads by", options, this.by, (by) => {
      this.by = by;
      this.#draw();
      this.mark(this.site, this.head);
    }));
  }

  #draw() {
    const by = SUMMARIES.find((each) => each.key === this.by);
    this.about.textContent = by
      ? `Each number is ${by.about}, on average over the tokens; special tokens are not counted.`
      : "Each square is a head: a row for every token, dark where it looks.";
    this.buttons = [];
    fill(this.places, ...this.groups.map((group) => this.#group(group, by)));
  }

  #group({ title, sites }, by) {
    const most = Math.max(...sites.map((site) => site.heads));
    const grid = make("div", { class: "head-grid", role: "group", "aria-label": `${title}: layers and heads` });
    grid.style.setProperty("--heads", String(most));
    grid.append(make("span", { class: "corner" }, "layer"),
      ...Array.from({ length: most }, (_, head) => make("span", { class: "head-name" }, String(head))));
    sites.forEach((site, layer) => {
      grid.append(make("span", { class: "layer-name", title: site.name }, String(layer)));
      const row = Array.from({ length: site.heads }, (_, head) => this.#cell(site, layer, head, by));
      this.buttons.push(row);
      grid.append(...row.map((each) => each.element));
      for (let head = site.heads; head < most; head += 1) grid.append(make("span"));
    });
    const scroll = make("div", { class: "head-scroll" }, grid);
    return make("div", { class: "head-group" }, make("h3", {}, title), scroll);
  }

  #cell(site, layer, head, by) {
    const value = by ? summary(this.weights, site, head, by) : null;
    const told = value === null ? "" : `, ${by.name} ${value.toFixed(2)}`;
    const element = make("button", { type: "button", class: "head-cell", tabindex: "-1", "aria-pressed": "false",
      "aria-label": `layer ${layer}, head ${head}${told}`, title: `layer ${layer}, head ${head}${told}`,
      onclick: () => this.choose(site, head) });
    if (by) {
      element.style.setProperty("--s", String(Math.round(100 * (value ?? 0))));
      element.append(value === null ? "–" : value.toFixed(2).replace(/^0/, ""));
      element.classList.add("number");
    } else element.append(this.#map(site, head));
    return { site, head, element };
  }

  /** Each pixel is the heaviest of the weights it stands for. */
  #map(site, head) {
    const [rows, columns] = [site.queries, site.keys].map((side) =>
      unitsOf(this.weights.sides[side], false, true).length);
    const [height, width] = [Math.min(rows, FINEST), Math.min(columns, FINEST)];
    const most = new Float32Array(height * width);
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const place = Math.floor((row * height) / rows) * width + Math.floor((column * width) / columns);
        most[place] = Math.max(most[place], this.weights.weight(site, head, row, column));
      }
    }
    return painted(width, height, most);
  }

  #move(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const row = this.buttons.findIndex((each) => each.some((cell) => cell.element === event.target));
    if (!(event.key in steps) || row < 0) return;
    event.preventDefault();
    const [down, right] = steps[event.key];
    const column = this.buttons[row].findIndex((cell) => cell.element === event.target);
    const to = this.buttons[row + down]?.[column + right];
    if (!to) return;
    this.choose(to.site, to.head);
    to.element.focus();
  }
}

/** A canvas of weights in the colour of the theme, as dark as their square roots. */
export function painted(width, height, weights) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  Object.assign(canvas, { width, height });
  const rgb = getComputedStyle(document.documentElement).getPropertyValue("--heat").split(",").map(Number);
  const image = new ImageData(width, height);
  weights.forEach((weight, place) => image.data.set([...rgb, Math.round(255 * Math.sqrt(weight))], 4 * place));
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}
