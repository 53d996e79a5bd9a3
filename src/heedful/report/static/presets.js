// The attention that one press gives: even, shuffled, as far away as can be, as people marked.

import { orderOf, shuffled } from "./orders.js";
import { capital, visible } from "./visible.js";
import { normalise, parsed, same } from "./weights.js";

const ROUNDED = 2e-6; // a link's weights have six digits after the point

/** What can be dragged: the words the model read, their logits, their learned weights. Null
 *  where the decoder is not linear. */
export function linearOf(words, example) {
  const { z, maps } = example;
  const attention = maps?.attention;
  if (!z || !attention) return null;
  const read = words.map((_, i) => i).filter((i) => z[i] && Number.isFinite(attention[i]));
  if (read.length === 0) return null;
  return { read, z: read.map((i) => z[i]), learned: read.map((i) => attention[i]) };
}

/** A button each: `{name, weights}`. Where words were merged, how the furthest attention shares a
 *  word's weight among its tokens is not known. */
export function offered(maps, row, linear) {
  const furthest = row.example.merged ? [] : maps.filter((map) => map.kind === "furthest");
  const first = furthest[0]?.searched ? "Furthest found" : "Furthest with the same prediction";
  const named = (map) => (map === furthest[0] ? first : capital(visible(map.title)));
  return [
    { name: "Learned", weights: linear.learned },
    { name: "Uniform", weights: uniform(linear) },
    ...furthest.map((map) => ({ name: named(map), weights: asWeights(linear, map.scores) })),
    { name: "Human rationale", weights: row.marks ? asWeights(linear, row.marks) : null },
  ].filter((each) => each.weights);
}

function uniform(linear) {
  return linear.learned.map(() => 1 / linear.learned.length);
}

export function shuffledBy(linear, seed) {
  return shuffled(linear.learned, seed);
}

/** A map over all words as weights over those that were read; null where it has nothing there. */
export function asWeights(linear, scores) {
  const found = linear.read.map((i) => Math.max(0, scores[i] ?? 0));
  return found.some((weight) => weight > 0) ? normalise(found) : null;
}

/** The order in which a map takes the words that can be dragged. */
export function orderWithin(linear, scores) {
  const places = new Map(linear.read.map((word, place) => [word, place]));
  const given = orderOf(scores).filter((word) => places.has(word)).map((word) => places.get(word));
  const rest = linear.read.map((_, place) => place).filter((place) => !given.includes(place));
  return [...given, ...rest];
}

/** The weights in a link; where rounding alone tells them from a preset, the preset itself. */
export function restored(text, linear, presets) {
  const found = parsed(text, linear.learned.length);
  if (!found) return null;
  const exact = [linear.learned, ...presets].find((each) => same(each, found, ROUNDED));
  return exact ?? normalise(found);
}
