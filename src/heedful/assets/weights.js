// Attention weights as people move them: pure functions, no page and no server.

/** One weight becomes `value`; the others keep their proportions and share the rest. Others
 *  that are all zero share it evenly. Weights that need not sum to 1 (a gate's) move alone. */
export function moved(weights, index, value, normalised = true) {
  const wanted = clamped(value);
  if (!normalised) return weights.map((w, i) => (i === index ? wanted : w));
  if (weights.length < 2) return weights.map(() => 1);
  const others = weights.reduce((sum, w, i) => (i === index ? sum : sum + w), 0);
  const left = 1 - wanted;
  const even = left / (weights.length - 1);
  return weights.map((w, i) => {
    if (i === index) return wanted;
    return others > 0 ? (w / others) * left : even;
  });
}

/** To a sum of 1; nothing but zeros becomes even. */
export function normalise(weights) {
  const total = weights.reduce((sum, w) => sum + w, 0);
  if (!(total > 0)) return weights.map(() => 1 / weights.length);
  return weights.map((w) => w / total);
}

export function same(one, other, within = 1e-9) {
  return one.length === other.length && one.every((w, i) => Math.abs(w - other[i]) <= within);
}

/** For a link: six digits after the point are enough for any eye. */
export function written(weights) {
  return weights.map((w) => String(Number(w.toFixed(6)))).join("_");
}

/** The weights in a link, or null where it holds no such thing. */
export function parsed(text, length) {
  if (!text) return null;
  const numbers = String(text).split("_").map(Number);
  const fine = numbers.length === length && numbers.every((n) => Number.isFinite(n) && n >= 0);
  return fine ? numbers : null;
}

export function percent(share) {
  if (share === 0) return "0";
  if (share < 0.001) return "<0.1%";
  return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;
}

function clamped(value) {
  return Math.min(1, Math.max(0, Number.isFinite(value) ? value : 0));
}
