// Numbers as people read them.

/** So many decimals with a real minus; "undefined" where there is none. */
export function number(value, digits = 3) {
  if (!Number.isFinite(value)) return "undefined";
  const rounded = Number(value.toFixed(digits)) + 0; // no "-0.000"
  return minus(Math.abs(rounded) >= 1000 ? rounded.toLocaleString("en") : rounded.toFixed(digits));
}

/** Three digits that count, whatever the size: maps may hold 0.00012 or 14. */
export function short(value) {
  if (!Number.isFinite(value)) return "undefined";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 0.001) return minus(value.toExponential(1));
  return minus(size >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));
}

/** A probability in per cent, never rounded to certainty. */
export function precise(p) {
  if (!Number.isFinite(p)) return "undefined";
  if (p > 0.9999) return ">99.99%";
  if (p > 0 && p < 0.0001) return "<0.01%";
  return `${(100 * p).toFixed(p > 0.99 || p < 0.01 ? 2 : 1)}%`;
}

/** "1 text", "2,210 texts". */
export function counted(count, one) {
  return `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
}

function minus(text) {
  return text.replace("-", "\u2212");
}
