// The prediction as words go, in the order of two explanations.

import { fill, make } from "./dom.js";
import { className } from "./data.js";
import { curve } from "./curve.js";
import { erasure, likeliest } from "./linear.js";
import { counted } from "./numbers.js";
import { orderWithin } from "./presets.js";
import { clip, visible } from "./visible.js";
import { said } from "./units.js";

const LONGEST_NAME = 40; // letters of a class that fit above the chart

export class ErasureCurves {
  constructor() {
    this.body = make("div");
    this.element = make("section", { class: "x-part" },
      make("h4", {}, said("What happens as words are removed")), this.body);
  }

  show(cell, row, linear, pair) {
    const name = clip(visible(className(cell.corpus, row.example.p)), LONGEST_NAME);
    const maps = pair.filter((map) => map);
    if (linear) fill(this.body, ...exactly(row, linear, maps, name));
    else fill(this.body, ...recorded(row, maps.filter((map) => map.owner === cell.facts.key), name));
  }
}

function exactly(row, linear, maps, name) {
  const lines = maps.map((map) => lineOf(map, row, linear));
  return [
    curve(lines, `p of ${name}`),
    make("p", {}, ...lines.map((line) => line.says)),
    make("p", { class: "x-soft" }, `The ${said("words")} with ${highest(maps)} are removed from attention first, the rest is `
      + "renormalised; the states the model read stay as they are. Computed here, exactly."),
  ];
}

function lineOf(map, row, linear) {
  const order = orderWithin(linear, map.scores);
  const steps = erasure(linear.learned, linear.z, order);
  const points = steps.map(({ removed, p }) => ({ x: removed / order.length, y: p[row.example.p],
    says: removed ? said(`without ${removed} of ${order.length} words`) : said("all words") }));
  const title = visible(map.title);
  return { title, points, says: flips(title, steps, order.length) };
}

function flips(title, steps, all) {
  const before = likeliest(steps[0].p);
  const step = steps.find(({ p }) => likeliest(p) !== before);
  const when = step ? `changes after ${step.removed} of ${counted(all, said("word"))}` : "never changes";
  return `In the order of ${title}, the prediction ${when}. `;
}

function recorded(row, maps, name) {
  const { curves = {}, operator } = row.example;
  const there = maps.filter((map) => curves[map.key]?.length);
  if (there.length === 0) return [make("p", { class: "x-soft" }, why(curves, maps))];
  const lines = there.map((map) => ({ title: visible(map.title),
    points: curves[map.key].map(([x, y]) => ({ x, y, says: `without ${Math.round(100 * x)}% of the ${said("words")}` })) }));
  return [
    curve(lines, `p of ${name}`),
    make("p", { class: "x-soft" }, `Recorded with the model itself, the ${said("words")} with ${highest(there)} first`,
      operator ? `; ${said("words")} were removed by “${visible(operator)}”.` : "."),
  ];
}

/** Where scores have signs, the lowest are not the lightest. */
function highest(maps) {
  return maps.some((map) => map.signed) ? "the highest scores" : "the largest weights";
}

function why(curves, maps) {
  if (maps.length === 0) return "There is no explanation whose order could be followed.";
  if (Object.keys(curves).length > 0) return "No curve was recorded for these two explanations; choose others.";
  return "No curve was recorded for this text, and without the logits of its " + said("words") + " none can be computed here.";
}
