// One head drawn between two lists of tokens: as lines, or as a matrix.

import { make } from "./dom.js";
import { painted } from "./head_overview.js";

export const ROW = 26; // pixels of a token, in heads.css too
const MOST_LINES = 1500;
const FAINTEST = 0.01;
const SVG = "http://www.w3.org/2000/svg";

/** Lines from the tokens on the left to those on the right, as opaque as weights are heavy. */
export class Lines {
  constructor() {
    this.element = document.createElementNS(SVG, "svg");
    this.element.setAttribute("aria-hidden", "true");
    this.element.setAttribute("preserveAspectRatio", "none");
    this.element.classList.add("head-lines");
  }

  /** All of them, or those of one token: `{from}` or `{to}`. */
  draw(matrix, only) {
    const height = ROW * Math.max(matrix.length, matrix[0].length);
    this.element.setAttribute("viewBox", `0 0 100 ${height}`);
    this.element.style.height = `${height}px`;
    const lines = matrix.flatMap((row, from) => Array.from(row, (weight, to) => ({ from, to, weight })));
    const there = lines.filter((line) => line.weight >= FAINTEST
      && (only?.from ?? line.from) === line.from && (only?.to ?? line.to) === line.to);
    const heaviest = there.sort((a, b) => b.weight - a.weight).slice(0, MOST_LINES).reverse();
    this.element.replaceChildren(...heaviest.map(line));
  }
}

function line({ from, to, weight }) {
  const [start, end] = [from, to].map((place) => ROW * (place + 0.5));
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", `M0 ${start}C40 ${start} 60 ${end} 100 ${end}`);
  path.setAttribute("stroke-opacity", String(Math.max(0.06, weight)));
  path.setAttribute("stroke-width", String(1 + 2.5 * weight));
  path.setAttribute("vector-effect", "non-scaling-stroke");
  return path;
}

/** A cell for each two tokens; `point(from, to)` is told which is under the pointer. */
export class Matrix {
  constructor(point) {
    this.element = make("div", { class: "head-matrix" });
    this.element.addEventListener("pointermove", (event) => {
      const box = this.element.getBoundingClientRect();
      const [from, to] = [event.clientY - box.top, event.clientX - box.left].map((at) => Math.floor(at / ROW));
      if (from >= 0 && from < this.rows && to >= 0 && to < this.columns) point(from, to);
    });
    this.cross = make("div", { class: "head-cross" });
  }

  draw(matrix, only) {
    [this.rows, this.columns] = [matrix.length, matrix[0].length];
    if (this.drawn !== matrix) {
      const flat = Float32Array.from(matrix.flatMap((row) => [...row]));
      this.element.replaceChildren(painted(this.columns, this.rows, flat), this.cross);
      this.element.style.width = `${ROW * this.columns}px`;
      this.element.style.height = `${ROW * this.rows}px`;
      this.drawn = matrix;
    }
    const { from, to } = only ?? {};
    this.cross.hidden = from === undefined && to === undefined;
    this.cross.style.top = from === undefined ? "0" : `${ROW * from}px`;
    this.cross.style.height = from === undefined ? "100%" : `${ROW}px`;
    this.cross.style.left = to === undefined ? "0" : `${ROW * to}px`;
    this.cross.style.width = to === undefined ? "100%" : `${ROW}px`;
  }
}
