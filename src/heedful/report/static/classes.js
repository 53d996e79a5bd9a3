// A prediction before and after: two bars for each class, and one sentence.

import { make } from "./dom.js";
import { className } from "./data.js";
import { FURTHEST, jsd, tvd } from "./distances.js";
import { likeliest } from "./linear.js";
import { number, precise } from "./numbers.js";
import { visible } from "./visible.js";

const MOST = 8; // classes that are shown at once

/** Rows of the likeliest classes, then or now, in the order of the classes. */
export function classRows(corpus, before, now) {
  const chosen = likeliest(now);
  const size = (c) => Math.max(before[c], now[c]);
  const shown = now.map((_, c) => c).sort((a, b) => size(b) - size(a)).slice(0, MOST).sort((a, b) => a - b);
  const rows = shown.map((c) => classRow(corpus, c, before[c], now[c], c === chosen));
  const rest = now.length - shown.length;
  return rest > 0 ? [...rows, make("p", { class: "x-soft" }, `and ${rest} less likely ones`)] : rows;
}

function classRow(corpus, number_, before, now, chosen) {
  const track = make("div", { class: "x-probability" }, part("x-was", before), part("x-is", now));
  const text = before === now ? "" : `${precise(before)} → `;
  return make("div", { class: chosen ? "x-row x-chosen" : "x-row", "data-class": number_,
    "data-p": String(now), "data-before": String(before) },
  make("bdi", {}, visible(className(corpus, number_))), track,
  make("span", { class: "x-n" }, make("span", { class: "x-soft" }, text), make("strong", {}, precise(now))));
}

function part(kind, p) {
  const element = make("span", { class: kind });
  element.style.setProperty("--at", `${100 * p}%`);
  return element;
}

/** What moving attention did to the prediction, as text and elements. */
export function sentence(corpus, learned, weights, before, now) {
  const [was, is] = [before, now].map(likeliest);
  const name = (c) => make("strong", {}, visible(className(corpus, c)));
  const distance = jsd(learned, weights);
  if (distance < 1e-12) return ["Predicted ", name(is), ", with the attention the model learned."];
  const how = `. Output moved by ${number(tvd(before, now))}, attention by ${number(distance)} `
    + `(JSD, at most ${number(FURTHEST)}).`;
  if (was === is) return ["Still ", name(is), how];
  return [make("span", { class: "x-flip" }, "Changed"), " from ", name(was), " to ", name(is), how];
}
