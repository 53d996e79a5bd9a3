// How far two distributions are apart.

export const FURTHEST = Math.LN2; // two distributions that share nothing, by JSD

/** Jensen-Shannon divergence in nats. */
export function jsd(one, other) {
  let sum = 0;
  one.forEach((a, i) => {
    const middle = (a + other[i]) / 2;
    sum += part(a, middle) + part(other[i], middle);
  });
  return Math.max(0, sum / 2);
}

/** Total variation: for two classes the difference in p. */
export function tvd(one, other) {
  return one.reduce((sum, p, i) => sum + Math.abs(p - other[i]), 0) / 2;
}

function part(share, middle) {
  return share > 0 ? share * Math.log(share / middle) : 0;
}
