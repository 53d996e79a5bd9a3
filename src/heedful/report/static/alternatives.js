// Where attention cannot be dragged in the page: other attention that the model itself was run with.

import { make } from "./dom.js";
import { className, mapsOf } from "./data.js";
import { FURTHEST } from "./distances.js";
import { number, precise } from "./numbers.js";
import { visible } from "./visible.js";
import { said } from "./units.js";

/** A list of what was measured on this text; null where nothing was. */
export function alternatives(cell, row) {
  const lines = [
    moved("Uniform weights", row.example.m?.even),
    moved("Permuted weights", row.example.m?.shuffled),
    ...mapsOf(cell, row).filter((map) => map.kind === "furthest").map((map) => adversarial(map, row)),
    withoutTop(cell, row),
  ].filter((line) => line);
  if (lines.length === 0) return null;
  return make("div", { class: "x-instead" }, make("h5", {}, "Measured with the model itself"),
    make("dl", {}, ...lines.flatMap(([name, bar, says]) => [make("dt", {}, name), make("dd", {}, bar, says)])));
}

function moved(name, distance) {
  if (!Number.isFinite(distance)) return null;
  return [name, bar(distance), ` The output moves by ${number(distance, 2)} (0 is not at all, 1 the most).`];
}

function adversarial(map, row) {
  const distance = row.example.m?.[map.measure];
  if (!Number.isFinite(distance)) return null;
  return ["Adversarial weights", bar(distance / FURTHEST), ` The prediction stays with attention that is `
    + `${number(distance, 2)} away (JSD, at most ${number(FURTHEST, 2)}): it is shown below.`];
}

/** The first point of the recorded curve at which a word is gone. */
function withoutTop(cell, row) {
  const attention = mapsOf(cell, row).find((map) => map.kind === "attention");
  const points = row.example.curves?.[attention?.key] ?? [];
  const first = points.find(([share]) => share > 0);
  if (!first) return null;
  const gone = Math.max(1, Math.round(first[0] * attention.scores.filter((score) => score !== null).length));
  const name = said(gone === 1 ? "Heaviest word removed" : `${gone} heaviest words removed`);
  const before = points[0][0] === 0 ? `${precise(points[0][1])} → ` : "";
  return [name, bar(first[1]),
    ` ${visible(className(cell.corpus, row.example.p))}: ${before}${precise(first[1])}.`];
}

function bar(share) {
  const part = make("span", { class: "x-is" });
  part.style.setProperty("--at", `${100 * Math.min(1, Math.max(0, share))}%`);
  return make("span", { class: "x-probability", "aria-hidden": "true" }, part);
}
