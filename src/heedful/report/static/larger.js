// A spec for a large drawing: more room between the marks, words as they are.

const MOST = 2.2;
const LEAST_UP = 1.7;
const STEPS = 1.5;
const PANEL = 430;
const PLACES = { x: 0, x2: 0, y: 1, y2: 1 };

/** Sizes and places that are given in pixels grow together: both ways in a wide window, upwards
 *  on a phone. */
export function larger(spec, room) {
  const across = Math.min(MOST, Math.max(1, room / PANEL));
  const up = Math.max(LEAST_UP, across);
  return { ...grown(spec, [across, up]), width: spec.width * across, height: taller(spec.height, up) };
}

function taller(height, up) {
  if (typeof height === "number") return height * up;
  return height?.step ? { step: height.step * STEPS } : height;
}

function grown(part, times) {
  const copy = { ...part };
  if (part.encoding) copy.encoding = placed(part.encoding, times);
  if (part.layer) copy.layer = part.layer.map((layer) => grown(layer, times));
  return copy;
}

function placed(encoding, times) {
  return Object.fromEntries(Object.entries(encoding).map(([channel, one]) => {
    const fixed = channel in PLACES && typeof one.value === "number";
    return [channel, fixed ? { ...one, value: one.value * times[PLACES[channel]] } : one];
  }));
}
