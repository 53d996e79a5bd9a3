// What a linear decoder says, exactly: logits are attention's mean of each word's own logits.

/** Σ weight · z: one number for each logit. */
function logits(weights, z) {
  const sums = new Array(z[0].length).fill(0);
  weights.forEach((weight, word) => z[word].forEach((value, c) => { sums[c] += weight * value; }));
  return sums;
}

/** One logit is a sigmoid's: [1 − p, p]. More are a softmax's. */
export function probabilities(values) {
  if (values.length === 1) return [sigmoid(-values[0]), sigmoid(values[0])];
  const most = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - most));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

export function predict(weights, z) {
  return probabilities(logits(weights, z));
}

/** The likeliest class; the first of equals. */
export function likeliest(p) {
  return p.indexOf(Math.max(...p));
}

/** The prediction after the first 0, 1, 2, … words of the order have lost their attention, the
 *  others sharing it in their proportions. It ends where no attention is left to share.
 *  Summed from the last word on, so nothing is lost by subtracting. */
export function erasure(weights, z, order) {
  const sums = new Array(z[0].length).fill(0);
  const found = [];
  let left = 0;
  for (let k = order.length - 1; k >= 0; k -= 1) {
    const weight = weights[order[k]];
    left += weight;
    z[order[k]].forEach((value, c) => { sums[c] += weight * value; });
    if (left > 0) found.push({ removed: k, p: probabilities(sums.map((sum) => sum / left)) });
  }
  return found.reverse();
}

function sigmoid(value) {
  return value >= 0 ? 1 / (1 + Math.exp(-value)) : Math.exp(value) / (1 + Math.exp(value));
}
