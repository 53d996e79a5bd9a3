// Kendall's τ-b between two lists of numbers, by counting pairs. Texts are short enough.

const TOLERANCE = 1e-6; // of scores that were computed in single precision, as where τ is measured

/** NaN where it is undefined: fewer than two numbers, or a side that is constant. */
export function kendall(x, y) {
  let agreeing = 0;
  let freeX = 0;
  let freeY = 0;
  for (let i = 1; i < x.length; i += 1) {
    for (let j = 0; j < i; j += 1) {
      const one = Math.sign(x[i] - x[j]);
      const other = Math.sign(y[i] - y[j]);
      agreeing += one * other;
      freeX += Math.abs(one);
      freeY += Math.abs(other);
    }
  }
  const tau = agreeing / Math.sqrt(freeX) / Math.sqrt(freeY);
  return freeX > 0 && freeY > 0 ? Math.max(-1, Math.min(1, tau)) : NaN;
}

/** Ranks from 0, equal for scores that only rounding tells apart: closer to their neighbour than
 *  a share of the larger of the two (`own`), else of the largest of all. */
export function tiedRanks(scores, own) {
  const most = scores.reduce((largest, score) => Math.max(largest, Math.abs(score)), 0);
  const order = scores.map((_, i) => i).sort((i, j) => scores[i] - scores[j]);
  const ranks = new Array(scores.length).fill(0);
  for (let k = 1; k < order.length; k += 1) {
    const [low, high] = [scores[order[k - 1]], scores[order[k]]];
    const scale = own ? Math.max(Math.abs(low), Math.abs(high)) : most;
    ranks[order[k]] = ranks[order[k - 1]] + (high - low > TOLERANCE * scale ? 1 : 0);
  }
  return ranks;
}

/** τ-b of the sizes in two maps, over the words that both models read, as it is measured: a word
 *  that speaks against the decision is important too. */
export function agreement(left, right) {
  const both = left.scores.map((_, i) => i)
    .filter((i) => left.scores[i] !== null && right.scores[i] !== null);
  const [one, other] = [left, right].map((map) => tiedRanks(
    both.map((i) => Math.abs(map.scores[i])), map.weights));
  return kendall(one, other);
}
