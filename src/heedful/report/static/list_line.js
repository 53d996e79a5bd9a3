// One text in the list: its words shaded by attention, its prediction, what it is sorted by.

import { make } from "./dom.js";
import { className } from "./data.js";
import { counted, precise, short } from "./numbers.js";
import { firstHit, valueOf } from "./sorting.js";
import { heaviest } from "./orders.js";
import { clip, shadedBy, shownOf, visible } from "./visible.js";
import { said } from "./units.js";

const MOST = 45; // words; two lines hold no more
const BEFORE = 4; // words before the one that a line is about
const LONGEST = 120; // characters of the text beside it

export function lineOf(cell, row, controls) {
  return make("button", { type: "button", class: "x-line" }, snippet(cell, row, controls.typed), beside(row),
    make("span", { class: "x-about" }, ...about(cell, row, controls)));
}

/** Around the first word that was searched for, else around the heaviest. */
function snippet(cell, row, typed) {
  const map = shadingOf(cell, row);
  const centre = typed ? firstHit(row, typed) : heaviest(map.scores, 1)[0]?.index ?? 0;
  const from = Math.max(0, centre - BEFORE);
  const line = make("span", { class: "x-snippet words" }, from > 0 ? "… " : null);
  const cut = { ...map, scores: map.scores.slice(from, from + MOST) };
  line.append(...shadedBy(shownOf(row, from, from + MOST), cut).childNodes);
  return line;
}

/** The question, the hypothesis, or what was written so far: many texts of a list may be alike. */
function beside(row) {
  return row.other === null ? null : make("span", { class: "x-beside" }, make("bdi", {}, visible(clip(row.other, LONGEST))));
}

/** Attention, else the first map there is; without any, words as they are. */
function shadingOf(cell, row) {
  const own = cell.facts.maps.filter((map) => row.example.maps?.[map.key]);
  const map = own.find((each) => each.kind === "attention") ?? own[0];
  if (!map) return { kind: "attention", scores: row.words.map(() => 0) };
  return { ...map, scores: row.example.maps[map.key] };
}

function about(cell, row, controls) {
  const { key, title } = controls.sorting;
  const sure = Number.isFinite(row.example.c) ? ` ${precise(row.example.c)}` : "";
  return [
    make("span", { class: "x-class" }, visible(className(cell.corpus, row.example.p)), sure),
    row.wrong ? make("span", { class: "x-wrong" }, "wrong") : null,
    make("span", { class: "x-name" }, clip(visible(row.id), 40)),
    make("span", { class: "x-value", title: visible(title) }, worth(row, key)),
  ];
}

/** What the list is sorted by, where the line does not say it anyway. */
function worth(row, key) {
  if (key === "id" || key === "confidence") return "";
  const value = valueOf(row, key);
  return key === "length" && Number.isInteger(value) ? counted(value, said("word")) : short(value);
}
