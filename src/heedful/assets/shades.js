// Words shaded by a score, and maps of many rows: the same two colours everywhere.

import { fill, make, word } from "./dom.js";
import { said } from "./units.js";

/** A text with its words shaded by scores, relative to the largest; null for words the model
 *  did not see, and for those that are asked about. */
export function shaded(words, scores) {
  const most = Math.max(1e-12, ...scores.map((score) => Math.abs(score ?? 0)));
  return line_of(words, scores, (score) => Math.abs(score) / most);
}

/** The same by weights, as dark as bars are high: even weights must not look like large ones. */
export function weighted(words, weights) {
  return line_of(words, weights, (weight) => Math.sqrt(Math.min(1, weight)));
}

function line_of(words, scores, depth) {
  const line = make("p", { class: "words" });
  let side = words[0]?.side;
  words.forEach((each, index) => {
    if (each.side !== side) line.append(make("span", { class: "next-text" }, "‖"), " ");
    side = each.side;
    line.append(shade(each, scores[index] ?? null, depth), " ");
  });
  return line;
}

function shade(each, score, depth) {
  const kind = score === null ? (each.asked ? "asked" : "cut") : score < 0 ? "down" : "";
  const element = word(each.text, { class: kind });
  if (score !== null) {
    element.style.setProperty("--s", String(Math.round(100 * depth(score))));
    element.title = score.toFixed(4);
  } else if (each.asked) element.title = said("the prediction is about this word");
  else element.title = each.why ?? said("the model did not read this word");
  return element;
}

/** Rows of weights over the same words; a row can be chosen. */
export function heat(rows, labels, chosen, choose) {
  const head = make("tr", {}, make("th", {}),
    ...labels.map((label) => make("th", { scope: "col" }, clipped(label))));
  const lines = rows.map((row) => {
    const name = make("button", { type: "button", class: "row-name",
      "aria-pressed": String(row.key === chosen), title: row.title, onclick: () => choose(row) }, row.name);
    const cells = row.weights.map((weight, index) => {
      const cell = make("td");
      cell.style.setProperty("--s", String(Math.round(100 * Math.sqrt(weight))));
      cell.title = `${labels[index].slice(0, 80)}: ${weight.toFixed(4)}`;
      return cell;
    });
    return make("tr", { class: row.key === chosen ? "chosen" : "" },
      make("th", { scope: "row" }, name), ...cells);
  });
  const table = make("table", { class: "heat" });
  fill(table, make("thead", {}, head), make("tbody", {}, ...lines));
  return make("div", { class: "scroll", tabindex: "0", role: "region",
    "aria-label": said("weights by row and word") }, table);
}

function clipped(label) {
  const element = word(label, { class: "clip" });
  element.title = label.slice(0, 200);
  return element;
}
