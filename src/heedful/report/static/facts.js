// What is known about one text: its prediction, its label, its measures.

import { make } from "./dom.js";
import { className } from "./data.js";
import { counted, precise, short } from "./numbers.js";
import { clip, visible } from "./visible.js";
import { said } from "./units.js";

const FEW = 6; // measures that are shown at once

export function factsOf(cell, row) {
  return make("div", { class: "x-facts" },
    make("h3", { class: "x-id", title: clip(visible(row.id), 200) }, clip(visible(row.id), 60)),
    make("p", { class: "x-said" }, ...outcome(cell, row)),
    row.other === null ? null : other(row.other),
    measures(cell, row));
}

function outcome(cell, row) {
  const name = (number) => make("strong", {}, visible(className(cell.corpus, number)));
  const sure = Number.isFinite(row.example.c) ? ` with ${precise(row.example.c)}` : "";
  const parts = ["Predicted ", name(row.example.p), `${sure}. `];
  if (row.wrong) parts.push(make("span", { class: "x-wrong" }, "wrong"), " The label is ", name(row.label), ". ");
  else parts.push(row.label < 0 ? "It has no label. " : "The label says so too. ");
  const cut = row.all > row.words.length ? `The first ${row.words.length.toLocaleString("en")} of ` : "";
  return [...parts, `${cut}${counted(row.all, said("word"))}.`];
}

/** The text that was not attended to: a question, a hypothesis. */
function other(text) {
  return make("p", { class: "x-other" }, make("span", { class: "x-soft" }, "Read beside it: "),
    make("bdi", {}, visible(text)));
}

function measures(cell, row) {
  const list = cell.measures.filter((each) => each.key !== "confidence" && each.key !== "length");
  if (list.length === 0) return null;
  const all = make("dl", { class: "x-measures" }, ...list.map((each) => make("div", {},
    make("dt", {}, visible(each.title)), make("dd", {}, short(row.example.m?.[each.key])))));
  if (list.length <= FEW) return all;
  return make("details", {}, make("summary", {}, `${list.length} numbers of this text`), all);
}
