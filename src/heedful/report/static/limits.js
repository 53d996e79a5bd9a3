// How far attention could go: the furthest one with the same prediction, and what is in reach.

import { make } from "./dom.js";
import { className } from "./data.js";
import { FURTHEST, jsd, tvd } from "./distances.js";
import { likeliest, predict } from "./linear.js";
import { number } from "./numbers.js";
import { asWeights } from "./presets.js";
import { normalise } from "./weights.js";
import { capital, shadedBy, shownOf, visible } from "./visible.js";
import { said } from "./units.js";

/** Null where nothing is known about it. */
export function limitsOf(cell, row, maps, linear) {
  const furthest = maps.filter((map) => map.kind === "furthest");
  const attention = maps.find((map) => map.kind === "attention");
  const { reach } = row.example;
  if (furthest.length === 0 && !reach) return null;
  return make("section", { class: "x-part" }, make("h4", {}, "How far attention could go"),
    ...furthest.map((map) => far(map, attention, row, linear)),
    reach ? inReach(reach, row, visible(className(cell.corpus, row.example.p)), cell.corpus) : null);
}

function far(map, attention, row, linear) {
  return make("div", { class: "x-far" }, make("h5", {}, capital(visible(map.title))),
    shadedBy(shownOf(row), map),
    make("p", {}, apart(row.example.m?.[map.measure], map, attention),
      linear && !row.example.merged ? effect(map, linear) : ""));
}

/** As it was measured, over all that is attended to; else what the words alone say. */
function apart(measured, map, attention) {
  if (!Number.isFinite(measured) && !attention) return "";
  const [distance, over] = Number.isFinite(measured) ? [measured, ""] : [byWords(map, attention), said(" over words")];
  return `It is ${number(distance, 2)} away from the learned attention (JSD${over}, at most ${number(FURTHEST, 2)}). `;
}

function byWords(...maps) {
  return jsd(...maps.map((each) => normalise(each.scores.map((score) => score ?? 0))));
}

/** What this attention does to the output, from the words' own logits. */
function effect(map, linear) {
  const weights = asWeights(linear, map.scores);
  if (!weights) return "";
  const [before, after] = [linear.learned, weights].map((each) => predict(each, linear.z));
  const kept = likeliest(before) === likeliest(after) ? "The prediction stays" : "The prediction changes";
  return `${kept}; the output moves by ${number(tvd(before, after), 3)}.`;
}

/** A bar from the lowest to the highest probability that some attention gives. */
function inReach([low, high], row, name, corpus) {
  const p = row.example.c;
  const bar = make("div", { class: "x-reach", role: "img", "aria-label":
    `from ${number(low, 2)} to ${number(high, 2)}` },
  place("x-span", low, high), Number.isFinite(p) ? place("x-here", p, p) : null);
  const scale = make("div", { class: "x-scale", "aria-hidden": "true" },
    ...["0", "0.5", "1"].map((text) => make("span", {}, text)));
  return make("div", {}, make("h5", {}, `Probabilities of ${name} that some attention gives`), bar, scale,
    make("p", {}, reachSays(low, high, p, corpus)));
}

function reachSays(low, high, p, corpus) {
  const below = low > 0.0005 ? `No attention can take the probability below ${number(low, 2)}`
    : "Some attention takes the probability to nothing";
  const above = high < 0.9995 ? `none can take it above ${number(high, 2)}` : "some takes it to one";
  const says = Number.isFinite(p) ? `The model says ${number(p, 2)}. ` : "";
  return `${below}; ${above}. ${says}${decided(low, corpus)}`;
}

function decided(low, corpus) {
  if (low > 0.5) return "So the prediction does not depend on attention.";
  return corpus.classes?.length === 2 && low < 0.5 ? "So some attention changes the prediction." : "";
}

function place(kind, from, to) {
  const element = make("span", { class: kind });
  element.style.setProperty("--from", `${100 * from}%`);
  element.style.setProperty("--to", `${100 * to}%`);
  return element;
}
