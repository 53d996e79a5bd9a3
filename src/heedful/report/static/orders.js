// Words in the order of their scores, and weights in a random order that a link can name.

/** Places of the words a map scores, highest first. Equal scores come in a random order that is
 *  always the same: the order of reading would pass position off as importance. */
export function orderOf(scores) {
  const chance = shuffled(scores.map((_, i) => i), 0);
  return scores.map((_, i) => i).filter((i) => scores[i] !== null)
    .sort((i, j) => scores[j] - scores[i] || chance[i] - chance[j]);
}

/** The words with the largest scores, whatever their sign: `{index, score}`; none that are zero. */
export function heaviest(scores, most = 5) {
  return orderOf(scores.map((score) => (score === null ? null : Math.abs(score))))
    .slice(0, most).map((index) => ({ index, score: scores[index] }))
    .filter((each) => each.score !== 0);
}

/** The same values in another order, the same one for the same seed. */
export function shuffled(values, seed) {
  const out = [...values];
  const next = randomly(seed);
  for (let i = out.length - 1; i > 0; i -= 1) {
    const j = Math.floor(next() * (i + 1));
    [out[i], out[j]] = [out[j], out[i]];
  }
  return out;
}

/** Numbers in [0, 1): 32 bits that are added up and mixed. */
function randomly(seed) {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 4294967296;
  };
}
